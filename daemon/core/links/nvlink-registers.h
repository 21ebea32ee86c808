/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Link registers of GH100 (Hopper) in BAR 0: where they are, and what they mean. Only Hopper's
 * firmware trains its links without a driver. Ampere drops them when its driver goes, and Blackwell
 * reports nothing before it is written to. Offsets are from NVIDIA's gpu-admin-tools, the meaning
 * of fields from what is published for the NVSwitches LR10 and LS10. Not tried on hardware.
 *
 * What cannot be read (all ones, 0xbad…) is unknown, never "no link".
 */
#pragma once

#include <stdint.h>

#include "core/links/evidence.h"

#define NVLINK_LINKS 18
#define NVLINK_GROUPS 3
#define NVLINK_GROUP_LINKS 6

#define NVLINK_REGISTERS_BEGIN 0xa00000U
#define NVLINK_REGISTERS_END 0xac0000U

/* Of the link; `reg` from the enum below. */
uint32_t nvlink_link_register(unsigned link, uint32_t reg);
/* Of the group of links; `reg` from the enum below. */
uint32_t nvlink_group_register(unsigned group, uint32_t reg);

enum {
	PMC_BOOT_0 = 0x0, /* of BAR 0 */
	NVLDL_STATE = 0x0,
	NVLIPT_LNK_REMOTE_CHIP = 0x7104,
	NVLIPT_LNK_REMOTE_SID_LOW = 0x7108,
	NVLIPT_LNK_REMOTE_SID_HIGH = 0x710c,
	NVLIPT_LNK_REMOTE_LINK = 0x7110,
	NVLIPT_LNK_STATE = 0x7484,
	NVLIPT_COMMON_SID_LOW = 0x2108,
	NVLIPT_COMMON_SID_HIGH = 0x210c,
};

/* As read. */
typedef struct NvlinkRegisters {
	uint32_t boot_0;
	uint32_t sid[NVLINK_GROUPS][2]; /* low, high */
	struct {
		uint32_t dl_state, state, remote_chip, remote_sid[2], remote_link;
	} links[NVLINK_LINKS];
} NvlinkRegisters;

/* As understood. */
typedef struct NvlinkView {
	Bdf bdf;
	unsigned expected; /* links that the board has when fully bridged; 0: not known */
	uint64_t sid[NVLINK_GROUPS];
	struct {
		bool active;
		uint64_t remote_sid;
		unsigned remote_link;
	} links[NVLINK_LINKS];
	unsigned active;
} NvlinkView;

/* By PMC_BOOT_0. */
bool nvlink_is_gh100(uint32_t boot_0);

/*
 * Fills all of *ret except bdf and expected. -EOPNOTSUPP: another chip; -ENODATA: something could
 * not be read; *ret_why is then a sentence.
 */
int nvlink_decode(const NvlinkRegisters *registers, NvlinkView *ret, const char **ret_why);

/*
 * Fills the peers of *ret from what the boards see of each other; the rest of *ret is the caller's.
 * Each active link must lead, number by number, to an active link of another view that leads back
 * to it, and there must be as many as the board should have. Otherwise nothing is claimed about
 * that board, and *ret_why says why (the caller frees it). 0 or -ENODATA.
 */
int nvlink_peers(const NvlinkView *views, size_t n, size_t index, Sighting *ret, char **ret_why);
