/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/collection.h"

#include <string.h>

#include "util/grow.h"
#include "util/log.h"
#include "util/text.h"

static const ShownObject *find(const ShownObjects *set, const char *path)
{
	for (size_t i = 0; i < set->n; i++)
		if (strcmp(set->items[i].path, path) == 0)
			return &set->items[i];
	return NULL;
}

void *collection_find(const Collection *c, const char *path)
{
	const ShownObject *object = find(&c->shown, path);

	return object ? object->view : NULL;
}

static int find_view(sd_bus *bus, const char *path, const char *interface, void *userdata,
		     void **ret_found, sd_bus_error *error)
{
	*ret_found = collection_find(userdata, path);
	return *ret_found != NULL;
}

static int enumerate(sd_bus *bus, const char *prefix, void *userdata, char ***ret_nodes,
		     sd_bus_error *error)
{
	const Collection *c = userdata;

	for (size_t i = 0; i < c->shown.n; i++)
		strv_append(ret_nodes, c->shown.items[i].path);
	return 0;
}

int collection_register(Collection *c, const sd_bus_vtable *vtable)
{
	int r = sd_bus_add_fallback_vtable(c->bus, NULL, c->prefix, c->interface, vtable, find_view,
					   c);

	return r < 0 ? r : sd_bus_add_node_enumerator(c->bus, NULL, c->prefix, enumerate, c);
}

void *collection_append(const Collection *c, ShownObjects *set, char *path)
{
	void *view = xcalloc(1, c->view_size);

	*GROW(set->items, set->n) = (ShownObject){ .path = path, .view = view };
	return view;
}

void collection_free_set(const Collection *c, ShownObjects *set)
{
	for (size_t i = 0; i < set->n; i++) {
		fields_clear(c->fields, c->n_fields, set->items[i].view);
		free(set->items[i].view);
		free(set->items[i].path);
	}
	free(set->items);
	*set = (ShownObjects){ 0 };
}

/* Names of the properties that differ; room for n_fields + 1. */
static size_t compare(const Collection *c, const void *before, const void *after, char **names)
{
	size_t n = 0;

	for (size_t i = 0; i < c->n_fields; i++)
		if (c->fields[i].changes && !field_equal(&c->fields[i], before, after))
			names[n++] = (char *)c->fields[i].name;
	names[n] = NULL;
	return n;
}

static void emit_changes(const Collection *c, const ShownObjects *before)
{
	_cleanup_free_ char **names = xcalloc(c->n_fields + 1, sizeof(char *));
	int r = 0;

	for (size_t i = 0; r >= 0 && i < before->n; i++) {
		const ShownObject *old = &before->items[i];
		const ShownObject *new = find(&c->shown, old->path);

		if (!new)
			r = sd_bus_emit_interfaces_removed(c->bus, old->path, c->interface, NULL);
		else if (compare(c, old->view, new->view, names) > 0)
			r = sd_bus_emit_properties_changed_strv(c->bus, old->path, c->interface,
								names);
	}
	for (size_t i = 0; r >= 0 && i < c->shown.n; i++)
		if (!find(before, c->shown.items[i].path))
			r = sd_bus_emit_interfaces_added(c->bus, c->shown.items[i].path,
							 c->interface, NULL);
	if (r < 0 && r != -ENOTCONN)
		log_warning("cannot tell the bus what changed: %s", strerror(-r));
}

void collection_replace(Collection *c, ShownObjects *set)
{
	ShownObjects before = c->shown;

	c->shown = *set;
	*set = (ShownObjects){ 0 };
	if (c->untold && !c->has_before) {
		c->has_before = true;
		c->before = before;
		return;
	}
	if (!c->untold)
		emit_changes(c, &before);
	collection_free_set(c, &before);
}

void collection_set_told(Collection *c, bool told, bool catch_up)
{
	c->untold = !told;
	if (c->has_before && catch_up)
		emit_changes(c, &c->before);
	collection_free_set(c, &c->before);
	c->has_before = false;
}

void collection_clear(Collection *c)
{
	collection_free_set(c, &c->shown);
	collection_free_set(c, &c->before);
}
