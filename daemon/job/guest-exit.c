/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/guest-exit.h"

#include "util/clock.h"

#define EXIT_USEC (10 * USEC_PER_SEC)
#define POLL_USEC (100 * USEC_PER_MSEC)

const Holder *guest_holder(const Inspection *inspection)
{
	return FIND(inspection->holders, inspection->n_holders, it->vfio);
}

static bool may_run_with_one(const DomainUse *use, const Bdf *functions, size_t n)
{
	if (use->unread && use->active)
		return true;
	for (size_t i = 0; i < n; i++) {
		const DomainHostdev *hostdev = domain_use_hostdev(use, &functions[i]);

		if (hostdev && hostdev->live)
			return true;
	}
	return false;
}

bool guest_runs_nowhere(Host *host, const Bdf *functions, size_t n)
{
	_cleanup_(domain_uses_freep) DomainUses *uses = NULL;
	_cleanup_(problem_freep) Problem *problem = NULL;

	if (host->ops->domain_uses(host, false, &uses, &problem) != 0)
		return false;
	return !SOME(uses->items, uses->n_items, may_run_with_one(it, functions, n));
}

int inspect_past_exit(Host *host, const Tenants *tenants, const Bdf *functions, size_t n,
		      InspectConfig config, Inspection **ret, Problem **ret_problem)
{
	uint64_t deadline = now_monotonic() + EXIT_USEC;

	for (;;) {
		_cleanup_(inspection_freep) Inspection *now = NULL;
		int r = host_inspect_marked(host, tenants, functions, n, config, &now, ret_problem);

		if (r != 0)
			return r;
		if (!guest_holder(now) || now_monotonic() >= deadline ||
		    !guest_runs_nowhere(host, functions, n)) {
			*ret = TAKE_PTR(now);
			return 0;
		}
		usleep(POLL_USEC);
	}
}
