/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libvirt's handle of a domain, by UUID or by a person's word. */
#pragma once

#include "core/base/problem.h"
#include "host/libvirt/virt.h"

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
