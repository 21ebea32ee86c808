/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/health-look.h"

#include "host/launch/child.h"
#include "util/xalloc.h"

struct HealthLook {
	pthread_mutex_t lock; /* held while workers read */
	GpuHealth *stuck;     /* addresses, errors and workers only */
	size_t n_stuck;
};

#include "health-look.inc"

/* Forgets workers that no longer hang. */
static void forget_ended(HealthLook *look)
{
	size_t kept = 0;

	for (size_t i = 0; i < look->n_stuck; i++)
		if (child_runs(look->stuck[i].stuck))
			look->stuck[kept++] = look->stuck[i];
	look->n_stuck = kept;
}

static void note_stuck(HealthLook *look, const GpuHealth *read, size_t n)
{
	look->stuck = xreallocarray(look->stuck, look->n_stuck + n + 1, sizeof(GpuHealth));
	for (size_t i = 0; i < n; i++)
		if (read[i].stuck != 0)
			look->stuck[look->n_stuck++] = (GpuHealth){
				.bdf = read[i].bdf,
				.error = read[i].error,
				.stuck = read[i].stuck,
			};
}

static void look_locked(HealthLook *look, Host *host, const PciFunction *const *leads, size_t n,
			GpuHealth *all)
{
	_cleanup_free_ const PciFunction **ask = xcalloc(n + 1, sizeof(*ask));
	_cleanup_free_ GpuHealth *read = xcalloc(n + 1, sizeof(GpuHealth));
	size_t n_ask = 0, next = 0;

	forget_ended(look);
	for (size_t i = 0; i < n; i++)
		if (!gpu_healths_find(look->stuck, look->n_stuck, &leads[i]->bdf))
			ask[n_ask++] = leads[i];
	host_health(host, ask, n_ask, read);
	for (size_t i = 0; i < n; i++) {
		const GpuHealth *stuck =
			gpu_healths_find(look->stuck, look->n_stuck, &leads[i]->bdf);

		all[i] = stuck ? *stuck : read[next++]; /* a stuck entry owns nothing */
	}
	note_stuck(look, read, n_ask);
}

void health_look(HealthLook *look, Host *host, const PciFunction *const *leads, size_t n,
		 GpuHealth **ret)
{
	GpuHealth *all = xcalloc(n + 1, sizeof(GpuHealth));

	pthread_mutex_lock(&look->lock);
	look_locked(look, host, leads, n, all);
	pthread_mutex_unlock(&look->lock);
	*ret = all;
}
