/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/domain/vgpu.h"

#include <strings.h>

#include "core/domain/ref.h"
#include "util/text.h"
#include "util/xalloc.h"

static bool is_vf_of(const PciSnapshot *snapshot, const Bdf *vf, const Bdf *function)
{
	Bdf physical;

	return pci_snapshot_physical(snapshot, vf, &physical) && bdf_equal(&physical, function);
}

/* An mdev is made of the board itself, or, where the board has SR-IOV, of one of its VFs. */
static bool is_mdev_of(const PciSnapshot *snapshot, const PciMdev *mdev, const Bdf *function)
{
	return bdf_equal(&mdev->parent, function) || is_vf_of(snapshot, &mdev->parent, function);
}

static bool find_vf(const DomainUse *use, const PciSnapshot *snapshot, const Bdf *function,
		    bool live, VgpuUse *ret)
{
	const PciFunction *board = pci_snapshot_find(snapshot, function);

	EACH (const DomainHostdev, hostdev, use->hostdevs, use->n_hostdevs) {
		if (!(live ? hostdev->live : hostdev->config) ||
		    !is_vf_of(snapshot, &hostdev->bdf, function))
			continue;
		*ret = (VgpuUse){
			.domain = use,
			.live = live,
			.absent = !pci_snapshot_find(snapshot, &hostdev->bdf),
			.of_nic = board && board->vendor != PCI_VENDOR_NVIDIA,
			.vf = hostdev->bdf,
			.board = *function,
		};
		return true;
	}
	return false;
}

static bool find_mdev(const DomainUse *use, const PciSnapshot *snapshot, const Bdf *function,
		      bool live, VgpuUse *ret)
{
	EACH (const DomainMdev, named, use->mdevs, use->n_mdevs) {
		const PciMdev *mdev = pci_snapshot_find_mdev(snapshot, named->uuid);

		if (!(live ? named->live : named->config) || !mdev ||
		    !is_mdev_of(snapshot, mdev, function))
			continue;
		*ret = (VgpuUse){
			.domain = use, .live = live, .mdev = mdev->uuid, .board = *function
		};
		return true;
	}
	return false;
}

/* It says itself that it has SR-IOV, or a VF says that it is of this function. */
static bool may_have_vfs(const PciSnapshot *snapshot, const Bdf *function)
{
	const PciFunction *f = pci_snapshot_find(snapshot, function);

	if (!f || f->vfs_max > 0 || f->has_vfs)
		return true;
	return SOME_OF(snapshot->virtuals, snapshot->n_virtuals,
		       bdf_equal(&it->physical, function));
}

bool vgpu_possible(const PciSnapshot *snapshot, const Bdf *function)
{
	return snapshot && (snapshot->n_mdevs > 0 || may_have_vfs(snapshot, function));
}

bool vgpu_of_domain(const DomainUse *use, const PciSnapshot *snapshot, const Bdf *function,
		    VgpuUse *ret)
{
	if (!snapshot)
		return false;
	return find_vf(use, snapshot, function, true, ret) ||
	       find_mdev(use, snapshot, function, true, ret) ||
	       find_vf(use, snapshot, function, false, ret) ||
	       find_mdev(use, snapshot, function, false, ret);
}

bool vgpu_next_domain(const DomainUses *uses, const PciSnapshot *snapshot, const Bdf *function,
		      size_t *position, VgpuUse *ret)
{
	if (!vgpu_possible(snapshot, function))
		return false;
	while (*position < uses->n_items)
		if (vgpu_of_domain(&uses->items[(*position)++], snapshot, function, ret))
			return true;
	return false;
}

static bool is_named(const DomainUses *uses, const PciMdev *mdev)
{
	for (size_t i = 0; i < uses->n_items; i++)
		if (SOME(uses->items[i].mdevs, uses->items[i].n_mdevs,
			 strcasecmp(it->uuid, mdev->uuid) == 0))
			return true;
	return false;
}

bool vgpu_unnamed_mdev(const DomainUses *uses, const PciSnapshot *snapshot, const Bdf *function,
		       VgpuUse *ret)
{
	EACH_IN (const PciMdev, mdev, snapshot, mdevs) {
		if (!is_mdev_of(snapshot, mdev, function) || is_named(uses, mdev))
			continue;
		*ret = (VgpuUse){ .mdev = mdev->uuid, .board = *function };
		return true;
	}
	return false;
}

char *vgpu_text(const VgpuUse *vgpu)
{
	if (vgpu->mdev)
		return strf("vGPU %s of %s", vgpu->mdev, BDF_TEXT(&vgpu->board));
	return strf("virtual function %s%s of %s", BDF_TEXT(&vgpu->vf),
		    vgpu->absent ? " (not there now)" : "", BDF_TEXT(&vgpu->board));
}

const char *vgpu_noun(const VgpuUse *vgpu)
{
	return vgpu->of_nic ? "VF" : "vGPU";
}

/* NVIDIA's script unbinds the VFs before it takes them away, and locks the board meanwhile. */
char *vgpu_remedy(const VgpuUse *vgpu)
{
	_cleanup_free_ char *then =
		vgpu->mdev     ? strf("echo 1 > /sys/bus/mdev/devices/%s/remove", vgpu->mdev)
		: vgpu->absent ? xstrdup("")
		: vgpu->of_nic ? strf("echo 0 > /sys/bus/pci/devices/%s/sriov_numvfs",
				      BDF_TEXT(&vgpu->board))
			       : strf("/usr/lib/nvidia/sriov-manage -d %s", BDF_TEXT(&vgpu->board));

	if (!vgpu->domain)
		return strf("see who made it (mdevctl list), and remove it: %s", then);
	return strf("%stake the %s out of that domain: virsh edit %s%s%s",
		    vgpu->live ? "shut it down and " : "", vgpu_noun(vgpu),
		    domain_ref_word(vgpu->domain->name, vgpu->domain->uuid),
		    *then ? "; then: " : "", then);
}
