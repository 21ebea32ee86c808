/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/device/obstacle-facts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/facts/setup-files.h"
#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

/* Of /proc/interrupts and /proc/iomem, so that neither keeps a worker busy. */
#define PROC_MAX_BYTES (16UL * 1024 * 1024)
/* include/linux/ioport.h */
#define RESOURCE_MEM 0x00000200ULL
#define RESOURCE_UNSET 0x20000000ULL
#define BARS 6
/* The BARs, the ROM, and the BARs of virtual functions: PCI_NUM_RESOURCES without windows. */
#define RESOURCES_MAX 13

static void read_interrupts(int proc_fd, Inspection *into)
{
	_cleanup_fclose_ FILE *f = NULL;
	_cleanup_free_ char *line = NULL;
	size_t capacity = 0, total = 0;
	ssize_t n;
	int fd = openat(proc_fd, "interrupts", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	f = fdopen(fd, "re");
	if (!f)
		no_memory();
	while (!into->interrupts_remapped && (n = getline(&line, &capacity, f)) >= 0 &&
	       (total += (size_t)n) < PROC_MAX_BYTES)
		into->interrupts_remapped = setup_interrupt_is_remapped(line);
#if defined(__x86_64__) || defined(__i386__)
	into->interrupts_known = total > 0;
#endif
}

/* ---- addresses of BARs ---- */

typedef struct Resource {
	int bar; /* the line in `resource`: 6 is the ROM */
	unsigned long long first, last;
} Resource;

/* What of a function has an address in memory, by address. */
typedef struct Resources {
	Resource items[RESOURCES_MAX];
	size_t n_items;
} Resources;

static void add_resource(Resources *resources, const Resource *one)
{
	size_t at = resources->n_items;

	if (at == RESOURCES_MAX)
		return;
	for (; at > 0 && resources->items[at - 1].first > one->first; at--)
		resources->items[at] = resources->items[at - 1];
	resources->items[at] = *one;
	resources->n_items++;
}

/*
 * "0x00000000c0000000 0x00000000cfffffff 0x000000000014220c": first, last, flags. A BAR that got no
 * address keeps its size and has IORESOURCE_UNSET (drivers/pci/setup-res.c, pci_assign_resource()).
 */
static void read_resources(int sysfs_fd, FunctionFacts *facts, Resources *ret)
{
	_cleanup_free_ char *path = sysfs_function_path(&facts->bdf, "resource");
	char text[SYSFS_TEXT_MAX], *save = NULL;
	unsigned long long flags;
	Resource one = { 0 };

	*ret = (Resources){ 0 };
	if (sysfs_read_text(sysfs_fd, path, text) < 0)
		return;
	facts->resource_read = *text != '\0';
	for (char *line = strtok_r(text, "\n", &save); line;
	     line = strtok_r(NULL, "\n", &save), one.bar++) {
		if (sscanf(line, "0x%16llx 0x%16llx 0x%16llx", &one.first, &one.last, &flags) !=
			    3 ||
		    !(flags & RESOURCE_MEM))
			continue;
		if ((flags & RESOURCE_UNSET) && one.bar < BARS)
			facts->bars_unset |= 1U << one.bar;
		else if (one.first > 0)
			add_resource(ret, &one);
	}
}

/* ---- who has reserved a part of a BAR ---- */

/* "    c0000000-c02fffff : BOOTFB" of /proc/iomem, at depth 4. */
typedef struct IomemLine {
	size_t depth, n_name;
	unsigned long long first;
	const char *name;
} IomemLine;

static bool next_line(const char **at, IomemLine *ret)
{
	const char *line = *at, *end = line + strcspn(line, "\n"), *name = strstr(line, " : ");

	if (*line == '\0')
		return false;
	*at = *end ? end + 1 : end;
	*ret = (IomemLine){ .depth = strspn(line, " "), .name = "" };
	if (!name || name >= end)
		return true;
	ret->first = strtoull(line, NULL, 16);
	ret->name = name + strlen(" : ");
	ret->n_name = (size_t)(end - ret->name);
	return true;
}

static bool is_named(const IomemLine *line, const char *name)
{
	return strlen(name) == line->n_name && strncmp(line->name, name, line->n_name) == 0;
}

/* The name of a framebuffer of what the firmware drew, as the kernel has it there; NULL: none. */
static const char *framebuffer(const IomemLine *line)
{
	static const char *const names[] = {
		"BOOTFB", /* the device itself: drivers/firmware/sysfb_simplefb.c */
		"simpledrm", "efidrm", "vesadrm", /* drivers/gpu/drm/sysfb */
		"simplefb",  "efifb",  "vesafb",  /* drivers/video/fbdev */
	};

	for (size_t i = 0; i < ELEMENTS(names); i++)
		if (is_named(line, names[i]))
			return names[i];
	return NULL;
}

static size_t count_lines(const char *iomem, const char *name)
{
	size_t n = 0;
	IomemLine line;

	while (next_line(&iomem, &line))
		n += is_named(&line, name);
	return n;
}

/*
 * Only who has CAP_SYS_ADMIN sees addresses in /proc/iomem, all others zeros, but everybody sees
 * the tree (kernel/resource.c, r_show()). A function's resources are in it by address: without
 * addresses the place among them tells the BAR, when all of them are there.
 */
static int bar_of(const Resources *resources, unsigned long long first, size_t place, size_t all)
{
	if (first == 0)
		return all == resources->n_items ? resources->items[place].bar : -1;
	for (size_t i = 0; i < resources->n_items; i++)
		if (first >= resources->items[i].first && first <= resources->items[i].last)
			return resources->items[i].bar;
	return -1;
}

/* One for each BAR: inside a device, BOOTFB, is the driver that draws on it. */
static void add_holder(FunctionFacts *function, int bar, const char *name)
{
	size_t n = function->n_bar_holders;
	BarHolder *last = n > 0 ? &function->bar_holders[n - 1] : NULL;

	if (last && last->bar == bar) {
		char *joined = strf("%s, %s", last->name, name);

		free(last->name);
		last->name = joined;
		return;
	}
	function->bar_holders = xreallocarray(function->bar_holders, n + 1, sizeof(BarHolder));
	function->bar_holders[function->n_bar_holders++] =
		(BarHolder){ .bar = bar, .name = xstrdup(name) };
}

/* Below a certain depth the kernel indents no further, so that only what is deeper is inside. */
static void find_holders(const char *iomem, const Resources *resources, FunctionFacts *function)
{
	size_t all = count_lines(iomem, BDF_TEXT(&function->bdf)), place = 0, depth = SIZE_MAX;
	IomemLine line;
	int bar = -1;

	while (next_line(&iomem, &line)) {
		const char *name;

		if (is_named(&line, BDF_TEXT(&function->bdf))) {
			depth = line.depth;
			bar = bar_of(resources, line.first, place++, all);
			continue;
		}
		if (line.depth <= depth)
			depth = SIZE_MAX; /* it is beside the function, or in none of its BARs */
		name = depth == SIZE_MAX ? NULL : framebuffer(&line);
		if (name)
			add_holder(function, bar, name);
	}
}

/* ---- regions of the IOMMU group ---- */

/*
 * Lines of "0x00000000bdf6e000 0x00000000bdf81fff direct". What is "direct-relaxable" the kernel
 * gives up for vfio; "reserved" and "msi" are addresses that a guest's memory is kept away from.
 */
static void read_regions(int sysfs_fd, FunctionFacts *facts)
{
	_cleanup_free_ char *path =
		sysfs_function_path(&facts->bdf, "iommu_group/reserved_regions");
	char text[SYSFS_TEXT_MAX], first[32], last[32], type[32], *save = NULL;

	if (sysfs_read_text(sysfs_fd, path, text) < 0)
		return;
	facts->regions_read = true;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (sscanf(line, "%31s %31s %31s", first, last, type) != 3 ||
		    !str_equal(type, "direct"))
			continue;
		facts->direct_region = strf("%s-%s", first, last);
		return;
	}
}

void obstacle_facts_read(const InspectRoots *roots, Inspection *into)
{
	_cleanup_free_ char *iomem = NULL;

	read_interrupts(roots->proc_fd, into);
	(void)file_read_at(roots->proc_fd, "iomem", PROC_MAX_BYTES, &iomem, NULL);
	into->iomem_read = iomem && *iomem;
	for (size_t i = 0; i < into->n_functions; i++) {
		FunctionFacts *function = &into->functions[i];
		Resources resources;

		read_resources(roots->sysfs_fd, function, &resources);
		if (iomem)
			find_holders(iomem, &resources, function);
		read_regions(roots->sysfs_fd, function);
	}
}
