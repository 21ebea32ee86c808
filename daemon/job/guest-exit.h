/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libvirt reports a killed guest as shut off before its process is gone: the kernel first frees the
 * process's memory, and only then closes its vfio files.
 */
#pragma once

#include "host/host/questions.h"

/* The first process that has a function open through vfio; NULL: none. */
const Holder *guest_holder(const Inspection *inspection);

/*
 * No domain runs with one of them, by what is known: its events tell when one does. false without
 * libvirt: then we do not know.
 */
bool guest_runs_nowhere(Host *host, const Bdf *functions, size_t n);

/*
 * host_inspect_marked() of the functions. While a function is open through vfio and no domain runs with
 * it, inspects again, for at most ten seconds. A function that is still open then is not held by
 * libvirt.
 */
int inspect_past_exit(Host *host, const Tenants *tenants, const Bdf *functions, size_t n,
		      InspectConfig config, Inspection **ret, Problem **ret_problem);
