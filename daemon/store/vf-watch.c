/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/vf-watch.h"

#include "util/grow.h"
#include "util/mutex.h"
#include "util/xalloc.h"

struct VfWatch {
	pthread_mutex_t lock;
	Bdf *ruled;
	size_t n;
};

VfWatch *vf_watch_new(void)
{
	VfWatch *watch = xcalloc(1, sizeof(VfWatch));

	pthread_mutex_init(&watch->lock, NULL);
	return watch;
}

VfWatch *vf_watch_free(VfWatch *watch)
{
	if (!watch)
		return NULL;
	pthread_mutex_destroy(&watch->lock);
	free(watch->ruled);
	free(watch);
	return NULL;
}

static void set(VfWatch *watch, const Bdf *vf, bool ruled)
{
	size_t kept = 0;

	for (size_t i = 0; i < watch->n; i++)
		if (!bdf_equal(&watch->ruled[i], vf))
			watch->ruled[kept++] = watch->ruled[i];
	watch->n = kept;
	if (ruled)
		*GROW(watch->ruled, watch->n) = *vf;
}

void vf_watch_add(VfWatch *watch, const Bdf *vfs, size_t n)
{
	if (!watch)
		return;
	MUTEX_HOLD(&watch->lock);

	for (size_t i = 0; i < n; i++)
		set(watch, &vfs[i], true);
}

void vf_watch_note(VfWatch *watch, const NicUse *uses, size_t n)
{
	if (!watch)
		return;
	MUTEX_HOLD(&watch->lock);

	for (size_t i = 0; i < n; i++)
		set(watch, &uses[i].bdf, nic_use_vf_is_ruled(&uses[i]));
}

void vf_watch_forget(VfWatch *watch)
{
	if (!watch)
		return;
	MUTEX_HOLD(&watch->lock);

	watch->n = 0;
}

static void settle(VfWatch *watch, Companion *companion, bool scanned)
{
	const Bdf *bdf = &companion->member.bdf;

	if (companion->member.kind != MEMBER_VF)
		return;
	if (scanned && !companion->function)
		set(watch, bdf, false);
	companion->unruled = companion->function && !pci_function_on_vfio(companion->function) &&
			     !bdf_in(bdf, watch->ruled, watch->n);
}

void vf_watch_settle(VfWatch *watch, GroupSet *groups, bool scanned)
{
	if (!watch)
		return;
	MUTEX_HOLD(&watch->lock);

	for (size_t i = 0; i < groups->n_items; i++)
		for (size_t k = 0; k < groups->items[i].n_companions; k++)
			settle(watch, &groups->items[i].companions[k], scanned);
}
