/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a caller's word for a domain means, for who must know it before a job begins. */
#pragma once

#include "manager/types.h"

/*
 * The domain that a person's word means, asked of libvirt now. NULL: there is none, or libvirt does
 * not answer.
 */
typedef void (*ManagerFound)(const DomainId *id, void *userdata);
int manager_find_domain(Manager *m, const char *word, ManagerFound done, void *userdata);
