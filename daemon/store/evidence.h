/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What was seen of the links, kept: topology.json in the state directory, replaced atomically and
 * durably, and the same in memory, which is what everybody works from. Used from the loop and from
 * job threads.
 */
#pragma once

#include <pthread.h>

#include "core/links/evidence.h"

#define TOPOLOGY_FILE "topology.json"

typedef struct TopologyStore {
	int dir_fd;	      /* owned */
	pthread_mutex_t lock; /* of what follows, and of the file */
	Evidence *current;    /* owned */
	bool foreign;	      /* the file is another version's, and is not replaced */
} TopologyStore;

/* Opens STATE_DIRECTORY, creating it if need be. The store must stay in place. */
int topology_store_open(const char *state_directory, TopologyStore *ret);
void topology_store_close(TopologyStore *store);

/*
 * Reads the file. One that cannot be understood is set aside as topology.json.damaged, one of
 * another version is left alone; *ret_notes has a line for either, and nothing is known then.
 */
int topology_store_load(TopologyStore *store, char ***ret_notes);

/* What is known now; a reference, NULL: nothing. */
Evidence *topology_store_get(TopologyStore *store);

/*
 * Adds what a probe saw: evidence_merge(). In memory it holds at once, also when it cannot be saved,
 * which is what the returned error is about (-EPROTO: another version's file is there); -ENOMEM:
 * nothing has changed.
 */
int topology_store_update(TopologyStore *store, const Evidence *seen, bool whole);

/*
 * A look from inside a guest that runs with these GPUs, to be told by whoever made it
 * (`gpupass verify`): how many active links each shows to each other one. Groups show it as
 * provenance "guest" after the next scan, and "cached" from the daemon's next start. It counts
 * from its time on: a later probe of the host's outweighs it, an earlier one does not.
 */
typedef struct GuestLook {
	const char *domain; /* its name */
	uint64_t seen_usec; /* CLOCK_REALTIME */
	const Gpu *const
		*gpus; /* the host's boards behind the guest's, with what is known of them */
	size_t n_gpus;
	const unsigned *links;	  /* n_gpus * n_gpus: links[i * n_gpus + k] that i shows to k */
	const unsigned *inactive; /* n_gpus: links that i shows as down; NULL: not told */
} GuestLook;

/* As topology_store_update(). -EINVAL, nothing noted: the numbers cannot be, as more links than the
 * board has. */
int topology_store_note_guest(TopologyStore *store, const GuestLook *look);
