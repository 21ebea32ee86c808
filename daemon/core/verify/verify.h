/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether NVLink works in a guest, from what nvidia-smi printed there. Pure: the programs are run by
 * job/verify.c.
 *
 * The verdict is the guest's word, checked for being consistent. It says nothing that the guest did
 * not print: where that is missing, contradictory or not understood the verdict is "unknown".
 *
 *   verified   each two GPUs of the group: NV# the same both ways, as many links as the board should
 *              have active on both, and peer-to-peer over NVLink "OK"
 *   degraded   NVLink works, with fewer links
 *   broken     no NVLink between two of them, or a GPU that the guest's driver does not show
 *   unknown    no agent, no driver, no answer in time, nothing that could be read
 */
#pragma once

#include "core/verify/guest-agent.h"
#include "core/verify/nvidia-smi.h"
#include "gpupass/states.h"

DECLARE_STRING_TABLE(verdict, Verdict);

/* X(enumerator, name) */
#define VERIFY_CAUSES(X)                                                                           \
	X(VERIFY_NOTHING, "none")                                                                  \
	X(VERIFY_NOT_RUNNING, "not-running")                                                       \
	X(VERIFY_NOT_ATTACHED, "not-attached") /* the running domain lacks GPUs of the group */    \
	X(VERIFY_CHANGED, "changed")	       /* it lost them while the guest was asked */        \
	X(VERIFY_NO_CHANNEL, "no-agent-channel")                                                   \
	X(VERIFY_NO_AGENT, "no-agent")                                                             \
	X(VERIFY_EXEC_DISABLED, "exec-disabled")                                                   \
	X(VERIFY_NO_SMI, "no-nvidia-smi")                                                          \
	X(VERIFY_TIMEOUT, "timeout")                                                               \
	X(VERIFY_TOO_MUCH, "too-much-output")                                                      \
	X(VERIFY_BAD_REPLY, "bad-agent-reply")                                                     \
	X(VERIFY_NO_DRIVER, "no-driver")                                                           \
	X(VERIFY_SMI_FAILED, "nvidia-smi-failed")                                                  \
	X(VERIFY_BAD_OUTPUT, "bad-output")                                                         \
	X(VERIFY_GPU_MISSING, "gpu-missing")                                                       \
	X(VERIFY_OTHER_GPUS, "other-gpus")    /* not those that the host gave */                   \
	X(VERIFY_AMBIGUOUS, "ambiguous-gpus") /* which are the group's cannot be told */           \
	X(VERIFY_MIG, "mig")		      /* multi-instance mode is on */                      \
	X(VERIFY_CONFIDENTIAL, "confidential-computing")                                           \
	X(VERIFY_NO_NVLINK, "no-nvlink") /* the path is PCIe */                                    \
	X(VERIFY_INACTIVE, "links-inactive")                                                       \
	X(VERIFY_FEW_LINKS, "few-links")                                                           \
	X(VERIFY_ASYMMETRIC, "asymmetric") /* one way differs from the other */                    \
	X(VERIFY_NO_PEER, "no-peer-access")                                                        \
	X(VERIFY_NO_EXPECTATION, "board-not-known") /* how many links it should have */

typedef enum VerifyCause {
#define X(enumerator, name) enumerator,
	VERIFY_CAUSES(X)
#undef X
		VERIFY_CAUSE_MAX_,
} VerifyCause;
DECLARE_STRING_TABLE(verify_cause, VerifyCause);

/* How the guest's GPUs were told to be the group's. */
#define VERIFY_MATCHES(X)                                                                          \
	X(VERIFY_MATCH_NONE, "none")                                                               \
	X(VERIFY_MATCH_UUID, "uuid")                                                               \
	X(VERIFY_MATCH_ADDRESS,                                                                    \
	  "address")		       /* the guest's addresses are those of the domain's XML */   \
	X(VERIFY_MATCH_COUNT, "count") /* the domain has no other GPUs; in order of address */

typedef enum VerifyMatch {
#define X(enumerator, name) enumerator,
	VERIFY_MATCHES(X)
#undef X
		VERIFY_MATCH_MAX_,
} VerifyMatch;
DECLARE_STRING_TABLE(verify_match, VerifyMatch);

/* A GPU of the running domain; the group's come first. Borrowed. */
typedef struct VerifyGpu {
	Bdf bdf;	  /* on the host, of its leading function */
	const char *uuid; /* NULL: not known */
	Bdf guest;	  /* its place in the guest as libvirt's XML has it */
	bool has_guest;
} VerifyGpu;

typedef struct VerifyInput {
	const char *domain, *group;
	const char *domain_uuid; /* NULL: commands call it by its name */
	const VerifyGpu *gpus;
	size_t n_gpus;		 /* that the running domain has */
	size_t n_group;		 /* of them, the group's */
	unsigned links_expected; /* between two of its GPUs; 0: not known */
} VerifyInput;

/* The programs, in the order of the runs. */
#define VERIFY_RUNS 4
extern const char *const *const verify_commands[VERIFY_RUNS];
/* Asked when the verdict is not good, for what may be the reason. */
#define VERIFY_DIAGNOSES 2
extern const char *const *const verify_diagnosis_commands[VERIFY_DIAGNOSES];

typedef struct VerifiedGpu {
	Bdf bdf;
	bool found; /* in the guest; what follows holds only then */
	SmiGpu guest;
	bool listed; /* by `nvlink --status` */
	unsigned active, inactive, min_mbps, max_mbps;
} VerifiedGpu;

/* Between two GPUs of the group. */
typedef struct VerifiedLink {
	size_t a, b; /* in the report's gpus */
	Verdict verdict;
	VerifyCause cause;
	SmiCell path_ab, path_ba;
	SmiPeer peer_ab, peer_ba;
} VerifiedLink;

typedef struct VerifyReport {
	Verdict verdict;
	VerifyCause cause;
	char *reason; /* one sentence; NULL when verified */
	char *remedy; /* likewise */
	VerifyMatch match;
	unsigned links_expected;
	VerifiedGpu *gpus; /* the group's */
	size_t n_gpus;
	VerifiedLink *links; /* each two of them */
	size_t n_links;
} VerifyReport;

/* The verdict. 0 or -ENOMEM. */
int verify_judge(const VerifyInput *input, const GuestRun runs[VERIFY_RUNS], VerifyReport **ret);
/* "unknown" for a cause that kept the guest from being asked. */
int verify_give_up(const VerifyInput *input, VerifyCause cause, VerifyReport **ret);
/* Whether the diagnosis is worth asking for. */
bool verify_wants_diagnosis(const VerifyReport *report);
/* Replaces cause, reason and remedy where the runs show what stands in NVLink's way. */
int verify_diagnose(const VerifyInput *input, const GuestRun runs[VERIFY_DIAGNOSES],
		    VerifyReport *report);

/*
 * As evidence: how many active links each of the group's GPUs shows to each other one, in
 * links[i * n_gpus + k], and in inactive[i] those that are down. False, and nothing written, unless
 * the guest told of every two, and which of its GPUs is which is certain (not by count).
 */
bool verify_links_seen(const VerifyReport *report, unsigned *links, unsigned *inactive);

/* "NV4", "SYS", "nothing"; new. */
char *smi_path_text(SmiCell cell);

/* Schema org.gpupass1.verify/1; times are CLOCK_REALTIME. NULL when memory is out. */
char *verify_report_to_json(const VerifyReport *report, const VerifyInput *input,
			    const char *domain_uuid, uint64_t asked_usec);

VerifyReport *verify_report_free(VerifyReport *report);
DEFINE_CLEANUP(VerifyReport, verify_report_free)
