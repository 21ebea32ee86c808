/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Not through libpci, which would keep an entry for each of the 36,000 names in the list: 2 MiB,
 * most of what the daemon's heap had, where NVIDIA's names are 60 KiB.
 */
#include "host/scan/pci-names.h"

#include <fcntl.h>

#include "core/pci/pci-snapshot.h"
#include "util/file.h"
#include "util/grow.h"
#include "util/text.h"

/* The list has 1.3 MiB. */
#define LIST_BYTES_MAX (16U * 1024 * 1024)

typedef struct Entry {
	uint16_t device;
	uint32_t name; /* where it begins in `text` */
} Entry;

struct PciNames {
	uint32_t vendor; /* where the vendor's name begins; 0: not in the list */
	Entry *entries;	 /* by device */
	size_t n_entries;
	char *text; /* names, each with its NUL; begins with one, so that no name is at 0 */
	size_t text_size;
};

LOCAL_CLEAR(PciNames, forget_all)
#include "pci-names.inc"

/* ---- one line ---- */

/* "2204  GA102 [GeForce RTX 3090]". Returns the name; NULL: no such line. */
static const char *parse_entry(const char *line, uint16_t *ret_id)
{
	if (strspn(line, "0123456789abcdef") != 4 || line[4] != ' ')
		return NULL;
	*ret_id = (uint16_t)strtoul(line, NULL, 16);
	return line + 4 + strspn(line + 4, " ");
}

/* Where it is in the text. */
static uint32_t keep_text(PciNames *names, const char *name)
{
	size_t size = strlen(name) + 1, at = names->text_size;

	names->text = xrealloc(names->text, at + size);
	memcpy(names->text + at, name, size);
	names->text_size = at + size;
	return (uint32_t)at;
}

static void keep_device(PciNames *names, uint16_t device, const char *name)
{
	*GROW(names->entries, names->n_entries) =
		(Entry){ .device = device, .name = keep_text(names, name) };
}

/* ---- the list ---- */

/* A line in no vendor's part: a comment, or the beginning of a part of another kind ("C 00"). */
static bool is_other(const char *line)
{
	return line[0] == '\0' || line[0] == '#' ||
	       (line[0] >= 'A' && line[0] <= 'Z' && line[1] == ' ');
}

/* in_part: whether the lines until the next vendor are about NVIDIA's devices. */
static int take_line(PciNames *names, const char *line, bool *in_part)
{
	const char *name;
	uint16_t id;

	if (line[0] == '\t') {
		if (!*in_part || line[1] == '\t') /* two tabs: a subsystem */
			return 0;
		name = parse_entry(line + 1, &id);
		if (!name)
			return -EBADMSG;
		keep_device(names, id, name);
		return 0;
	}
	if (is_other(line)) {
		*in_part = *in_part && line[0] < 'A';
		return 0;
	}
	name = parse_entry(line, &id);
	if (!name)
		return -EBADMSG;
	*in_part = id == PCI_VENDOR_NVIDIA;
	if (*in_part)
		names->vendor = keep_text(names, name);
	return 0;
}

/* Changes `list`. */
static int take_list(PciNames *names, char *list)
{
	bool in_part = false;
	int r = 0;

	keep_text(names, "");
	for (char *line = list, *end; r >= 0 && line; line = end) {
		end = strchr(line, '\n');
		if (end)
			*end++ = '\0';
		r = take_line(names, line, &in_part);
	}
	return r;
}

static int compare_entries(const void *a, const void *b)
{
	const Entry *x = a, *y = b;

	return (int)x->device - (int)y->device;
}

PciNames *pci_names_new(const char *path)
{
	PciNames *names = xcalloc(1, sizeof(*names));
	_cleanup_free_ char *list = NULL;
	size_t size = 0;
	int r = file_read_regular_at(AT_FDCWD, path, LIST_BYTES_MAX, &list, &size);

	if (r >= 0)
		r = take_list(names, list);
	if (r < 0)
		forget_all(names);
	if (names->n_entries > 0)
		qsort(names->entries, names->n_entries, sizeof(Entry), compare_entries);
	return names;
}

static const char *find_device(const PciNames *names, uint16_t device)
{
	const Entry key = { .device = device };
	const Entry *found;

	if (names->n_entries == 0)
		return NULL;
	found = bsearch(&key, names->entries, names->n_entries, sizeof(Entry), compare_entries);
	return found ? names->text + found->name : NULL;
}

char *pci_names_device(const PciNames *names, uint16_t vendor, uint16_t device)
{
	const char *name;

	if (vendor != PCI_VENDOR_NVIDIA || names->vendor == 0)
		return strf("%04x:%04x", vendor, device);
	name = find_device(names, device);
	if (name)
		return strf("%s %s", names->text + names->vendor, name);
	return strf("%s %04x", names->text + names->vendor, device);
}
