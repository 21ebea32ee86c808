/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The machine as jobs see it: one table of operations. real_host_init() fills it with this machine;
 * tests put a model with injected faults in its place. All operations block and run on job threads.
 */
#pragma once

#include <pthread.h>

#include "core/domain/source.h"
#include "core/facts/examination.h"
#include "core/facts/health.h"
#include "host/host/nvml-gate.h"
#include "host/launch/worker-find.h"
#include "host/launch/worker-memory.h"
#include "host/launch/worker-persistence.h"
#include "host/launch/worker-probe.h"
#include "host/libvirt/libvirt.h"
#include "host/scan/fit-facts.h"
#include "host/scan/scan.h"

typedef struct Host Host;

typedef struct HostOps {
	int (*scan)(Host *host, PciSnapshot **ret);
	/* See scan_pci_changed(). */
	int (*scan_changed)(Host *host, const PciSnapshot *before, const Bdf *changed, size_t n,
			    PciSnapshot **ret);
	/* Values that could not be read are unknown. */
	int (*facts)(Host *host, HostFacts **ret);
	int (*inspect)(Host *host, const Bdf *functions, size_t n, InspectConfig config,
		       Inspection **ret);
	/* Of the functions only: it looks at no process, and not at the host. */
	int (*glance)(Host *host, const Bdf *functions, size_t n, InspectConfig config,
		      Inspection **ret);
	int (*move)(Host *host, const DriverTarget *targets, size_t n, uint64_t timeout_usec,
		    MoveOutcome *ret_outcomes);
	int (*reset)(Host *host, const ResetTarget *targets, size_t n, ResetOutcome *ret_outcomes);
	/* Whether boards have cleared their memory since a reset: see worker_memory(). */
	int (*memory)(Host *host, const Bdf *boards, size_t n, MemoryReport *ret);
	/* A worker that moves the function, even one of an earlier daemon; 0: none. */
	pid_t (*worker_on)(Host *host, const Bdf *function);
	/* See worker_probe(), worker_find_probe(). */
	int (*probe)(Host *host, const Bdf *functions, size_t n, bool mmio, uint64_t timeout_usec,
		     ProbeAnswer *ret, pid_t *ret_pid);
	pid_t (*probe_worker)(Host *host);
	/*
	 * A job begins that moves functions, and that may ask about persistence modes: what it is
	 * going to ask starts now, if it is not ready.
	 */
	void (*expect_work)(Host *host, bool persistence);
	/* Of GPUs on nvidia: see worker_persistence(), worker_set_persistence(). */
	int (*persistence)(Host *host, const Bdf *gpus, size_t n, GpuPersistence *ret);
	int (*set_persistence)(Host *host, const Bdf *gpus, size_t n, bool on,
			       uint64_t timeout_usec, PersistenceOutcome *ret_outcomes);
	/*
	 * By a person's word: see virt_domain_find(). All operations below take a UUID, and no
	 * name.
	 */
	int (*domain_find)(Host *host, const char *name_or_uuid, DomainId *ret,
			   Problem **ret_problem);
	int (*domain_get)(Host *host, const char *uuid, VirtDomain **ret, Problem **ret_problem);
	/* What is written by the answer takes a fresh one: see virt_domain_uses(). */
	int (*domain_uses)(Host *host, bool fresh, DomainUses **ret, Problem **ret_problem);
	int (*domain_define)(Host *host, const char *uuid, const char *expected, const char *xml,
			     Problem **ret_problem);
	int (*domain_attach)(Host *host, const char *uuid, const char *hostdev_xml,
			     Problem **ret_problem);
	int (*domain_detach)(Host *host, const char *uuid, const Bdf *function,
			     uint64_t timeout_usec, Problem **ret_problem);
	/* After a call that lost libvirt: 0 once libvirt answers again, -ETIMEDOUT. */
	int (*libvirt_wait)(Host *host, uint64_t timeout_usec);
	/* The host's setup, and the health of GPUs by their leading functions: see
	 * host/launch/worker.h. */
	int (*examine_host)(Host *host, Examination **ret);
	int (*examine_gpus)(Host *host, const PciFunction *const *leads, size_t n, GpuHealth *ret);
	/* Programs inside the guest: see host/libvirt/guest-agent.h. */
	int (*guest_run)(Host *host, const char *uuid, const char *const *const *commands, size_t n,
			 uint64_t deadline_usec, GuestRun *runs, Problem **ret_problem);
} HostOps;

struct Host {
	const HostOps *ops;
};

typedef struct RealHost {
	Host host;
	int sysfs_fd;	     /* owned */
	int proc_fd;	     /* owned */
	WorkerConfig worker; /* strings borrowed; its ready parts owned */
	DomainSource domains;
	Virt *virt; /* borrowed; NULL before it is set, and without libvirt */
	pthread_mutex_t image_lock;
	Initramfs *image; /* as it was last read, whole; owned */
	NvmlGate nvml_gate;
	WorkerChildren children;
} RealHost;

/* -errno when sysfs cannot be opened. */
int real_host_init(RealHost *host, const WorkerConfig *worker);
void real_host_done(RealHost *host);

/*
 * On the loop; neither waits. When nothing uses the machine: ends the parts that were used. A
 * moment later, when whoever waited for them is served: has others ready for what comes next.
 */
void real_host_rest(RealHost *host);
void real_host_make_ready(RealHost *host);

/*
 * Whether a bind's writes are possible here; in a container, or with a unit's confinement, /sys may
 * be read-only. Writes nothing. 0, or -errno with the path in *ret_path (owned by the caller). A
 * path that does not exist, as without PCI, does not count as a fault.
 */
int real_host_check_writable(const RealHost *host, char **ret_path);
