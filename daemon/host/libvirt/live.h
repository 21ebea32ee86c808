/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a running domain has of a function, as its live XML says. */
#pragma once

#include "core/base/problem.h"
#include "host/libvirt/virt.h"
#include "util/bdf.h"

/* All false for a domain that does not run, or no longer exists. */
typedef struct LiveDevice {
	bool running;
	bool present;
	bool acpi;   /* the guest can hear of a hotplug */
	char *alias; /* libvirt's name of the device; NULL: none */
} LiveDevice;

int virt_live_device(const VirtCall *call, virDomainPtr domain, const Bdf *function,
		     LiveDevice *ret, Problem **ret_problem);
void live_device_clear(LiveDevice *device);
