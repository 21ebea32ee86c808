/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What GetTopology tells (org.gpupass1.topology/1), as plain structs for drawing. Every string is
 * non-NULL ("" where there is nothing) and cleaned of control characters.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "base/terminal.h"

/* What a picture shows of a state. */
typedef enum TopologyLook {
	LOOK_NONE,   /* a GPU in no group and in no domain */
	LOOK_FREE,   /* nobody has it */
	LOOK_BOUND,  /* on vfio-pci, in no domain */
	LOOK_HELD,   /* a domain has it */
	LOOK_MOVING, /* a job is at work on it */
	LOOK_UNSURE, /* whether and how it is bridged is not certain */
	LOOK_BAD,    /* degraded, foreign */
	LOOK_CLOSED, /* quarantined */
	LOOK_MAX_,
} TopologyLook;

typedef struct TopologyNode {
	int node;
	char *cpus;
	uint64_t memory_bytes; /* 0: not known */
} TopologyNode;

typedef struct TopologyBridge {
	char *address, *kind, *vendor, *device;
} TopologyBridge;

typedef struct TopologyGroup {
	char *name, *state, *reason, *reasoning, *provenance, *link, *domain;
	unsigned links, links_expected;
	TopologyLook look;
	size_t *gpus; /* indexes */
	size_t n_gpus;
} TopologyGroup;

/* A GPU, or what may be given with GPUs: a NIC, a VF, an NVMe. */
typedef struct TopologyDevice {
	char *kind; /* "gpu", "nic" … */
	char *address, *model, *driver, *slot, *nvlink;
	char *domain; /* that has it, by gpupass or not; "": none */
	char *state;  /* what to call its state: the group's, or why it is in none */
	int iommu_group, numa_node;
	char **functions; /* "0000:41:00.1 snd_hda_intel" */
	char **path;	  /* addresses of the bridges above, root port first */
	ssize_t group;	  /* index; -1: none */
	TopologyLook look;
} TopologyDevice;

typedef struct TopologyPair {
	char *pcie; /* how far from each other, "NODE"; NULL: not told */
} TopologyPair;

typedef struct Topology {
	char *host; /* its name */
	bool iommu;
	unsigned n_nvswitches;
	TopologyNode *nodes; /* none: a kernel without NUMA, or not known */
	size_t n_nodes;
	TopologyBridge *bridges;
	size_t n_bridges;
	TopologyGroup *groups;
	size_t n_groups;
	TopologyDevice *devices; /* GPUs first, each by address */
	size_t n_devices, n_gpus;
	char **domains;	     /* that have a GPU, each once, in order of first GPU */
	TopologyPair *pairs; /* n_devices × n_devices */
	size_t n_pairs;
} Topology;

/* -EBADMSG with what is wrong in *ret_why, which is NULL before. */
int topology_parse(const json_t *document, Topology **ret, char **ret_why);
DECLARE_FREE(Topology, topology_free)

/* Of a group's state. */
TopologyLook topology_look(const char *state);
Colour topology_colour(TopologyLook look);
const TopologyNode *topology_node(const Topology *t, int node);
const TopologyBridge *topology_bridge(const Topology *t, const char *address);
/* NULL: in none. */
const TopologyGroup *topology_group(const Topology *t, const TopologyDevice *device);
bool topology_is_gpu(const TopologyDevice *device);
/* "NIC", "NVMe"; a word that is not known as it is. */
const char *topology_noun(const char *kind);
/* How many bridges, from the top, both hang on; 0: they are not of one NUMA node. */
size_t topology_shared(const TopologyDevice *a, const TopologyDevice *b);
/* The GPU that a companion is nearest to, by the distances told; -1: none. */
ssize_t topology_nearest_gpu(const Topology *t, size_t device);
/* Links of this group are known, or at least likely. */
bool topology_group_linked(const TopologyGroup *group);
/* One GPU, which is meant to be alone. */
bool topology_group_single(const TopologyGroup *group);
/* "X", "NV4?", "NODE"; "-" when not told. */
const char *topology_cell(const Topology *t, size_t a, size_t b);
/* "NV2 of 4": what is up where the board has more. Caller frees. */
char *topology_link_text(const TopologyGroup *group);

/* The GPUs in the order of the tree: by NUMA node, then by the bridges above. Caller frees. */
size_t *topology_tree_order(const Topology *t);

/* ---- the pictures ---- */

void topology_print_matrix(const Terminal *t, const Topology *topology, bool legend);
void topology_print_tree(const Terminal *t, const Topology *topology, bool headings);
void topology_print_svg(FILE *f, const Topology *topology);
