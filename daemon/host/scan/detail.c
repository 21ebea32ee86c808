/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/scan/detail.h"

#include <ctype.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/text.h"

/* Thirteen lines with SR-IOV, of 57 bytes each. */
#define RESOURCE_MAX_BYTES 4096

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

	if (!with_function)
		return -ENOMEM;
	return sysfs_parse_bdf(with_function, ret);
}

static int read_slot(int slots_fd, const char *name, Slots *slots)
{
	_cleanup_free_ char *path = strf("%s/address", name), *address = NULL;
	Slot slot = { 0 };
	int r;

	if (!path)
		return -ENOMEM;
	r = file_read_line_at(slots_fd, path, &address);
	if (r == -ENOENT || r == -ENODEV)
		return 0;
	if (r < 0)
		return r;
	r = parse_slot_address(address, &slot.address);
	if (r == -EINVAL)
		return 0;
	if (r < 0)
		return r;
	slot.name = strdup(name);
	if (!slot.name)
		return -ENOMEM;
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
	slots.items = calloc(strv_length(names) + 1, sizeof(Slot));
	if (!slots.items)
		return -ENOMEM;
	for (char **name = names; name && *name; name++) {
		r = read_slot(fd, *name, &slots);
		if (r < 0)
			return r;
	}
	*ret = slots;
	slots = (Slots){ 0 };
	return 0;
}

static int set_physical_slot(const Slots *slots, PciFunction *f)
{
	for (size_t i = 0; i < slots->n_items; i++) {
		if (!bdf_same_slot(&slots->items[i].address, &f->bdf))
			continue;
		f->physical_slot = strdup(slots->items[i].name);
		return f->physical_slot ? 0 : -ENOMEM;
	}
	return 0;
}

/* "0x00000000de000000 0x00000000deffffff 0x0000000000040200": first, last, flags. */
static int parse_bar(char *line, uint64_t *ret)
{
	unsigned long long first, last, flags;
	_cleanup_strv_ char **words = NULL;
	int r;

	r = strv_split(line, " ", &words);
	if (r < 0)
		return r;
	if (strv_length(words) != 3 || str_to_unsigned(words[0], 16, ULLONG_MAX, &first) < 0 ||
	    str_to_unsigned(words[1], 16, ULLONG_MAX, &last) < 0 ||
	    str_to_unsigned(words[2], 16, ULLONG_MAX, &flags) < 0 || last < first)
		return -EBADMSG;
	/* Like the kernel's pci_resource_len(): a BAR that ends at 0 is absent. */
	*ret = last == 0 ? 0 : last - first + 1;
	return 0;
}

static int read_bars(int device_fd, PciFunction *f)
{
	_cleanup_free_ char *text = NULL;
	char *save = NULL, *line;
	int r;

	r = file_read_at(device_fd, "resource", RESOURCE_MAX_BYTES, &text, NULL);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	line = strtok_r(text, "\n", &save);
	for (size_t i = 0; i < PCI_BARS && line; i++, line = strtok_r(NULL, "\n", &save)) {
		r = parse_bar(line, &f->bar_size[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int append_upstream(PciFunction *f, const Bdf *bdf)
{
	Bdf *p = reallocarray(f->upstream, f->n_upstream + 1, sizeof(Bdf));

	if (!p)
		return -ENOMEM;
	f->upstream = p;
	f->upstream[f->n_upstream++] = *bdf;
	return 0;
}

/* "pci0000:00": a host bridge. Intel VMD puts a second one behind its endpoint. */
static bool is_host_bridge(const char *component)
{
	return str_starts_with(component, "pci") && isxdigit((unsigned char)component[3]);
}

/* ../../../devices/pci0000:00/0000:00:01.0/0000:41:00.0 */
static int read_upstream(int devices_fd, PciFunction *f)
{
	char target[PATH_MAX], *save = NULL;
	ssize_t n;

	n = readlinkat(devices_fd, BDF_TEXT(&f->bdf), target, sizeof(target) - 1);
	if (n < 0)
		return errno == EINVAL ? 0 : -errno; /* not a link, so unknown */
	target[n] = '\0';
	for (char *c = strtok_r(target, "/", &save); c; c = strtok_r(NULL, "/", &save)) {
		Bdf bdf;
		int r;

		if (is_host_bridge(c))
			f->n_upstream = 0;
		if (sysfs_parse_bdf(c, &bdf) < 0 || bdf_equal(&bdf, &f->bdf))
			continue;
		r = append_upstream(f, &bdf);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Older kernels have neither attribute, and some devices refuse: then the value is unknown. */
static int read_if_told(int device_fd, const char *name, char **ret)
{
	_cleanup_free_ char *text = NULL;
	int r = file_read_line_at(device_fd, name, &text);

	if (r == -ENOMEM || r == -ENODEV)
		return r;
	*ret = r < 0 || str_is_empty(text) ? NULL : TAKE_PTR(text);
	return 0;
}

static int read_count(int device_fd, const char *name, unsigned *ret)
{
	_cleanup_free_ char *text = NULL;
	unsigned long long number;
	int r = read_if_told(device_fd, name, &text);

	if (r >= 0 && text && str_to_unsigned(text, 10, UINT16_MAX, &number) >= 0)
		*ret = (unsigned)number;
	return r;
}

/* sriov_numvfs is left out: to read it takes the device's lock (drivers/pci/iov.c). */
static int read_vfs(int device_fd, PciFunction *f)
{
	int r = read_count(device_fd, "sriov_totalvfs", &f->vfs_max);

	if (r >= 0)
		r = read_count(device_fd, "sriov_offset", &f->vf_offset);
	return r < 0 ? r : read_count(device_fd, "sriov_stride", &f->vf_stride);
}

static int read_details(int devices_fd, const Slots *slots, PciFunction *f)
{
	_cleanup_close_ int fd = -1;
	int r;

	r = dir_open_at(devices_fd, BDF_TEXT(&f->bdf), false, &fd);
	if (r < 0)
		return r;
	r = read_if_told(fd, "reset_method", &f->reset_methods);
	if (r < 0)
		return r;
	r = read_if_told(fd, "power_state", &f->power_state);
	if (r < 0)
		return r;
	r = read_bars(fd, f);
	if (r < 0)
		return r;
	r = read_vfs(fd, f);
	if (r < 0)
		return r;
	r = set_physical_slot(slots, f);
	if (r < 0)
		return r;
	return read_upstream(devices_fd, f);
}

/* The index after the last function of the slot that begins at `from`. */
static size_t slot_end(const PciSnapshot *snapshot, size_t from, bool *ret_gpu)
{
	size_t i = from;

	*ret_gpu = false;
	for (; i < snapshot->n_functions &&
	       bdf_same_slot(&snapshot->functions[from].bdf, &snapshot->functions[i].bdf);
	     i++)
		if (pci_function_is_nvidia_gpu(&snapshot->functions[i]))
			*ret_gpu = true;
	return i;
}

static void remove_function(PciSnapshot *snapshot, size_t index)
{
	PciFunction *f = &snapshot->functions[index];

	pci_function_clear(f);
	snapshot->n_functions--;
	memmove(f, f + 1, (snapshot->n_functions - index) * sizeof(*f));
}

static bool has_gpu(const PciSnapshot *snapshot)
{
	for (size_t i = 0; i < snapshot->n_functions; i++)
		if (pci_function_is_nvidia_gpu(&snapshot->functions[i]))
			return true;
	return false;
}

int scan_details(int sysfs_fd, int devices_fd, PciSnapshot *snapshot)
{
	_cleanup_(slots_clear) Slots slots = { 0 };
	int r;

	if (!has_gpu(snapshot))
		return 0;
	r = read_slots(sysfs_fd, &slots);
	if (r < 0)
		return r;
	for (size_t i = 0, end; i < snapshot->n_functions; i = end) {
		bool gpu;

		end = slot_end(snapshot, i, &gpu);
		for (size_t j = i; gpu && j < end;) {
			r = read_details(devices_fd, &slots, &snapshot->functions[j]);
			if (r == -ENOENT || r == -ENODEV) {
				remove_function(snapshot, j);
				end--;
				continue;
			}
			if (r < 0)
				return r;
			j++;
		}
	}
	return 0;
}
