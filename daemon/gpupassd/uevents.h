/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PCI devices that come, go, or change their driver, as udev tells it. */
#pragma once

#include <systemd/sd-event.h>

#include "gpupass/cleanup.h"

typedef struct Uevents Uevents;
typedef void (*UeventsListener)(void *userdata);

/*
 * Calls the listener once for a burst of events, after it has been quiet for a moment or has
 * lasted a second.
 */
int uevents_new(sd_event *event, UeventsListener listener, void *userdata, Uevents **ret);
Uevents *uevents_free(Uevents *uevents);
DEFINE_CLEANUP(Uevents, uevents_free)
