/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Virtual machines of Proxmox VE as domains. */
#pragma once

#include "core/domain/use.h"
#include "core/facts/machine.h"

/*
 * A machine has no UUID that is its own (smbios1 may be chosen), so that one is made of its number
 * and the time when it was made: a machine that is made anew under a number is another tenant.
 */
DomainUses *machines_as_uses(const Machines *machines);
/* By a person's word, which is its number. NULL: there is none. */
const DomainUse *machine_use_find(const DomainUses *uses, const char *word);
