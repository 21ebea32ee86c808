/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sources of the loop: signals, the mailbox, the bus, and the timer for the next look. */
#include <signal.h>
#include <sys/epoll.h>
#include <systemd/sd-device.h>

#include "gpupassd/daemon.h"
#include "host/launch/part.h"
#include "host/scan/uevent.h"
#include "util/clock.h"
#include "util/heap.h"
#include "util/log.h"
#include "util/xalloc.h"

#define TIDY_USEC (10 * USEC_PER_SEC)
#define UNHEARD_USEC (60 * USEC_PER_SEC)

/* Does nothing if it is set already: otherwise a daemon that is always busy would never tidy up. */
static void tidy_in(Daemon *d, uint64_t usec)
{
	int enabled = SD_EVENT_OFF;

	if (sd_event_source_get_enabled(d->tidy_timer, &enabled) < 0 || enabled != SD_EVENT_OFF)
		return;
	(void)sd_event_source_set_time_relative(d->tidy_timer, usec);
	(void)sd_event_source_set_enabled(d->tidy_timer, SD_EVENT_ONESHOT);
}

/* All work of threads ends here. What it leaves behind is tidied up later, and only then. */
static int on_mail(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	Daemon *d = userdata;

	mailbox_dispatch(d->mailbox);
	tidy_in(d, TIDY_USEC);
	return 0;
}

/* The bus daemon takes nothing from us while too much of ours waits there for clients that do not
 * read. That much can only be signals, of many weeks. Then no client hears us, and we end: a new
 * connection starts with nothing waiting. */
static void end_when_unheard(Daemon *d)
{
	uint64_t unsent = 0;

	if (sd_bus_get_n_queued_write(d->bus, &unsent) < 0)
		return;
	if (d->unsent > 0 && unsent >= d->unsent) {
		log_error("the bus has taken nothing for a minute: ending; the next start takes up "
			  "what is open");
		sd_event_exit(d->event, GPUPASS_EXIT_FAILED);
	}
	d->unsent = unsent;
	if (unsent > 0)
		tidy_in(d, UNHEARD_USEC);
}

static int on_tidy(sd_event_source *source, uint64_t usec, void *userdata)
{
	/* What a start or a job took is free again, but between what stays. */
	heap_give_back();
	end_when_unheard(userdata);
	return 0;
}

static int on_reload(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
	Daemon *d = userdata;

	log_info("reading groups.d again");
	manager_reload(d->manager);
	return 0;
}

static int on_stop(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
	Daemon *d = userdata;

	return sd_event_exit(d->event, GPUPASS_EXIT_DONE);
}

int daemon_set_up_loop(Daemon *d)
{
	static const struct {
		int number;
		sd_event_signal_handler_t handler;
	} signals[] = { { SIGTERM, on_stop }, { SIGINT, on_stop }, { SIGHUP, on_reload } };
	sigset_t mask;
	int r;

	/* A closed stderr or socket must not end the daemon. */
	signal(SIGPIPE, SIG_IGN);
	/*
	 * sd-event reads signals through signalfd. For that, they must be blocked in all threads.
	 */
	sigemptyset(&mask);
	for (size_t i = 0; i < ELEMENTS(signals); i++)
		sigaddset(&mask, signals[i].number);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	r = sd_event_default(&d->event);
	if (r >= 0)
		r = sd_event_add_time_relative(d->event, &d->tidy_timer, CLOCK_MONOTONIC, TIDY_USEC,
					       USEC_PER_SEC, on_tidy, d);
	if (r >= 0)
		r = mailbox_new(&d->mailbox);
	if (r >= 0)
		r = sd_event_add_io(d->event, NULL, mailbox_fd(d->mailbox), EPOLLIN, on_mail, d);
	for (size_t i = 0; r >= 0 && i < ELEMENTS(signals); i++)
		r = sd_event_add_signal(d->event, NULL, signals[i].number, signals[i].handler, d);
	if (r >= 0)
		r = sd_event_set_watchdog(d->event, true);
	if (r < 0)
		log_error("cannot set up the event loop: %s", strerror(-r));
	return r;
}

/*
 * The bus that sd_bus_open_system() or sd_bus_open_user() opens, as they do, but for the passing of
 * descriptors: a client that has none free for one that it is sent is disconnected. So nothing may
 * be asked of the bus that it answers with one: callers_dispatch_again().
 */
static int open_bus(sd_bus **ret, bool session)
{
	_cleanup_(sd_bus_close_unrefp) sd_bus *guide = NULL, *bus = NULL;
	const char *address = NULL;
	int r = session ? sd_bus_open_user(&guide) : sd_bus_open_system(&guide);

	if (r >= 0)
		r = sd_bus_get_address(guide, &address);
	if (r >= 0)
		r = sd_bus_new(&bus);
	if (r >= 0)
		r = sd_bus_set_address(bus, address);
	if (r >= 0)
		r = sd_bus_set_description(bus, "gpupassd");
	if (r >= 0)
		r = sd_bus_set_bus_client(bus, true);
	if (r >= 0)
		r = sd_bus_set_trusted(bus, session);
	if (r >= 0)
		r = sd_bus_negotiate_fds(bus, false);
	if (r >= 0)
		r = sd_bus_start(bus);
	if (r >= 0)
		*ret = TAKE_PTR(bus);
	return r;
}

int daemon_open_bus(Daemon *d, bool session)
{
	int r = open_bus(&d->bus, session);

	if (r >= 0)
		r = sd_bus_set_exit_on_disconnect(d->bus, true);
	/* Otherwise the end of the loop would close the bus, and we could not tell whether the bus
	 * had gone away. */
	if (r >= 0)
		r = sd_bus_set_close_on_exit(d->bus, false);
	if (r >= 0)
		r = sd_bus_attach_event(d->bus, d->event, SD_EVENT_PRIORITY_NORMAL);
	if (r < 0)
		log_error("cannot reach the %s bus: %s", session ? "session" : "system",
			  strerror(-r));
	return r;
}

/* ---- messages about PCI devices that come, go, or change their driver ---- */

/* Binding four functions causes some twenty events within a few milliseconds. */
#define QUIET_USEC (100 * USEC_PER_MSEC)
#define BURST_USEC USEC_PER_SEC
/* After the part has ended, or could not be reached. */
#define AGAIN_USEC (5 * USEC_PER_SEC)

typedef struct Uevents {
	Daemon *daemon;
	sd_event_source *part;	    /* the connection to PART_UEVENTS; it has the descriptor */
	sd_event_source *again;	    /* connects again */
	bool told;		    /* the log has that the part cannot be reached */
	sd_device_monitor *monitor; /* where there are no parts */
	sd_event_source *timer;
	uint64_t burst_began; /* CLOCK_MONOTONIC; 0: no burst */
	UeventLines lines;
	UeventChanges changes; /* of this burst */
} Uevents;

/* Once for a burst: after a short pause, or when it has lasted a second. */
static void rescan(Daemon *d, const UeventChanges *changes)
{
	if (changes->unknown)
		manager_rescan(d->manager, NULL, NULL);
	else
		manager_rescan_changed(d->manager, changes->functions, changes->n_functions);
}

static int on_quiet(sd_event_source *source, uint64_t usec, void *userdata)
{
	Uevents *u = userdata;
	const UeventChanges changes = u->changes;

	u->burst_began = 0;
	u->changes = (UeventChanges){ 0 };
	rescan(u->daemon, &changes);
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

/* udev's messages, by a socket of our own */

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
		r = sd_device_monitor_attach_event(u->monitor, u->daemon->event);
	return r < 0 ? r : sd_device_monitor_start(u->monitor, on_event, u);
}

/* the kernel's messages, by a part */

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
	int fd = -1,
	    r = part_ask_at_once(u->daemon->host.worker.parts_dir, PART_UEVENTS, words, &fd);

	if (r < 0)
		return r;
	u->lines = (UeventLines){ 0 };
	r = sd_event_add_io(u->daemon->event, &u->part, fd, EPOLLIN, on_part, u);
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
	int r = u->daemon->host.worker.parts_dir ? open_part(u) : -ENOENT;

	if (part_is_absent(r))
		return open_monitor(u);
	return r < 0 ? connect_again_later(u, r) : 0;
}

static int add_timer(Uevents *u, sd_event_time_handler_t handler, sd_event_source **ret)
{
	int r = sd_event_add_time(u->daemon->event, ret, CLOCK_MONOTONIC, 0, 0, handler, u);

	return r < 0 ? r : sd_event_source_set_enabled(*ret, SD_EVENT_OFF);
}

/*
 * By the part for that; where there are no parts udev says it, in the host's own network name space
 * only, and names no function: when messages of udev are lost, nobody hears of that.
 */
static int follow_devices(Daemon *d)
{
	Uevents *u = d->uevents = xcalloc(1, sizeof(Uevents));
	int r;

	u->daemon = d;
	r = add_timer(u, on_quiet, &u->timer);
	if (r >= 0)
		r = add_timer(u, on_again, &u->again);
	return r < 0 ? r : listen_to_kernel(u);
}

/* ---- when to look again ---- */

static void looked(void *userdata)
{
}

/*
 * Events of udev and libvirt may be lost, and errors and lost lanes of a GPU cause none. This look
 * sees them all, and is the only thing that wakes a daemon at rest.
 */
static int on_look(sd_event_source *source, uint64_t usec, void *userdata)
{
	Daemon *d = userdata;
	int r;

	manager_refresh(d->manager, looked, d);
	r = sd_event_source_set_time_relative(source, d->config->look_interval_usec);
	return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

int daemon_start_looking(Daemon *d, bool real_sysfs)
{
	int r = sd_event_add_time_relative(d->event, NULL, CLOCK_MONOTONIC,
					   d->config->look_interval_usec, USEC_PER_SEC, on_look, d);

	if (r < 0) {
		log_error("cannot set up: %s", strerror(-r));
		return r;
	}
	/* A directory that stands in for sysfs has no events. */
	if (!real_sysfs)
		return 0;
	r = follow_devices(d);
	if (r < 0)
		log_warning("cannot follow PCI devices (%s); use: gpupass rescan", strerror(-r));
	return 0;
}
