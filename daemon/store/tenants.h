/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Marks on disk of who had which board: tenants/ADDRESS.json (core/tenancy/tenancy.h). The threads
 * of jobs and of looks share them. We never set a file aside or remove it: a board without one
 * counts as never used.
 */
#pragma once

#include "core/tenancy/tenancy.h"
#include "store/claims.h"
#include "store/records.h"

typedef RecordStore TenantStore; /* of tenant_kind */

/* What cannot be used is a fault in the result, which tenancy_of() judges. */
Tenants *tenant_store_load(TenantStore *store);

/* -EPROTO: a file is of another version, and stays as it is. */
int tenant_store_save(TenantStore *store, const TenantMark *marks, size_t n);

/*
 * The same for marks from a look, which must not overwrite the marks of a job: leaves out boards
 * that a job has claimed, or had claimed since the look began, at `looked` (claims.h): another look
 * follows each job. *ret_failed: -errno of a mark that could not be written; 0: none failed.
 */
void tenant_store_note(TenantStore *store, Claims *claims, uint64_t looked, const TenantMark *marks,
		       size_t n, int *ret_failed);
