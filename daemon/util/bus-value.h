/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of D-Bus as gpupass/properties.h has them in C, by their signature: a text is a char *, a
 * list of texts ends with NULL, every other list is a BusItems of its type, and a structure, which
 * has a text, lies as the compiler lays it out.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* What all lists look like; copied, because none of them has this type. */
typedef struct BusItems {
	char *items;
	size_t n_items;
} BusItems;

BusItems bus_items(const void *list);
bool bus_is_text(char type);
/* Of a number, a text or a structure. */
size_t bus_value_size(const char *signature);
/* Where the next member of a structure is, of this type; *end: of the one before, 0 at first. */
size_t bus_member_place(char type, size_t *end);
bool bus_value_equal(const char *signature, const void *a, const void *b);
/* Frees what it owns, which is nothing then; a number stays. */
void bus_value_clear(const char *signature, void *at);
