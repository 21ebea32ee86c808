/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Closes what the daemon keeps open until its process ends. */
#pragma once

#include "store/evidence.h"
#include "store/fence.h"
#include "store/journal.h"
#include "util/file.h"

static inline void topology_store_close(TopologyStore *store)
{
	store->current = evidence_unref(store->current);
	records_close(&store->records);
}

static inline void fence_store_close(FenceStore *store)
{
	store->dir_fd = close_fd(store->dir_fd);
	store->last = fence_free(store->last);
	store->written = fence_free(store->written);
	while (store->holds) {
		FenceHold *next = store->holds->next;

		fence_hold_free(store->holds);
		store->holds = next;
	}
	pthread_mutex_destroy(&store->lock);
	pthread_mutex_destroy(&store->writing);
}

static inline void journal_close(Journal *journal)
{
	journal->dir_fd = close_fd(journal->dir_fd);
	free(journal->boot_id);
	journal->boot_id = NULL;
	pthread_mutex_destroy(&journal->lock);
}
