/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Starts workers that change a function: each as a transient service unit, outside the control
 * group and the life of this process, or as a child when there is no systemd.
 *
 * The unit is gpupass-worker@BDF.service, whatever the worker does. So systemd itself lets no
 * second worker start for a function while one is at work, even one that an earlier daemon started.
 */
#pragma once

#include "core/base/bdf.h"
#include "host/launch/child.h"
#include "host/launch/config.h"
#include "host/launch/unit.h"

/* For one batch, over one connection. Begin with all zeros and `config` set. */
typedef struct Launch {
	const WorkerConfig *config;
	UnitManager *units; /* NULL: children */
	bool silent;	    /* systemd did not answer, and is not asked again */
} Launch;

/* If there is no systemd, reports that to the configuration's listener and starts children. */
void launch_begin(const WorkerConfig *config, Launch *ret);

/*
 * `description` is for people who list units. -EBUSY: an older worker is at work on the function,
 * and none was started. -ETIMEDOUT: systemd has not answered; it may start the worker now or later,
 * so the output is waited for as if it had. -ECANCELED: systemd did not answer an earlier call, and
 * was not asked. Otherwise why it was not started.
 */
int launch_start(Launch *launch, Children *children, size_t index, const Bdf *function,
		 const char *description, char *const *argv);

/* The pid of the worker that is at work on the function; 0: not known, or none. */
pid_t launch_pid(Launch *launch, const Child *child, const Bdf *function);

void launch_end(Launch *launch);
