/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Boards on vfio-pci, whose BAR 0 is a sparse file with the registers in it. */
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include "rig/sysfs-tree.h"
#include "util/text.h"

#define BAR0_BYTES (16U << 20)

static inline char *resource0(const SysfsTree *tree, const char *bdf)
{
	return strf("%s/bus/pci/devices/%s/resource0", tree->sysfs, bdf);
}

static inline void put(const SysfsTree *tree, const char *bdf, uint32_t address, uint32_t value)
{
	_cleanup_free_ char *path = resource0(tree, bdf);
	uint8_t bytes[] = { (uint8_t)value, (uint8_t)(value >> 8), (uint8_t)(value >> 16),
			    (uint8_t)(value >> 24) };
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, sizeof(bytes), address), sizeof(bytes));
}

/* Awake, and decoding memory; `boot_0` is what its register 0 says. */
static inline void add_board_on_vfio(SysfsTree *tree, const char *bdf, uint16_t device,
				     uint32_t boot_0)
{
	/* Vendor, device; command with memory decode on. */
	static const uint8_t config[64] = { 0xde, 0x10, 0x31, 0x23, 0x06, 0x00 };
	_cleanup_free_ char *path = resource0(tree, bdf);
	_cleanup_free_ char *config_path = strf("sys/bus/pci/devices/%s/config", bdf);

	tree_add_gpu(tree, bdf, device, "vfio-pci", 33, NULL);
	tree_write_attribute(tree, bdf, "power_state", "D0\n");
	tree_write_bytes(tree, config_path, config, sizeof(config));
	put(tree, bdf, 0, boot_0);
	assert_int_equal(truncate(path, BAR0_BYTES), 0);
}
