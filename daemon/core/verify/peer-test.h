/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether the boards of a group reach each other's memory in a guest, by a program that writes on
 * one and reads on the other (peer-test.py). What the driver says is no proof: it was reported to
 * grant access through which nothing arrives (NVIDIA/nccl issue 2335). Pure: job/verify.c runs it.
 * Like every word of a guest it decides nothing.
 */
#pragma once

#include "core/base/json-struct.h"
#include "core/verify/guest-agent.h"
#include "core/verify/report.h"

#define PEER_VERDICTS(X)                                                                           \
	X(PEERS_NOT_PROVED, "not-proved")                                                          \
	X(PEERS_PROVED, "proved")                                                                  \
	X(PEERS_NOT_USED, "not-used") /* NVLink is the way between all of them */                  \
	X(PEERS_WRONG, "wrong")	      /* what one wrote did not arrive */

DECLARE_ENUM(peer_verdict, PeerVerdict, PEER_VERDICTS, PEER_VERDICT_MAX_);

#define PEER_CAUSES(X)                                                                             \
	X(PEERS_NOTHING, "none")                                                                   \
	X(PEERS_NOT_GIVEN, "not-given") /* the guest was started without it */                     \
	X(PEERS_NOT_RUN, "not-run")	/* which GPUs are the group's is not known */              \
	X(PEERS_NOT_ASKED, "not-asked") /* it takes the guest's GPUs for some seconds */           \
	X(PEERS_NO_PYTHON, "no-python") /* nor anything else that would start */                   \
	X(PEERS_NO_CUDA, "no-cuda")	/* libcuda.so.1 is not there */                            \
	X(PEERS_NOT_HEARD, "not-heard") /* the agent gave no answer, or was not asked */           \
	X(PEERS_FAILED, "program-failed")                                                          \
	X(PEERS_TIMEOUT, "timeout")                                                                \
	X(PEERS_BAD_OUTPUT, "bad-output")                                                          \
	X(PEERS_OTHER_GPUS, "other-gpus") /* it told nothing of some of the group's */             \
	X(PEERS_NO_ACCESS, "no-access")	  /* the driver does not grant it */                       \
	X(PEERS_NVLINK, "nvlink")                                                                  \
	X(PEERS_NO_WAY, "no-way") /* whether they went by PCIe or by NVLink is not known */        \
	X(PEERS_LOST, "lost-writes")

DECLARE_ENUM(peer_cause, PeerCause, PEER_CAUSES, PEER_CAUSE_MAX_);

typedef struct PeerTest {
	PeerVerdict verdict;
	PeerCause cause;
	char *reason _json_(or_null); /* one sentence; NULL when it is proved */
	char *remedy _json_(or_null); /* likewise; NULL also where nothing has to be done */
} PeerTest;
DECLARE_FREE(PeerTest, peer_test_free)
/* The member "peer_access" of org.gpupass1.verify/1. */
DECLARE_JSON(PeerTest, peer_test_members)

/*
 * `given`: the running domain has all GPUs of the group in the clique. `asked`: whoever asked for
 * the verification lets it use the guest's GPUs. The program is worth running if *ret_run, and
 * peer_test_hear() then says what came of it.
 */
PeerTest *peer_test_begin(const VerifyInput *input, const VerifyReport *report, bool given,
			  bool asked, bool *ret_run);

/* The command, for the group's boards alone: an argument for each. New, with all its strings. */
char **peer_test_command(const VerifyReport *report);
void peer_test_hear(PeerTest *test, const VerifyInput *input, const VerifyReport *report,
		    const GuestRun *run);
