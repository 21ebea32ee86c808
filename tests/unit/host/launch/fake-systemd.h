/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * As much of systemd as starting a transient unit takes, on a bus of its own that listens in a
 * temporary directory. It starts what it is asked to start as a child of the test.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "gpupass/cleanup.h"

typedef enum FakeAnswer {
	FAKE_ACCEPTS,
	FAKE_DENIES,		/* AccessDenied */
	FAKE_KNOWS_NO_PROPERTY, /* an older systemd */
	FAKE_HAS_THE_UNIT,	/* UnitExists */
	FAKE_HAD_THE_UNIT,	/* UnitExists the first three times */
	FAKE_STARTS_SILENTLY,	/* started, and no answer ever */
	FAKE_SAYS_NOTHING,	/* neither */
	FAKE_FORGETS,		/* accepted, and never started */
	FAKE_KEEPS_THE_PIPE,	/* accepted, and its own end is never closed */
	FAKE_BREAKS_OFF,	/* the connection ends */
	FAKE_HAS_NOT_ENOUGH,	/* an error that does not say whether it was started */
} FakeAnswer;

typedef struct FakeSystemd FakeSystemd;

/* Listens; its address is in DBUS_SYSTEM_BUS_ADDRESS from now on. */
FakeSystemd *fake_systemd_new(FakeAnswer answer);
/* Ends it and, with SIGKILL, what it has started. */
FakeSystemd *fake_systemd_free(FakeSystemd *fake);
DEFINE_CLEANUP(FakeSystemd, fake_systemd_free)

/* Of the last call: "NAME=VALUE" of each property, and "name=" and "mode=". */
bool fake_systemd_was_told(FakeSystemd *fake, const char *line);
unsigned fake_systemd_calls(FakeSystemd *fake);
unsigned fake_systemd_connections(FakeSystemd *fake);
/* What runs as MainPID of the last unit; 0: none. */
pid_t fake_systemd_main_pid(FakeSystemd *fake);
