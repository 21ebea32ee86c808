/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "gpupassd/uevents.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <systemd/sd-device.h>
#include <unistd.h>

#include "host/launch/part.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/xalloc.h"

/* Binding four functions causes some twenty events within a few milliseconds. */
#define QUIET_USEC (100 * USEC_PER_MSEC)
#define BURST_USEC USEC_PER_SEC
/* After the part has ended, or could not be reached. */
#define AGAIN_USEC (5 * USEC_PER_SEC)

struct Uevents {
	sd_event *event;
	const char *parts_dir;
	sd_event_source *part;	    /* the connection to PART_UEVENTS; it has the descriptor */
	sd_event_source *again;	    /* connects again */
	bool told;		    /* the log has that the part cannot be reached */
	sd_device_monitor *monitor; /* where there are no parts */
	sd_event_source *timer;
	UeventsListener listener;
	void *userdata;
	uint64_t burst_began; /* CLOCK_MONOTONIC; 0: no burst */
	UeventLines lines;
	UeventChanges changes; /* of this burst */
};

static int on_quiet(sd_event_source *source, uint64_t usec, void *userdata)
{
	Uevents *u = userdata;
	const UeventChanges changes = u->changes;

	u->burst_began = 0;
	u->changes = (UeventChanges){ 0 };
	u->listener(&changes, u->userdata);
	return 0;
}

static void begin_or_prolong(Uevents *u)
{
	uint64_t now = now_monotonic(), quiet = now + QUIET_USEC;

	if (u->burst_began == 0)
		u->burst_began = now;
	if (quiet > u->burst_began + BURST_USEC)
		quiet = u->burst_began + BURST_USEC;
	sd_event_source_set_time(u->timer, quiet);
	sd_event_source_set_enabled(u->timer, SD_EVENT_ONESHOT);
}

/* ---- udev's messages, by a socket of our own ---- */

static int on_event(sd_device_monitor *monitor, sd_device *device, void *userdata)
{
	Uevents *u = userdata;

	u->changes.unknown = true;
	begin_or_prolong(u);
	return 0;
}

static int open_monitor(Uevents *u)
{
	int r = sd_device_monitor_new(&u->monitor);

	if (r >= 0)
		r = sd_device_monitor_filter_add_match_subsystem_devtype(u->monitor, "pci", NULL);
	if (r >= 0)
		r = sd_device_monitor_attach_event(u->monitor, u->event);
	return r < 0 ? r : sd_device_monitor_start(u->monitor, on_event, u);
}

/* ---- the kernel's messages, by a part ---- */

/* What comes and goes while nobody listens shows in the look that a part's first line asks for. */
static int connect_again_later(Uevents *u, int error)
{
	u->part = sd_event_source_unref(u->part);
	if (!u->told)
		log_warning("cannot follow PCI devices (%s), will try again; until then use: "
			    "gpupass rescan",
			    strerror(-error));
	u->told = true;
	sd_event_source_set_time(u->again, now_monotonic() + AGAIN_USEC);
	return sd_event_source_set_enabled(u->again, SD_EVENT_ONESHOT);
}

static int on_part(sd_event_source *source, int fd, uint32_t events, void *userdata)
{
	Uevents *u = userdata;
	char bytes[256];
	ssize_t n = read(fd, bytes, sizeof(bytes));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return connect_again_later(u, n < 0 ? -errno : -EPIPE);
	if (u->told)
		log_info("PCI devices are followed again");
	u->told = false;
	uevent_lines_read(&u->lines, bytes, (size_t)n, &u->changes);
	begin_or_prolong(u);
	return 0;
}

static int open_part(Uevents *u)
{
	char *words[] = { (char[]){ "uevents" }, NULL };
	int fd = -1, r = part_ask_at_once(u->parts_dir, PART_UEVENTS, words, &fd);

	if (r < 0)
		return r;
	u->lines = (UeventLines){ 0 };
	r = sd_event_add_io(u->event, &u->part, fd, EPOLLIN, on_part, u);
	if (r < 0) {
		close(fd);
		return r;
	}
	return sd_event_source_set_io_fd_own(u->part, true);
}

static int on_again(sd_event_source *source, uint64_t usec, void *userdata)
{
	int r = open_part(userdata);

	return r < 0 ? connect_again_later(userdata, r) : 0;
}

static int listen_to_kernel(Uevents *u)
{
	int r = u->parts_dir ? open_part(u) : -ENOENT;

	if (part_is_absent(r))
		return open_monitor(u);
	return r < 0 ? connect_again_later(u, r) : 0;
}

static int add_timer(Uevents *u, sd_event_time_handler_t handler, sd_event_source **ret)
{
	int r = sd_event_add_time(u->event, ret, CLOCK_MONOTONIC, 0, 0, handler, u);

	return r < 0 ? r : sd_event_source_set_enabled(*ret, SD_EVENT_OFF);
}

int uevents_new(sd_event *event, const char *parts_dir, UeventsListener listener, void *userdata,
		Uevents **ret)
{
	_cleanup_(uevents_freep) Uevents *u = xcalloc(1, sizeof(Uevents));
	int r;

	u->event = event;
	u->parts_dir = parts_dir;
	u->listener = listener;
	u->userdata = userdata;
	r = add_timer(u, on_quiet, &u->timer);
	if (r >= 0)
		r = add_timer(u, on_again, &u->again);
	if (r >= 0)
		r = listen_to_kernel(u);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(u);
	return 0;
}

static void uevents_clear(Uevents *u)
{
	sd_event_source_unref(u->timer);
	sd_event_source_unref(u->again);
	sd_event_source_unref(u->part);
	sd_device_monitor_unref(u->monitor);
}

DEFINE_FREE(Uevents, uevents_free, uevents_clear)
