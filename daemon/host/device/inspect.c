/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/device/inspect.h"

#include <fcntl.h>
#include <limits.h>

#include "core/setup/setup-files.h"
#include "host/device/capabilities.h"
#include "host/device/holders.h"
#include "host/scan/function.h"
#include "host/scan/nvidia-proc.h"
#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/grow.h"

#define BASE_CLASS_DISPLAY 0x03
/* A bus has no room for more. */
#define VFS_MAX 256

static int read_number(int sysfs_fd, const Bdf *bdf, const char *attribute, int base,
		       unsigned long long max, unsigned *ret)
{
	_cleanup_free_ char *text = NULL;
	unsigned long long number;
	int r = sysfs_read_attribute(sysfs_fd, bdf, attribute, &text);

	if (r < 0 || !text)
		return r;
	if (str_to_unsigned(text, base, max, &number) < 0)
		return -EBADMSG;
	*ret = (unsigned)number;
	return 0;
}

/* A device whose power state the kernel does not report may sleep, too. */
static bool is_awake(int sysfs_fd, const Bdf *bdf)
{
	_cleanup_free_ char *state = NULL;

	(void)sysfs_read_attribute(sysfs_fd, bdf, "power_state", &state);
	return str_equal(state, "D0");
}

static int read_capabilities(int sysfs_fd, InspectConfig config, FunctionFacts *facts)
{
	unsigned class_code = 0;
	int r = read_number(sysfs_fd, &facts->bdf, "class", 16, 0xffffff, &class_code);

	if (r < 0)
		return r;
	/* What a group is made of. */
	if (class_code >> 16 != BASE_CLASS_DISPLAY && class_code >> 16 != PCI_BASE_CLASS_NETWORK &&
	    class_code != PCI_CLASS_NVME)
		return 0;
	facts->left_asleep = config != INSPECT_CONFIG_ALL && !is_awake(sysfs_fd, &facts->bdf);
	return facts->left_asleep ? 0 : capabilities_read(sysfs_fd, facts);
}

/*
 * One VF with a vGPU on a host with vendor-specific VFs (no mdev): the type is set from the moment
 * that somebody made it. NVIDIA's driver serves the file, so that only a worker may read it.
 */
static int read_vgpu(int sysfs_fd, unsigned number, FunctionFacts *facts)
{
	_cleanup_free_ char *attribute = strf("virtfn%u/nvidia/current_vgpu_type", number);
	_cleanup_free_ char *link = strf("virtfn%u", number), *path = NULL, *name = NULL;
	unsigned type = 0;
	int r;

	/* What the driver does not say changes nothing: a board with VFs is refused anyway. */
	r = read_number(sysfs_fd, &facts->bdf, attribute, 10, UINT_MAX, &type);
	if (r < 0 || type == 0 || facts->vgpus++ > 0)
		return 0;
	facts->vgpu_type = type;
	path = sysfs_function_path(&facts->bdf, link);
	r = file_link_name_at(sysfs_fd, path, &name);
	return r < 0 ? r : sysfs_parse_bdf(name, &facts->vgpu_vf);
}

static int read_vgpus(int sysfs_fd, FunctionFacts *facts)
{
	int r = 0;

	for (unsigned i = 0; r >= 0 && i < facts->num_vfs && i < VFS_MAX; i++)
		r = read_vgpu(sysfs_fd, i, facts);
	return r;
}

static int read_facts(const Roots *roots, FunctionFacts *facts)
{
	unsigned class_code = 0;
	int r = sysfs_read_driver(roots->sysfs_fd, &facts->bdf, &facts->driver);

	if (r < 0)
		return r;
	facts->vfio_dev = facts->driver && sysfs_has_vfio_dev(roots->sysfs_fd, &facts->bdf);
	r = sysfs_read_override(roots->sysfs_fd, &facts->bdf, &facts->driver_override);
	if (r < 0)
		return r;
	r = read_number(roots->sysfs_fd, &facts->bdf, "class", 16, 0xffffff, &class_code);
	if (r < 0)
		return r;
	facts->network = class_code >> 16 == PCI_BASE_CLASS_NETWORK;
	facts->vf = facts->network && sysfs_is_vf(roots->sysfs_fd, &facts->bdf);
	facts->nvme = class_code == PCI_CLASS_NVME;
	/* Absent on functions that cannot have any. */
	r = read_number(roots->sysfs_fd, &facts->bdf, "sriov_numvfs", 10, UINT_MAX,
			&facts->num_vfs);
	if (r >= 0)
		r = read_vgpus(roots->sysfs_fd, facts);
	if (r < 0)
		return r;
	nvidia_proc_read(roots->proc_fd, &facts->bdf, &facts->uuid, &facts->device_minor);
	return 0;
}

/* ---- drivers ---- */

/* "Y\n" and "N\n" for a bool parameter; absent when the module is not loaded. */
static int read_parameter(int sysfs_fd, const char *path, bool *ret)
{
	_cleanup_free_ char *text = NULL;
	int r = sysfs_line_if_any(sysfs_fd, path, &text);

	if (r < 0)
		return r;
	*ret = str_equal(text, "Y") || str_equal(text, "1");
	return 0;
}

/*
 * Whether a line of modules.dep or modules.builtin ("kernel/drivers/vfio/pci/vfio-pci.ko.xz: …") is
 * about the module vfio_pci. Distributions differ in compression, and in dash or underscore.
 */
static bool line_is_vfio_pci(char *line)
{
	char *end = strpbrk(line, ": \n"), *name;

	if (end)
		*end = '\0';
	name = strrchr(line, '/');
	name = name ? name + 1 : line;
	return str_starts_with(name, "vfio-pci.ko") || str_starts_with(name, "vfio_pci.ko");
}

/* Read line by line: modules.dep is about a megabyte. */
static int list_has_vfio_pci(int modules_fd, const char *name, bool *ret)
{
	_cleanup_fclose_ FILE *f = NULL;
	_cleanup_free_ char *line = NULL;
	size_t capacity = 0;
	int fd;

	fd = openat(modules_fd, name, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	f = fdopen(fd, "re");
	if (!f) {
		close_fd(fd);
		return -errno;
	}
	while (!*ret && getline(&line, &capacity, f) >= 0)
		*ret = line_is_vfio_pci(line);
	return 0;
}

/* What the host offers for VFIO: driver, module, and the parameters that make it unsafe. */
static int read_vfio(const Roots *roots, Inspection *into)
{
	int r;

	into->vfio_pci = faccessat(roots->sysfs_fd, SYSFS_PCI_DRIVERS "/vfio-pci", F_OK, 0) == 0;
	into->vfio_loadable = false;
	if (!into->vfio_pci && roots->modules_fd >= 0) {
		r = list_has_vfio_pci(roots->modules_fd, "modules.dep", &into->vfio_loadable);
		if (r < 0)
			return r;
		r = list_has_vfio_pci(roots->modules_fd, "modules.builtin", &into->vfio_loadable);
		if (r < 0)
			return r;
	}
	r = read_parameter(roots->sysfs_fd, "module/vfio/parameters/enable_unsafe_noiommu_mode",
			   &into->noiommu);
	if (r < 0)
		return r;
	return read_parameter(roots->sysfs_fd,
			      "module/vfio_iommu_type1/parameters/allow_unsafe_interrupts",
			      &into->unsafe_interrupts);
}

/*
 * The parameter is for root to read (0400). nvidia_drm without a parameter that says no counts as
 * one that says yes: a wrong no would end in an unbind that never returns.
 */
static int read_modeset(int sysfs_fd, bool *ret)
{
	_cleanup_free_ char *text = NULL;
	int r = 0;

	*ret = faccessat(sysfs_fd, "module/nvidia_drm", F_OK, 0) == 0;
	if (*ret)
		r = sysfs_line_if_any(sysfs_fd, "module/nvidia_drm/parameters/modeset", &text);
	if (r < 0)
		return r;
	*ret = *ret && !str_equal(text, "N") && !str_equal(text, "0");
	return 0;
}

/* ---- what speaks against a guest's start ---- */

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

	return FIND_OF(names, ELEMENTS(names), is_named(line, it));
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
	*GROW(function->bar_holders, function->n_bar_holders) =
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

/* ---- switches ---- */

/* drivers/pci/vpd.c: PCI_VPD_MAX_SIZE */
#define VPD_MAX 32768

/* As NVIDIA's gpu-driver-container looks for it. The kernel reads VPD through config space. */
static void read_vpd(int sysfs_fd, FunctionFacts *facts)
{
	_cleanup_free_ char *path = sysfs_function_path(&facts->bdf, "vpd"), *vpd = NULL;
	PciFunction function = { 0 };
	size_t size = 0;

	if (scan_ids(sysfs_fd, &facts->bdf, &function) < 0 ||
	    function.vendor != PCI_VENDOR_MELLANOX ||
	    function.class_code >> 16 != PCI_BASE_CLASS_NETWORK ||
	    file_read_at(sysfs_fd, path, VPD_MAX, &vpd, &size) < 0)
		return;
	facts->vpd_read = size > 0;
	facts->sw_mng = size > 0 && memmem(vpd, size, "SW_MNG", strlen("SW_MNG"));
}

/*
 * What on this host keeps a function from a guest; core/checks judges it. A file that is
 * not there tells nothing.
 */
static void read_obstacles(const Roots *roots, Inspection *into)
{
	_cleanup_free_ char *iomem = NULL;

	read_interrupts(roots->proc_fd, into);
	(void)file_read_at(roots->proc_fd, "iomem", PROC_MAX_BYTES, &iomem, NULL);
	into->iomem_read = iomem && *iomem;
	EACH (FunctionFacts, function, into->functions, into->n_functions) {
		Resources resources;

		read_resources(roots->sysfs_fd, function, &resources);
		if (iomem)
			find_holders(iomem, &resources, function);
		read_regions(roots->sysfs_fd, function);
		read_vpd(roots->sysfs_fd, function);
	}
}

static Inspection *new_inspection(size_t n)
{
	Inspection *inspection = xcalloc(1, sizeof(*inspection));

	inspection->functions = xcalloc(n + 1, sizeof(FunctionFacts));
	return inspection;
}

static FunctionFacts *next_function(Inspection *inspection, const Bdf *bdf)
{
	FunctionFacts *facts = &inspection->functions[inspection->n_functions++];

	facts->bdf = *bdf;
	facts->device_minor = -1;
	return facts;
}

int inspect_config(const Roots *roots, const Bdf *functions, size_t n, InspectConfig config,
		   Inspection **ret)
{
	_cleanup_(inspection_freep) Inspection *inspection = new_inspection(n);
	int r = 0;

	for (size_t i = 0; r >= 0 && i < n; i++)
		r = read_capabilities(roots->sysfs_fd, config,
				      next_function(inspection, &functions[i]));
	if (r < 0)
		return r;
	*ret = TAKE_PTR(inspection);
	return 0;
}

int inspect_glance(const Roots *roots, const Bdf *functions, size_t n, Inspection **ret)
{
	_cleanup_(inspection_freep) Inspection *inspection = new_inspection(n);
	int r = 0;

	for (size_t i = 0; r >= 0 && i < n; i++)
		r = read_facts(roots, next_function(inspection, &functions[i]));
	if (r < 0)
		return r;
	*ret = TAKE_PTR(inspection);
	return 0;
}

int inspect_functions(const Roots *roots, const Bdf *functions, size_t n, Inspection **ret)
{
	_cleanup_(inspection_freep) Inspection *inspection = NULL;
	int r = inspect_glance(roots, functions, n, &inspection);

	if (r >= 0)
		r = read_vfio(roots, inspection);
	if (r >= 0)
		r = read_modeset(roots->sysfs_fd, &inspection->nvidia_modeset);
	if (r < 0)
		return r;
	inspection->nvidia_version = nvidia_proc_version(roots->proc_fd);
	read_obstacles(roots, inspection);
	r = holders_scan(roots, functions, n, inspection);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(inspection);
	return 0;
}
