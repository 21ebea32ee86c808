/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libvirt's errors as problems. libvirt keeps the last error of each thread. */
#pragma once

#include "core/base/problem.h"
#include "host/libvirt/virt.h"

/* Why this thread's last call to libvirt failed: LibvirtUnavailable, or `code` with this reason. */
int virt_problem(const VirtCall *call, Problem **ret_problem, GpupassError code, const char *reason,
		 ...) _printf_(4, 5);
int virt_unavailable(const char *uri, const char *why, Problem **ret_problem);
int virt_no_such_domain(const char *text, Problem **ret_problem);

/*
 * After a failed call about a domain, which may have vanished: NoSuchDomain, or as virt_problem().
 */
int virt_read_problem(const VirtCall *call, const char *name, Problem **ret_problem);

/* This thread's last error says that the domain does not exist. */
static inline _unused_ bool virt_error_is_no_domain(void)
{
	const virError *error = virGetLastError();

	return error && error->code == VIR_ERR_NO_DOMAIN;
}
