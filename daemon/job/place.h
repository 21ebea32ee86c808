/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "job/health-look.h"
#include "job/inventory.h"
#include "store/assignments.h"
#include "store/claims.h"
#include "store/disk-watch.h"
#include "store/evidence.h"
#include "store/journal.h"
#include "store/quarantine.h"
#include "store/receipts.h"
#include "store/tenants.h"

/* Where a job works; all borrowed and safe to share among threads. */
typedef struct JobPlace {
	Host *host;
	const AssignmentStore *store;
	const ReceiptStore *receipts;
	const Journal *journal;		   /* NULL: none is kept (dry runs) */
	const QuarantineStore *quarantine; /* NULL: in memory only, with `journal` */
	TenantStore *tenants;		   /* NULL: nobody keeps marks (tests) */
	TopologyStore *topology;	   /* NULL: nothing is known of links (tests) */
	DiskWatch *disk;		   /* NULL: nobody watches */
	HealthLook *health;		   /* NULL: nobody looks (tests) */
	Claims *claims;
	Rules *rules;
	const Identities *known;
} JobPlace;
