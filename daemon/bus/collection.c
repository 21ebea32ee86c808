/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/collection.h"

#include "util/bus-value.h"
#include "util/grow.h"
#include "util/log.h"
#include "util/text.h"

/* ---- views ---- */

static int append(sd_bus_message *m, const char *signature, const void *at);

static int append_list(sd_bus_message *m, const char *item, const void *list)
{
	const BusItems items = bus_items(list);
	size_t size = bus_value_size(item);
	int r = sd_bus_message_open_container(m, 'a', item);

	for (size_t i = 0; r >= 0 && i < items.n_items; i++)
		r = append(m, item, items.items + i * size);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_texts(sd_bus_message *m, const char *item, char *const *texts)
{
	int r = sd_bus_message_open_container(m, 'a', item);

	for (; r >= 0 && texts && *texts; texts++)
		r = sd_bus_message_append_basic(m, *item, *texts);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append_structure(sd_bus_message *m, const char *signature, const char *at)
{
	_cleanup_free_ char *members = xstrndup(signature + 1, strlen(signature) - 2);
	int r = sd_bus_message_open_container(m, 'r', members);
	size_t end = 0;

	for (const char *type = members; r >= 0 && *type; type++)
		r = append(m, type, at + bus_member_place(*type, &end));
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static int append(sd_bus_message *m, const char *signature, const void *at)
{
	if (bus_is_text(*signature))
		return sd_bus_message_append_basic(m, *signature, *(const char *const *)at);
	if (*signature == '(')
		return append_structure(m, signature, at);
	if (*signature != 'a')
		return sd_bus_message_append_basic(m, *signature, at);
	return bus_is_text(signature[1]) ? append_texts(m, signature + 1, *(char *const *const *)at)
					 : append_list(m, signature + 1, at);
}

int view_get(sd_bus *bus, const char *path, const char *interface, const char *property,
	     sd_bus_message *reply, void *userdata, sd_bus_error *error)
{
	/* Of the variant that is open. */
	_cleanup_free_ char *signature = xstrdup(sd_bus_message_get_signature(reply, false));

	return append(reply, signature, userdata);
}

/* The next property of a vtable, behind this row; NULL: there is none. */
static const sd_bus_vtable *next_property(const sd_bus_vtable *row)
{
	do
		row++;
	while (row->type != _SD_BUS_VTABLE_PROPERTY && row->type != _SD_BUS_VTABLE_END);
	return row->type == _SD_BUS_VTABLE_END ? NULL : row;
}

char **view_differences(const sd_bus_vtable *vtable, const void *before, const void *after)
{
	char **names = NULL;
	size_t n = 0;

	for (const sd_bus_vtable *row = vtable; (row = next_property(row));) {
		size_t offset = row->x.property.offset;

		if (!(row->flags & SD_BUS_VTABLE_PROPERTY_EMITS_CHANGE) ||
		    bus_value_equal(row->x.property.signature, (const char *)before + offset,
				    (const char *)after + offset))
			continue;
		names = xreallocarray(names, n + 2, sizeof(char *));
		names[n++] = (char *)row->x.property.member;
		names[n] = NULL;
	}
	return names;
}

void view_clear(const sd_bus_vtable *vtable, void *view)
{
	for (const sd_bus_vtable *row = vtable; (row = next_property(row));)
		bus_value_clear(row->x.property.signature, (char *)view + row->x.property.offset);
}

/* ---- sets of them ---- */

static const ShownObject *find(const ShownObjects *set, const char *path)
{
	return FIND(set->items, set->n, strcmp(it->path, path) == 0);
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

int collection_register(Collection *c)
{
	int r = sd_bus_add_fallback_vtable(c->bus, NULL, c->prefix, c->interface, c->vtable,
					   find_view, c);

	return r < 0 ? r : sd_bus_add_node_enumerator(c->bus, NULL, c->prefix, enumerate, c);
}

void *collection_append(const Collection *c, ShownObjects *set, char *path)
{
	void *view = xcalloc(1, c->view_size);

	*GROW(set->items, set->n) = (ShownObject){ .path = path, .view = view };
	return view;
}

static void free_set(const Collection *c, ShownObjects *set)
{
	for (size_t i = 0; i < set->n; i++) {
		view_clear(c->vtable, set->items[i].view);
		free(set->items[i].view);
		free(set->items[i].path);
	}
	free(set->items);
	*set = (ShownObjects){ 0 };
}

static void emit_changes(const Collection *c, const ShownObjects *before)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < before->n; i++) {
		const ShownObject *old = &before->items[i];
		const ShownObject *new = find(&c->shown, old->path);
		_cleanup_free_ char **names =
			new ? view_differences(c->vtable, old->view, new->view) : NULL;

		if (!new)
			r = sd_bus_emit_interfaces_removed(c->bus, old->path, c->interface, NULL);
		else if (names)
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
	free_set(c, &before);
}

void collection_set_told(Collection *c, bool told, bool catch_up)
{
	c->untold = !told;
	if (c->has_before && catch_up)
		emit_changes(c, &c->before);
	free_set(c, &c->before);
	c->has_before = false;
}
