/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One call's hold on Virt and on its connection, the domain that it is about, libvirt's errors as
 * problems (libvirt keeps the last error of each thread), and helpers of this room's threads.
 */
#pragma once

#include "core/base/problem.h"
#include "host/libvirt/virt.h"

/*
 * Takes the connection. Without one it answers LibvirtUnavailable at once. At start-up it first
 * waits, for a bounded time, for the first attempt to connect.
 */
int virt_call_begin(Virt *virt, VirtCall *ret, Problem **ret_problem);
void virt_call_end(VirtCall *call);
#define _cleanup_call_ _cleanup_(virt_call_end)

void virt_hold(Virt *virt);
void virt_release(Virt *virt);

/*
 * Waits on `changed`, with `lock` held, until the deadline at the latest (CLOCK_MONOTONIC;
 * UINT64_MAX: no deadline). May wake without a reason, as condition variables do.
 */
void virt_wait(Virt *virt, uint64_t deadline_usec);

/*
 * Begins a call about one domain: virt_call_begin(), then the domain of this UUID. 0, NoSuchDomain
 * or LibvirtUnavailable. The caller ends the call in any case (_cleanup_call_) and frees *ret.
 */
int virt_call_begin_on(Virt *virt, const char *uuid, VirtCall *ret_call, virDomainPtr *ret,
		       Problem **ret_problem);

/* Of a call that has begun: 0, or NoSuchDomain. */
int virt_lookup_uuid(const VirtCall *call, const char *uuid, virDomainPtr *ret,
		     Problem **ret_problem);

/*
 * A UUID or a name. NULL: there is no such domain; or libvirt could not look, and *ret_failed is
 * set.
 */
virDomainPtr virt_lookup_word(virConnectPtr conn, const char *text, bool *ret_failed);

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
