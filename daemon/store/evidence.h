/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The evidence of links: topology.json in the state directory, and a copy in memory, which all code
 * works from. The loop and job threads use it.
 */
#pragma once

#include "core/links/evidence.h"
#include "store/records.h"

typedef struct TopologyStore {
	RecordStore records; /* its lock protects this struct */
	Evidence *current;   /* owned */
} TopologyStore;

void topology_store_open(const char *state_directory, TopologyStore *ret);

/* Reads the file. While it cannot be used, there is no evidence, and the store has a fault. */
void topology_store_load(TopologyStore *store);

/* A reference to the evidence as it is now; NULL: there is none. */
Evidence *topology_store_get(TopologyStore *store);

/*
 * Adds what a probe saw: evidence_merge(). It is valid in memory at once, even when it cannot be
 * saved. The error is that of saving (-EPROTO: the file is of another version), or that of the
 * merge, after which nothing has changed.
 */
int topology_store_update(TopologyStore *store, const Evidence *seen, bool whole);
