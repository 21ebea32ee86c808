/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libvirt's handle of a domain, by UUID or by a person's word. */
#pragma once

#include "core/base/problem.h"
#include "host/libvirt/virt.h"

/* 0, NoSuchDomain or LibvirtUnavailable. */
int virt_lookup_uuid(const VirtCall *call, const char *uuid, virDomainPtr *ret,
		     Problem **ret_problem);

/*
 * A UUID or a name. NULL: there is no such domain; or libvirt could not look, and *ret_failed is
 * set.
 */
virDomainPtr virt_lookup_word(virConnectPtr conn, const char *text, bool *ret_failed);
