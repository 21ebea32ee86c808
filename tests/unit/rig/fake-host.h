/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A machine behind HostOps that exists in memory: PCI functions with drivers and overrides from a
 * fixture of tests/fixtures/hosts, and libvirt domains from tests/fixtures/domains whose XML is
 * edited as libvirt edits it. Any call can be made to fail, before or after it took effect; every
 * write is logged; the whole world can be had as text and compared.
 *
 * What a real machine would not survive is noted as a violation: a driver moved under a running
 * guest, a function touched whose worker never came back.
 */
#pragma once

#include <pthread.h>

#include "host/host/questions.h"

#define FAKE_OPS(X)                                                                                \
	X(FAKE_SCAN, "scan")                                                                       \
	X(FAKE_INSPECT, "inspect")                                                                 \
	X(FAKE_MOVE, "move")                                                                       \
	X(FAKE_RESET, "reset")                                                                     \
	X(FAKE_VFS, "vfs")                                                                         \
	X(FAKE_ERASE, "erase")                                                                     \
	X(FAKE_FIND, "domain_find")                                                                \
	X(FAKE_GET, "domain_get")                                                                  \
	X(FAKE_USES, "domain_uses")                                                                \
	X(FAKE_DEFINE, "domain_define")                                                            \
	X(FAKE_ATTACH, "domain_attach")                                                            \
	X(FAKE_DETACH, "domain_detach")                                                            \
	X(FAKE_GUEST_RUN, "guest_run")                                                             \
	X(FAKE_PERSISTENCE, "persistence")                                                         \
	X(FAKE_SET_PERSISTENCE, "set_persistence")

DECLARE_ENUM(fake_op, FakeOp, FAKE_OPS, FAKE_OP_MAX_);

typedef struct FakeHost FakeHost;

typedef struct FakeFault {
	FakeOp op;
	unsigned nth;	   /* call of this op since fake_watch(), from 1 */
	bool from_then_on; /* and every later one */
	bool late;	   /* it takes effect, and fails all the same */
	int error;	   /* -errno; 0: the problem below */
	GpupassError problem;
} FakeFault;

/* What becomes of one function when it is to be moved. */
typedef struct FakeMoveFault {
	const char *bdf;
	const char *driver; /* only when it is to go there; NULL: anywhere */
	DriverPhase phase;  /* what was to be written before this phase is written */
	int error;
	/* error 0: it reports success, and nothing from `phase` on has happened */
	bool binds;	    /* it has the driver all the same */
	bool never_returns; /* its worker hangs in remove(): the driver link is gone */
} FakeMoveFault;

/* What becomes of one function when it is to be reset. */
typedef struct FakeResetFault {
	const char *bdf;
	ResetResult result;
	int error;
	bool never_returns; /* its worker hangs */
} FakeResetFault;

/* What becomes of one function that sleeps in D3cold when somebody wakes it. */
typedef enum FakeWake {
	FAKE_WAKES,
	/* Config space reads all ones; vfio-pci takes it all the same, and cannot open it. */
	FAKE_WAKE_FAILS,
	FAKE_WAKE_HANGS, /* who wakes it waits in the kernel */
} FakeWake;

/* What NVML makes of a question about one GPU's persistence mode. */
typedef struct FakeNvmlFault {
	const char *bdf;
	bool reads, turns_on, turns_off; /* when it fails */
	const char *why;
	bool never_returns; /* the worker that asked hangs, and has the GPU open */
} FakeNvmlFault;

/* All NVMes are one. */
typedef struct FakeNvme {
	const char *mount;    /* where it is; NULL: not at all */
	bool labelled;	      /* as a disk of the host's fstab is */
	bool sanitizes;	      /* else it is formatted */
	unsigned looks, left; /* at which a sanitize is in progress; of one that was begun */
	unsigned comes_up;    /* looks at its use before the host has its disk */
	const char *fails;    /* why its erase does */
	const char *serial, *firmware; /* NULL: "S1", "1.0" */
	const char *number; /* its serial number in config space; NULL: it has none there */
	bool erased;
} FakeNvme;

typedef struct FakeDomain {
	char *uuid, *name;
	char *config_xml; /* NULL: transient, or undefined */
	char *live_xml;	  /* NULL: shut off */
	/* What its guest prints: a folder of tests/fixtures/guests; NULL: it has no agent. */
	const char *guest;
	GuestOutcome guest_fails; /* unless NOT_ASKED: instead of that, from program guest_nth on */
	unsigned guest_nth;	  /* counted from 0 */
} FakeDomain;

struct FakeHost {
	Host host; /* first */
	pthread_mutex_t lock;
	PciSnapshot *snapshot;
	char **overrides;    /* by index in the snapshot */
	char **boot_drivers; /* likewise: what takes it at a boot */
	bool *stuck;	     /* likewise: a worker hangs in the kernel */
	bool *gone;	     /* likewise: fell off the bus */
	FakeWake *wake;	     /* likewise */
	bool *persistence;   /* likewise: the mode is on; only on nvidia */
	bool *kept;	     /* likewise: by nvidia-persistenced, which has it open */
	bool *used;	     /* likewise: attached to a guest, and not reset since */
	FakeDomain *domains;
	size_t n_domains;
	bool silent;	   /* libvirt's events are lost: what was read last is known still */
	DomainUses *known; /* that */
	Holder *holders;   /* beside those that running domains make */
	size_t n_holders;
	FakeFault faults[8];
	size_t n_faults;
	FakeMoveFault move_faults[4];
	size_t n_move_faults;
	FakeResetFault reset_fault; /* bdf NULL: none */
	unsigned changed_scans;	    /* scans of some functions only, each also one of FAKE_SCAN */
	unsigned expected_work, expected_persistence; /* how often that was told to come */
	unsigned memory_asked;	    /* boards that were asked whether their memory is cleared */
	bool new_libvirt;	    /* 8.2, with QEMU 8.1 */
	bool two_nodes;		    /* of 32 CPUs and 256 GiB each, and 46 address bits */
	FakeNvmlFault nvml_fault;   /* likewise */
	const char *keeper_fault;   /* why nvidia-persistenced does not let go; "": it lies */
	const char *nvidia_version; /* of the loaded driver; NULL: not known */
	const char *nic_address;    /* that the first NIC has which is asked for; NULL: none */
	bool made_vfs;		    /* they end with a boot */
	bool autoprobe_off;	    /* of the NIC */
	bool hides_vfs;		    /* those of the fixture are not there, until they are made */
	bool spoof_check;	    /* of all VFs */
	FakeNvme nvme;
	bool adds_ports;      /* the first definition gets a root port more than it asked for */
	unsigned broken_from; /* every write from this one on fails; 0: none */
	unsigned comes_back;  /* how often libvirt comes back after it was lost */
	/* Called at the begin of every operation, which sees what it changes. */
	void (*hook)(FakeHost *fake, FakeOp op, unsigned nth);
	/* Called wherever the process could end: before and after each operation, and within. */
	void (*point)(FakeHost *fake);
	unsigned calls[FAKE_OP_MAX_];
	unsigned searches;   /* of FAKE_INSPECT, those that looked for holders */
	unsigned fresh_uses; /* of FAKE_USES, those for which all domains were read */
	char **log;
	char **violations;
};

void fake_init(FakeHost *fake, const char *fixture);
/* With another function, as text of JSON; it is to be the last one. */
void fake_init_with(FakeHost *fake, const char *fixture, const char *function);
void fake_done(FakeHost *fake);
/* Ports of a NIC on ixgbe, with FLR: e2:00.0 and e2:00.1, behind all that is there. */
#define FAKE_NICS "0000:e2:00.0", "0000:e2:00.1"
void fake_add_nics(FakeHost *fake);

/* Adds a domain called vmNN from fixtures; `live` NULL: shut off. Its UUID ends in NNNN. */
FakeDomain *fake_add_domain(FakeHost *fake, const char *name, const char *config, const char *live);
FakeDomain *fake_domain(FakeHost *fake, const char *name); /* NULL: none */
FakeDomain *fake_domain_of(FakeHost *fake, const char *uuid);

/* Forgets calls, log, faults and hook. */
void fake_watch(FakeHost *fake);
/* No function answers any more, or all do again. */
void fake_all_gone(FakeHost *fake, bool gone);
void fake_fail(FakeHost *fake, const FakeFault *fault);
void fake_fail_move(FakeHost *fake, const FakeMoveFault *fault);
/* Calls of operations that write. */
unsigned fake_write_calls(const FakeHost *fake);

/* Others at work on the machine. */
void fake_hold(FakeHost *fake, const char *bdf, const char *command);
void fake_set_driver(FakeHost *fake, const char *bdf, const char *driver, const char *override);
/* It must be on nvidia; the mode goes when it leaves that. */
void fake_set_persistence_mode(FakeHost *fake, const char *bdf, bool on);
/* The mode is on, by nvidia-persistenced. */
void fake_keep(FakeHost *fake, const char *bdf);
void fake_vanish(FakeHost *fake, const char *bdf);
void fake_sleep(FakeHost *fake, const char *bdf, FakeWake wake);
void fake_start(FakeHost *fake, const char *name);
void fake_shut_off(FakeHost *fake, const char *name);
/* No guest runs, no worker waits, and each function is on the driver that it began with. */
void fake_reboot(FakeHost *fake);
void fake_undefine(FakeHost *fake, const char *name);
void fake_set_config(FakeHost *fake, const char *name, const char *xml); /* NULL: undefines it */
void fake_redefine(FakeHost *fake, const char *name, const char *config);
void fake_rename(FakeHost *fake, const char *name, const char *new_name);
/* By hand, without gpupass: into the definition, and out of it. */
void fake_attach_to_definition(FakeHost *fake, const char *name, const char *bdf);
void fake_unplug(FakeHost *fake, const char *name, const char *bdf);
/* Out of the running guest. */
void fake_unplug_live(FakeHost *fake, const char *name, const char *bdf);
/* The process that holds it is QEMU, of a guest that libvirt does not know. */
void fake_hold_by_guest(FakeHost *fake, const char *bdf);
void fake_let_go(FakeHost *fake);
/* The definition's hostdevs lose their aliases, and libvirt manages them. */
void fake_edit_hostdevs(FakeHost *fake, const char *name);
void fake_retitle(FakeHost *fake, const char *name, const char *title);

/* Drivers, overrides, domains and the files in the directory, in one form. */
char *fake_world(const FakeHost *fake, int dir_fd);

/* fake-domains.c: XML as libvirt edits it; new texts. */
char *fake_xml_define(const char *text, bool add_port);
char *fake_xml_attach(const char *live_xml, const char *hostdev_xml);
char *fake_xml_detach(const char *live_xml, const Bdf *function);
char *fake_xml_rename(const char *text, const char *name);
char *fake_xml_unmark(const char *text);
char *fake_xml_retitle(const char *text, const char *title);
char *fake_xml_canonical(const char *text);
bool fake_xml_has(const char *text, const Bdf *function); /* NULL has nothing */
Bdf fake_xml_function(const char *hostdev_xml);
