/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What jobs ask of the parts, in their terms. Each is one or more asks of host->ops->ask(), which
 * is all that a host has to answer.
 */
#pragma once

#include "core/tenancy/tenancy.h"
#include "host/host/host.h"

/*
 * -ENOENT: a function is not there any more. What else kept a part from answering is a problem;
 * with `ret_problem` NULL it is -errno.
 */
int host_inspect(Host *host, const Bdf *functions, size_t n, InspectConfig config, Inspection **ret,
		 Problem **ret_problem);
/*
 * The same; labels are not read of NVMes that a tenant gave back, by their marks. NULL, and above:
 * of none.
 */
int host_inspect_marked(Host *host, const Tenants *tenants, const Bdf *functions, size_t n,
			InspectConfig config, Inspection **ret, Problem **ret_problem);
/* Of the functions only: it looks at no process, and not at the host. */
int host_glance(Host *host, const Bdf *functions, size_t n, InspectConfig config, Inspection **ret,
		Problem **ret_problem);

/*
 * Where there is no answer, result.error is what Ask has, and it is not known how far the part got:
 * `changed` is true then, and `phase` is unbind, the one that can take for ever.
 */
typedef struct MoveOutcome {
	DriverResult result;
	Problem *problem;   /* why there is no answer; NULL: there is one */
	bool still_running; /* -ETIMEDOUT: too slow; -EBUSY: an older one */
	pid_t pid;	    /* of the process that still runs, or died; 0: not known */
} MoveOutcome;

/*
 * Moves n functions in parallel. Returns when all have ended or `timeout_usec` has passed. 0: all
 * moved; otherwise the first error, in the order of targets. Fills the outcome of every target.
 */
int host_move(Host *host, const DriverTarget *targets, size_t n, uint64_t timeout_usec,
	      MoveOutcome *ret_outcomes);
DECLARE_CLEAR(MoveOutcome, move_outcome_clear)

/* If there is no answer, report.result is RESET_UNKNOWN, with an error as in MoveOutcome. */
typedef struct ResetTarget {
	Bdf bdf;
	bool slot; /* the whole slot of this leading function, through vfio: slot_reset_with() */
} ResetTarget;

typedef struct ResetOutcome {
	ResetReport report;
	Problem *problem; /* as in MoveOutcome */
	bool still_running;
	pid_t pid;
} ResetOutcome;

/*
 * Like host_move(): in parallel, and fills the outcome of every target. 0: every reset has an
 * answer, whatever it is; otherwise the first error of those that have none.
 */
int host_reset(Host *host, const ResetTarget *targets, size_t n, ResetOutcome *ret_outcomes);
DECLARE_CLEAR(ResetOutcome, reset_outcome_clear)

/*
 * Gives the NIC so many VFs: vfs_set() in host/device/vfs.h. *ret_running: a part may still be at
 * it.
 */
int host_make_vfs(Host *host, const Bdf *nic, unsigned number, bool autoprobe, bool *ret_running,
		  Problem **ret_problem);

/*
 * All these VFs have their spoof check on, and are not trusted: they get that first, with `set`.
 * PROBLEM: one has not, or does not tell. -ENOENT: one is not there.
 */
int host_rule_vfs(Host *host, const Bdf *vfs, size_t n, bool set, Problem **ret_problem);

/*
 * Persistence modes of GPUs on the nvidia driver. NVML has the GPUs open meanwhile, so no other job
 * may unbind one. Filled for every GPU, by its leading function: a mode that is not known is
 * unknown, with the reason.
 */
void host_persistence(Host *host, const Bdf *gpus, size_t n, GpuPersistence *ret);

/*
 * In parallel. Does not set a mode that is already right. Filled for every GPU: the mode now, with
 * a reason if it is not the requested one. A part may still set it, and the reason says so.
 */
void host_set_persistence(Host *host, const Bdf *gpus, size_t n, bool on, uint64_t timeout_usec,
			  GpuPersistence *ret);

/* Whether boards have cleared their memory since a reset. Fills n reports. */
void host_memory(Host *host, const Bdf *boards, size_t n, MemoryReport *ret);

/* The links of these leading functions, by NVML or by their registers. Never -errno. */
int host_probe(Host *host, const Bdf *functions, size_t n, bool mmio, uint64_t timeout_usec,
	       ProbeAnswer *ret, Problem **ret_problem);

/* What one says of itself. -ENODEV: the nvme driver does not have it. */
int host_nvme_state(Host *host, const Bdf *function, NvmeState *ret, Problem **ret_problem);
/*
 * Begins to erase one: of a format, it returns at its end (nvme_erase_limit_sec()). What follows a
 * sanitize, host_nvme_state() tells, after a restart, too: nvme_erase_judge(). -EBUSY: somebody has
 * it for himself. One with another serial number fails.
 */
int host_nvme_erase(Host *host, const Bdf *function, NvmeWay way, const char *serial,
		    uint64_t timeout_usec, NvmeErase *ret, Problem **ret_problem);

/* The host's setup, with what is in the boot image. */
int host_examine(Host *host, Examination **ret, Problem **ret_problem);

/*
 * The health of n GPUs, given by their leading functions, in parallel, so that one that does not
 * answer hides no other. ret[i].error has the error of each.
 */
void host_health(Host *host, const PciFunction *const *leads, size_t n, GpuHealth *ret);
