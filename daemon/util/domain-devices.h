/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How a group's functions stand in a guest, for the daemon, which writes them into a domain, and
 * the client, which exports them: the aliases that mark them, and which function each becomes.
 */
#pragma once

#include "gpupass/cleanup.h"
#include "util/xalloc.h"

/*
 * libvirt silently drops an alias that does not start with "ua-", or that has characters other than
 * letters, digits, '_' and '-'. Group names may have a '.', so '_' is the escape character: "__" is
 * '_', "_d" is '.'. All other characters stand for themselves.
 */
#define DOMAIN_ALIAS_PREFIX "ua-gpupass-"
#define DOMAIN_ALIAS_PORT "port"

/* "ua-gpupass-<group>-", escaped. New. */
static inline _unused_ char *domain_alias_stem(const char *group)
{
	char *stem = xmalloc(strlen(DOMAIN_ALIAS_PREFIX) + 2 * strlen(group) + sizeof("-"));
	char *end;

	end = stpcpy(stem, DOMAIN_ALIAS_PREFIX);
	for (; *group; group++) {
		if (*group == '_' || *group == '.')
			*end++ = '_';
		*end++ = *group == '.' ? 'd' : *group;
	}
	*end++ = '-';
	*end = '\0';
	return stem;
}

/*
 * The guest's function of the index-th function of a GPU, which is `function` on the host. A guest
 * looks for other functions of a slot only if it has a function 0. So if the host's function 0 is
 * not among them (`first`, the lowest, is another), the functions are numbered from 0.
 */
static inline _unused_ unsigned domain_guest_function(unsigned first, unsigned function,
						      size_t index)
{
	return first == 0 ? function : (unsigned)index;
}
