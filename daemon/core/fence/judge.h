/* SPDX-License-Identifier: GPL-2.0-or-later */
/* May this domain start? Pure: the fence, the domain's functions, and what sysfs says of them. */
#pragma once

#include "core/base/problem.h"
#include "core/fence/fence.h"

/* A function of the host that the domain's XML names, and what sysfs says of it now. */
typedef struct FenceHostdev {
	Bdf bdf;
	bool present; /* the ids could be read */
	/*
	 * It is, or shares its slot with, a display or 3D controller of NVIDIA. Virtual functions
	 * (vGPU) are not. What cannot be read counts as one, where something is there.
	 */
	bool gpu;
	bool given; /* without a fence: a mark says that gpupass gave it to a domain once */
	/* It is a VF or an mdev, of this function; `bdf` and the ids then decide nothing. */
	bool vgpu;
	Bdf board;
	bool interface; /* libvirt sets its MAC, and this VLAN, as DomainHostdev says */
	unsigned vlan;
	uint16_t vendor, device, subsystem_vendor, subsystem_device;
} FenceHostdev;

typedef struct FenceRequest {
	const char *uuid, *name; /* of the domain */
	const FenceHostdev *hostdevs;
	size_t n_hostdevs;
	const Fence *fence;   /* NULL: there is none that can be used */
	const char *no_fence; /* why; with NULL only */
	const char *boot_id;  /* of now; NULL: not known */
	uint64_t now_usec;    /* CLOCK_REALTIME */
} FenceRequest;

/* 0: it may. PROBLEM: it may not. */
int fence_judge(const FenceRequest *request, Problem **ret_problem);
