/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the host is set up around its GPUs, for `doctor`: kernel command line, module settings,
 * services, other tools' settings. A worker gathers it, and it travels as JSON. What is not known
 * is NULL, empty or false, and nothing follows from that.
 */
#pragma once

#include <stdint.h>

#include "core/base/json-struct.h"
#include "core/facts/initramfs.h"
#include "gpupass/cleanup.h"

typedef struct Examination {
	/* NULL: not known */
	char *nvidia_version _json_(plain, if_any); /* "595.71.05": version of the loaded driver */
	char *libvirt_daemon _json_(plain, if_any); /* "virtqemud (pid 812)": who starts guests */
	/* our hook's file: "gpupass-hook", "a script", "another program" */
	char *hook_is _json_(plain, if_any);
	/* NULL: empty */
	char **cmdline;	    /* words of the kernel command line about IOMMU, vfio and drivers */
	char **modules;	    /* those that matter here and are loaded */
	char **modprobe;    /* "options vfio_pci ids=…": core/setup/modprobe.h */
	char **modprobe_at; /* "vfio_pci /etc/modprobe.d/x.conf": which files name the module */
	char **builtin;	    /* "vfio_pci", "pci_stub": what the kernel has built in of these */
	/*
	 * "modprobe /etc/modprobe.d/a.conf: Permission denied": what of these could not be read, so
	 * that nothing follows from its absence. The first word is that of the fact: cmdline,
	 * modprobe, driverctl, processes, memlock (of libvirt's process), boot.
	 */
	char **unread;
	char **initramfs; /* "etc/dracut.conf:4: add_drivers: nvidia": asked for without gpupass */
	char **initramfs_at;	/* the files that were searched for these */
	char **modules_unknown; /* "etc/dracut.conf:2: if …": lines of them, not understood */
	char **module_options;	/* "etc/modules:5: vfio_pci ids=…", from lists of modules */
	char **services;	/* "nvidia-persiste (pid 1312, unit nvidia-persistenced.service)" */
	char **driverctl;	/* "0000:41:00.0 vfio-pci" */
	char **host_hooks;	/* "/etc/libvirt/hooks/qemu names virsh at line 3": others' hooks */
	char **boot;	     /* "0000:41:00.0 taken: nvidia was first", of gpupass-bind's report */
	bool initramfs_hook; /* initramfs-tools has gpupass's hook */
	bool systemd;	     /* systemd runs this host */
	bool bind_enabled;   /* gpupass-bind.service */
	bool hook;	     /* libvirt has our hook */
	bool hook_runs;	     /* and root may run it */
	/* Of when libvirt_daemon started. Neither: it cannot be told. */
	bool hook_known _json_(if_any); /* libvirt had a hook of QEMU then, ours or another */
	bool hook_late _json_(if_any);	/* it had none: their folder was made later */
	uint64_t libvirt_since_usec _json_(no); /* CLOCK_REALTIME, as it is now; 0: not known */
	bool memlock_limited;	/* the libvirt daemon has a limit that it may not raise */
	uint64_t memlock_bytes; /* that limit; 0: not known */
	Initramfs *image _json_(by image); /* NULL: nobody looked */
} Examination;
DECLARE_JSON(Examination, examination_members)
DECLARE_FREE(Examination, examination_free)

/* Strict and complete: -EBADMSG with *ret_message otherwise. */
DECLARE_READ(Examination, examination_from_json, "examination")

/*
 * Fills hook_known and hook_late from libvirt_since_usec, the oldest change of a hook of QEMU, and
 * when their folder was made; 0: not known.
 */
void examination_order_hook(Examination *e, uint64_t oldest, uint64_t made, uint64_t now);
