/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses what nvidia-smi prints about NVLink. The text comes from a guest, so nothing is accepted
 * that does not fit: sizes and numbers are bounded, an incomplete table is refused, and only UUIDs
 * and smi_excerpt() are passed on. Lines of other programs are skipped.
 *
 * Parsers return 0, -EBADMSG (not the output of that command) or -EFBIG (over
 * SMI_TEXT_MAX). On failure *ret is unchanged. *ret_bad, if it is 0 and not NULL, is set to the
 * first line that is not understood, counted from 1.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/verify/told.h"
#include "gpupass/string-table.h"
#include "util/bdf.h"

#define SMI_GPUS_MAX 64
/* NVML_NVLINK_MAX_LINKS of driver 595 */
#define SMI_LINKS_MAX 36

/* --- nvidia-smi --query-gpu=index,uuid,pci.bus_id --format=csv,noheader --- */

typedef struct SmiGpu {
	unsigned index;
	char uuid[SMI_UUID_SIZE]; /* lower case but for "GPU" */
	Bdf address;		  /* in the guest */
} SmiGpu;

typedef struct SmiGpus {
	SmiGpu items[SMI_GPUS_MAX]; /* as printed */
	size_t n_items;
	bool unreadable; /* there are more, of which it only says that something is wrong */
} SmiGpus;

/* No GPUs only if nvidia-smi says so ("No devices were found"), or that it lost them. */
int smi_parse_gpus(const char *text, size_t size, SmiGpus *ret, unsigned *ret_bad);

/* --- nvidia-smi topo -m, nvidia-smi topo -p2p n --- */

/* How `topo -m` says that one GPU reaches another. */
#define SMI_PATHS(X)                                                                               \
	X(SMI_PATH_NONE, "nothing")                                                                \
	X(SMI_PATH_SELF, "X")                                                                      \
	X(SMI_PATH_NVLINK, "NV") /* and a number of links */                                       \
	X(SMI_PATH_PIX, "PIX")                                                                     \
	X(SMI_PATH_PXB, "PXB")                                                                     \
	X(SMI_PATH_PHB, "PHB")                                                                     \
	X(SMI_PATH_NODE, "NODE")                                                                   \
	X(SMI_PATH_SYS, "SYS")                                                                     \
	X(SMI_PATH_SOC, "SOC") /* SYS, before driver 384 */

DECLARE_ENUM(smi_path, SmiPath, SMI_PATHS, SMI_PATH_MAX_);

/* What `topo -p2p n` says about peer-to-peer over NVLink. */
#define SMI_PEERS(X)                                                                               \
	X(SMI_PEER_NONE, "nothing", "it is not supported")                                         \
	X(SMI_PEER_SELF, "X", "it is not supported")                                               \
	X(SMI_PEER_OK, "OK", "it is not supported")                                                \
	X(SMI_PEER_CNS, "CNS", "the chipset does not support it")                                  \
	X(SMI_PEER_GNS, "GNS", "a GPU does not support it")                                        \
	X(SMI_PEER_TNS, "TNS", "the topology does not support it")                                 \
	X(SMI_PEER_NS, "NS", "it is not supported")                                                \
	X(SMI_PEER_DR, "DR", "a setting of the driver disables it") /* "regkey" */                 \
	X(SMI_PEER_U, "U", "it is not known")

DECLARE_ENUM(smi_peer, SmiPeer, SMI_PEERS, SMI_PEER_MAX_);

typedef struct SmiCell {
	uint8_t kind;  /* SmiPath or SmiPeer */
	uint8_t links; /* of SMI_PATH_NVLINK; otherwise 0 */
} SmiCell;

/* A table of GPUs by GPUs, by their index. */
typedef struct SmiMatrix {
	uint64_t gpus; /* bit by index: is in the table */
	SmiCell cells[SMI_GPUS_MAX][SMI_GPUS_MAX];
} SmiMatrix;

/*
 * The names in the header, which may be underlined, identify the columns. Columns of other devices,
 * and those after them, vary by version and are skipped.
 */
int smi_parse_topology(const char *text, size_t size, SmiMatrix *ret, unsigned *ret_bad);
int smi_parse_peers(const char *text, size_t size, SmiMatrix *ret, unsigned *ret_bad);

/* --- nvidia-smi nvlink --status --- */

typedef struct SmiNvlink {
	unsigned index;
	char uuid[SMI_UUID_SIZE];
	unsigned active, inactive;
	unsigned min_mbps, max_mbps; /* of active links, one direction; 0 without any */
	bool all_inactive;	     /* it says so instead of a list */
	bool not_offered;	     /* likewise: the driver offers none */
	bool unreadable;	     /* a line that nobody knows, or an error, is among them */
} SmiNvlink;

typedef struct SmiNvlinks {
	SmiNvlink items[SMI_GPUS_MAX];
	size_t n_items;
	bool all_inactive; /* said before any GPU, or without one */
} SmiNvlinks;

/*
 * No output means no GPU: nvidia-smi prints nothing if no board has NVLink. -EBADMSG, too, if no
 * GPU's links can be read.
 */
int smi_parse_nvlinks(const char *text, size_t size, SmiNvlinks *ret, unsigned *ret_bad);

/* --- what stands in NVLink's way --- */

/* nvidia-smi --query-gpu=index,mig.mode.current --format=csv,noheader; bit by index: MIG is on. */
int smi_parse_mig(const char *text, size_t size, uint64_t *ret_enabled);
/* nvidia-smi conf-compute -f */
int smi_parse_confidential(const char *text, size_t size, bool *ret_on);
