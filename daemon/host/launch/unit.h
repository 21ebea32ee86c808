/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transient service units of systemd's, over its D-Bus: org.freedesktop.systemd1(5). A table, so that
 * programs that never start one need no bus, and tests have another.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "gpupass/cleanup.h"

/* A connection; not thread-safe. */
typedef struct UnitManager UnitManager;

typedef struct UnitSpec {
	const char *name; /* of the service, whole */
	const char *description;
	const char *program; /* path */
	char *const *argv;   /* its first entry need not be the path */
	int output_fd;	     /* becomes its stdout; remains the caller's */
} UnitSpec;

/* Every call blocks, for no longer than it may. *ret_why, where it is set, is the caller's to free. */
typedef struct UnitOps {
	/* -errno and *ret_why: there is none to be had; nothing was asked of it. */
	int (*open)(uint64_t timeout_usec, UnitManager **ret, char **ret_why);
	UnitManager *(*close)(UnitManager *manager); /* takes NULL */

	/*
	 * 0: it will run. -EEXIST: a unit of this name is there. -ECONNREFUSED and *ret_why:
	 * refused, it will not run. -ENOMEM: likewise, for lack of memory here. -ETIMEDOUT: nobody
	 * knows; it may run already, or later.
	 */
	int (*start)(UnitManager *manager, const UnitSpec *spec, uint64_t timeout_usec,
		     char **ret_why);

	/* 0: not known within 2 s. */
	pid_t (*main_pid)(UnitManager *manager, const char *name);
} UnitOps;

extern const UnitOps systemd_units;
