/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was seen of the NVLinks: one sighting for each board and way of looking. A sighting says
 * only which peers one board reports. links_from_evidence() makes links from what two boards report
 * about each other. A sighting counts only while the boards are the ones that were seen. What a
 * guest reports makes no link: groups_hear_guests() (core/group/word.h) judges it.
 *
 * Evidence is immutable once made and shared by reference count, as Rules are.
 */
#pragma once

#include <jansson.h>
#include <stdatomic.h>

#include "core/base/json-struct.h"
#include "core/facts/assignment.h"
#include "core/facts/persistence.h"
#include "core/links/link.h"

#define SIGHTINGS_MAX 256
#define SIGHTING_LINKS_MAX 64 /* of one board; NVML counts to 36 today */

/* X(enumerator, name) */
#define SIGHTING_WAYS(X)                                                                           \
	X(WAY_PRESENT, "present") /* the board was there, but nobody looked at it */               \
	X(WAY_NVML, "nvml")                                                                        \
	X(WAY_MMIO, "mmio")                                                                        \
	X(WAY_GUEST, "guest")

DECLARE_ENUM(sighting_way, SightingWay, SIGHTING_WAYS, WAY_MAX_);

typedef struct SeenPeer {
	Bdf bdf _json_(as "address");
	unsigned links _json_(max SIGHTING_LINKS_MAX); /* active links to it */
} SeenPeer;
DECLARE_JSON(SeenPeer, seen_peer_members)

/* Stored as it stands here; what is known by no text is NULL. */
typedef struct Sighting {
	Bdf bdf _json_(as "address"); /* leading function */
	SightingWay way;
	uint64_t seen_usec;	     /* CLOCK_REALTIME */
	char *source _json_(if_any); /* "NVML 550.54.15", "guest vm42" */
	char *domain _json_(if_any); /* of a guest: UUID; NULL: a version that kept none noted it */
	/* What identified the board. */
	uint16_t vendor, device, subsystem_vendor, subsystem_device _json_(hex 4);
	char *uuid _json_(if_any);	    /* "GPU-…" */
	char *vbios _json_(if_any);	    /* "94.02.5c.00.02" */
	char *board_serial _json_(if_any);  /* as printed on the board; not the one of PCIe */
	char *serial_number _json_(if_any); /* PCIe Device Serial Number, as in Gpu */
	/* By NVML only; in MIG mode the links are off. */
	MigMode mig, mig_pending _json_(if_any, wrong "is neither on nor off");
	/* What the board reported. In a guest it can report only boards of that guest. */
	SeenPeer *peers _json_(max SIGHTING_LINKS_MAX);
	size_t n_peers;
	unsigned inactive _json_(max SIGHTING_LINKS_MAX); /* links of the board that are down */
	/* Links to something other than a GPU: an NVSwitch. */
	unsigned other _json_(max SIGHTING_LINKS_MAX);
	bool fresh _json_(no); /* this daemon saw it; false: read from its file */
} Sighting;
DECLARE_CLEAR(Sighting, sighting_clear)
DECLARE_COPY(Sighting, sighting_copy)
DECLARE_JSON(Sighting, sighting_members)

typedef struct Evidence {
	Sighting *items;
	size_t n_items;
	atomic_uint shared; /* references beside the first */
} Evidence;

DECLARE_REF(Evidence, evidence_ref)
DECLARE_FREE(Evidence, evidence_unref)

/* For makers, before they share it. Takes what *sighting owns, also on failure. -E2BIG. */
int evidence_add(Evidence *into, Sighting *sighting);

/* The host looked. A guest reports what it likes, so its word makes and breaks no link. */
bool sighting_is_look(const Sighting *sighting);

/* The board has one more link to this peer. */
void sighting_add_link(Sighting *sighting, const Bdf *peer);

/* The sighting of the board through NVML or registers, or through a guest; NULL: none. */
const Sighting *evidence_find_host(const Evidence *evidence, const Bdf *bdf);
const Sighting *evidence_find_guest(const Evidence *evidence, const Bdf *bdf);
/* By any look, or as present. */
bool evidence_knows(const Evidence *evidence, const Bdf *bdf);
/* 0: it does not see that peer. */
unsigned sighting_links_to(const Sighting *sighting, const Bdf *peer);

/*
 * A new look replaces an older one at the same board: the host's look the host's, a guest's look a
 * guest's. A board that is only known as present replaces no look at that board. whole: `newer` has
 * every board of this host that could be linked, so older sightings at other addresses are dropped.
 * `older` may be NULL.
 */
int evidence_merge(const Evidence *older, const Evidence *newer, bool whole, Evidence **ret);

/*
 * Appends a link for each two boards that see each other with the same count. Appends a doubt for
 * each two that were both looked at and disagree. Only a line in *notes comes of a stale sighting,
 * and of one that shows no link because the board's NVLink was off. `evidence` may be NULL.
 */
void links_from_evidence(Links *into, const Evidence *evidence, const GpuSet *set, char ***notes);

/* Why a sighting no longer counts; NULL: it does. */
char *sighting_stale(const Evidence *evidence, const Sighting *sighting, const GpuSet *set);

/*
 * Why what a guest reported no longer counts; NULL: it does. It counts only for the domain that has
 * the board by a record, and only since that record.
 */
char *sighting_guest_over(const Sighting *sighting, const Assignments *assignments);

/* Likewise: strict, -EBADMSG with *ret_message. Files and answers of workers use it. */
json_t *sightings_to_json(const Evidence *evidence);
int sightings_from_json(const json_t *array, Evidence **ret, char **ret_message);

/* The file topology.json. */
#define TOPOLOGY_FILE "topology.json"
extern const RecordKind evidence_kind;
json_t *evidence_document(const Evidence *evidence);

/* The same for people and scripts, with the model of each board, and "stale" (a reason or null). */
char *evidence_report(const Evidence *evidence, const GpuSet *set, const Assignments *assignments);

/* Printable ASCII of at most 64 bytes, as a serial number or a version may be. */
bool evidence_text_valid(const char *s);
