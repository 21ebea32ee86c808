/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The machine as jobs see it: one table of operations. real_host_init() fills it with this machine;
 * tests put a model with injected faults in its place. All operations block and run on job threads.
 */
#pragma once

#include <pthread.h>

#include "core/domain/use.h"
#include "core/facts/initramfs.h"
#include "host/host/nvml-gate.h"
#include "host/launch/ask.h"
#include "host/launch/worker-find.h"
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
	HostFacts *(*facts)(Host *host);
	/* All questions to the parts: see ask_parts(), and questions.h for what jobs call. */
	void (*ask)(Host *host, Ask *asks, size_t n, uint64_t timeout_usec);
	/*
	 * A part that moves the function, or NULL: that probes, even one of an earlier daemon; 0:
	 * none.
	 */
	pid_t (*worker_on)(Host *host, const Bdf *function);
	/*
	 * A job begins that moves functions, and that may ask about persistence modes: what it is
	 * going to ask starts now, if it is not ready.
	 */
	void (*expect_work)(Host *host, bool persistence);
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
	/* Programs inside the guest: see host/libvirt/guest-agent.h. */
	int (*guest_run)(Host *host, const char *uuid, const char *const *const *commands, size_t n,
			 uint64_t deadline_usec, GuestRun *runs, Problem **ret_problem);
} HostOps;

/* A job may have a copy of its own, with a deadline. */
struct Host {
	const HostOps *ops;
	void *machine;		/* RealHost, or a model of one; borrowed */
	uint64_t deadline_usec; /* CLOCK_MONOTONIC: no look waits longer; 0: none */
};

/*
 * Who asks for a scan gets one that begins after that, and shares it with all who asked before it
 * began: jobs at once cost two scans, and not one each.
 */
typedef struct ScanTurns {
	pthread_mutex_t lock;
	pthread_cond_t turn;
	uint64_t begun, ended; /* scans, by number */
	size_t n_waiting;
	PciSnapshot *last; /* of the last that ended, while somebody waits; owned */
	int result;
} ScanTurns;

typedef struct RealHost {
	Host host;
	int sysfs_fd; /* owned */
	int proc_fd;  /* owned */
	ScanTurns scans;
	WorkerConfig worker; /* strings borrowed; its ready parts owned */
	DomainSource domains;
	Virt *virt; /* borrowed; NULL before it is set, and without libvirt */
	pthread_mutex_t image_lock;
	Initramfs *image; /* as it was last read, whole; owned */
	NvmlGate nvml_gate;
	WorkerChildren children;
} RealHost;

/* -errno when sysfs cannot be opened. It stays where it is from then on. */
int real_host_init(RealHost *host, const WorkerConfig *worker);

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
