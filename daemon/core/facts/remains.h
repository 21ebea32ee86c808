/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What can be read of a state file that cannot be read as it should: torn, flipped, or of a version
 * that this one does not know. It is only ever used to keep apart what the file may be about, so more
 * than it says does no harm, and what is left out does.
 */
#pragma once

#include <jansson.h>

#include "core/base/bdf.h"
#include "gpupass/cleanup.h"

#define REMAINS_FUNCTIONS_MAX 64

/* Owned; n 0: which functions it names is not known. */
typedef struct Remains {
	Bdf *functions;
	size_t n_functions;
	char *group;	   /* a group's name; NULL: none that can be read */
	char *domain_uuid; /* likewise */
} Remains;

/*
 * Damaged bytes: every PCI address in the kernel's own form that stands by itself. Too many to be of
 * one group count as none.
 */
int remains_scan(const char *text, size_t size, Remains *ret);

/*
 * An object of another version: `functions` must be a list of addresses, or of objects with one as
 * "bdf" or "address", each of which can be read; group and domain as their members say. A list with
 * one that cannot be read is as good as none.
 */
int remains_of_object(const json_t *object, Remains *ret);

/* A whole document of a schema that begins with this, whatever its version. -EBADMSG: it is none. */
int remains_of_document(const char *text, size_t size, const char *schema_base, Remains *ret);

void remains_clear(Remains *remains);
