/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Moving one PCI function from its driver to another. Blocks for as long as the kernel does: an
 * unbind waits for the driver's remove(), which nvidia's may never leave. So this runs in a
 * disposable worker process only (worker.h), never in the daemon.
 */
#pragma once

#include <stdbool.h>

#include "core/bdf.h"
#include "gpupass/cleanup.h"
#include "gpupass/string-table.h"

/* Where the function shall be. */
typedef struct DriverTarget {
	Bdf bdf;
	const char *driver;	     /* NULL: no driver */
	const char *driver_override; /* NULL: none */
	/* Another driver keeps the function, and that is -EBUSY in the phase verify: for those who
	 * have not looked for holders. */
	bool never_unbind;
} DriverTarget;

/* How far driver_move() got: names the failing write. */
#define DRIVER_PHASES(X)                                                                           \
	X(DRIVER_PHASE_READ, "read")                                                               \
	X(DRIVER_PHASE_OVERRIDE, "driver_override")                                                \
	X(DRIVER_PHASE_UNBIND, "unbind")                                                           \
	X(DRIVER_PHASE_PROBE, "probe")                                                             \
	X(DRIVER_PHASE_VERIFY, "verify")

typedef enum DriverPhase {
#define X(enumerator, name) enumerator,
	DRIVER_PHASES(X)
#undef X
		DRIVER_PHASE_MAX_,
} DriverPhase;
DECLARE_STRING_TABLE(driver_phase, DriverPhase);

typedef struct DriverResult {
	int error;	   /* 0 or -errno */
	DriverPhase phase; /* where, when error != 0 */
	bool changed;	   /* something was written */
	char *driver;	   /* as re-read at the end; NULL: none */
	char *driver_override;
} DriverResult;

/*
 * Override first, then unbind, then probe (drivers_probe when the override names the driver, that
 * driver's own bind otherwise), then re-read: drivers_probe reports success also when nothing
 * binds. -EAGAIN (deferred probe), an IOMMU group that vfio's last user has not given back yet, and a
 * driver taken back by udev are retried a bounded number of times. Doing it twice is harmless and writes nothing the second time. Where the target's
 * override names another driver than the target's (a state some other tool left), the override is
 * clear while binding and set at the end.
 *
 * Errors, by phase; other numbers are those of the failed read or write itself:
 *   read             -ENOENT  the function is not there
 *                    -ENODEV  the target driver is not registered; nothing was written
 *                    -EINVAL  a name that can be no driver; nothing was written
 *   driver_override  -EBUSY   it reads otherwise than written: somebody else writes it, too
 *   probe            -EAGAIN  still deferred after the last try
 *                    -EBUSY   a user of vfio has the IOMMU group, still after 6 s
 *                    -ENODEV  the driver does not take this device
 *   verify           -ENXIO   no driver is bound although the probe reported success
 *                    -EBUSY   another driver is bound, each time again
 *                    -ENOENT  the function vanished meanwhile
 *                    -ENODEV  vfio-pci has it, and its config space reads all ones
 */
void driver_move(int sysfs_fd, const DriverTarget *target, DriverResult *ret);

/*
 * Printable, no blank at either end, at most DRIVER_NAME_MAX bytes, no path ("a/b", ".."), and not
 * "-", which stands for none on the worker's command line.
 */
#define DRIVER_NAME_MAX 127
bool driver_name_valid(const char *name);
/* What can be written to and read back from driver_override. Others' overrides may be odd. */
#define DRIVER_OVERRIDE_MAX 255
bool driver_override_valid(const char *override);

void driver_result_clear(DriverResult *result);
