/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which processes were last seen with a device's file open, so that only news is recorded. */
#pragma once

#include "core/audit/record.h"
#include "core/facts/inspection.h"

/* More are not remembered, and so recorded each time. */
#define TRAIL_HOLDERS_MAX 512

typedef struct TrailHolders TrailHolders;
TrailHolders *trail_holders_new(void);

/* From any thread. *ret: a record for each that came or went, which the caller clears and frees. */
void trail_holders_note(TrailHolders *holders, const Inspection *inspection, AuditRecord **ret,
			size_t *ret_n);
TrailHolders *trail_holders_free(TrailHolders *holders);
DEFINE_CLEANUP(TrailHolders, trail_holders_free)
