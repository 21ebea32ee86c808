/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/guest-exit.h"

#include <unistd.h>

#include "util/clock.h"

#define EXIT_USEC (10 * USEC_PER_SEC)
#define POLL_USEC (100 * USEC_PER_MSEC)

static bool open_in_guest(const Inspection *inspection)
{
	for (size_t i = 0; i < inspection->n_holders; i++)
		if (inspection->holders[i].vfio)
			return true;
	return false;
}

static bool is_shut_off(Host *host, const char *domain_uuid)
{
	_cleanup_(virt_domain_freep) VirtDomain *domain = NULL;
	_cleanup_(problem_freep) Problem *problem = NULL;
	int r = host->ops->domain_get(host, domain_uuid, &domain, &problem);

	if (r == PROBLEM)
		return problem->error == GPUPASS_ERROR_NO_SUCH_DOMAIN;
	return r == 0 && !domain->active;
}

int inspect_past_exit(Host *host, const char *domain_uuid, const Bdf *functions, size_t n,
		      Inspection **ret)
{
	uint64_t deadline = now_monotonic() + EXIT_USEC;

	for (;;) {
		_cleanup_(inspection_freep) Inspection *now = NULL;
		int r = host->ops->inspect(host, functions, n, false, &now);

		if (r < 0)
			return r;
		if (!domain_uuid || !open_in_guest(now) || now_monotonic() >= deadline ||
		    !is_shut_off(host, domain_uuid)) {
			*ret = TAKE_PTR(now);
			return 0;
		}
		usleep(POLL_USEC);
	}
}
