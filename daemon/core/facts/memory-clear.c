/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/memory-clear.h"

#include "util/text.h"

#define CHIP_SHIFT 20
#define CHIP_MASK 0x1ffU
#define CHIP_GH100 0x180U

#define BOOT_TURING 0x118234U
#define BOOTED_TURING 0x3ffU
#define BOOT_FSP 0x200bcU /* of GH100, GB100 and GB102 */
#define BOOT_FSP_GB20X 0xad00bcU
#define BOOTED_FSP 0xffU
#define CLEAR 0x100b20U
#define CLEAR_BLACKWELL 0x8a004cU

#include "memory-clear.inc"

/* TU104, GA100, GA102, GA107, AD102, AD104: those of Turing to Ada that gpu-admin-tools names. */
static const uint32_t chips[] = { 0x164, 0x170, 0x172, 0x177, 0x192, 0x194 };

/* Device ids, since Hopper's successors are not told by PMC_BOOT_0 (gpu/devid_chips.py). */
static const struct {
	uint16_t first, last;
	uint32_t boot;
} blackwells[] = {
	{ 0x2900, 0x297f, BOOT_FSP },	    /* GB100 */
	{ 0x2980, 0x29ff, BOOT_FSP },	    /* GB102 */
	{ 0x2b80, 0x2bff, BOOT_FSP_GB20X }, /* GB202 */
};

bool memory_unreadable(uint32_t value)
{
	return value == UINT32_MAX || value >> 20 == 0xbad;
}

bool memory_method_clears(const char *method)
{
	return str_equal(method, "bus") || str_equal(method, "cxl_bus") ||
	       str_equal(method, "slot");
}

bool memory_registers(uint16_t device, uint32_t boot_0, MemoryRegisters *ret)
{
	uint32_t chip = boot_0 >> CHIP_SHIFT & CHIP_MASK;

	if (memory_unreadable(boot_0))
		return false;
	for (size_t i = 0; i < ELEMENTS(blackwells); i++)
		if (device >= blackwells[i].first && device <= blackwells[i].last) {
			*ret = (MemoryRegisters){ blackwells[i].boot, BOOTED_FSP, CLEAR_BLACKWELL };
			return true;
		}
	if (device >= 0x22f0 && device < 0x2380 && chip == CHIP_GH100) {
		*ret = (MemoryRegisters){ BOOT_FSP, BOOTED_FSP, CLEAR };
		return true;
	}
	for (size_t i = 0; i < ELEMENTS(chips); i++)
		if (chip == chips[i]) {
			*ret = (MemoryRegisters){ BOOT_TURING, BOOTED_TURING, CLEAR };
			return true;
		}
	return false;
}
