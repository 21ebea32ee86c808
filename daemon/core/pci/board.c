/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/pci/board.h"

#include "core/pci/pci-snapshot.h"
#include "gpupass/cleanup.h"
#include "util/text.h"

DEFINE_STRING_TABLE(nvlink_kind, NvlinkKind, NVLINK_KINDS)

/*
 * Why a board has no NVLink. Where its chip has none, that is the reason. Where its chip has it,
 * the reasons are NVIDIA's data sheets of boards, and nobody can see from here what was sold as
 * one: so such a board is declared alone only by somebody who looked at it.
 */
#define ALONE "; alone it can be declared a group of one"
#define LOOK_FIRST                                                                                 \
	"; its GPU could have one: alone it can be declared a group of one with --no-bridge-seen"

#define PASCAL_PCIE "the PCIe board of this Pascal GPU has no NVLink connector" LOOK_FIRST
#define VOLTA_PCIE "the PCIe board of this Volta GPU has no NVLink connector" LOOK_FIRST
#define TURING_NONE "this Turing board has no NVLink connector" LOOK_FIRST
#define TURING_MOBILE "mobile boards have no NVLink connector" LOOK_FIRST
#define AMPERE_NONE "this Ampere board has no NVLink connector" LOOK_FIRST
#define CMP "boards for mining have no NVLink" LOOK_FIRST
#define NO_PASCAL "of Pascal's GPUs only GP100 has NVLink" ALONE
#define NO_TURING "of Turing's GPUs only TU102 and TU104 have NVLink" ALONE
#define NO_AMPERE "of Ampere's GPUs only GA100 and GA102 have NVLink" ALONE
#define ADA "Ada boards have no NVLink" ALONE
#define BLACKWELL_PCIE "PCIe boards of the Blackwell generation have no NVLink" ALONE

#define SXM                                                                                        \
	"NVLinks of SXM boards run over the baseboard, and NVIDIA's Fabric Manager "               \
	"partitions them; there is no bridge to group by"
#define SUPERCHIP                                                                                  \
	"NVLinks of superchips lead to their CPU, and NVIDIA's Fabric Manager partitions them; "   \
	"there is no bridge to group by"
#define UNCERTAIN                                                                                  \
	"whether it has NVLink is not published; declare the group if its boards are bridged"

/* Fields: id, name, NVLink generation, links of a pair, MB/s per link, GPUs per bridge. */
#define BRIDGE(id, text, gen, n, mbps, gpus)                                                       \
	{                                                                                          \
		.device = (id), .name = (text), .kind = NVLINK_BRIDGE, .generation = (gen),        \
		.links = (n), .link_mbps = (mbps), .group_size = (gpus)                            \
	}
/* Other boards: what kind it is, and why no group can be inferred from it. */
#define OTHER(id, text, what, why)                                                                 \
	{                                                                                          \
		.device = (id), .name = (text), .kind = (what), .note = (why)                      \
	}

/* Sorted by id. "(pci.ids)": pci.ids is the only source. */
static const Board boards[] = {
	BRIDGE(0x15f0, "Quadro GP100", 1, 4, 40000, 2), /* (pci.ids) */
	OTHER(0x15f7, "Tesla P100 PCIe 12GB", NVLINK_NONE, PASCAL_PCIE),
	OTHER(0x15f8, "Tesla P100 PCIe 16GB", NVLINK_NONE, PASCAL_PCIE), /* (pci.ids) */
	OTHER(0x15f9, "Tesla P100 SXM2 16GB", NVLINK_SXM, SXM),		 /* (pci.ids) */
	OTHER(0x15fc, "Tesla P100 SXM2", NVLINK_SXM, SXM),		 /* (pci.ids) */
	OTHER(0x1d81, "Titan V", NVLINK_NONE, VOLTA_PCIE),
	OTHER(0x1d83, "CMP 100", NVLINK_NONE, CMP), /* (pci.ids) */
	OTHER(0x1db1, "Tesla V100 SXM2 16GB", NVLINK_SXM, SXM),
	OTHER(0x1db2, "Tesla V100 DGXS 16GB", NVLINK_SXM, SXM),
	OTHER(0x1db3, "Tesla V100 FHHL 16GB", NVLINK_NONE, VOLTA_PCIE), /* (pci.ids) */
	OTHER(0x1db4, "Tesla V100 PCIe 16GB", NVLINK_NONE, VOLTA_PCIE),
	OTHER(0x1db5, "Tesla V100 SXM2 32GB", NVLINK_SXM, SXM),
	OTHER(0x1db6, "Tesla V100 PCIe 32GB", NVLINK_NONE, VOLTA_PCIE),
	OTHER(0x1db7, "Tesla V100 DGXS 32GB", NVLINK_SXM, SXM), /* (pci.ids) */
	OTHER(0x1db8, "Tesla V100 SXM3 32GB", NVLINK_SXM, SXM), /* (pci.ids) */
	BRIDGE(0x1dba, "Quadro GV100", 2, 4, 50000, 2),		/* (pci.ids) */
	OTHER(0x1df5, "Tesla V100 SXM2 16GB", NVLINK_SXM, SXM), /* (pci.ids) */
	OTHER(0x1df6, "Tesla V100S PCIe 32GB", NVLINK_NONE, VOLTA_PCIE),
	BRIDGE(0x1e02, "Titan RTX", 2, 2, 50000, 2),
	BRIDGE(0x1e03, "RTX 2080 Ti 12GB", 2, 2, 50000, 2), /* (pci.ids) */
	BRIDGE(0x1e04, "RTX 2080 Ti", 2, 2, 50000, 2),
	BRIDGE(0x1e07, "RTX 2080 Ti", 2, 2, 50000, 2),
	OTHER(0x1e09, "CMP 50HX", NVLINK_NONE, CMP), /* (pci.ids) */
	BRIDGE(0x1e30, "Quadro RTX 6000/8000", 2, 2, 50000, 2),
	BRIDGE(0x1e36, "Quadro RTX 6000", 2, 2, 50000, 2),
	OTHER(0x1e37, "T10", NVLINK_UNKNOWN, UNCERTAIN), /* (pci.ids) */
	OTHER(0x1e38, "T40", NVLINK_UNKNOWN, UNCERTAIN), /* (pci.ids) */
	BRIDGE(0x1e78, "Quadro RTX 6000/8000", 2, 2, 50000, 2),
	BRIDGE(0x1e81, "RTX 2080 Super", 2, 1, 50000, 2),
	BRIDGE(0x1e82, "RTX 2080", 2, 1, 50000, 2),
	BRIDGE(0x1e84, "RTX 2070 Super", 2, 1, 50000, 2), /* (pci.ids) */
	BRIDGE(0x1e87, "RTX 2080", 2, 1, 50000, 2),
	OTHER(0x1e90, "RTX 2080 Mobile", NVLINK_NONE, TURING_MOBILE),
	OTHER(0x1e93, "RTX 2080 Super Mobile", NVLINK_NONE, TURING_MOBILE),
	BRIDGE(0x1eb0, "Quadro RTX 5000", 2, 1, 50000, 2),
	OTHER(0x1eb5, "Quadro RTX 5000 Mobile", NVLINK_NONE, TURING_MOBILE),
	OTHER(0x1eb8, "Tesla T4", NVLINK_NONE, TURING_NONE),
	BRIDGE(0x1ec2, "RTX 2070 Super", 2, 1, 50000, 2),
	BRIDGE(0x1ec7, "RTX 2070 Super", 2, 1, 50000, 2),
	OTHER(0x1ed0, "RTX 2080 Mobile", NVLINK_NONE, TURING_MOBILE),
	OTHER(0x1ed3, "RTX 2080 Super Mobile", NVLINK_NONE, TURING_MOBILE),
	OTHER(0x1ef5, "Quadro RTX 5000 Mobile", NVLINK_NONE, TURING_MOBILE),
	OTHER(0x20b0, "A100 SXM4 40GB", NVLINK_SXM, SXM),
	BRIDGE(0x20b1, "A100 PCIe 40GB", 3, 12, 50000, 2), /* (pci.ids) */
	OTHER(0x20b2, "A100 SXM4 80GB", NVLINK_SXM, SXM),
	OTHER(0x20b3, "A100 SXM 64GB", NVLINK_SXM, SXM),
	BRIDGE(0x20b5, "A100 PCIe 80GB", 3, 12, 50000, 2),
	BRIDGE(0x20b7, "A30", 3, 4, 50000, 2),
	/* The link counts of the converged boards are not published. */
	BRIDGE(0x20b8, "A100X", 3, 0, 0, 2), /* (pci.ids) */
	BRIDGE(0x20b9, "A30X", 3, 0, 0, 2),  /* (pci.ids) */
	OTHER(0x20bd, "A800 SXM4", NVLINK_SXM, SXM),
	OTHER(0x20c2, "CMP 170HX", NVLINK_NONE, CMP), /* (pci.ids) */
	BRIDGE(0x20f1, "A100 PCIe 40GB", 3, 12, 50000, 2),
	OTHER(0x20f3, "A800 SXM4 80GB", NVLINK_SXM, SXM),
	BRIDGE(0x20f5, "A800 PCIe 80GB", 3, 8, 50000, 2),
	BRIDGE(0x20f6, "A800 40GB Active", 3, 8, 50000, 2),
	BRIDGE(0x20fd, "AX800", 3, 0, 0, 2), /* (pci.ids) link count not published */
	BRIDGE(0x2203, "RTX 3090 Ti", 3, 4, 28125, 2),
	BRIDGE(0x2204, "RTX 3090", 3, 4, 28125, 2),
	OTHER(0x2205, "RTX 3080 Ti 20GB", NVLINK_NONE, AMPERE_NONE), /* (pci.ids) */
	OTHER(0x2206, "RTX 3080", NVLINK_NONE, AMPERE_NONE),	     /* (pci.ids) */
	OTHER(0x2208, "RTX 3080 Ti", NVLINK_NONE, AMPERE_NONE),	     /* (pci.ids) */
	OTHER(0x220a, "RTX 3080 12GB", NVLINK_NONE, AMPERE_NONE),    /* (pci.ids) */
	OTHER(0x220d, "CMP 90HX", NVLINK_NONE, CMP),		     /* (pci.ids) */
	OTHER(0x2216, "RTX 3080 LHR", NVLINK_NONE, AMPERE_NONE),     /* (pci.ids) */
	BRIDGE(0x2230, "RTX A6000", 3, 4, 28125, 2),
	BRIDGE(0x2231, "RTX A5000", 3, 4, 28125, 2),
	BRIDGE(0x2232, "RTX A4500", 3, 4, 28125, 2),
	BRIDGE(0x2233, "RTX A5500", 3, 4, 28125, 2),
	BRIDGE(0x2235, "A40", 3, 4, 28125, 2),
	OTHER(0x2236, "A10", NVLINK_NONE, AMPERE_NONE),
	OTHER(0x2237, "A10G", NVLINK_NONE, AMPERE_NONE),
	OTHER(0x2309, "H20", NVLINK_SXM, SXM),
	OTHER(0x230c, "H20", NVLINK_SXM, SXM),
	OTHER(0x230e, "H20", NVLINK_SXM, SXM),
	OTHER(0x2313, "H100 CNX", NVLINK_UNKNOWN, UNCERTAIN), /* (pci.ids) */
	BRIDGE(0x2321, "H100 NVL", 4, 12, 50000, 2),
	BRIDGE(0x2322, "H800 PCIe", 4, 8, 50000, 2),
	OTHER(0x2324, "H800 SXM5", NVLINK_SXM, SXM),
	OTHER(0x2328, "H20", NVLINK_SXM, SXM),
	OTHER(0x2329, "H20", NVLINK_SXM, SXM),
	OTHER(0x232c, "H20", NVLINK_SXM, SXM),
	OTHER(0x2330, "H100 SXM5 80GB", NVLINK_SXM, SXM),
	BRIDGE(0x2331, "H100 PCIe", 4, 12, 50000, 2), /* 12 of the GPU's 18 reach the bridges */
	OTHER(0x2335, "H200 SXM5", NVLINK_SXM, SXM),
	OTHER(0x2336, "H100 SXM5", NVLINK_SXM, SXM), /* (pci.ids) */
	OTHER(0x2337, "H100 SXM5", NVLINK_SXM, SXM),
	OTHER(0x2338, "H100 SXM5", NVLINK_SXM, SXM),
	OTHER(0x2339, "H100 SXM5", NVLINK_SXM, SXM),
	BRIDGE(0x233a, "H800 NVL", 4, 0, 0, 2), /* link count not published */
	/* 18 links to one peer, or 6 to each of three. */
	BRIDGE(0x233b, "H200 NVL", 4, 18, 50000, 4),
	OTHER(0x233d, "GH100", NVLINK_UNKNOWN, UNCERTAIN), /* (pci.ids); see variants */
	OTHER(0x2342, "GH200", NVLINK_SXM, SUPERCHIP),
	OTHER(0x2343, "GH200", NVLINK_SXM, SUPERCHIP),
	OTHER(0x2345, "GH200", NVLINK_SXM, SUPERCHIP),
	OTHER(0x2348, "GH200", NVLINK_SXM, SUPERCHIP),
	OTHER(0x2684, "RTX 4090", NVLINK_NONE, ADA),
	OTHER(0x26b1, "RTX 6000 Ada", NVLINK_NONE, ADA),
	OTHER(0x26b3, "RTX 5880 Ada", NVLINK_NONE, ADA),
	OTHER(0x26b5, "L40", NVLINK_NONE, ADA),
	OTHER(0x26b9, "L40S", NVLINK_NONE, ADA),
	OTHER(0x26ba, "L20", NVLINK_NONE, ADA),
	OTHER(0x27b6, "L2", NVLINK_NONE, ADA),
	OTHER(0x27b8, "L4", NVLINK_NONE, ADA),
	OTHER(0x2901, "B200", NVLINK_SXM, SXM),
	OTHER(0x2920, "B100", NVLINK_SXM, SXM), /* (pci.ids) */
	OTHER(0x2941, "GB200", NVLINK_SXM, SUPERCHIP),
	OTHER(0x2b85, "RTX 5090", NVLINK_NONE, BLACKWELL_PCIE),
	OTHER(0x2b87, "RTX 5090 D", NVLINK_NONE, BLACKWELL_PCIE),
	OTHER(0x2bb1, "RTX PRO 6000", NVLINK_NONE, BLACKWELL_PCIE),
	OTHER(0x2bb3, "RTX PRO 5000", NVLINK_NONE, BLACKWELL_PCIE),
	OTHER(0x2bb4, "RTX PRO 6000 Max-Q", NVLINK_NONE, BLACKWELL_PCIE),
	OTHER(0x2bb5, "RTX PRO 6000", NVLINK_NONE, BLACKWELL_PCIE),
	OTHER(0x3182, "B300", NVLINK_SXM, SXM),
	OTHER(0x31c2, "GB300", NVLINK_SXM, SUPERCHIP),
};

/* Boards that only their subsystem tells from others of their id. */
static const struct {
	uint16_t subsystem;
	Board board;
} variants[] = {
	/* gpu-admin-tools, devid_properties.py */
	{ 0x1626, BRIDGE(0x233d, "H100 PCIe", 4, 12, 50000, 2) },
};

/*
 * Chips without NVLink, so that no later board of theirs is offered for declaration. Their device 0
 * says that the catalogue has no name for the very board. Ids by chip: pci.ids, and
 * open-gpu-kernel-modules' g_nv_name_released.h. Which chips have it: NVIDIA's papers on the
 * architectures. GP100, GV100, TU102, TU104, GA100, GA102, GH100 and GB100 to GB112 are not here: a
 * board of theirs that nobody knows may have a bridge.
 */
static const struct {
	uint16_t first, last;
	Board board;
} ranges[] = {
	{ 0x1b00, 0x1d7f, OTHER(0, "Pascal board", NVLINK_NONE, NO_PASCAL) }, /* GP102 to GP108 */
	{ 0x1f00, 0x1fff, OTHER(0, "Turing board", NVLINK_NONE, NO_TURING) }, /* TU106, TU117 */
	{ 0x2180, 0x21ff, OTHER(0, "Turing board", NVLINK_NONE, NO_TURING) }, /* TU116 */
	{ 0x2400, 0x25ff, OTHER(0, "Ampere board", NVLINK_NONE, NO_AMPERE) }, /* GA103 to GA107 */
	{ 0x2600, 0x28ff, OTHER(0, "Ada board", NVLINK_NONE, ADA) },	      /* AD102 to AD107 */
	{ 0x2b00, 0x2fff, OTHER(0, "Blackwell board", NVLINK_NONE, BLACKWELL_PCIE) }, /* GB20x */
};

static int compare_board(const void *key, const void *element)
{
	const uint16_t *device = key;
	const Board *board = element;

	return (int)*device - (int)board->device;
}

static const Board *find_range(uint16_t device)
{
	for (size_t i = 0; i < ELEMENTS(ranges); i++)
		if (device >= ranges[i].first && device <= ranges[i].last)
			return &ranges[i].board;
	return NULL;
}

const Board *board_find(uint16_t vendor, uint16_t device, uint16_t subsystem_device)
{
	const Board *board;

	if (vendor != PCI_VENDOR_NVIDIA)
		return NULL;
	for (size_t i = 0; i < ELEMENTS(variants); i++)
		if (variants[i].board.device == device && variants[i].subsystem == subsystem_device)
			return &variants[i].board;
	board = bsearch(&device, boards, ELEMENTS(boards), sizeof(Board), compare_board);
	return board ? board : find_range(device);
}

bool board_may_be_bridged(uint16_t vendor, uint16_t device)
{
	return vendor == PCI_VENDOR_NVIDIA && !find_range(device);
}

const char *board_exclusion(const Board *board)
{
	if (!board)
		return "not in the catalogue, so nothing is known of NVLink on it; "
		       "declare the group if its boards are bridged";
	return board->kind == NVLINK_BRIDGE ? NULL : board->note;
}

uint32_t board_pcie_mbps(const Board *board)
{
	switch (board ? board->generation : 0) {
	case 1:
	case 2:
		return 15754; /* PCIe 3.0: Pascal, Volta, Turing */
	case 3:
		return 31508; /* PCIe 4.0: Ampere */
	case 4:
		return 63015; /* PCIe 5.0: Hopper */
	default:
		return 0;
	}
}

/* 1d81 to 1df6 are GV100, 1e02 is the first of TU102 (pci.ids). */
bool board_before_turing(uint16_t device)
{
	return device < 0x1e00;
}

/* "RTX 3090", "RTX 2080 Super Mobile"; but "RTX A6000", "RTX PRO 6000", "RTX 6000 Ada". */
bool board_is_professional(const Board *board)
{
	const char *name = board && board->device ? board->name : "CMP";

	if (str_starts_with(name, "CMP") || str_starts_with(name, "Titan"))
		return false;
	return !str_starts_with(name, "RTX ") || name[4] < '0' || name[4] > '9' ||
	       strstr(name, " Ada");
}

const Board *board_table(size_t *ret_n)
{
	*ret_n = ELEMENTS(boards);
	return boards;
}
