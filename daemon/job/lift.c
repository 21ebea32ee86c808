/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/lift.h"

#include <string.h>

#include "job/recover.h"
#include "util/text.h"

static int still_moving(const JobPlace *place, const Bdf *functions, size_t n,
			Problem **ret_problem)
{
	const Bdf *function = NULL;
	pid_t pid = recover_find_worker(place, functions, n, &function);
	int r;

	if (pid == 0)
		return 0;
	r = problem_set(ret_problem, GPUPASS_ERROR_QUARANTINED,
			"worker %d still waits in the kernel to move %s", (int)pid,
			BDF_TEXT(function));
	if (r != PROBLEM)
		return r;
	return problem_remedy(*ret_problem,
			      "look for what holds it (gpupass show %s); a reboot ends it for "
			      "certain, see gpupassd(8), QUARANTINE",
			      BDF_TEXT(function));
}

static int check_answers(const JobPlace *place, const Bdf *functions, size_t n, Inspection **ret,
			 Problem **ret_problem)
{
	int r = place->host->ops->inspect(place->host, functions, n, INSPECT_CONFIG_NOT, ret);

	if (r == 0 || r == -ENOMEM)
		return r;
	r = problem_set(ret_problem, GPUPASS_ERROR_QUARANTINED,
			"not all of its functions answer: %s", strerror(-r));
	if (r != PROBLEM)
		return r;
	return problem_remedy(*ret_problem,
			      "see the kernel's log (dmesg | grep %s); a reboot may "
			      "be needed",
			      BDF_TEXT(&functions[0]));
}

/* No domain runs with it: what has it open is a guest that libvirt has lost sight of, or no guest. */
static int check_no_user(const Inspection *now, Problem **ret_problem)
{
	for (size_t i = 0; i < now->n_holders; i++) {
		const Holder *holder = &now->holders[i];
		int r;

		if (!holder->vfio)
			continue;
		r = problem_set(ret_problem, GPUPASS_ERROR_QUARANTINED,
				"%s is in use through vfio, and libvirt knows of no guest that "
				"runs with it",
				BDF_TEXT(&holder->bdf));
		if (r != PROBLEM)
			return r;
		problem_cause(*ret_problem, "%s by %s (pid %ld)", str_or_empty(holder->path),
			      str_or_empty(holder->command), (long)holder->pid);
		return problem_remedy(*ret_problem, "shut that guest down, or end the process");
	}
	return 0;
}

static int check_domains(const JobPlace *place, const Bdf *functions, size_t n,
			 const Inspection *now, Problem **ret_problem)
{
	_cleanup_(domain_uses_freep) DomainUses *uses = NULL;
	bool runs = false;
	int r = place->host->ops->domain_uses(place->host, &uses, ret_problem);

	if (r != 0)
		return r;
	for (size_t i = 0; i < uses->n_items; i++) {
		const DomainUse *use = &uses->items[i];
		size_t live = 0, config = 0;

		for (size_t k = 0; k < n; k++) {
			const DomainHostdev *hostdev = domain_use_hostdev(use, &functions[k]);

			live += hostdev && hostdev->live;
			config += hostdev && hostdev->config;
		}
		runs |= live == n;
		if ((live == 0 || live == n) && (config == 0 || config == n))
			continue;
		r = problem_set(ret_problem, GPUPASS_ERROR_QUARANTINED, "%s has a part of it",
				use->name);
		if (r != PROBLEM)
			return r;
		return problem_remedy(*ret_problem,
				      "take these hostdevs out (virsh edit %s), or shut it down",
				      domain_ref_word(use->name, use->uuid));
	}
	return runs ? 0 : check_no_user(now, ret_problem);
}

int quarantine_lift(const JobPlace *place, const char *group, Problem **ret_problem)
{
	_cleanup_(inspection_freep) Inspection *now = NULL;
	_cleanup_free_ Bdf *functions = NULL;
	size_t n = 0;
	int r;

	r = claims_quarantined(place->claims, group, &functions, &n);
	if (r == -ENOENT) {
		r = problem_set(ret_problem, GPUPASS_ERROR_NO_SUCH_GROUP,
				"no group of this name is quarantined");
		return r == PROBLEM ? problem_remedy(*ret_problem, "see: gpupass list") : r;
	}
	if (r == 0)
		r = still_moving(place, functions, n, ret_problem);
	if (r == 0)
		r = check_answers(place, functions, n, &now, ret_problem);
	if (r == 0)
		r = check_domains(place, functions, n, now, ret_problem);
	/* A journal that could not be closed must not undo later what others do from now on. */
	if (r == 0)
		r = journal_forget_group(place->journal, group);
	if (r == 0)
		r = quarantine_store_remove(place->quarantine, group);
	if (r == 0)
		claims_lift(place->claims, group);
	return r;
}
