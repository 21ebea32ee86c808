/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/tenants.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

#define FILE_MAX (64U * 1024)
#define SUFFIX ".json"

int tenant_store_open(const char *state_directory, TenantStore *ret)
{
	_cleanup_free_ char *directory = strf("%s/tenants", state_directory);

	pthread_mutex_init(&ret->lock, NULL);
	return dir_open_private(directory, &ret->dir_fd);
}

void tenant_store_close(TenantStore *store)
{
	store->dir_fd = close_fd(store->dir_fd);
	pthread_mutex_destroy(&store->lock);
}

static char *file_name(const Bdf *bdf)
{
	return strf("%s" SUFFIX, BDF_TEXT(bdf));
}

/* ---- reading ---- */

/* A name such as "0000:41:00.0.json". false: another name, so the file is of no board. */
static bool parse_name(const char *name, Bdf *ret)
{
	_cleanup_free_ char *address = xstrndup(name, strlen(name) - strlen(SUFFIX));

	return bdf_parse(address, ret) >= 0 && str_equal(BDF_TEXT(ret), address);
}

static int read_mark(int dir_fd, const char *name, TenantMark **ret, char **ret_why)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	int r = file_read_at(dir_fd, name, FILE_MAX, &text, &size);

	return r < 0 ? r : tenant_mark_from_json(text, size, ret, ret_why);
}

static void set_fault(TenantFile *file, const char *why, int error)
{
	if (error == -EPROTO)
		file->fault = strf("another version wrote it: %s", str_or_empty(why));
	else
		file->fault = xstrdup(why ? why : strerror(-error));
}

static void read_file(int dir_fd, const char *name, TenantFile *file)
{
	_cleanup_free_ char *why = NULL;
	int r = read_mark(dir_fd, name, &file->mark, &why);

	if (r < 0) {
		set_fault(file, why, r);
	} else if (!bdf_equal(&file->mark->bdf, &file->bdf)) {
		file->mark = tenant_mark_free(file->mark);
		set_fault(file, "it is of another address", -EBADMSG);
	}
}

static void read_all(TenantStore *store, char *const *names, Tenants *into)
{
	into->items = xcalloc(strv_length(names) + 1, sizeof(TenantFile));
	for (; names && *names; names++) {
		TenantFile *file = &into->items[into->n_items];

		if (!parse_name(*names, &file->bdf))
			continue;
		into->n_items++;
		read_file(store->dir_fd, *names, file);
	}
}

Tenants *tenant_store_load(TenantStore *store)
{
	Tenants *tenants = xcalloc(1, sizeof(Tenants));
	_cleanup_strv_ char **names = NULL;
	int r;

	pthread_mutex_lock(&store->lock);
	r = dir_list(store->dir_fd, SUFFIX, &names);
	if (r >= 0)
		read_all(store, names, tenants);
	pthread_mutex_unlock(&store->lock);
	if (r < 0)
		tenants->fault = xstrdup(strerror(-r));
	return tenants;
}

/* ---- writing ---- */

/* A file of another version may have facts that this version does not know. */
static int put(TenantStore *store, const TenantMark *mark)
{
	_cleanup_(tenant_mark_freep) TenantMark *there = NULL;
	_cleanup_free_ char *name = file_name(&mark->bdf), *text = tenant_mark_to_json(mark);
	int r;

	r = read_mark(store->dir_fd, name, &there, NULL);
	if (r == -EPROTO)
		return r;
	return file_put_at(store->dir_fd, name, text, strlen(text), FILE_MODE_PRIVATE);
}

static int save(TenantStore *store, const TenantMark *mark)
{
	int r = put(store, mark);

	return r < 0 ? r : file_sync_dir(store->dir_fd);
}

int tenant_store_save(TenantStore *store, const TenantMark *mark)
{
	return tenant_store_save_all(store, mark, 1);
}

int tenant_store_save_all(TenantStore *store, const TenantMark *marks, size_t n)
{
	int r = 0, synced;

	if (n == 0)
		return 0;
	pthread_mutex_lock(&store->lock);
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = put(store, &marks[i]);
	synced = file_sync_dir(store->dir_fd);
	pthread_mutex_unlock(&store->lock);
	return r < 0 ? r : synced;
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
	pthread_mutex_lock(&store->lock);
	for (size_t i = 0; i < n; i++) {
		int r;

		if (in_hand(claims, &marks[i].bdf) ||
		    claims_is_stale(claims, looked, &marks[i].bdf))
			continue;
		r = save(store, &marks[i]);
		if (r < 0)
			*ret_failed = r;
	}
	pthread_mutex_unlock(&store->lock);
}
