/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /etc/pve/mapping/pci.cfg, as parse_config() of PVE::SectionConfig reads it, with the header and
 * the map_fmt of PVE::Mapping::PCI:
 *   NAME
 *   <TAB>map id=10de:2204,iommugroup=21,node=pve1,path=0000:41:00
 * A mapping has a line "map" for each device of each node. Those of one node are alternatives. An
 * empty line ends a mapping, and what is not understood is left out. Two things are taken that
 * Proxmox VE does not take, since people write them: "pci: NAME", and a header without an empty
 * line before it. There a machine with such a mapping does not start, and one with the mapping in
 * front of it gets the first of the devices of both that is free.
 */

#include "core/facts/machine.h"
#include "util/grow.h"
#include "util/text.h"

#define MAPS_MAX 1024
#define PATHS_MAX 64
#define NO_MAP SIZE_MAX
#define IDS_LENGTH 9 /* 10de:2204 */

typedef struct MapParse {
	MachineMaps *maps;
	const char *node;
	size_t current; /* of the mappings; NO_MAP: lines are of none that counts */
} MapParse;

/* 1: it makes the file useless. */
static int give_up(MachineMaps *maps, const char *why)
{
	maps->fault = xstrdup(why);
	return 1;
}

MachineMap *machine_maps_find(const MachineMaps *maps, const char *name)
{
	return FIND(maps->items, maps->n_items, strcmp(it->name, name) == 0);
}

/* Of two with one name the last counts; one without an empty line in front goes on. */
static void begin_again(MapParse *p, MachineMap *map)
{
	if (p->current == NO_MAP) {
		map->paths = strv_free(map->paths);
		map->doubtful = false;
	}
	p->current = (size_t)(map - p->maps->items);
}

static int append(MapParse *p, const char *name)
{
	MachineMaps *maps = p->maps;

	if (maps->n_items == MAPS_MAX)
		return give_up(maps, "has too many mappings");
	p->current = maps->n_items;
	GROW(maps->items, maps->n_items)->name = xstrdup(name);
	return 0;
}

/* The mapping in front surely has a first device, which Proxmox VE takes if it is free. */
static bool has_first(const MapParse *p)
{
	const MachineMap *map = &p->maps->items[p->current];

	return map->paths && !map->doubtful;
}

static int begin_map(MapParse *p, const char *name)
{
	MachineMap *map = machine_maps_find(p->maps, name);

	if (!machine_is_config_id(name))
		return 0; /* a line that counts for nothing, wherever it stands */
	if (map)
		begin_again(p, map);
	else if (p->current >= p->maps->n_items || has_first(p))
		return append(p, name);
	return 0;
}

/* ---- map lines ---- */

enum { KEY_ID, KEY_NODE, KEY_PATH, KEY_SUBSYSTEM_ID, KEY_IOMMU_GROUP, KEY_DESCRIPTION, N_KEYS };

static int key_of(const char *key)
{
	static const char *const keys[N_KEYS] = {
		[KEY_ID] = "id",
		[KEY_NODE] = "node",
		[KEY_PATH] = "path",
		[KEY_SUBSYSTEM_ID] = "subsystem-id",
		[KEY_IOMMU_GROUP] = "iommugroup",
		[KEY_DESCRIPTION] = "description",
	};
	int i = 0;

	while (i < N_KEYS && strcmp(keys[i], key) != 0)
		i++;
	return i;
}

static bool are_ids(const char *text)
{
	return !text || (strlen(text) == IDS_LENGTH && text[4] == ':' &&
			 strspn(text, MACHINE_HEX "ABCDEF") == 4 &&
			 strspn(text + 5, MACHINE_HEX "ABCDEF") == 4);
}

/* 1: it is of this node. 0: it is not, or Proxmox VE leaves it out. */
static int read_parts(const MapParse *p, char *value, const char *of[N_KEYS], bool *ret_doubtful)
{
	char *rest = value;
	const char *key, *text;
	int r;

	while ((r = machine_property_next(&rest, &key, &text)) > 0) {
		int k = key ? key_of(key) : N_KEYS;

		if (!key || (k < N_KEYS && of[k]))
			return 0;
		if (k == N_KEYS)
			*ret_doubtful = true;
		else
			of[k] = text;
	}
	return r == 0 && of[KEY_ID] && of[KEY_NODE] && of[KEY_PATH] && are_ids(of[KEY_ID]) &&
	       are_ids(of[KEY_SUBSYSTEM_ID]) &&
	       (!of[KEY_IOMMU_GROUP] ||
		of[KEY_IOMMU_GROUP][strspn(of[KEY_IOMMU_GROUP], "0123456789")] == '\0') &&
	       strcmp(of[KEY_NODE], p->node) == 0;
}

static int read_map(const MapParse *p, char *value)
{
	MachineMap *map = &p->maps->items[p->current];
	const char *of[N_KEYS] = { 0 };
	bool doubtful = false;

	if (!read_parts(p, value, of, &doubtful))
		return 0;
	if (!machine_is_host(of[KEY_PATH], true)) {
		map->doubtful = true;
		return 0;
	}
	if (strv_length(map->paths) == PATHS_MAX)
		return give_up(p->maps, "has too many devices in a mapping");
	map->doubtful |= doubtful;
	strv_append(&map->paths, of[KEY_PATH]);
	return 0;
}

/* ---- lines ---- */

/* NULL: it is no header. */
static char *header_of(char *line)
{
	static const char type[] = "pci:";
	char *name = line, *end;

	if (str_starts_with(line, type) && strchr(MACHINE_BLANKS, line[strlen(type)]))
		name += strlen(type) + strspn(line + strlen(type), MACHINE_BLANKS);
	end = name + strcspn(name, MACHINE_BLANKS);
	if (end == name || end[strspn(end, MACHINE_BLANKS)] != '\0')
		return NULL;
	*end = '\0';
	return name;
}

static int read_line(MapParse *p, char *line)
{
	char *word = line + strspn(line, MACHINE_BLANKS), *value = NULL, *name;

	if (*word == '#')
		return 0;
	if (*line == '\0') {
		p->current = NO_MAP;
		return 0;
	}
	if (word == line) {
		name = header_of(line);
		return name ? begin_map(p, name) : 0;
	}
	value = word + strcspn(word, MACHINE_BLANKS);
	if (p->current >= p->maps->n_items || *value == '\0')
		return 0;
	*value++ = '\0';
	return strcmp(word, "map") == 0 ? read_map(p, str_strip(value)) : 0;
}

MachineMaps machine_maps_parse(const char *text, size_t size, const char *node)
{
	_cleanup_free_ char *copy = xstrdup(text);
	MachineMaps maps = { 0 };
	MapParse p = { .maps = &maps, .node = node, .current = NO_MAP };
	char *next = copy, *line;
	int r = 0;

	if (size > MACHINE_FILE_MAX || strlen(text) != size)
		r = give_up(&maps, "is too big, or has a NUL byte");
	while (r == 0 && (line = strsep(&next, "\n")))
		r = read_line(&p, line);
	return maps;
}
