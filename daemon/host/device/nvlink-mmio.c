/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/device/nvlink-mmio.h"

#include <endian.h>
#include <sys/mman.h>

#include "host/device/bar0.h"

typedef struct Bar {
	const volatile uint32_t *first;	    /* page 0 */
	const volatile uint32_t *registers; /* NVLINK_REGISTERS_BEGIN and on */
} Bar;

static void bar_unmap(Bar *bar)
{
	if (bar->first)
		munmap((void *)bar->first, BAR0_PAGE);
	if (bar->registers)
		munmap((void *)bar->registers, NVLINK_REGISTERS_END - NVLINK_REGISTERS_BEGIN);
	*bar = (Bar){ 0 };
}

static int bar_map(int sysfs_fd, const Bdf *bdf, Bar *bar, const char **ret_why)
{
	_cleanup_close_ int fd = -1;
	int r = bar0_open(sysfs_fd, bdf, NVLINK_REGISTERS_END, &fd, ret_why);

	if (r >= 0)
		r = bar0_map(fd, BAR0_PAGE, 0, &bar->first);
	if (r >= 0)
		r = bar0_map(fd, NVLINK_REGISTERS_END - NVLINK_REGISTERS_BEGIN,
			     NVLINK_REGISTERS_BEGIN, &bar->registers);
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
	int r = bar_map(sysfs_fd, bdf, &bar, ret_why);

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
