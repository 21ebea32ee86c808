/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The user aliases that mark what gpupass has added to a domain: ua-gpupass-<group>-<n> on
 * hostdevs, ua-gpupass-<group>-port<n> on root ports. util/domain-devices.h has their form.
 */
#pragma once

#include "core/domain/xml-tree.h"
#include "util/domain-devices.h"

#define ALIAS_PREFIX DOMAIN_ALIAS_PREFIX
#define ALIAS_PORT DOMAIN_ALIAS_PORT

/* `alias`, which may be NULL, begins with this group's stem. */
bool alias_is_of_group(const char *alias, const char *group);
/* `alias`, which may be NULL, is this stem, then `kind`, then a number. */
bool alias_is(const char *alias, const char *stem, const char *kind);
/* The length of the stem of another group than this one's that `alias`, or NULL, has; 0: none. */
size_t alias_other_stem(const char *alias, const char *stem);

/* Gives a device that has none the alias <stem><kind><number>. */
void xml_mark(xmlNode *device, const char *stem, const char *kind, unsigned long number);
/*
 * The first number from `from` on that no alias has: they are unique in a domain, and an earlier
 * assignment may have left one, on a root port.
 */
unsigned long xml_free_mark(const xmlNode *devices, const char *stem, const char *kind,
			    unsigned long from);
