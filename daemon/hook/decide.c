/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hook/decide.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/domain/xml-bounds.h"
#include "core/domain/xml.h"
#include "core/fence/judge.h"
#include "core/pci/pci-snapshot.h"
#include "hook/late-xml.h"
#include "host/scan/mdev.h"
#include "host/scan/sysfs.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

#define FENCE_FILE "fence.json"
#define CLASS_DISPLAY 0x03

/* ---- sysfs ---- */

static int read_id(int sysfs_fd, const Bdf *bdf, const char *attribute, uint32_t *ret)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, attribute), *line = NULL;
	unsigned long long value;
	int r = file_read_line_at(sysfs_fd, path, &line);

	if (r < 0)
		return r;
	if (!str_starts_with(line, "0x") || str_to_unsigned(line + 2, 16, UINT32_MAX, &value) < 0)
		return -EBADMSG;
	*ret = (uint32_t)value;
	return 0;
}

static int read_ids(int sysfs_fd, FenceHostdev *hostdev)
{
	static const char *const names[] = { "vendor", "device", "subsystem_vendor",
					     "subsystem_device" };
	uint16_t *to[] = { &hostdev->vendor, &hostdev->device, &hostdev->subsystem_vendor,
			   &hostdev->subsystem_device };

	for (size_t i = 0; i < ELEMENTS(names); i++) {
		uint32_t value = 0;
		int r = read_id(sysfs_fd, &hostdev->bdf, names[i], &value);

		if (r < 0)
			return r;
		*to[i] = (uint16_t)value;
	}
	return 0;
}

static bool is_display(int sysfs_fd, const Bdf *bdf)
{
	uint32_t vendor, class_code;

	return read_id(sysfs_fd, bdf, "vendor", &vendor) >= 0 && vendor == PCI_VENDOR_NVIDIA &&
	       read_id(sysfs_fd, bdf, "class", &class_code) >= 0 &&
	       class_code >> 16 == CLASS_DISPLAY;
}

/* A VF is not a board's own; whose it is, its link says. */
static bool is_virtual(int sysfs_fd, const Bdf *bdf, Bdf *ret_physical)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, "physfn"), *name = NULL;
	struct stat st;

	if (fstatat(sysfs_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (file_link_name_at(sysfs_fd, path, &name) >= 0)
		(void)sysfs_parse_bdf(name, ret_physical);
	return true;
}

static bool in_slot_of_gpu(int sysfs_fd, const Bdf *bdf)
{
	for (uint8_t function = 0; function < 8; function++) {
		Bdf other = *bdf;

		other.function = function;
		if (is_display(sysfs_fd, &other))
			return true;
	}
	return false;
}

static FenceHostdev look_at(int sysfs_fd, const Bdf *bdf)
{
	FenceHostdev hostdev = { .bdf = *bdf };

	if (!sysfs_has_function(sysfs_fd, bdf))
		return hostdev;
	hostdev.vgpu = is_virtual(sysfs_fd, bdf, &hostdev.board);
	if (read_ids(sysfs_fd, &hostdev) < 0) {
		hostdev.gpu = true;
		return hostdev;
	}
	hostdev.present = true;
	hostdev.gpu = hostdev.vendor == PCI_VENDOR_NVIDIA && !hostdev.vgpu &&
		      in_slot_of_gpu(sysfs_fd, bdf);
	return hostdev;
}

/* An mdev that is not there, or is of something else, is no vGPU of a board. */
static bool look_at_mdev(int sysfs_fd, const char *uuid, FenceHostdev *ret)
{
	FenceHostdev hostdev = { .vgpu = true };
	Bdf parent;

	if (mdev_parent_at(sysfs_fd, uuid, &hostdev.board) < 0)
		return false;
	parent = hostdev.board;
	(void)is_virtual(sysfs_fd, &parent, &hostdev.board);
	*ret = hostdev;
	return true;
}

static int look_at_all(const HookPlace *place, const DomainUse *use, FenceHostdev **ret,
		       size_t *ret_n)
{
	_cleanup_close_ int sysfs_fd = open(place->sysfs_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	FenceHostdev *hostdevs;
	size_t n = 0;

	if (sysfs_fd < 0)
		return -errno;
	hostdevs = xcalloc(use->n_hostdevs + use->n_mdevs + 1, sizeof(FenceHostdev));
	for (size_t i = 0; i < use->n_hostdevs; i++)
		hostdevs[n++] = look_at(sysfs_fd, &use->hostdevs[i].bdf);
	for (size_t i = 0; i < use->n_mdevs; i++)
		n += look_at_mdev(sysfs_fd, use->mdevs[i].uuid, &hostdevs[n]);
	*ret = hostdevs;
	*ret_n = n;
	return 0;
}

/* ---- the fence ---- */

/* *ret NULL: it cannot be used, and *ret_why says so. */
static void read_fence(const HookPlace *place, Fence **ret, char **ret_why)
{
	_cleanup_close_ int dir_fd = open(place->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *text = NULL, *message = NULL;
	size_t size = 0;
	int r = dir_fd < 0 ? -errno : 0;

	if (r >= 0)
		r = file_read_state_at(dir_fd, FENCE_FILE, HOOK_FENCE_MAX, &text, &size);
	if (r >= 0)
		r = fence_from_json(text, size, ret, &message);
	if (r >= 0)
		return;
	if (r == -ENOENT)
		*ret_why = strf("%s/" FENCE_FILE " is missing", place->state_dir);
	else
		*ret_why = strf("%s/" FENCE_FILE " %s (%s)", place->state_dir,
				r == -EPROTO ? "is of another version" : "cannot be read",
				message ? message : file_state_error(r));
}

static int judge(const HookPlace *place, const DomainUse *use, Problem **ret_problem)
{
	_cleanup_free_ FenceHostdev *hostdevs = NULL;
	_cleanup_(fence_freep) Fence *fence = NULL;
	_cleanup_free_ char *why = NULL, *boot_id = NULL;
	size_t n = 0;
	int r = look_at_all(place, use, &hostdevs, &n);

	if (r >= 0)
		read_fence(place, &fence, &why);
	if (r < 0)
		return r;
	/* Without it the message calls the fence one of an earlier boot. */
	(void)file_read_line_at(AT_FDCWD, place->boot_id_file, &boot_id);
	return fence_judge(&(FenceRequest){ .uuid = use->uuid,
					    .name = use->name,
					    .hostdevs = hostdevs,
					    .n_hostdevs = n,
					    .fence = fence,
					    .no_fence = why,
					    .boot_id = boot_id,
					    .now_usec = now_realtime() },
			   ret_problem);
}

static bool may_name_functions(const char *xml)
{
	static const char *const words[] = { "hostdev", "nvme", "commandline", "override" };

	/* The XML is libvirt's own, so these words stand in it as they are. */
	for (size_t i = 0; i < ELEMENTS(words); i++)
		if (strstr(xml, words[i]))
			return true;
	return xml_bounds_deep_address(xml, strlen(xml));
}

/* An address by which it could be judged may be anywhere: that is no reason to refuse. */
static void tell_unclear(const DomainUse *use, char **ret_note)
{
	if (!use->unclear)
		return;
	*ret_note = strf("whether the QEMU arguments of %s take a GPU cannot be told: %s",
			 use->name, use->unclear);
}

int hook_decide(const HookPlace *place, const char *xml, char **ret_note, Problem **ret_problem)
{
	_cleanup_(domain_use_clear) DomainUse use = { 0 };
	int r;

	*ret_note = NULL;
	if (!may_name_functions(xml))
		return 0;
	r = late_xml_load();
	if (r < 0)
		return r;
	r = domain_use_from_xml(xml, NULL, &use, ret_problem);
	if (r == 0)
		tell_unclear(&use, ret_note);
	if (r != 0 || use.n_hostdevs + use.n_mdevs == 0)
		return r;
	return judge(place, &use, ret_problem);
}
