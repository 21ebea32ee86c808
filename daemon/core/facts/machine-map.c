/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * /etc/pve/mapping/pci.cfg, a "section config" of Proxmox VE:
 *   pci: NAME
 *   <TAB>map id=10de:2204,iommugroup=21,node=pve1,path=0000:41:00
 * A mapping has a line "map" for each device of each node. Those of one node are alternatives.
 */
#include <errno.h>
#include <string.h>

#include "core/facts/machine.h"
#include "util/text.h"

/* Of Proxmox VE's "pve-configid". */
#define ID_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
#define MAPS_MAX 1024
#define PATHS_MAX 64

/* 1: it makes the file useless. */
static int give_up(MachineMaps *maps, const char *why)
{
	maps->fault = strdup(why);
	return maps->fault ? 1 : -ENOMEM;
}

static int begin_map(MachineMaps *maps, const char *name)
{
	MachineMap *bigger;
	char *copy;

	if (!*name || name[strspn(name, ID_CHARACTERS)])
		return give_up(maps, "has a mapping whose name is none");
	if (maps->n_items == MAPS_MAX)
		return give_up(maps, "has too many mappings");
	if (machine_maps_find(maps, name))
		return give_up(maps, "has a mapping twice");
	copy = strdup(name);
	bigger = reallocarray(maps->items, maps->n_items + 1, sizeof(*bigger));
	if (bigger)
		maps->items = bigger;
	if (!copy || !bigger) {
		free(copy);
		return -ENOMEM;
	}
	bigger[maps->n_items++] = (MachineMap){ .name = copy };
	return 0;
}

/* "id=10de:2204,node=pve1,path=0000:41:00": the value of that key, owned by the parts. */
static const char *part_of(char *const *parts, const char *key)
{
	size_t length = strlen(key);

	for (; parts && *parts; parts++)
		if (strncmp(*parts, key, length) == 0 && (*parts)[length] == '=')
			return *parts + length + 1;
	return NULL;
}

static int read_map(MachineMaps *maps, const char *value, const char *node)
{
	MachineMap *map = &maps->items[maps->n_items - 1];
	_cleanup_strv_ char **parts = NULL;
	int r = strv_split(value, ",", &parts);
	const char *of = part_of(parts, "node"), *path = part_of(parts, "path");

	if (r < 0)
		return r;
	if (!of || !path)
		return give_up(maps, "has a line that is not understood");
	if (strcmp(of, node) != 0)
		return 0;
	if (strv_length(map->paths) == PATHS_MAX)
		return give_up(maps, "has too many devices in a mapping");
	return strv_append(&map->paths, path);
}

static int read_line(MachineMaps *maps, char *line, const char *node)
{
	bool within = *line == ' ' || *line == '\t';
	char *word = str_strip(line), *value = word + strcspn(word, " \t:");

	if (*word == '\0' || *word == '#')
		return 0;
	if (!within && str_starts_with(word, "pci:"))
		return begin_map(maps, str_strip(word + strlen("pci:")));
	if (!within || maps->n_items == 0)
		return give_up(maps, "has a line that is not understood");
	if (*value != '\0')
		*value++ = '\0';
	return strcmp(word, "map") == 0 ? read_map(maps, str_strip(value), node) : 0;
}

int machine_maps_parse(const char *text, size_t size, const char *node, MachineMaps *ret)
{
	_cleanup_free_ char *copy = NULL;
	MachineMaps maps = { 0 };
	char *next, *line;
	int r = 0;

	if (size > MACHINE_FILE_MAX || strlen(text) != size)
		r = give_up(&maps, "is too big, or has a NUL byte");
	copy = strdup(text);
	if (!copy)
		r = -ENOMEM;
	next = copy;
	while (r == 0 && (line = strsep(&next, "\n")))
		r = read_line(&maps, line, node);
	if (r < 0) {
		machine_maps_clear(&maps);
		return r;
	}
	*ret = maps;
	return 0;
}

const MachineMap *machine_maps_find(const MachineMaps *maps, const char *name)
{
	for (size_t i = 0; i < maps->n_items; i++)
		if (strcmp(maps->items[i].name, name) == 0)
			return &maps->items[i];
	return NULL;
}

void machine_maps_clear(MachineMaps *maps)
{
	for (size_t i = 0; i < maps->n_items; i++) {
		free(maps->items[i].name);
		strv_free(maps->items[i].paths);
	}
	free(maps->items);
	free(maps->fault);
	*maps = (MachineMaps){ 0 };
}
