/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/vf-watch.h"

#include "util/grow.h"
#include "util/mutex.h"
#include "util/xalloc.h"

struct VfWatch {
	pthread_mutex_t lock;
	Bdf *ruled;
	size_t n_ruled;
};

#include "vf-watch.inc"

static void set(VfWatch *watch, const Bdf *vf, bool ruled)
{
	size_t kept = 0;

	for (size_t i = 0; i < watch->n_ruled; i++)
		if (!bdf_equal(&watch->ruled[i], vf))
			watch->ruled[kept++] = watch->ruled[i];
	watch->n_ruled = kept;
	if (ruled)
		*GROW(watch->ruled, watch->n_ruled) = *vf;
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

	watch->n_ruled = 0;
}

static void settle(VfWatch *watch, Companion *companion, bool scanned)
{
	const Bdf *bdf = &companion->member.bdf;

	if (companion->member.kind != MEMBER_VF)
		return;
	if (scanned && !companion->function)
		set(watch, bdf, false);
	companion->unruled = companion->function && !pci_function_on_vfio(companion->function) &&
			     !bdf_in(bdf, watch->ruled, watch->n_ruled);
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
