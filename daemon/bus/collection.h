/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All objects of one kind on the bus. What is shown is a set of views; replacing the set emits
 * InterfacesAdded, InterfacesRemoved and PropertiesChanged for exactly what differs, while that is
 * told.
 */
#pragma once

#include "bus/field.h"

typedef struct ShownObject {
	char *path;
	void *view;
} ShownObject;

typedef struct ShownObjects {
	ShownObject *items;
	size_t n;
} ShownObjects;

typedef struct Collection {
	sd_bus *bus;	    /* borrowed */
	const char *prefix; /* of the objects' paths */
	const char *interface;
	const Field *fields;
	size_t n_fields;
	size_t view_size;
	ShownObjects shown;
	bool untold;	     /* nobody is told what changes */
	bool has_before;     /* and something has: */
	ShownObjects before; /* what was shown then */
} Collection;

/* Registers vtable and enumerator below collection->prefix. The collection must stay in place. */
int collection_register(Collection *collection, const sd_bus_vtable *vtable);

/* Appends a new zeroed view to a set in the making. Takes the path. */
void *collection_append(const Collection *collection, ShownObjects *set, char *path);

/* Shows this set from now on; takes it. */
void collection_replace(Collection *collection, ShownObjects *set);

/* told false: nobody is told what changes, until true. catch_up: also of what changed meanwhile. */
void collection_set_told(Collection *collection, bool told, bool catch_up);

void *collection_find(const Collection *collection, const char *path);
/* Frees what it shows. */
void collection_clear(Collection *collection);
void collection_free_set(const Collection *collection, ShownObjects *set);
