/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a guest is asked, and the report about it, in words and as JSON. verify.h decides what the
 * report says.
 */
#pragma once

#include <jansson.h>

#include "core/verify/nvidia-smi.h"
#include "gpupass/cleanup.h"
#include "gpupass/states.h"
#include "gpupass/string-table.h"
#include "util/bdf.h"

DECLARE_STRING_TABLE(verdict, Verdict);

/* X(enumerator, name) */
#define VERIFY_CAUSES(X)                                                                           \
	X(VERIFY_NOTHING, "none")                                                                  \
	X(VERIFY_NOT_RUNNING, "not-running")                                                       \
	X(VERIFY_NOT_ATTACHED, "not-attached") /* the running domain lacks GPUs of the group */    \
	X(VERIFY_CHANGED, "changed")	       /* it lost them while the guest answered */         \
	X(VERIFY_NO_CHANNEL, "no-agent-channel")                                                   \
	X(VERIFY_NO_AGENT, "no-agent")                                                             \
	X(VERIFY_EXEC_DISABLED, "exec-disabled")                                                   \
	X(VERIFY_NO_SMI, "no-nvidia-smi")                                                          \
	X(VERIFY_TIMEOUT, "timeout")                                                               \
	X(VERIFY_TOO_MUCH, "too-much-output")                                                      \
	X(VERIFY_BAD_REPLY, "bad-agent-reply")                                                     \
	X(VERIFY_NO_DRIVER, "no-driver")                                                           \
	X(VERIFY_MISMATCH, "driver-mismatch")	 /* its module is not of its library's version */  \
	X(VERIFY_NOT_PERMITTED, "not-permitted") /* nvidia-smi may not open the device */          \
	X(VERIFY_NO_COMMAND, "no-such-command")	 /* this nvidia-smi has no topo, or no nvlink */   \
	X(VERIFY_SMI_FAILED, "nvidia-smi-failed")                                                  \
	X(VERIFY_BAD_OUTPUT, "bad-output")                                                         \
	X(VERIFY_GPU_MISSING, "gpu-missing")                                                       \
	X(VERIFY_GPU_LOST, "gpu-lost") /* the driver has it, and cannot reach it */                \
	X(VERIFY_RESET_NEEDED, "reset-needed")                                                     \
	X(VERIFY_OTHER_GPUS, "other-gpus")    /* not those that the host gave */                   \
	X(VERIFY_AMBIGUOUS, "ambiguous-gpus") /* which are the group's is not clear */             \
	X(VERIFY_MIG, "mig")		      /* multi-instance mode is on */                      \
	X(VERIFY_CONFIDENTIAL, "confidential-computing")                                           \
	X(VERIFY_NOT_OFFERED, "nvlink-not-offered") /* the driver says that a GPU has none */      \
	X(VERIFY_NO_NVLINK, "no-nvlink")	    /* the path is PCIe */                         \
	X(VERIFY_INACTIVE, "links-inactive")                                                       \
	X(VERIFY_FEW_LINKS, "few-links")                                                           \
	X(VERIFY_ASYMMETRIC, "asymmetric") /* the two directions differ */                         \
	X(VERIFY_NO_PEER, "no-peer-access")                                                        \
	X(VERIFY_NO_EXPECTATION, "board-not-known") /* how many links it should have */

DECLARE_ENUM(verify_cause, VerifyCause, VERIFY_CAUSES, VERIFY_CAUSE_MAX_);

/* How the guest's GPUs were matched to the group's. */
#define VERIFY_MATCHES(X)                                                                          \
	X(VERIFY_MATCH_NONE, "none")                                                               \
	X(VERIFY_MATCH_UUID, "uuid")                                                               \
	X(VERIFY_MATCH_ADDRESS,                                                                    \
	  "address")		       /* the guest's addresses are those of the domain's XML */   \
	X(VERIFY_MATCH_COUNT, "count") /* the domain has no other GPUs; in order of address */

DECLARE_ENUM(verify_match, VerifyMatch, VERIFY_MATCHES, VERIFY_MATCH_MAX_);

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
	uint32_t link_mbps;	 /* of one link, in one direction; 0: not known */
	uint32_t pcie_mbps;	 /* the most that PCIe carries to such a board; 0: not known */
} VerifyInput;

typedef struct VerifiedGpu {
	Bdf bdf;
	bool found; /* in the guest; what follows holds only then */
	SmiGpu guest;
	bool listed; /* by `nvlink --status` */
	bool not_offered;
	unsigned active, inactive, min_mbps, max_mbps;
} VerifiedGpu;

/* The links between two GPUs of the group. */
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
	char *note;   /* what nvidia-smi warned of, although it answered; NULL: nothing */
	VerifyMatch match;
	unsigned links_expected;
	VerifiedGpu *gpus; /* the group's */
	size_t n_gpus;
	VerifiedLink *links; /* each two of them */
	size_t n_links;
} VerifyReport;

/* An empty report on the group: everything is unknown. */
VerifyReport *verify_report_new(const VerifyInput *input);
DECLARE_FREE(VerifyReport, verify_report_free)
/*
 * A text with its names filled in: %1$s is the domain, as commands call it, %2$s the group, %3$s
 * the domain's name, %4$s and %5$s are `what` and `more`. The form has no other per cent sign.
 */
char *verify_fill(const char *form, const VerifyInput *input, const char *what, const char *more);
/*
 * Writes the reason and remedy of the report for its cause. `what` (may be NULL): words for the
 * sentence, from a program or libvirt, or an address. `link` (may be NULL): the worst link.
 */
void verify_explain(VerifyReport *report, const VerifyInput *input, const char *what,
		    const VerifiedLink *link);

/*
 * Schema org.gpupass1.verify/1; times are CLOCK_REALTIME. Takes `guest_report`,
 * `topology`, `workload` and `peer_access`; NULL: it was not looked at.
 */
char *verify_report_to_json(const VerifyReport *report, const VerifyInput *input,
			    const char *domain_uuid, uint64_t asked_usec, json_t *guest_report,
			    json_t *topology, json_t *workload, json_t *peer_access);
