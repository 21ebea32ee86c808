/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/quarantine.h"

#include "gpupass/dbus.h"
#include "util/clock.h"
#include "util/xalloc.h"

LOCAL_DOCUMENT(Quarantine, members, GPUPASS_SCHEMA_QUARANTINE)
#include "quarantine.inc"

static int check(const void *record, char **ret_why)
{
	const Quarantine *q = record;

	return q->n_functions == 0 ? json_refuse(ret_why, "functions names no function") : 0;
}

static char *file_name(const char *group)
{
	return strf("%s.json", group);
}

/* clear finds the file by the group. */
static bool is_name(const char *name, const void *record)
{
	const Quarantine *q = record;
	_cleanup_free_ char *own = file_name(q->group);

	return strcmp(name, own) == 0;
}

#define REMEDY "when its cause is gone: gpupass clear, with the name that list shows"

const RecordKind quarantine_kind = {
	.folder = "quarantine",
	.schema = GPUPASS_SCHEMA_QUARANTINE_2,
	.most = 64U * 1024,
	.members = members,
	.size = sizeof(Quarantine),
	.check = check,
	.is_name = is_name,
	.misnamed = "its name is not its group's",
	.apart = true,
	.of_group = true,
	.remedy = { REMEDY, REMEDY, REMEDY },
};

static void take(void *into, _unused_ const char *name, void *record)
{
	const Quarantine *q = record;

	claims_add_quarantine(into, q->group, q->functions, q->n_functions, NULL, q->reason);
	quarantine_free(record);
}

void quarantine_store_load(QuarantineStore *store, Claims *claims)
{
	const RecordFaults *faults = &store->faults;

	records_load(store, take, claims);
	for (size_t i = 0; i < faults->n_items; i++)
		claims_add_fault(claims, &faults->items[i]);
}

int quarantine_store_set_aside(QuarantineStore *store, const char *name)
{
	void *q = NULL;
	MUTEX_HOLD(&store->lock);

	if (record_file_read(store->dir_fd, &quarantine_kind, name, &q, NULL) < 0)
		return records_set_aside(store, name);
	quarantine_free(q);
	return 0;
}

int quarantine_store_save(QuarantineStore *store, const Quarantine *q)
{
	_cleanup_free_ char *name = file_name(q->group);
	int r;
	MUTEX_HOLD(&store->lock);

	/* An unreadable file may be about more functions than this. */
	r = quarantine_store_set_aside(store, name);
	if (r >= 0)
		r = records_replace(store, name, json_struct_write(members, q));
	return r;
}

int quarantine_plan(QuarantineStore *store, const Plan *plan, uint32_t job, const char *reason)
{
	_cleanup_free_ Bdf *functions = plan_addresses(plan);

	return quarantine_store_save(store, &(Quarantine){
						    .group = plan->group,
						    .functions = functions,
						    .n_functions = plan->n_functions,
						    .reason = (char *)reason,
						    .job = job,
						    .since_usec = now_realtime(),
					    });
}

int quarantine_store_remove(QuarantineStore *store, const char *group)
{
	_cleanup_free_ char *name = file_name(group);

	return records_remove(store, name);
}
