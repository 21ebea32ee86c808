/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the domain that a caller's word means, before a job begins. */
#pragma once

#include "manager/types.h"

/*
 * Asks libvirt for the domain that a person's word means. NULL: there is no such domain, or libvirt
 * does not answer.
 */
typedef void (*ManagerFound)(const DomainId *id, void *userdata);
int manager_find_domain(Manager *m, const char *word, ManagerFound done, void *userdata);
