/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "util/bus-value.h"

#include "gpupass/properties.h"
#include "util/text.h"

BusItems bus_items(const void *list)
{
	BusItems items;

	memcpy(&items, list, sizeof(items));
	return items;
}

bool bus_is_text(char type)
{
	return type == 's' || type == 'o';
}

static size_t basic_size(char type)
{
	switch (type) {
	case 's':
	case 'o':
		return sizeof(char *);
	case 'q':
		return sizeof(uint16_t);
	case 't':
		return sizeof(uint64_t);
	default: /* b, i, u */
		return sizeof(uint32_t);
	}
}

size_t bus_member_place(char type, size_t *end)
{
	size_t size = basic_size(type), place = (*end + size - 1) / size * size;

	*end = place + size;
	return place;
}

/* A structure is aligned as the text in it. */
size_t bus_value_size(const char *signature)
{
	size_t end = 0;

	if (*signature != '(')
		return basic_size(*signature);
	for (const char *type = signature + 1; *type != ')'; type++)
		bus_member_place(*type, &end);
	return bus_member_place('s', &end);
}

/* That the compiler sees it likewise. */
#define AT(Item, member, place) _Static_assert(offsetof(Item, member) == (place), "its place")
AT(BusFunction, iommu_group, 2 * sizeof(char *));
AT(BusFunction, class_code, 2 * sizeof(char *) + 4);
AT(BusStep, duration_usec, 3 * sizeof(char *));
AT(BusEvidence, links, sizeof(char *));
AT(BusEvidence, seen_at, 16);
AT(BusEvidence, source, 24);
AT(BusCompanion, vendor_id, 28);
AT(BusCompanion, device_id, 30);
AT(BusCompanion, vlan, 32);
_Static_assert(sizeof(BusFunction) == 24 && sizeof(BusStep) == 32 && sizeof(BusEvidence) == 32,
	       "their sizes");
_Static_assert(sizeof(BusCompanion) == 40, "its size");

static bool items_equal(const char *item, BusItems a, BusItems b)
{
	size_t size = bus_value_size(item);
	bool equal = a.n_items == b.n_items;

	for (size_t i = 0; equal && i < a.n_items; i++)
		equal = bus_value_equal(item, a.items + i * size, b.items + i * size);
	return equal;
}

bool bus_value_equal(const char *signature, const void *a, const void *b)
{
	size_t end = 0;
	bool equal = true;

	if (bus_is_text(*signature))
		return str_equal(*(char *const *)a, *(char *const *)b);
	if (*signature == 'a' && bus_is_text(signature[1]))
		return strv_equal(*(char *const *const *)a, *(char *const *const *)b);
	if (*signature == 'a')
		return items_equal(signature + 1, bus_items(a), bus_items(b));
	if (*signature != '(')
		return memcmp(a, b, basic_size(*signature)) == 0;
	for (const char *type = signature + 1; equal && *type != ')'; type++) {
		size_t place = bus_member_place(*type, &end);

		equal = bus_value_equal(type, (const char *)a + place, (const char *)b + place);
	}
	return equal;
}

static void items_clear(const char *item, void *list)
{
	const BusItems items = bus_items(list);

	for (size_t i = 0; i < items.n_items; i++)
		bus_value_clear(item, items.items + i * bus_value_size(item));
	free(items.items);
	memset(list, 0, sizeof(items));
}

void bus_value_clear(const char *signature, void *at)
{
	size_t end = 0;

	if (bus_is_text(*signature)) {
		free(*(char **)at);
		*(char **)at = NULL;
	} else if (*signature == 'a' && bus_is_text(signature[1])) {
		*(char ***)at = strv_free(*(char ***)at);
	} else if (*signature == 'a') {
		items_clear(signature + 1, at);
	} else if (*signature == '(') {
		for (const char *type = signature + 1; *type != ')'; type++)
			bus_value_clear(type, (char *)at + bus_member_place(*type, &end));
	}
}
