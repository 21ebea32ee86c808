/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vGPUs as uses of the board that they are parts of: mdevs, and virtual functions. The nvidia
 * driver has to stay on a board as long as there is one.
 */
#pragma once

#include "core/domain/use.h"
#include "core/pci/pci-snapshot.h"

typedef struct VgpuUse {
	const DomainUse *domain; /* NULL: no domain names it */
	bool live;		 /* the guest runs with it; false: the definition has it */
	bool absent;		 /* a VF that is not there now */
	bool of_nic;		 /* a VF of a NIC, and so no vGPU */
	const char *mdev;	 /* its UUID, borrowed; NULL: a VF */
	Bdf vf;			 /* without `mdev` */
	Bdf board;		 /* the function that it is a part of */
} VgpuUse;

/* False: no domain of any host can have a vGPU of this function, so that none need be looked at. */
bool vgpu_possible(const PciSnapshot *snapshot, const Bdf *function);
/* The next domain from *position on that has a vGPU of this function. Advances *position. */
bool vgpu_next_domain(const DomainUses *uses, const PciSnapshot *snapshot, const Bdf *function,
		      size_t *position, VgpuUse *ret);
/* The vGPU of this function in this one domain: what runs comes before what is defined. */
bool vgpu_of_domain(const DomainUse *use, const PciSnapshot *snapshot, const Bdf *function,
		    VgpuUse *ret);
/* An mdev of this function that no domain names. False: there is none. */
bool vgpu_unnamed_mdev(const DomainUses *uses, const PciSnapshot *snapshot, const Bdf *function,
		       VgpuUse *ret);

/* "vGPU 4b20d080-… of 0000:41:00.0", "virtual function 0000:41:00.4 of 0000:41:00.0". */
char *vgpu_text(const VgpuUse *vgpu);
/* "vGPU", or "VF" */
const char *vgpu_noun(const VgpuUse *vgpu);
/* What a person does about it. Both: caller frees. */
char *vgpu_remedy(const VgpuUse *vgpu);
