/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A verification: asks the guest of a running domain whether NVLink works between the GPUs of its
 * group. Changes nothing on the host, claims nothing, and runs beside other jobs. Both halves block
 * and run on a job thread.
 */
#pragma once

#include "core/verify/guest-report.h"
#include "core/verify/guest-topology.h"
#include "core/verify/measure.h"
#include "core/verify/peer-test.h"
#include "core/verify/verify.h"
#include "job/note.h"
#include "job/place.h"
#include "job/prepared.h"
#include "job/request.h"

/*
 * The number of verifications at a time: of all together, and of one user or root. libvirtd serves
 * five calls of a connection at once, and a call to a guest agent takes seconds. The fifth is left
 * for calls that ask no guest.
 */
#define VERIFICATIONS_MAX 4
#define VERIFICATIONS_USER_MAX 2

typedef struct Verification {
	Prepared *found; /* domain, group and all facts */
	VerifyInput input _borrowed_;
	VerifyGpu *gpus _owned_(free); /* of the input */
	DomainUse use;		       /* of the running domain; empty: it does not run */
	VerifyCause obstacle;	       /* why asking the guest is pointless */
	uint64_t asked_usec;	       /* CLOCK_REALTIME */
	VerifyReport *report;
	GuestReport *guest_report; /* NULL: not looked for */
	GuestTopology *topology;   /* likewise */
	Workload *workload;	   /* NULL: not asked for */
	PeerTest *peers;	   /* NULL: the domain is not to have peer access */
	char *json;
	JobNote note; /* for the log */
} Verification;

/*
 * Finds the domain and its group. PROBLEM: NoSuchDomain, NotAssigned, LibvirtUnavailable …;
 * *ret_prefix as with prepare().
 */
int verification_new(const JobPlace *place, const JobRequest *request, Verification **ret,
		     Problem **ret_problem, char **ret_prefix);
/* Asks the guest, and fills `report` and `json`. */
int verification_run(const JobPlace *place, const JobRequest *request, Verification *v,
		     Problem **ret_problem);
DECLARE_FREE(Verification, verification_free)
