/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/scan/scan.h"

#include "host/scan/function.h"
#include "host/scan/matter.h"
#include "host/scan/mdev.h"
#include "host/scan/sysfs.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

typedef struct Functions {
	PciFunction *items; /* sorted by address */
	size_t n_items;
	size_t capacity;
} Functions;

LOCAL_CLEAR(Functions, functions_clear)

static int append_address(const char *name, void *userdata)
{
	Functions *functions = userdata;
	Bdf bdf;

	if (sysfs_parse_bdf(name, &bdf) < 0)
		return 0;
	if (functions->n_items == functions->capacity) {
		size_t bigger = functions->capacity ? functions->capacity * 2 : 64;

		functions->items = xreallocarray(functions->items, bigger, sizeof(PciFunction));
		functions->capacity = bigger;
	}
	functions->items[functions->n_items++] = (PciFunction){
		.bdf = bdf,
		.iommu_group = IOMMU_GROUP_NONE,
		.numa_node = NUMA_NODE_NONE,
	};
	return 0;
}

static bool has_vanished(int error)
{
	return error == -ENOENT || error == -ENODEV;
}

/* Everybody's address and ids, in order. */
static int list_functions(int devices_fd, Functions *functions)
{
	size_t n = 0;
	int r = sysfs_each_name(devices_fd, ".", false, append_address, functions);

	if (r < 0)
		return r;
	if (functions->n_items > 0) /* qsort() must not get NULL */
		qsort(functions->items, functions->n_items, sizeof(PciFunction), bdf_compare);
	for (size_t i = 0; i < functions->n_items; i++) {
		r = function_read_ids(devices_fd, &functions->items[i]);
		if (r < 0 && !has_vanished(r))
			return r;
		if (r >= 0)
			functions->items[n++] = functions->items[i];
	}
	functions->n_items = n;
	return 0;
}

/* What a pass over the functions has come to. */
typedef struct Pass {
	bool *matter; /* is to be read whole */
	bool *whole;  /* was */
	bool *gone;   /* vanished meanwhile */
} Pass;

LOCAL_CLEAR(Pass, pass_clear)

static int read_of_slot(int devices_fd, Functions *functions, size_t from, size_t end, bool gpu,
			Pass *pass)
{
	for (size_t i = from; i < end; i++) {
		int r;

		if (pass->whole[i] || !(gpu || pass->matter[i]))
			continue;
		pass->whole[i] = true;
		r = function_read(devices_fd,
				  gpu || pci_function_may_accompany(&functions->items[i]),
				  &functions->items[i]);
		pass->gone[i] = has_vanished(r);
		if (r < 0 && !pass->gone[i])
			return r;
	}
	return 0;
}

static int read_matter(int devices_fd, Functions *functions, Pass *pass)
{
	size_t n = functions->n_items;
	int r = 0;
	bool gpu;

	for (size_t i = 0, end; r >= 0 && i < n; i = end) {
		end = matter_slot_end(functions->items, n, i, &gpu);
		r = read_of_slot(devices_fd, functions, i, end, gpu, pass);
	}
	return r;
}

static void drop_gone(Functions *functions, const Pass *pass)
{
	size_t n = 0;

	for (size_t i = 0; i < functions->n_items; i++)
		if (pass->gone[i])
			pci_function_clear(&functions->items[i]);
		else
			functions->items[n++] = functions->items[i];
	functions->n_items = n;
}

/* ---- the names of physical slots ---- */

typedef struct Slot {
	Bdf address; /* function 0 */
	char *name;
} Slot;

typedef struct Slots {
	Slot *items;
	size_t n_items;
} Slots;

LOCAL_CLEAR(Slots, slots_clear)
#include "scan.inc"

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
	int r = file_read_line_at(slots_fd, path, &address);

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
	int r = dir_open_at(sysfs_fd, SYSFS_PCI_SLOTS, false, &fd);

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

/* Of the functions that are in a slot with a GPU and have no name yet. */
static int slots_name_functions(int sysfs_fd, PciFunction *functions, size_t n)
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

/* ---- all of them ---- */

/* First kin and GPUs; then what these show to be beside them. */
static int read_functions(int sysfs_fd, int devices_fd, Functions *functions)
{
	_cleanup_(pass_clear) Pass pass = { 0 };
	int r = list_functions(devices_fd, functions);

	if (r < 0)
		return r;
	pass.matter = xcalloc(functions->n_items + 1, sizeof(bool));
	pass.whole = xcalloc(functions->n_items + 1, sizeof(bool));
	pass.gone = xcalloc(functions->n_items + 1, sizeof(bool));
	for (size_t i = 0; i < functions->n_items; i++)
		pass.matter[i] = pci_function_is_kin(&functions->items[i]);
	r = read_matter(devices_fd, functions, &pass);
	if (r < 0)
		return r;
	matter_mark(sysfs_fd, functions->items, functions->n_items, pass.matter);
	r = read_matter(devices_fd, functions, &pass);
	if (r < 0)
		return r;
	drop_gone(functions, &pass);
	return slots_name_functions(sysfs_fd, functions->items, functions->n_items);
}

static int is_one(const char *name _unused_, void *userdata _unused_)
{
	return 1;
}

/* When the IOMMU is off, the directory exists and is empty. */
int scan_iommu(int sysfs_fd, bool *ret)
{
	int r = sysfs_each_name(sysfs_fd, SYSFS_IOMMU_GROUPS, true, is_one, NULL);

	if (r < 0 && r != -ENOENT)
		return r;
	*ret = r > 0;
	return 0;
}

int scan_pci(int sysfs_fd, PciSnapshot **ret)
{
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;
	_cleanup_(functions_clear) Functions functions = { 0 };
	_cleanup_close_ int devices_fd = -1;
	int r = dir_open_at(sysfs_fd, SYSFS_PCI_DEVICES, false, &devices_fd);

	if (r < 0)
		return r;
	snapshot = xcalloc(1, sizeof(*snapshot));
	snapshot->taken_usec = now_realtime();
	r = read_functions(sysfs_fd, devices_fd, &functions);
	if (r < 0)
		return r;
	pci_snapshot_adopt(snapshot, functions.items, functions.n_items);
	functions = (Functions){ 0 }; /* now the snapshot's */
	r = pci_snapshot_seal(snapshot);
	if (r >= 0)
		r = scan_mdevs(sysfs_fd, snapshot);
	if (r >= 0)
		r = scan_iommu(sysfs_fd, &snapshot->iommu);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(snapshot);
	return 0;
}
