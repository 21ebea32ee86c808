/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "job/cancel.h"
#include "job/health-look.h"
#include "job/inventory.h"
#include "store/assignments.h"
#include "store/claims.h"
#include "store/disk-watch.h"
#include "store/evidence.h"
#include "store/fence.h"
#include "store/journal.h"
#include "store/numbers.h"
#include "store/quarantine.h"
#include "store/receipts.h"
#include "store/tenants.h"
#include "store/trail.h"
#include "store/vf-watch.h"

/* What a job works with. All members are borrowed, and safe to share among threads. */
typedef struct JobPlace {
	Host *host;
	AssignmentStore *store;
	ReceiptStore *receipts;
	Journal *journal;	     /* NULL: no journal is kept (dry runs) */
	QuarantineStore *quarantine; /* NULL: in memory only; NULL if `journal` is */
	TenantStore *tenants;	     /* NULL: no marks (tests) */
	FenceStore *fence;	     /* NULL: no hook goes by it (tests) */
	TopologyStore *topology;     /* NULL: no evidence (tests) */
	Trail *trail;		     /* NULL: no audit trail (tests) */
	NumberStore *numbers;	     /* NULL: none is reserved (tests) */
	DiskWatch *disk;	     /* NULL: not watched */
	HealthLook *health;	     /* NULL: no looks (tests) */
	Cancellation *cancel;	     /* of this job; NULL: nobody can cancel it */
	Claims *claims;
	VfWatch *vfs; /* NULL: not watched (tests) */
	Rules *rules;
	uint64_t ruled; /* claims_now() before they were taken */
	const Identities *known;
	uint64_t host_key; /* of this host, and of no other: domain_vf_mac() */
} JobPlace;
