/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * States that cross the bus, with their names. Daemon and client each build their string tables
 * from these lists, so that neither can know a state that the other does not.
 */
#pragma once

#include "gpupass/string-table.h"

/* State of a group. Stable states are observed (drivers, domain XML); moving ones come from the
 * open job. X(enumerator, name) */
#define GPUPASS_GROUP_STATES(X)                                                                    \
	X(GROUP_UNKNOWN, "unknown")	      /* candidates without evidence; never assigned */    \
	X(GROUP_INFERRED, "inferred")	      /* one pairing possible; needs a declaration */      \
	X(GROUP_FREE, "free")		      /* no domain has it */                               \
	X(GROUP_UNREADY, "unready")	      /* no domain may have it before a prepare */         \
	X(GROUP_BINDING, "binding")	      /* a job moves its functions to vfio-pci */          \
	X(GROUP_BOUND, "bound")		      /* on vfio-pci, in no domain */                      \
	X(GROUP_ATTACHING, "attaching")	      /* a job puts it into a domain */                    \
	X(GROUP_ASSIGNED, "assigned")	      /* all of it is in one domain, by gpupass */         \
	X(GROUP_DETACHING, "detaching")	      /* a job takes it out of its domain */               \
	X(GROUP_RELEASING, "releasing")	      /* a job gives it back to the host's drivers */      \
	X(GROUP_ROLLING_BACK, "rolling-back") /* a job failed and is being undone */               \
	X(GROUP_DEGRADED, "degraded")	      /* a member, a link or a binding is missing */       \
	X(GROUP_QUARANTINED, "quarantined")   /* neither before nor after could be reached */      \
	X(GROUP_FOREIGN, "foreign")	      /* somebody else's binding or hostdev */

NAMED_ENUM(GroupState, GPUPASS_GROUP_STATES, GROUP_STATE_MAX_);

/* How a link between GPUs is known, weakest first. */
#define GPUPASS_PROVENANCES(X)                                                                     \
	X(PROVENANCE_NONE, "none")	   /* candidates only */                                   \
	X(PROVENANCE_INFERRED, "inferred") /* sysfs leaves one pairing */                          \
	X(PROVENANCE_SINGLE, "single")	   /* one GPU, and none that it could be linked to */      \
	X(PROVENANCE_CACHED, "cached")	   /* an earlier probe of the same boards */               \
	X(PROVENANCE_MMIO, "mmio")	   /* link registers */                                    \
	X(PROVENANCE_PROBED, "probed")	   /* NVML */                                              \
	X(PROVENANCE_GUEST, "guest")	   /* nvidia-smi inside the guest */                       \
	X(PROVENANCE_DECLARED, "declared") /* the operator's word */

NAMED_ENUM(Provenance, GPUPASS_PROVENANCES, PROVENANCE_MAX_);

#define GPUPASS_JOB_STATES(X)                                                                      \
	X(JOB_PLANNING, "planning")                                                                \
	X(JOB_RUNNING, "running")                                                                  \
	X(JOB_ROLLING_BACK, "rolling-back")                                                        \
	X(JOB_DONE, "done")                                                                        \
	X(JOB_FAILED, "failed")		/* everything was put back, or nothing was touched */      \
	X(JOB_INCOMPLETE, "incomplete") /* rollback failed; the group is quarantined */            \
	X(JOB_CANCELLED, "cancelled")	/* by somebody; as failed, everything is as before */

NAMED_ENUM(JobState, GPUPASS_JOB_STATES, JOB_STATE_MAX_);

#define GPUPASS_STEP_STATES(X)                                                                     \
	X(STEP_PENDING, "pending")                                                                 \
	X(STEP_RUNNING, "running")                                                                 \
	X(STEP_DONE, "done")                                                                       \
	X(STEP_UNCHANGED, "unchanged") /* held already */                                          \
	X(STEP_NOT_DONE, "not-done")   /* not all of it, which is no failure: see its detail */    \
	X(STEP_FAILED, "failed")                                                                   \
	X(STEP_UNDONE, "undone")                                                                   \
	X(STEP_UNDO_FAILED, "undo-failed")

NAMED_ENUM(StepState, GPUPASS_STEP_STATES, STEP_STATE_MAX_);

#define GPUPASS_OPERATIONS(X)                                                                      \
	X(OPERATION_ASSIGN, "assign")                                                              \
	X(OPERATION_RELEASE, "release")                                                            \
	X(OPERATION_BIND, "bind")                                                                  \
	X(OPERATION_UNBIND, "unbind")                                                              \
	X(OPERATION_RECONCILE, "reconcile")                                                        \
	X(OPERATION_VERIFY, "verify")                                                              \
	X(OPERATION_PROBE, "probe")                                                                \
	X(OPERATION_PREPARE, "prepare")

NAMED_ENUM(Operation, GPUPASS_OPERATIONS, OPERATION_MAX_);

/* What can be told of a GPU without its driver. */
#define GPUPASS_HEALTHS(X)                                                                         \
	X(HEALTH_UNKNOWN, "unknown")   /* it sleeps, or could not be looked at */                  \
	X(HEALTH_OK, "ok")	       /* it answers, with all its lanes, without errors */        \
	X(HEALTH_DEGRADED, "degraded") /* lanes are missing, or errors were counted */             \
	X(HEALTH_LOST, "lost")	       /* its config space reads all ones */

NAMED_ENUM(Health, GPUPASS_HEALTHS, HEALTH_MAX_);

/* Whether NVLink works inside a guest, from what the guest prints. */
#define GPUPASS_VERDICTS(X)                                                                        \
	X(VERDICT_UNKNOWN, "unknown")	/* it could not be asked, or not be understood */          \
	X(VERDICT_VERIFIED, "verified") /* all links, peer-to-peer works */                        \
	X(VERDICT_DEGRADED, "degraded") /* fewer links */                                          \
	X(VERDICT_BROKEN, "broken")	/* no NVLink between two of its GPUs */

NAMED_ENUM(Verdict, GPUPASS_VERDICTS, VERDICT_MAX_);
