/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gpupassd/uevents.h"

#include <systemd/sd-device.h>

#include "util/clock.h"

/* Binding four functions causes some twenty events within a few milliseconds. */
#define QUIET_USEC (100 * USEC_PER_MSEC)
#define BURST_USEC USEC_PER_SEC

struct Uevents {
	sd_device_monitor *monitor;
	sd_event_source *timer;
	UeventsListener listener;
	void *userdata;
	uint64_t burst_began; /* CLOCK_MONOTONIC; 0: no burst */
};

static int on_quiet(sd_event_source *source, uint64_t usec, void *userdata)
{
	Uevents *u = userdata;

	u->burst_began = 0;
	u->listener(u->userdata);
	return 0;
}

static int on_event(sd_device_monitor *monitor, sd_device *device, void *userdata)
{
	Uevents *u = userdata;
	uint64_t now = now_monotonic(), quiet = now + QUIET_USEC;

	if (u->burst_began == 0)
		u->burst_began = now;
	if (quiet > u->burst_began + BURST_USEC)
		quiet = u->burst_began + BURST_USEC;
	sd_event_source_set_time(u->timer, quiet);
	sd_event_source_set_enabled(u->timer, SD_EVENT_ONESHOT);
	return 0;
}

int uevents_new(sd_event *event, UeventsListener listener, void *userdata, Uevents **ret)
{
	_cleanup_(uevents_freep) Uevents *u = calloc(1, sizeof(Uevents));
	int r;

	if (!u)
		return -ENOMEM;
	u->listener = listener;
	u->userdata = userdata;
	r = sd_device_monitor_new(&u->monitor);
	if (r >= 0)
		r = sd_device_monitor_filter_add_match_subsystem_devtype(u->monitor, "pci", NULL);
	if (r >= 0)
		r = sd_device_monitor_attach_event(u->monitor, event);
	if (r >= 0)
		r = sd_device_monitor_start(u->monitor, on_event, u);
	if (r >= 0)
		r = sd_event_add_time(event, &u->timer, CLOCK_MONOTONIC, 0, 0, on_quiet, u);
	if (r >= 0)
		r = sd_event_source_set_enabled(u->timer, SD_EVENT_OFF);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(u);
	return 0;
}

Uevents *uevents_free(Uevents *u)
{
	if (!u)
		return NULL;
	sd_event_source_unref(u->timer);
	sd_device_monitor_unref(u->monitor);
	free(u);
	return NULL;
}
