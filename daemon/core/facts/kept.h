/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Kept groups: those that stay on vfio-pci while no domain has them, and are bound at boot. Each is
 * a file of kept.d with the address, ids and serial number of each function, so that another board
 * at the address is not bound. A kept group is an Assignment without a domain.
 */
#pragma once

#include "core/facts/assignment.h"

extern const RecordKind kept_kind;
/* What a function is, without what it was on. */
DECLARE_JSON_OF(AssignedFunction, kept_function_members, bdf, vendor, device, subsystem_vendor,
		subsystem_device, serial_number, path)

/* As a record's text, and back: record_parse(). The document alone has no checksum. */
char *kept_to_json(const Assignment *kept);
json_t *kept_document(const Assignment *kept);
int kept_from_json(const char *text, size_t size, Assignment **ret, char **ret_message);

/* "0000:41:00.0.json", by the first function. */
char *kept_file_name(const Assignment *kept);

/* Adds it to the list, and takes it over. */
void kept_add(Assignments *all, Assignment *kept);

/* The one that names this function; NULL: none. */
const Assignment *kept_find_function(const Assignments *all, const Bdf *bdf);
/* The one that has exactly these functions, of the same ids; NULL: none. */
const Assignment *kept_find(const Assignments *all, const PciFunction *const *functions, size_t n);
/*
 * What is stored says all that is wanted: the group and its reason, and its functions with their
 * ids and serial numbers. It may have a serial number that is not known now.
 */
bool kept_covers(const Assignment *stored, const Assignment *wanted);
/* Some stored one covers it, or is what a person asked for, of some of its functions. */
bool kept_is_served(const Assignments *stored, const Assignment *wanted);
bool kept_shares_function(const Assignment *a, const Assignment *b);
