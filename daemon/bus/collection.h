/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All objects of one kind on the bus. What is shown is a set of views, plain structs whose members
 * are the properties of their vtable; replacing the set emits InterfacesAdded, InterfacesRemoved
 * and PropertiesChanged for exactly what differs, while that is told.
 */
#pragma once

#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "gpupass/properties.h"

/* Makes a row of a vtable, of View, of a row of gpupass/interfaces.h. */
#define VIEW_PROPERTY(View, Name, TYPE, member, MODE, NEED)                                        \
	SD_BUS_PROPERTY(Name, PROPERTY_SIGNATURE_##TYPE, view_get, offsetof(View, member),         \
			VIEW_FLAG_##MODE),
#define VIEW_FLAG_CONST SD_BUS_VTABLE_PROPERTY_CONST
#define VIEW_FLAG_CHANGES SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE

/* Of all types. */
int view_get(sd_bus *bus, const char *path, const char *interface, const char *property,
	     sd_bus_message *reply, void *userdata, sd_bus_error *error);
/*
 * The names of the properties that differ and may, with NULL behind them. The list is to be freed,
 * the names are not. NULL: none.
 */
char **view_differences(const sd_bus_vtable *vtable, const void *before, const void *after);
/* Frees what the members hold, not the view itself. */
void view_clear(const sd_bus_vtable *vtable, void *view);

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
	const sd_bus_vtable *vtable;
	size_t view_size;
	ShownObjects shown;
	bool untold;	     /* nobody is told what changes */
	bool has_before;     /* and something has: */
	ShownObjects before; /* what was shown then */
} Collection;

/* Registers vtable and enumerator below collection->prefix. The collection must stay in place. */
int collection_register(Collection *collection);

/* Appends a new zeroed view to a set in the making. Takes the path. */
void *collection_append(const Collection *collection, ShownObjects *set, char *path);

/* Shows this set from now on; takes it. */
void collection_replace(Collection *collection, ShownObjects *set);

/* told false: nobody is told what changes, until true. catch_up: also of what changed meanwhile. */
void collection_set_told(Collection *collection, bool told, bool catch_up);

void *collection_find(const Collection *collection, const char *path);
