/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/clear.h"

#include "core/setup/driver-release.h"
#include "job/guest-exit.h"
#include "job/prepare.h"
#include "job/recover.h"
#include "util/xalloc.h"

/*
 * Which driver it leaves is not known any more: its link is gone. The release of nvidia is read
 * without a look at the functions, which would wait for the same lock.
 */
static char *wait_remedy(const JobPlace *place, const Bdf *function)
{
	_cleanup_(inspection_freep) Inspection *now = NULL;
	_cleanup_free_ char *of_nvidia = NULL;
	int r = host_inspect(place->host, NULL, 0, INSPECT_CONFIG_NOT, &now, NULL);

	if (r < 0 || !now->nvidia_version)
		return strf("look for what holds it (gpupass show %s); a reboot ends it for "
			    "certain, see gpupassd(8), QUARANTINE",
			    BDF_TEXT(function));
	of_nvidia = release_wait_remedy(now->nvidia_version, BDF_TEXT(function));
	return strf("look for what holds it (gpupass show %s); if it was to leave "
		    "nvidia: %s",
		    BDF_TEXT(function), of_nvidia);
}

static int still_moving(const JobPlace *place, const Bdf *functions, size_t n,
			Problem **ret_problem)
{
	const Bdf *function = NULL;
	pid_t pid = recover_find_worker(place, functions, n, &function);

	if (pid == 0)
		return 0;
	return problem_refuse(ret_problem, GPUPASS_ERROR_QUARANTINED,
			      .reason = strf("worker %d still waits in the kernel to move %s",
					     (int)pid, BDF_TEXT(function)),
			      .remedy = wait_remedy(place, function));
}

static int check_answers(const JobPlace *place, const Bdf *functions, size_t n, Inspection **ret,
			 Problem **ret_problem)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	int r = host_inspect(place->host, functions, n, INSPECT_CONFIG_NOT, ret, &problem);

	if (r == 0)
		return r;
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_QUARANTINED,
		.reason = strf("not all of its functions answer: %s",
			       problem ? problem->cause : strerror(-r)),
		.remedy = strf("see the kernel's log (dmesg | grep %s); a reboot may be needed",
			       BDF_TEXT(&functions[0])));
}

/* No domain runs with it. So the holder is a guest that libvirt does not know of, or no guest. */
static int check_no_user(const Inspection *now, Problem **ret_problem)
{
	const Holder *holder = guest_holder(now);

	if (!holder)
		return 0;
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_QUARANTINED,
		.reason = strf("%s is in use through vfio, and libvirt knows of no guest that "
			       "runs with it",
			       BDF_TEXT(&holder->bdf)),
		.cause = strf("%s by %s (pid %ld)", str_or_empty(holder->path),
			      str_or_empty(holder->command), (long)holder->pid),
		.remedy = xstrdup("shut that guest down, or end the process"));
}

/* *ret_has: some domain has it. */
static int check_domains(const JobPlace *place, const Bdf *functions, size_t n,
			 const Inspection *now, bool *ret_has, Problem **ret_problem)
{
	_cleanup_(domain_uses_freep) DomainUses *uses = NULL;
	bool runs = false;
	int r = place->host->ops->domain_uses(place->host, true, &uses, ret_problem);

	if (r != 0)
		return r;
	EACH (const DomainUse, use, uses->items, uses->n_items) {
		size_t live = 0, config = 0;

		for (size_t k = 0; k < n; k++) {
			const DomainHostdev *hostdev = domain_use_hostdev(use, &functions[k]);

			live += hostdev && hostdev->live;
			config += hostdev && hostdev->config;
		}
		runs |= live == n;
		*ret_has |= live == n || config == n;
		if ((live == 0 || live == n) && (config == 0 || config == n))
			continue;
		return problem_refuse(
			ret_problem, GPUPASS_ERROR_QUARANTINED,
			.reason = strf("%s has a part of it", use->name),
			.remedy = strf("take these hostdevs out (virsh edit %s), or shut it down",
				       domain_ref_word(use->name, use->uuid)));
	}
	return runs ? 0 : check_no_user(now, ret_problem);
}

static int check(const JobPlace *place, const Bdf *functions, size_t n, bool *ret_has,
		 Problem **ret_problem)
{
	_cleanup_(inspection_freep) Inspection *now = NULL;
	int r = still_moving(place, functions, n, ret_problem);

	if (r == 0)
		r = check_answers(place, functions, n, &now, ret_problem);
	return r == 0 ? check_domains(place, functions, n, now, ret_has, ret_problem) : r;
}

/* ---- of a group ---- */

static int refuse_name(const JobPlace *place, Problem **ret_problem)
{
	_cleanup_free_ char *names = claims_quarantine_names(place->claims);

	return problem_refuse(ret_problem, GPUPASS_ERROR_NO_SUCH_GROUP,
			      .reason = xstrdup("no group of this name is quarantined"),
			      .cause = *names ? strf("what is quarantined is called %s", names)
					      : NULL,
			      .remedy = xstrdup("see: gpupass list"));
}

static int set_aside(const JobPlace *place, const char *file)
{
	const char *name = strchr(file, '/') + 1;

	return str_starts_with(file, "journal/")
		       ? journal_set_aside(place->journal, name)
		       : quarantine_store_set_aside(place->quarantine, name);
}

/*
 * Files that cannot be used and are about nothing but these functions, such as a copy of the one
 * that was lifted: the functions have been checked, and would not be free with them.
 */
static int lift_copies(const JobPlace *place, const Bdf *functions, size_t n)
{
	char *file;
	int r = 0;

	while (r == 0 && (file = claims_file_of(place->claims, functions, n))) {
		r = set_aside(place, file);
		if (r == 0)
			claims_lift(place->claims, file);
		free(file);
	}
	return r;
}

/*
 * Whoever clears it has judged what its tenant changed: the next erase is not refused for that. No
 * domain has it now, which could change more.
 */
static int accept_nvmes(const JobPlace *place, const Bdf *functions, size_t n)
{
	_cleanup_(tenants_freep) Tenants *tenants =
		place->tenants ? tenant_store_load(place->tenants) : NULL;
	int r = 0;

	for (size_t i = 0; r >= 0 && tenants && i < tenants->n_items; i++) {
		TenantMark *mark = tenants->items[i].mark;

		if (!mark || mark->n_erases == 0 || mark->state != TENANT_DIRTY ||
		    !bdf_in(&mark->bdf, functions, n))
			continue;
		mark->cleared = true;
		r = tenant_store_save(place->tenants, mark, 1);
	}
	return r;
}

/*
 * A damaged file may name functions that this host never had, and which cannot answer. Of a group
 * there may be missing: VFs, since no boot makes one that no record names, and none holds anything
 * then; and what was taken out of the host, and out of all groups.
 */
static size_t keep_present(const Inventory *now, bool of_group, Bdf *functions, size_t n)
{
	const GroupSet *groups = now->groups;
	size_t kept = 0;

	for (size_t i = 0; functions && i < n; i++) {
		const Bdf *bdf = &functions[i];
		bool is_member = group_set_find_gpu(groups, bdf) ||
				 SOME(groups->items, groups->n_items, group_companion(it, bdf));
		Bdf nic;

		if (pci_snapshot_find(now->snapshot, bdf) ||
		    (of_group && is_member && !pci_snapshot_physical(now->snapshot, bdf, &nic)))
			functions[kept++] = *bdf;
	}
	return kept;
}

static int lift_group(const JobPlace *place, const char *group, Bdf *functions, size_t n_all,
		      Problem **ret_problem)
{
	_cleanup_(prepared_freep) Prepared *now = xcalloc(1, sizeof(Prepared));
	int r = prepare_look(place, INSPECT_CONFIG_NOT, true, now, ret_problem);
	const RecordFault *unread = NULL;
	size_t n = n_all;
	bool has = false;

	if (r == 0) {
		unread = record_faults_find(&now->assignments->faults, functions, n_all, group,
					    NULL);
		has = unread ||
		      SOME(functions, n_all, assignments_find_function(now->assignments, it));
		n = keep_present(now->inventory, true, functions, n_all);
		r = check(place, functions, n, &has, ret_problem);
	}
	/* An open journal must not undo at the next start what jobs do from now on. */
	if (r == 0)
		r = journal_forget_group(place->journal, group);
	if (r == 0 && !has)
		r = accept_nvmes(place, functions, n);
	if (r == 0)
		r = quarantine_store_remove(place->quarantine, group);
	if (r == 0)
		claims_lift(place->claims, group);
	if (r == 0)
		r = lift_copies(place, functions, n);
	return r < 0 ? disk_watch_refuse(place->disk, "the quarantine", "quarantine/", r,
					 ret_problem)
		     : r;
}

/* ---- by a file that cannot be read ---- */

/* Checks each group as a whole. A group with a quarantine of its own stays quarantined. */
static int check_every_group(const JobPlace *place, const GroupSet *groups, Problem **ret_problem)
{
	bool has = false;
	int r = 0;

	for (size_t i = 0; r == 0 && i < groups->n_items; i++) {
		const Group *group = &groups->items[i];
		size_t n;
		_cleanup_free_ Bdf *addresses = group_addresses(group, &n);

		if (n > 0 && !claims_quarantined_itself(place->claims, &addresses[0]))
			r = check(place, addresses, n, &has, ret_problem);
	}
	return r;
}

static int lift_unread(const JobPlace *place, const char *name, Problem **ret_problem)
{
	_cleanup_(prepared_freep) Prepared *now = xcalloc(1, sizeof(Prepared));
	_cleanup_free_ Bdf *functions = NULL;
	_cleanup_free_ char *file = NULL;
	size_t n = 0;
	bool has = false;
	int r = prepare_look(place, INSPECT_CONFIG_ALL, true, now, ret_problem);

	if (r == 0)
		r = claims_find_quarantine(place->claims, name, &file, &functions, &n);
	if (r == 0 && !file)
		r = -ENOENT;
	if (r == 0)
		n = keep_present(now->inventory, false, functions, n);
	if (r == 0 && n > 0)
		r = check(place, functions, n, &has, ret_problem);
	else if (r == 0)
		r = check_every_group(place, now->inventory->groups, ret_problem);
	if (r == 0)
		r = set_aside(place, file);
	if (r == 0)
		claims_lift(place->claims, file);
	return r;
}

int quarantine_lift(const JobPlace *place, const char *name, Problem **ret_problem)
{
	_cleanup_free_ Bdf *functions = NULL;
	_cleanup_free_ char *file = NULL;
	size_t n = 0;
	int r = claims_find_quarantine(place->claims, name, &file, &functions, &n);

	if (r == -ENOENT)
		return refuse_name(place, ret_problem);
	return file ? lift_unread(place, name, ret_problem)
		    : lift_group(place, name, functions, n, ret_problem);
}
