/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Marks of who had which board on disk: tenants/ADDRESS.json (core/tenancy/tenancy.h), replaced
 * atomically and durably. Shared by the threads of jobs and of looks.
 *
 * A file is never set aside or removed: without one a board counts as never used.
 */
#pragma once

#include <pthread.h>

#include "core/tenancy/tenancy.h"
#include "store/claims.h"

typedef struct TenantStore {
	int dir_fd; /* owned */
	pthread_mutex_t lock;
} TenantStore;

/* Opens the directory, creating it if need be. */
int tenant_store_open(const char *state_directory, TenantStore *ret);
void tenant_store_close(TenantStore *store);

/*
 * Whatever cannot be read or understood is a fault in *ret, for tenancy_of() to judge; -errno only when
 * memory is out.
 */
int tenant_store_load(TenantStore *store, Tenants **ret);

/* -EPROTO: another version's file is there, which is left alone. */
int tenant_store_save(TenantStore *store, const TenantMark *mark);

/*
 * The same for what a look has found, which a job's own marks are not to be overwritten with: a board
 * that a job has in hand is left out, and nothing is written when a job has let go of any since
 * `generation` (claims.h). What could not be written is told in *ret_failed by its errno, 0: nothing.
 */
void tenant_store_note(TenantStore *store, Claims *claims, uint64_t generation,
		       const TenantMark *marks, size_t n, int *ret_failed);
