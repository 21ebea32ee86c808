/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How workers that change a function are started: each as a transient service unit, out of the
 * control group and the life of this process, or as a child where there is no systemd to ask.
 *
 * The unit is gpupass-worker@BDF.service, whatever the worker does: so systemd itself lets no
 * second one at a function while one is at work, also one of a daemon before this one.
 */
#pragma once

#include "core/base/bdf.h"
#include "host/launch/child.h"
#include "host/launch/config.h"
#include "host/launch/unit.h"

/* For one batch: one connection. All zero with `config` set is good to begin with. */
typedef struct Launch {
	const WorkerConfig *config;
	UnitManager *units; /* NULL: children */
	bool silent;	    /* it has not answered, and is not asked again */
} Launch;

/* Where there is no systemd it says so to the configuration's listener, and starts children. */
void launch_begin(const WorkerConfig *config, Launch *ret);

/*
 * `description` is for those who list units. -EBUSY: an older worker is at work on the function, and
 * none was started. -ETIMEDOUT: systemd has not answered; it may start it now or later, and what
 * it writes is waited for as if it had. -ECANCELED: it has not answered before, and was not asked.
 * Otherwise why it was not started.
 */
int launch_start(Launch *launch, Children *children, size_t index, const Bdf *function,
		 const char *description, char *const *argv);

/* Of the worker at work on the function; 0: not known, or none. */
pid_t launch_pid(Launch *launch, const Child *child, const Bdf *function);

void launch_end(Launch *launch);
