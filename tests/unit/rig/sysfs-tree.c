/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "sysfs-tree.h"

#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "host/scan/matter.h"
#include "host/scan/sysfs.h"
#include "snapshot-read.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

#define GOLDEN_MAX_BYTES (1U << 20)

#define INFORMATION                                                                                \
	"Model: \t\t NVIDIA RTX A6000\n"                                                           \
	"IRQ:   \t\t 142\n"                                                                        \
	"GPU UUID: \t %s\n"                                                                        \
	"Video BIOS: \t 94.02.5c.00.02\n"                                                          \
	"Bus Type: \t PCIe\n"                                                                      \
	"DMA Size: \t 47 bits\n"                                                                   \
	"DMA Mask: \t 0x7fffffffffff\n"                                                            \
	"Bus Location: \t %s\n"                                                                    \
	"Device Minor: \t %d\n"                                                                    \
	"GPU Excluded:\t No\n"

static void check(bool ok, const char *what, const char *subject)
{
	if (ok)
		return;
	fprintf(stderr, "mock sysfs: %s %s: %m\n", what, subject);
	abort();
}

Bdf tree_bdf(const char *text)
{
	Bdf bdf = { 0 };

	check(bdf_parse(text, &bdf) == 0, "not an address:", text);
	return bdf;
}

static void share_slot_name(PciSnapshot *snapshot, const PciFunction *from)
{
	for (size_t i = 0; from->physical_slot && i < snapshot->n_functions; i++) {
		PciFunction *f = snapshot->functions[i];

		if (!f->physical_slot && bdf_same_slot(&f->bdf, &from->bdf))
			f->physical_slot = xstrdup(from->physical_slot);
	}
}

/* Of what does not matter to a GPU, only the ids are read. */
static void forget_what_is_not_read(const PciSnapshot *snapshot, PciFunction *f)
{
	PciFunction ids = {
		.bdf = f->bdf,
		.vendor = f->vendor,
		.device = f->device,
		.subsystem_vendor = f->subsystem_vendor,
		.subsystem_device = f->subsystem_device,
		.class_code = f->class_code,
		.iommu_group = IOMMU_GROUP_NONE,
		.numa_node = NUMA_NODE_NONE,
	};

	if (matter_to(snapshot, f))
		return;
	pci_function_clear(f);
	*f = ids;
}

PciSnapshot *tree_read_golden(int dir_fd, const char *name)
{
	_cleanup_free_ char *text = NULL, *message = NULL;
	PciSnapshot *snapshot = NULL;
	size_t size = 0;

	check(file_read_at(dir_fd, name, GOLDEN_MAX_BYTES, &text, &size) >= 0, "read", name);
	check(pci_snapshot_from_json(text, size, &snapshot, &message) >= 0, "parse", name);
	snapshot->taken_usec = 0;
	for (size_t i = 0; i < snapshot->n_functions; i++)
		share_slot_name(snapshot, snapshot->functions[i]);
	for (size_t i = 0; i < snapshot->n_functions; i++)
		forget_what_is_not_read(snapshot, snapshot->functions[i]);
	return snapshot;
}

static int open_directory(const char *base, const char *name)
{
	_cleanup_free_ char *path = strf("%s/%s", base, name);
	int fd = -1;

	check(dir_open_at(AT_FDCWD, path, true, &fd) >= 0, "create", path);
	return fd;
}

SysfsTree *sysfs_tree_new(const char *parent)
{
	SysfsTree *tree = calloc(1, sizeof(*tree));

	check(tree, "allocate", "a tree");
	tree->path = strf("%s/gpupass-tree-XXXXXX", parent ? parent : "/tmp");
	check(mkdtemp(tree->path), "create", tree->path);
	tree->sysfs = strf("%s/sys", tree->path);
	tree->proc = strf("%s/proc", tree->path);
	tree->roots.sysfs_fd = open_directory(tree->path, "sys");
	tree->roots.proc_fd = open_directory(tree->path, "proc");
	tree->roots.root_fd = open_directory(tree->path, "root");
	tree->roots.modules_fd = open_directory(tree->path, "modules");
	close_fd(open_directory(tree->sysfs, SYSFS_PCI_DEVICES));
	close_fd(open_directory(tree->sysfs, SYSFS_PCI_DRIVERS));
	tree_write(tree, "sys/bus/pci/drivers_probe", "");
	return tree;
}

static int remove_entry(const char *path, const struct stat *st _unused_, int type _unused_,
			struct FTW *where _unused_)
{
	return remove(path);
}

SysfsTree *sysfs_tree_free(SysfsTree *tree)
{
	if (!tree)
		return NULL;
	close_fd(tree->roots.sysfs_fd);
	close_fd(tree->roots.proc_fd);
	close_fd(tree->roots.root_fd);
	close_fd(tree->roots.modules_fd);
	nftw(tree->path, remove_entry, 64, FTW_DEPTH | FTW_PHYS);
	free(tree->path);
	free(tree->sysfs);
	free(tree->proc);
	free(tree);
	return NULL;
}

static void make_parent(const char *path)
{
	_cleanup_free_ char *parent = xstrdup(path);
	char *slash = strrchr(parent, '/');
	int fd = -1;

	*slash = '\0';
	check(dir_open_at(AT_FDCWD, parent, true, &fd) >= 0, "create", parent);
	close_fd(fd);
}

void tree_write_bytes(SysfsTree *tree, const char *path, const void *content, size_t size)
{
	_cleanup_free_ char *full = strf("%s/%s", tree->path, path);
	_cleanup_fclose_ FILE *f = NULL;

	make_parent(full);
	f = fopen(full, "we");
	check(f && fwrite(content, 1, size, f) == size, "write", full);
}

void tree_write(SysfsTree *tree, const char *path, const char *content)
{
	tree_write_bytes(tree, path, content, strlen(content));
}

void tree_link(SysfsTree *tree, const char *path, const char *target)
{
	_cleanup_free_ char *full = strf("%s/%s", tree->path, path);

	make_parent(full);
	check(symlink(target, full) == 0, "link", full);
}

void tree_remove(SysfsTree *tree, const char *path)
{
	_cleanup_free_ char *full = strf("%s/%s", tree->path, path);

	check(nftw(full, remove_entry, 64, FTW_DEPTH | FTW_PHYS) == 0, "remove", full);
}

void tree_write_attribute(SysfsTree *tree, const char *bdf, const char *name, const char *content)
{
	_cleanup_free_ char *path = strf("sys/" SYSFS_PCI_DEVICES "/%s/%s", bdf, name);

	tree_write(tree, path, content);
}

void tree_remove_attribute(SysfsTree *tree, const char *bdf, const char *name)
{
	_cleanup_free_ char *path = strf("sys/" SYSFS_PCI_DEVICES "/%s/%s", bdf, name);

	tree_remove(tree, path);
}

void tree_remove_function(SysfsTree *tree, const char *bdf)
{
	_cleanup_free_ char *link = strf("sys/" SYSFS_PCI_DEVICES "/%s", bdf);
	_cleanup_free_ char *full = strf("%s/%s", tree->path, link);
	_cleanup_free_ char *directory = realpath(full, NULL);

	check(directory, "find", full);
	tree_remove(tree, link);
	check(nftw(directory, remove_entry, 64, FTW_DEPTH | FTW_PHYS) == 0, "remove", directory);
}

void tree_add_driver(SysfsTree *tree, const char *name)
{
	_cleanup_free_ char *bind = strf("sys/" SYSFS_PCI_DRIVERS "/%s/bind", name);
	_cleanup_free_ char *unbind = strf("sys/" SYSFS_PCI_DRIVERS "/%s/unbind", name);

	tree_write(tree, bind, "");
	tree_write(tree, unbind, "");
}

/* "devices/pci0000:00/0000:00:01.0/0000:41:00.0", as the kernel nests them. */
static char *device_path(const PciFunction *f)
{
	const Bdf *root = f->n_upstream > 0 ? &f->upstream[0] : &f->bdf;
	char *path = strf("devices/pci%04x:%02x", root->segment, root->bus);

	for (size_t i = 0; i <= f->n_upstream; i++) {
		const Bdf *bdf = i < f->n_upstream ? &f->upstream[i] : &f->bdf;
		char *longer = strf("%s/%s", path, BDF_TEXT(bdf));

		free(path);
		path = longer;
	}
	return path;
}

char *tree_way_up(const char *path)
{
	char *up = strf("../");

	for (const char *c = path; *c; c++)
		if (*c == '/') {
			char *longer = strf("../%s", up);

			free(up);
			up = longer;
		}
	return up;
}

static void add_links(SysfsTree *tree, const PciFunction *f, const char *device)
{
	_cleanup_free_ char *up = tree_way_up(device);
	_cleanup_free_ char *driver = strf("sys/%s/driver", device);
	_cleanup_free_ char *group = strf("sys/%s/iommu_group", device);
	_cleanup_free_ char *entry = strf("sys/" SYSFS_PCI_DEVICES "/%s", BDF_TEXT(&f->bdf));
	_cleanup_free_ char *target = strf("../../../%s", device);

	if (f->driver) {
		_cleanup_free_ char *to = strf("%s" SYSFS_PCI_DRIVERS "/%s", up, f->driver);

		tree_add_driver(tree, f->driver);
		tree_link(tree, driver, to);
	}
	if (f->iommu_group >= 0) {
		_cleanup_free_ char *to = strf("%s" SYSFS_IOMMU_GROUPS "/%d", up, f->iommu_group);
		_cleanup_free_ char *member = strf("sys/" SYSFS_IOMMU_GROUPS "/%d/devices/%s",
						   f->iommu_group, BDF_TEXT(&f->bdf));

		tree_link(tree, group, to);
		tree_write(tree, member, "");
	}
	tree_link(tree, entry, target);
}

static _printf_(4, 5) void add_line(SysfsTree *tree, const PciFunction *f, const char *name,
				    const char *format, ...)
{
	char line[256];
	va_list ap;

	va_start(ap, format);
	vsnprintf(line, sizeof(line), format, ap);
	va_end(ap);
	strcat(line, "\n");
	tree_write_attribute(tree, BDF_TEXT(&f->bdf), name, line);
}

static void add_ids(SysfsTree *tree, const PciFunction *f)
{
	add_line(tree, f, "vendor", "0x%04x", f->vendor);
	add_line(tree, f, "device", "0x%04x", f->device);
	add_line(tree, f, "subsystem_vendor", "0x%04x", f->subsystem_vendor);
	add_line(tree, f, "subsystem_device", "0x%04x", f->subsystem_device);
	add_line(tree, f, "class", "0x%06x", f->class_code);
	add_line(tree, f, "modalias", "pci:v%08Xd%08Xsv%08Xsd%08Xbc%02Xsc%02Xi%02X", f->vendor,
		 f->device, f->subsystem_vendor, f->subsystem_device, f->class_code >> 16,
		 f->class_code >> 8 & 0xff, f->class_code & 0xff);
}

/* Only the sizes are known, so every BAR begins at 0. */
static void add_resource(SysfsTree *tree, const PciFunction *f)
{
	char text[PCI_BARS * 64] = "";
	size_t n = 0;

	for (size_t i = 0; i < PCI_BARS; i++) {
		uint64_t size = f->bar_size[i];

		n += (size_t)snprintf(text + n, sizeof(text) - n,
				      "0x%016x 0x%016" PRIx64 " 0x%016x\n", 0, size ? size - 1 : 0,
				      size ? 0x14220c : 0);
	}
	tree_write_attribute(tree, BDF_TEXT(&f->bdf), "resource", text);
}

static void add_slot(SysfsTree *tree, const PciFunction *f)
{
	_cleanup_free_ char *path = strf("sys/" SYSFS_PCI_SLOTS "/%s/address", f->physical_slot);
	_cleanup_free_ char *address =
		strf("%04x:%02x:%02x\n", f->bdf.segment, f->bdf.bus, f->bdf.device);

	tree_write(tree, path, address);
}

static void add_physical(SysfsTree *tree, const PciFunction *f)
{
	_cleanup_free_ char *path = strf("sys/" SYSFS_PCI_DEVICES "/%s/physfn", BDF_TEXT(&f->bdf));
	_cleanup_free_ char *target = strf("../%s", BDF_TEXT(&f->physical));

	tree_link(tree, path, target);
}

void tree_add_function(SysfsTree *tree, const PciFunction *f)
{
	_cleanup_free_ char *device = device_path(f);
	_cleanup_free_ char *override = strf("sys/%s/driver_override", device);

	tree_write(tree, override, "(null)\n");
	add_links(tree, f, device);
	add_ids(tree, f);
	add_resource(tree, f);
	add_line(tree, f, "numa_node", "%d", f->numa_node);
	if (f->class_code >> 8 == 0x0300)
		add_line(tree, f, "boot_vga", "%d", f->boot_vga);
	if (f->bridge)
		tree_write_attribute(tree, BDF_TEXT(&f->bdf), "pci_bus/rescan", "");
	if (f->virtual_function)
		add_physical(tree, f);
	if (f->vfs_max > 0) {
		add_line(tree, f, "sriov_totalvfs", "%u", f->vfs_max);
		add_line(tree, f, "sriov_offset", "%u", f->vf_offset);
		add_line(tree, f, "sriov_stride", "%u", f->vf_stride);
		add_line(tree, f, "sriov_drivers_autoprobe", "%u", f->vf_autoprobe);
	}
	if (f->has_vfs)
		tree_write_attribute(tree, BDF_TEXT(&f->bdf), "virtfn0", "");
	if (f->reset_methods)
		add_line(tree, f, "reset_method", "%s", f->reset_methods);
	if (f->power_state)
		add_line(tree, f, "power_state", "%s", f->power_state);
	if (f->physical_slot)
		add_slot(tree, f);
}

void tree_add_bridge(SysfsTree *tree, const char *bdf, int iommu_group)
{
	PciFunction f = {
		.bdf = tree_bdf(bdf),
		.vendor = 0x8086,
		.device = 0x347a,
		.subsystem_vendor = 0x8086,
		.class_code = 0x060400,
		.driver = (char[]){ "pcieport" },
		.iommu_group = iommu_group,
		.numa_node = NUMA_NODE_NONE,
		.bridge = true,
	};

	tree_add_function(tree, &f);
}

void tree_add_gpu(SysfsTree *tree, const char *bdf, uint16_t device, const char *driver,
		  int iommu_group, const char *upstream)
{
	Bdf above = upstream ? tree_bdf(upstream) : (Bdf){ 0 };
	_cleanup_free_ char *display_driver = driver ? xstrdup(driver) : NULL;
	PciFunction f = {
		.bdf = tree_bdf(bdf),
		.vendor = PCI_VENDOR_NVIDIA,
		.device = device,
		.subsystem_vendor = PCI_VENDOR_NVIDIA,
		.subsystem_device = 0x1467,
		.class_code = 0x030000,
		.driver = display_driver,
		.iommu_group = iommu_group,
		.numa_node = 0,
		.reset_methods = (char[]){ "flr bus" },
		.power_state = (char[]){ "D0" },
		.bar_size = { 16 << 20, 256 << 20, 0, 32 << 20, 0, 128, 512 << 10 },
		.upstream = upstream ? &above : NULL,
		.n_upstream = upstream ? 1 : 0,
	};

	tree_add_function(tree, &f);
	f.bdf.function++;
	f.device = 0x1aef;
	f.class_code = 0x040300;
	f.driver = driver ? (char[]){ "snd_hda_intel" } : NULL;
	memset(f.bar_size, 0, sizeof(f.bar_size));
	f.bar_size[0] = 16 << 10;
	tree_add_function(tree, &f);
}

void tree_add_nvidia_information(SysfsTree *tree, const char *bdf, const char *uuid, int minor)
{
	_cleanup_free_ char *path = strf("proc/driver/nvidia/gpus/%s/information", bdf);
	_cleanup_free_ char *text = strf(INFORMATION, uuid, bdf, minor);

	tree_write(tree, path, text);
}

void tree_add_process(SysfsTree *tree, pid_t pid, const char *comm, const char *cgroup)
{
	_cleanup_free_ char *comm_path = strf("proc/%d/comm", pid);
	_cleanup_free_ char *comm_line = strf("%s\n", comm);
	_cleanup_free_ char *cgroup_path = strf("proc/%d/cgroup", pid);
	_cleanup_free_ char *task = strf("proc/%d/task/%d/comm", pid, pid);
	_cleanup_free_ char *fds = strf("proc/%d/fd", pid);
	_cleanup_free_ char *of_task = strf("task/%d/fd", pid);

	tree_write(tree, comm_path, comm_line);
	tree_write(tree, cgroup_path, cgroup);
	tree_write(tree, task, comm_line);
	tree_link(tree, fds, of_task);
	tree_process_opens(tree, pid, 0, "/dev/null");
	tree_process_maps(tree, pid,
			  "55d0c0a00000-55d0c0a02000 r--p 00000000 fd:00 131 /usr/bin/sleep\n");
	tree_process_maps_file(tree, pid, "55d0c0a00000-55d0c0a02000", "../comm");
}

void tree_process_opens(SysfsTree *tree, pid_t pid, int fd, const char *target)
{
	_cleanup_free_ char *path = strf("proc/%d/task/%d/fd/%d", pid, pid, fd);

	tree_link(tree, path, target);
}

void tree_process_maps(SysfsTree *tree, pid_t pid, const char *maps)
{
	_cleanup_free_ char *path = strf("proc/%d/maps", pid);

	tree_write(tree, path, maps);
}

void tree_process_maps_file(SysfsTree *tree, pid_t pid, const char *range, const char *target)
{
	_cleanup_free_ char *path = strf("proc/%d/map_files/%s", pid, range);

	tree_link(tree, path, target);
}
