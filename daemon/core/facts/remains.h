/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can still be read of a state file that is torn, flipped, or of an unknown version. It only
 * serves to block what the file may be about. So too many addresses do no harm, while a missing one
 * does.
 */
#pragma once

#include <jansson.h>

#include "core/base/bdf.h"
#include "core/base/limits.h"
#include "gpupass/cleanup.h"

#define REMAINS_FUNCTIONS_MAX GROUP_FUNCTIONS_MAX

/* Owned. n 0: the functions that it names are not known. */
typedef struct Remains {
	Bdf *functions;
	size_t n_functions;
	char *group;	   /* the group's name; NULL: none can be read */
	char *domain_uuid; /* likewise */
} Remains;

/*
 * For damaged bytes: finds every PCI address in the kernel's own form that is a word of its own.
 * More than one group can have count as none.
 */
Remains remains_scan(const char *text, size_t size);

/*
 * For an object of another version. `functions` must be a list of addresses, or of objects with an
 * address as "bdf" or "address". If one of them cannot be read, the whole list counts as
 * unreadable. Group and domain come from the members of these names.
 */
Remains remains_of_object(const json_t *object);

void remains_clear(Remains *remains);
