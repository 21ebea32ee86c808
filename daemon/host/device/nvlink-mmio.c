/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/device/nvlink-mmio.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/text.h"

#define PAGE 4096U
#define CONFIG_COMMAND 4
#define COMMAND_MEMORY 0x2

typedef struct Bar {
	const volatile uint32_t *first;	    /* page 0 */
	const volatile uint32_t *registers; /* NVLINK_REGISTERS_BEGIN and on */
} Bar;

static int is_awake(int sysfs_fd, const Bdf *bdf, const char **ret_why)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, "power_state"), *state = NULL;
	int r;

	if (!path)
		return -ENOMEM;
	r = sysfs_line_if_any(sysfs_fd, path, &state);
	if (r < 0)
		return r;
	if (str_equal(state, "D0"))
		return 0;
	*ret_why = "it is asleep, and is not woken for this";
	return -ENODATA;
}

static int decodes_memory(int sysfs_fd, const Bdf *bdf, const char **ret_why)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, "config");
	_cleanup_close_ int fd = -1;
	uint8_t command[2];

	if (!path)
		return -ENOMEM;
	fd = openat(sysfs_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (pread(fd, command, sizeof(command), CONFIG_COMMAND) != sizeof(command)) {
		*ret_why = "its config space cannot be read";
		return -ENODATA;
	}
	if (command[0] == 0xff && command[1] == 0xff) {
		*ret_why = "its config space reads all ones";
		return -ENODATA;
	}
	if (!(command[0] & COMMAND_MEMORY)) {
		*ret_why = "it does not decode memory: no driver has enabled it";
		return -ENODATA;
	}
	return 0;
}

static void bar_unmap(Bar *bar)
{
	if (bar->first)
		munmap((void *)bar->first, PAGE);
	if (bar->registers)
		munmap((void *)bar->registers, NVLINK_REGISTERS_END - NVLINK_REGISTERS_BEGIN);
	*bar = (Bar){ 0 };
}

static int map(int fd, size_t size, off_t offset, const volatile uint32_t **ret)
{
	void *p = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, offset);

	if (p == MAP_FAILED)
		return -errno;
	*ret = p;
	return 0;
}

/* A locked-down kernel refuses with EPERM; a driver that has claimed the BAR makes it EINVAL. */
static int bar_map(int sysfs_fd, const Bdf *bdf, Bar *bar, const char **ret_why)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, "resource0");
	_cleanup_close_ int fd = -1;
	struct stat st;
	int r;

	if (!path)
		return -ENOMEM;
	fd = openat(sysfs_fd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0)
		return -errno;
	if (st.st_size < NVLINK_REGISTERS_END) {
		*ret_why = "its BAR 0 is too small to have these registers";
		return -ENODATA;
	}
	r = map(fd, PAGE, 0, &bar->first);
	if (r >= 0)
		r = map(fd, NVLINK_REGISTERS_END - NVLINK_REGISTERS_BEGIN, NVLINK_REGISTERS_BEGIN,
			&bar->registers);
	return r;
}

static uint32_t at(const Bar *bar, uint32_t address)
{
	return le32toh(bar->registers[(address - NVLINK_REGISTERS_BEGIN) / sizeof(uint32_t)]);
}

static void read_registers(const Bar *bar, NvlinkRegisters *r)
{
	for (unsigned i = 0; i < NVLINK_GROUPS; i++) {
		r->sid[i][0] = at(bar, nvlink_group_register(i, NVLIPT_COMMON_SID_LOW));
		r->sid[i][1] = at(bar, nvlink_group_register(i, NVLIPT_COMMON_SID_HIGH));
	}
	for (unsigned i = 0; i < NVLINK_LINKS; i++) {
		r->links[i].dl_state = at(bar, nvlink_link_register(i, NVLDL_STATE));
		r->links[i].state = at(bar, nvlink_link_register(i, NVLIPT_LNK_STATE));
		r->links[i].remote_chip = at(bar, nvlink_link_register(i, NVLIPT_LNK_REMOTE_CHIP));
		r->links[i].remote_sid[0] =
			at(bar, nvlink_link_register(i, NVLIPT_LNK_REMOTE_SID_LOW));
		r->links[i].remote_sid[1] =
			at(bar, nvlink_link_register(i, NVLIPT_LNK_REMOTE_SID_HIGH));
		r->links[i].remote_link = at(bar, nvlink_link_register(i, NVLIPT_LNK_REMOTE_LINK));
	}
}

int nvlink_mmio_read(int sysfs_fd, const Bdf *bdf, NvlinkRegisters *ret, const char **ret_why)
{
	_cleanup_(bar_unmap) Bar bar = { 0 };
	NvlinkRegisters registers = { 0 };
	int r;

	r = is_awake(sysfs_fd, bdf, ret_why);
	if (r >= 0)
		r = decodes_memory(sysfs_fd, bdf, ret_why);
	if (r >= 0)
		r = bar_map(sysfs_fd, bdf, &bar, ret_why);
	if (r < 0)
		return r;
	if (!bar.first || !bar.registers)
		return -EIO;
	registers.boot_0 = le32toh(bar.first[PMC_BOOT_0]);
	/* Reads no more of another chip, or of one that does not answer. */
	if (nvlink_is_gh100(registers.boot_0)) {
		read_registers(&bar, &registers);
		if (le32toh(bar.first[PMC_BOOT_0]) != registers.boot_0) {
			*ret_why = "it stopped answering while it was read";
			return -ENODATA;
		}
	}
	*ret = registers;
	return 0;
}
