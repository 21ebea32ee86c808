/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How the host is set up around its GPUs, for `doctor`: kernel command line, module settings,
 * services, other tools' settings. A worker gathers it, and it travels as JSON. What is not known
 * is NULL, empty or false, and nothing follows from that.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/facts/initramfs.h"
#include "gpupass/cleanup.h"

/* X(member): strings; NULL: not known */
#define EXAMINATION_TEXTS(X)                                                                       \
	X(nvidia_version) /* "595.71.05": version of the loaded driver */                          \
	X(libvirt_daemon) /* "virtqemud (pid 812)": who starts guests */

/* X(member): lists; NULL: empty */
#define EXAMINATION_LISTS(X)                                                                       \
	X(cmdline)	/* words of the kernel command line about IOMMU, vfio and drivers */       \
	X(iommu_units)	/* "dmar0": /sys/class/iommu */                                            \
	X(modules)	/* those that matter here and are loaded */                                \
	X(modprobe)	/* "modprobe.d/x.conf:3: options vfio-pci ids=…" */                      \
	X(initramfs)	/* "initramfs-tools/modules:4: nvidia" */                                  \
	X(initramfs_at) /* the files that were searched for these */                               \
	X(services)	/* "nvidia-persiste (pid 1312, unit nvidia-persistenced.service)" */       \
	X(driverctl)	/* "0000:41:00.0 vfio-pci" */                                              \
	X(boot)		/* "0000:41:00.0 taken: nvidia was first", of gpupass-bind's report */

/* X(member) */
#define EXAMINATION_FLAGS(X)                                                                       \
	X(interrupts_known)    /* this architecture shows interrupt remapping */                   \
	X(interrupts_remapped) /* and it is on */                                                  \
	X(initramfs_hook)      /* gpupass's own hook or module for the initramfs is there */       \
	X(systemd)	       /* systemd runs this host */                                        \
	X(bind_enabled)	       /* gpupass-bind.service */                                          \
	X(memlock_limited)     /* the libvirt daemon has a limit that it may not raise */

/* X(member): numbers; 0: not known */
#define EXAMINATION_NUMBERS(X) X(memlock_bytes) /* that limit */

typedef struct Examination {
#define X(member) char *member;
	EXAMINATION_TEXTS(X)
#undef X
#define X(member) char **member;
	EXAMINATION_LISTS(X)
#undef X
#define X(member) bool member;
	EXAMINATION_FLAGS(X)
#undef X
#define X(member) uint64_t member;
	EXAMINATION_NUMBERS(X)
#undef X
	Initramfs *image; /* NULL: nobody looked */
} Examination;

/* NULL when memory is out. A byte that is not text becomes '?'. */
json_t *examination_to_json(const Examination *examination);
/* Strict and complete: -EBADMSG with *ret_message otherwise. */
int examination_from_json(const json_t *json, Examination **ret, char **ret_message);

Examination *examination_free(Examination *examination);
DEFINE_CLEANUP(Examination, examination_free)
