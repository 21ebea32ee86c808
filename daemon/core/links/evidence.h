/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was seen of the NVLinks: one sighting a board and way of looking. A sighting says which peers
 * one board told of, no more; links_from_evidence() makes links of what two boards say of each
 * other. It is used only while the boards are those that were seen.
 *
 * Evidence is immutable once made and shared by reference count, as Rules are.
 */
#pragma once

#include <jansson.h>
#include <stdatomic.h>

#include "core/links/link.h"

#define SIGHTINGS_MAX 256
#define SIGHTING_LINKS_MAX 64 /* of one board; NVML counts to 36 today */

/* X(enumerator, name) */
#define SIGHTING_WAYS(X)                                                                           \
	X(WAY_PRESENT, "present") /* it was there, and not looked at */                            \
	X(WAY_NVML, "nvml")                                                                        \
	X(WAY_MMIO, "mmio")                                                                        \
	X(WAY_GUEST, "guest")

typedef enum SightingWay {
#define X(enumerator, name) enumerator,
	SIGHTING_WAYS(X)
#undef X
		WAY_MAX_,
} SightingWay;
DECLARE_STRING_TABLE(sighting_way, SightingWay);

typedef struct SeenPeer {
	Bdf bdf;
	unsigned links; /* active ones to it */
} SeenPeer;

typedef struct Sighting {
	Bdf bdf; /* leading function */
	SightingWay way;
	uint64_t seen_usec; /* CLOCK_REALTIME */
	char *source;	    /* "NVML 550.54.15", "guest vm42" */
	/* Which board it was; texts are NULL where they were not known. */
	uint16_t vendor, device, subsystem_vendor, subsystem_device;
	char *uuid;	     /* "GPU-…" */
	char *vbios;	     /* "94.02.5c.00.02" */
	char *board_serial;  /* as printed on the board; not PCIe's */
	char *serial_number; /* PCIe Device Serial Number, as in Gpu */
	/* What it told. Of a guest: of the boards in it alone. */
	SeenPeer *peers;
	size_t n_peers;
	unsigned inactive; /* links that it has and that are down */
	unsigned other;	   /* links to what is no GPU: an NVSwitch */
	bool fresh;	   /* seen by this daemon, not read from its file; not stored */
} Sighting;

typedef struct Evidence {
	atomic_uint references;
	Sighting *items;
	size_t n_items;
} Evidence;

int evidence_new(Evidence **ret);
Evidence *evidence_ref(Evidence *evidence);
Evidence *evidence_unref(Evidence *evidence);
DEFINE_CLEANUP(Evidence, evidence_unref)

/* For makers, before it is shared. Takes what *sighting owns, also on failure. -E2BIG. */
int evidence_add(Evidence *into, Sighting *sighting);
void sighting_clear(Sighting *sighting);

/* The board's sighting through NVML or registers, or through a guest; NULL: none. */
const Sighting *evidence_find_host(const Evidence *evidence, const Bdf *bdf);
const Sighting *evidence_find_guest(const Evidence *evidence, const Bdf *bdf);

/*
 * A new look takes the place of an older one at the same board: of the host's by the host's, of a
 * guest's by a guest's. That a board is only present leaves what was seen of that board.
 * whole: `newer` has every board of this host that could be linked; older ones at other addresses are dropped.
 * `older` may be NULL.
 */
int evidence_merge(const Evidence *older, const Evidence *newer, bool whole, Evidence **ret);

/*
 * Appends a link for each two boards that see each other by the same count, and a doubt for each
 * two that do not, although both were looked at. What is stale yields neither, but a line in
 * *notes. `evidence` may be NULL.
 */
int links_from_evidence(Links *into, const Evidence *evidence, const GpuSet *set, char ***notes);

/* Why a sighting no longer counts; NULL in *ret_why: it does. 0 or -ENOMEM. */
int sighting_stale(const Evidence *evidence, const Sighting *sighting, const GpuSet *set,
		   char **ret_why);

/* evidence-json.c: strict; -EBADMSG with *ret_message. Used in files and in answers of workers. */
json_t *sightings_to_json(const Evidence *evidence);
int sightings_from_json(const json_t *array, Evidence **ret, char **ret_message);

/* The file topology.json: schema org.gpupass1.evidence/1. NULL when memory is out. */
char *evidence_to_text(const Evidence *evidence);
/* -EBADMSG, or -EPROTO for another version's. */
int evidence_from_text(const char *text, size_t size, Evidence **ret, char **ret_message);

/* For people and scripts: the same with each board's model, and "stale" (a reason, or null). */
char *evidence_report(const Evidence *evidence, const GpuSet *set);

/* Printable ASCII of at most 64 bytes: what a serial number or a version may be. */
bool evidence_text_valid(const char *s);
