/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/tenants.h"

#include "util/grow.h"
#include "util/xalloc.h"

static void take(void *into, _unused_ const char *name, void *record)
{
	TenantMark *mark = record;
	Tenants *tenants = into;

	*GROW(tenants->items, tenants->n_items) = (TenantFile){ .bdf = mark->bdf, .mark = mark };
}

/* A file of another name than a board's is of no board. */
static void add_fault(Tenants *tenants, size_t i)
{
	const char *name = tenants->faults.items[i].file;
	_cleanup_free_ char *address = xstrndup(name, strlen(name) - strlen(".json"));
	_cleanup_free_ char *own = NULL;
	Bdf bdf;

	if (bdf_parse(address, &bdf) < 0)
		return;
	own = tenant_file_name(&bdf);
	if (str_equal(own, name))
		*GROW(tenants->items, tenants->n_items) = (TenantFile){ .bdf = bdf, .fault = i };
}

Tenants *tenant_store_load(TenantStore *store)
{
	Tenants *tenants = xcalloc(1, sizeof(Tenants));

	records_read(store, take, tenants, &tenants->faults);
	for (size_t i = 0; i < tenants->faults.n_items; i++)
		if (*tenants->faults.items[i].file)
			add_fault(tenants, i);
		else
			tenants->unread = true;
	return tenants;
}

int tenant_store_save(TenantStore *store, const TenantMark *marks, size_t n)
{
	_cleanup_free_ RecordFile *files = xcalloc(n, sizeof(RecordFile));
	_cleanup_strv_ char **names = NULL;

	for (size_t i = 0; i < n; i++)
		strv_append_take(&names, tenant_file_name(&marks[i].bdf));
	for (size_t i = 0; i < n; i++)
		files[i] = (RecordFile){ names[i], tenant_mark_document(&marks[i]) };
	return records_replace_all(store, files, n);
}

/* A quarantine is no job, so looks at its boards count. */
static bool in_hand(Claims *claims, const Bdf *bdf)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	int r = claims_check(claims, bdf, 1, NULL, &problem);

	return r != 0 && (!problem || problem->error != GPUPASS_ERROR_QUARANTINED);
}

void tenant_store_note(TenantStore *store, Claims *claims, uint64_t looked, const TenantMark *marks,
		       size_t n, int *ret_failed)
{
	*ret_failed = 0;
	/* A job that claims a board from here on reads its mark after this write. */
	MUTEX_HOLD(&store->lock);
	for (size_t i = 0; i < n; i++) {
		int r;

		if (in_hand(claims, &marks[i].bdf) ||
		    claims_is_stale(claims, looked, &marks[i].bdf))
			continue;
		r = tenant_store_save(store, &marks[i], 1);
		if (r < 0)
			*ret_failed = r;
	}
}
