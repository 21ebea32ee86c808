/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages about PCI devices that come, go, or change their driver. */
#pragma once

#include <systemd/sd-event.h>

#include "gpupass/cleanup.h"
#include "host/scan/uevent.h"

typedef struct Uevents Uevents;
typedef void (*UeventsListener)(const UeventChanges *changes, void *userdata);

/*
 * Calls the listener once for a burst of events: after a short pause, or when the burst has lasted
 * a second. parts_dir: where the part for that listens; stays the caller's. NULL, or it is
 * not there: udev says it, in the host's own network name space only, and names no function: when
 * messages of udev are lost, nobody hears of that.
 */
int uevents_new(sd_event *event, const char *parts_dir, UeventsListener listener, void *userdata,
		Uevents **ret);
DECLARE_FREE(Uevents, uevents_free)
