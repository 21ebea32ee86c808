/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Transient service units of systemd, over its D-Bus API: org.freedesktop.systemd1(5). A table, so
 * that programs that never start a unit need no bus, and tests can put another one in its place.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "gpupass/cleanup.h"

/* A connection; not thread-safe. */
typedef struct UnitManager UnitManager;

typedef struct UnitSpec {
	const char *name; /* of the service, the whole name */
	const char *description;
	const char *program; /* path */
	char *const *argv;   /* its first entry need not be the path */
	int output_fd;	     /* becomes its stdout; remains the caller's */
} UnitSpec;

/* Every call blocks, for a limited time. If *ret_why is set, the caller frees it. */
typedef struct UnitOps {
	/* -errno and *ret_why: there is no connection; nothing was requested. */
	int (*open)(uint64_t timeout_usec, UnitManager **ret, char **ret_why);
	UnitManager *(*close)(UnitManager *manager); /* takes NULL */

	/*
	 * 0: it will run. -EEXIST: a unit of this name exists. -ECONNREFUSED and *ret_why: refused,
	 * it will not run. -ENOMEM: out of memory here, it will not run. -ETIMEDOUT: unknown; it
	 * may run already, or later.
	 */
	int (*start)(UnitManager *manager, const UnitSpec *spec, uint64_t timeout_usec,
		     char **ret_why);

	/* 0: not known within 2 s. */
	pid_t (*main_pid)(UnitManager *manager, const char *name);
} UnitOps;

extern const UnitOps systemd_units;
