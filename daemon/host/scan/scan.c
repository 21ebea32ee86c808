/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/scan/scan.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>

#include "host/scan/function.h"
#include "host/scan/matter.h"
#include "host/scan/mdev.h"
#include "host/scan/slots.h"
#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/xalloc.h"

typedef struct Functions {
	PciFunction *items; /* sorted by address */
	size_t n_items;
	size_t capacity;
} Functions;

static void functions_clear(Functions *functions)
{
	for (size_t i = 0; i < functions->n_items; i++)
		pci_function_clear(&functions->items[i]);
	free(functions->items);
	*functions = (Functions){ 0 };
}

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

static int compare_addresses(const void *a, const void *b)
{
	const PciFunction *x = a, *y = b;

	return bdf_compare(&x->bdf, &y->bdf);
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
		qsort(functions->items, functions->n_items, sizeof(PciFunction), compare_addresses);
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

static void pass_clear(Pass *pass)
{
	free(pass->matter);
	free(pass->whole);
	free(pass->gone);
}

static int read_slot(int devices_fd, Functions *functions, size_t from, size_t end, bool gpu,
		     Pass *pass)
{
	for (size_t i = from; i < end; i++) {
		int r;

		if (pass->whole[i] || !(gpu || pass->matter[i]))
			continue;
		pass->whole[i] = true;
		r = function_read(devices_fd, gpu, &functions->items[i]);
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
		r = read_slot(devices_fd, functions, i, end, gpu, pass);
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

static uint64_t now_realtime_usec(void)
{
	struct timespec t = { 0 };

	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000U + (uint64_t)t.tv_nsec / 1000U;
}

int scan_pci(int sysfs_fd, PciSnapshot **ret)
{
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;
	_cleanup_(functions_clear) Functions functions = { 0 };
	_cleanup_close_ int devices_fd = -1;
	int r;

	r = dir_open_at(sysfs_fd, SYSFS_PCI_DEVICES, false, &devices_fd);
	if (r < 0)
		return r;
	snapshot = xcalloc(1, sizeof(*snapshot));
	snapshot->taken_usec = now_realtime_usec();
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
