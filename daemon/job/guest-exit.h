/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A guest that was killed is shut off for libvirt before its process is gone: the kernel gives back
 * its memory first, and only then closes what it had open through vfio.
 */
#pragma once

#include "host/host/host.h"

/*
 * HostOps.inspect of the functions. While one is open through vfio and no domain runs with it, it is
 * done again, for at most ten seconds: what is then still open is not libvirt's.
 */
int inspect_past_exit(Host *host, const Bdf *functions, size_t n, InspectConfig config,
		      Inspection **ret);
