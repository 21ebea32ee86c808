/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/scan/slots.h"

#include <string.h>

#include "host/scan/matter.h"
#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

typedef struct Slot {
	Bdf address; /* function 0 */
	char *name;
} Slot;

typedef struct Slots {
	Slot *items;
	size_t n_items;
} Slots;

static void slots_clear(Slots *slots)
{
	for (size_t i = 0; i < slots->n_items; i++)
		free(slots->items[i].name);
	free(slots->items);
	*slots = (Slots){ 0 };
}

/*
 * "0000:41:00", without a function. Placeholder slots ("0000:41") name a whole bus: they belong to
 * hot-plug controllers that cannot name the device, and say nothing about one board.
 */
static int parse_slot_address(const char *text, Bdf *ret)
{
	_cleanup_free_ char *with_function = strf("%s.0", text);

	return sysfs_parse_bdf(with_function, ret);
}

static int read_slot(int slots_fd, const char *name, Slots *slots)
{
	_cleanup_free_ char *path = strf("%s/address", name), *address = NULL;
	Slot slot = { 0 };
	int r;

	r = file_read_line_at(slots_fd, path, &address);
	if (r == -ENOENT || r == -ENODEV)
		return 0;
	if (r < 0)
		return r;
	if (parse_slot_address(address, &slot.address) < 0)
		return 0;
	slot.name = xstrdup(name);
	slots->items[slots->n_items++] = slot;
	return 0;
}

static int read_slots(int sysfs_fd, Slots *ret)
{
	_cleanup_(slots_clear) Slots slots = { 0 };
	_cleanup_strv_ char **names = NULL;
	_cleanup_close_ int fd = -1;
	int r;

	r = dir_open_at(sysfs_fd, SYSFS_PCI_SLOTS, false, &fd);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	r = dir_list(fd, "", &names);
	if (r < 0)
		return r;
	slots.items = xcalloc(strv_length(names) + 1, sizeof(Slot));
	for (char **name = names; name && *name; name++) {
		r = read_slot(fd, *name, &slots);
		if (r < 0)
			return r;
	}
	*ret = slots;
	slots = (Slots){ 0 };
	return 0;
}

static void set_physical_slot(const Slots *slots, PciFunction *f)
{
	for (size_t i = 0; i < slots->n_items; i++)
		if (bdf_same_slot(&slots->items[i].address, &f->bdf)) {
			f->physical_slot = xstrdup(slots->items[i].name);
			return;
		}
}

int slots_name_functions(int sysfs_fd, PciFunction *functions, size_t n)
{
	_cleanup_(slots_clear) Slots slots = { 0 };
	bool gpu, read = false;
	int r = 0;

	for (size_t i = 0, end; r >= 0 && i < n; i = end) {
		end = matter_slot_end(functions, n, i, &gpu);
		if (gpu && !read) {
			r = read_slots(sysfs_fd, &slots);
			read = true;
		}
		for (size_t k = i; r >= 0 && gpu && k < end; k++)
			set_physical_slot(&slots, &functions[k]);
	}
	return r;
}
