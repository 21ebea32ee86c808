/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses what programs print that measure the bandwidth between GPUs. As with nvidia-smi, the text
 * comes from a guest: it is bounded, a table that is not whole is refused, and only numbers and
 * addresses are passed on. Lines of other programs, such as NCCL's log, are skipped.
 *
 * Parsers return 0, -EBADMSG (not the output of that program) or -EFBIG (over
 * SMI_TEXT_MAX). On failure *ret is unchanged.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/bdf.h"

#define BANDWIDTH_GPUS_MAX 32
/* In GB/s. Above what a GPU copies within its own memory, which the tables have, too. */
#define BANDWIDTH_GBPS_MAX 99999

/* From one GPU to another, in MB/s. */
typedef struct BandwidthPath {
	uint32_t mbps; /* 0: not measured */
	uint32_t
		plain_mbps; /* the same copy without peer-to-peer, by the host's memory; 0: not known */
	bool no_peer;	    /* the one cannot reach the other's memory */
} BandwidthPath;

typedef struct Bandwidth {
	size_t n_gpus;
	bool addressed; /* `gpus` has the addresses in the guest */
	Bdf gpus[BANDWIDTH_GPUS_MAX];
	BandwidthPath paths[BANDWIDTH_GPUS_MAX][BANDWIDTH_GPUS_MAX]; /* [from][to] */
	uint32_t ring_mbps; /* all_reduce_perf: the highest bus bandwidth; it has no paths */
	bool wrong_data;    /* the program found that data arrived wrong */
	bool unchecked;	    /* all_reduce_perf did not look what arrived */
} Bandwidth;

/* nvbandwidth -t device_to_device_memcpy_read_ce, as text or (-j) as JSON */
int bandwidth_parse_nvbandwidth(const char *text, size_t size, Bandwidth *ret);
/* p2pBandwidthLatencyTest of NVIDIA's CUDA samples */
int bandwidth_parse_p2p(const char *text, size_t size, Bandwidth *ret);
/* all_reduce_perf of nccl-tests, by one process */
int bandwidth_parse_all_reduce(const char *text, size_t size, Bandwidth *ret);
