/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading what domains use. Who may go by what was read before: known.c. */
#pragma once

#include "core/domain/use.h"
#include "host/libvirt/call.h"

int virt_uses_read_all(const VirtCall *call, DomainUses **ret, Problem **ret_problem);
/* Appends it to `into`, which has room for one more; nothing if there is no such domain. */
int virt_uses_read_one(const VirtCall *call, const char *uuid, DomainUses *into,
		       Problem **ret_problem);
