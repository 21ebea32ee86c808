/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/vf-watch.h"

#include "util/grow.h"
#include "util/mutex.h"
#include "util/xalloc.h"

struct VfWatch {
	pthread_mutex_t lock;
	Member *seen;
	size_t n_seen;
};

#include "vf-watch.inc"

static void set(VfWatch *watch, MemberKind kind, const Bdf *bdf, bool seen)
{
	size_t kept = 0;

	for (size_t i = 0; i < watch->n_seen; i++)
		if (!bdf_equal(&watch->seen[i].bdf, bdf))
			watch->seen[kept++] = watch->seen[i];
	watch->n_seen = kept;
	if (seen)
		*GROW(watch->seen, watch->n_seen) = (Member){ .kind = kind, .bdf = *bdf };
}

void vf_watch_add(VfWatch *watch, const Bdf *vfs, size_t n)
{
	if (!watch)
		return;
	MUTEX_HOLD(&watch->lock);

	for (size_t i = 0; i < n; i++)
		set(watch, MEMBER_VF, &vfs[i], true);
}

void vf_watch_note(VfWatch *watch, const NicUse *uses, size_t n)
{
	if (!watch)
		return;
	MUTEX_HOLD(&watch->lock);

	for (size_t i = 0; i < n; i++)
		set(watch, MEMBER_VF, &uses[i].bdf, nic_use_vf_is_ruled(&uses[i]));
}

void vf_watch_note_nvme(VfWatch *watch, const Bdf *bdf, bool as_erased)
{
	if (!watch)
		return;
	MUTEX_HOLD(&watch->lock);

	set(watch, MEMBER_NVME, bdf, as_erased);
}

void vf_watch_forget(VfWatch *watch, const PciSnapshot *snapshot, const Bdf *nic)
{
	Bdf physical;

	if (!watch)
		return;
	MUTEX_HOLD(&watch->lock);

	for (size_t i = watch->n_seen; i-- > 0;)
		if (watch->seen[i].kind == MEMBER_VF &&
		    (!snapshot ||
		     !pci_snapshot_physical(snapshot, &watch->seen[i].bdf, &physical) ||
		     bdf_equal(&physical, nic)))
			watch->seen[i] = watch->seen[--watch->n_seen];
}

static void settle(VfWatch *watch, Companion *companion, bool scanned)
{
	const Member *member = &companion->member;
	const PciFunction *function = companion->function;
	bool seen;

	/* Where the host's driver has an NVMe, the host may write on it. */
	if (scanned &&
	    (!function || (member->kind == MEMBER_NVME && !pci_function_on_vfio(function))))
		set(watch, member->kind, &member->bdf, false);
	seen = !function || BDF_FIND(watch->seen, watch->n_seen, &member->bdf);
	companion->unruled = member->kind == MEMBER_VF && !seen;
	companion->unseen = member->kind == MEMBER_NVME && !seen && pci_function_on_vfio(function);
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
