/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/vf-watch.h"

#include "util/grow.h"
#include "util/mutex.h"
#include "util/xalloc.h"

struct VfWatch {
	pthread_mutex_t lock;
	Bdf *ruled, *compared;
	size_t n_ruled, n_compared;
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
	free(watch->compared);
	free(watch);
	return NULL;
}

/* Whether it is in this list from now on. */
static void set(Bdf **list, size_t *n, const Bdf *bdf, bool in)
{
	size_t kept = 0;

	for (size_t i = 0; i < *n; i++)
		if (!bdf_equal(&(*list)[i], bdf))
			(*list)[kept++] = (*list)[i];
	*n = kept;
	if (in)
		*GROW(*list, *n) = *bdf;
}

static void set_ruled(VfWatch *watch, const Bdf *vf, bool ruled)
{
	set(&watch->ruled, &watch->n_ruled, vf, ruled);
}

static void set_compared(VfWatch *watch, const Bdf *nvme, bool compared)
{
	set(&watch->compared, &watch->n_compared, nvme, compared);
}

void vf_watch_add(VfWatch *watch, const Bdf *vfs, size_t n)
{
	if (!watch)
		return;
	MUTEX_HOLD(&watch->lock);

	for (size_t i = 0; i < n; i++)
		set_ruled(watch, &vfs[i], true);
}

void vf_watch_note(VfWatch *watch, const NicUse *uses, size_t n)
{
	if (!watch)
		return;
	MUTEX_HOLD(&watch->lock);

	for (size_t i = 0; i < n; i++)
		set_ruled(watch, &uses[i].bdf, nic_use_vf_is_ruled(&uses[i]));
}

void vf_watch_note_nvme(VfWatch *watch, const Bdf *bdf, bool as_erased)
{
	if (!watch)
		return;
	MUTEX_HOLD(&watch->lock);

	set_compared(watch, bdf, as_erased);
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
	const PciFunction *function = companion->function;

	if (scanned && !function) {
		set_ruled(watch, bdf, false);
		set_compared(watch, bdf, false);
	}
	companion->unruled = companion->member.kind == MEMBER_VF && function &&
			     !pci_function_on_vfio(function) &&
			     !bdf_in(bdf, watch->ruled, watch->n_ruled);
	companion->unseen = companion->member.kind == MEMBER_NVME && function &&
			    pci_function_on_vfio(function) &&
			    !bdf_in(bdf, watch->compared, watch->n_compared);
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
