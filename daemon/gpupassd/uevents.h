/* SPDX-License-Identifier: GPL-2.0-or-later */
/* udev's events about PCI devices that come, go, or change their driver. */
#pragma once

#include <systemd/sd-event.h>

#include "gpupass/cleanup.h"

typedef struct Uevents Uevents;
typedef void (*UeventsListener)(void *userdata);

/*
 * Calls the listener once for a burst of events: after a short pause, or when the burst has lasted
 * a second.
 */
int uevents_new(sd_event *event, UeventsListener listener, void *userdata, Uevents **ret);
Uevents *uevents_free(Uevents *uevents);
DEFINE_CLEANUP(Uevents, uevents_free)
