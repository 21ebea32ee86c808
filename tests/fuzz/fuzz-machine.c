/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What whoever may configure a machine of Proxmox VE can write. The first line of an input is how
 * many bytes of it are the mappings; the rest is the machine's file. Whatever is read must be
 * within its bounds, and a function that the file gives away is seen, or the machine counts as one
 * that may have any.
 */
#include "core/facts/machine.h"
#include "fuzz.h"
#include "util/text.h"

#define ADDED "hostpci15: 0000:fe:1f.7\n"

static void check_device(const MachineDevice *device)
{
	EXPECT(device->bdf.device < 32 && device->bdf.function < 8);
}

static void check_machine(const Machine *m)
{
	EXPECT(m->vmid == 101 && !m->running);
	EXPECT(m->n_devices <= MACHINE_DEVICES_MAX);
	for (size_t i = 0; i < m->n_devices; i++)
		check_device(&m->devices[i]);
	for (const char *c = m->name; c && *c; c++)
		EXPECT(*c > ' ' && *c < 0x7f && !strchr("/'\"<>&;", *c));
}

static bool has_added(const Machine *m)
{
	const Bdf added = { .bus = 0xfe, .device = 0x1f, .function = 7 };

	for (size_t i = 0; i < m->n_devices; i++)
		if (bdf_equal(&m->devices[i].bdf, &added))
			return true;
	return false;
}

/* With a NUL behind it, as a file is read. */
static char *text_of(const char *bytes, size_t size)
{
	char *text = malloc(size + 1);

	EXPECT(text);
	if (size > 0)
		memcpy(text, bytes, size);
	text[size] = '\0';
	return text;
}

/* The same file with one more device, unless a line below replaces it. A template never starts. */
static void check_added(const char *text, size_t size, const MachineMaps *maps)
{
	_cleanup_free_ char *more = malloc(strlen(ADDED) + size + 1);
	Machine m = { 0 };

	if (strstr(text, "template") || strstr(text, "hostpci15"))
		return;
	EXPECT(more);
	memcpy(more, ADDED, strlen(ADDED));
	memcpy(more + strlen(ADDED), text, size + 1);
	m = machine_parse(101, more, strlen(ADDED) + size, maps);
	EXPECT(m.unread || has_added(&m));
	machine_clear(&m);
}

static void check_maps(const MachineMaps *maps)
{
	for (size_t i = 0; i < maps->n_items; i++) {
		EXPECT(maps->items[i].name && *maps->items[i].name);
		EXPECT(machine_maps_find(maps, maps->items[i].name));
	}
	EXPECT(!machine_maps_find(maps, ""));
}

void fuzz_one(const char *bytes, size_t size, const char *text)
{
	const char *line = size > 0 ? memchr(bytes, '\n', size) : NULL;
	size_t head = line ? (size_t)(line - bytes) + 1 : 0;
	unsigned long long n_maps = line ? strtoull(text, NULL, 10) : 0;
	_cleanup_free_ char *of_maps = NULL, *of_machine = NULL;
	MachineMaps maps = { 0 };
	Machine m = { 0 };

	if (n_maps > size - head)
		n_maps = size - head;
	of_maps = text_of(bytes + head, n_maps);
	of_machine = text_of(bytes + head + n_maps, size - head - n_maps);
	maps = machine_maps_parse(of_maps, n_maps, "pve1");
	check_maps(&maps);
	m = machine_parse(101, of_machine, size - head - n_maps, &maps);
	check_machine(&m);
	machine_clear(&m);
	check_added(of_machine, size - head - n_maps, &maps);
	machine_maps_clear(&maps);
	(void)machine_vmid(text);
}
