/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens the daemon's files, locks them for as long as it runs, and opens the machine. */
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "gpupassd/daemon.h"
#include "host/launch/part.h"
#include "host/wire/request.h"
#include "store/hold.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/log.h"
#include "util/text.h"

static int open_store(Daemon *d, const Options *options)
{
	_cleanup_free_ char *directory = strf("%s/assignments.d", options->config_directory);
	_cleanup_free_ char *kept = strf("%s/kept.d", options->config_directory);
	int r = assignment_store_open(directory, &d->store);

	if (r < 0) {
		log_error("cannot open %s: %s", directory, strerror(-r));
		return r;
	}
	r = kept_store_open(kept, &d->kept);
	if (r < 0) {
		log_error("cannot open %s: %s", kept, strerror(-r));
		return r;
	}
	d->store.kept = &d->kept;
	r = receipt_store_open(options->state_directory, &d->receipts);
	if (r < 0)
		log_error("cannot open %s/receipts: %s", options->state_directory, strerror(-r));
	return r;
}

static int open_state(Daemon *d, const Options *options)
{
	_cleanup_free_ char *journal = strf("%s/journal", options->state_directory);
	_cleanup_free_ char *quarantine = strf("%s/quarantine", options->state_directory);
	int r = journal_open(journal, &d->journal);

	/*
	 * Without it (another kernel's /proc, a container) we cannot tell a reboot from a restart.
	 */
	if (r >= 0)
		(void)file_read_line_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id",
					&d->journal.boot_id);
	if (r >= 0)
		r = number_store_open(options->state_directory, &d->numbers);
	if (r >= 0)
		r = quarantine_store_open(quarantine, &d->quarantine);
	if (r >= 0)
		r = tenant_store_open(options->state_directory, &d->tenants);
	if (r >= 0)
		r = topology_store_open(options->state_directory, &d->topology);
	if (r < 0)
		log_error("cannot open %s: %s", options->state_directory, strerror(-r));
	return r;
}

/* Locks the directories, before anything in them is read. */
static int hold_state(Daemon *d)
{
	int r = hold_directory(d->store.dir_fd, "assignments.d");

	if (r >= 0)
		r = hold_directory(d->kept.dir_fd, "kept.d");
	if (r >= 0)
		r = hold_directory(d->journal.dir_fd, "the journal");
	if (r >= 0)
		r = hold_directory(d->quarantine.dir_fd, "the quarantines");
	if (r >= 0)
		r = hold_directory(d->tenants.dir_fd, "the tenants' marks");
	return r < 0 ? r : hold_directory(d->receipts.dir_fd, "the receipts");
}

/* After the lock: the daemon that had it may have written until then. */
static int open_fence(Daemon *d, const Options *options)
{
	int r = fence_store_open(options->state_directory, &d->fence);

	if (r < 0)
		log_error("cannot open %s: %s", options->state_directory, strerror(-r));
	return r;
}

int daemon_open_state(Daemon *d, const Options *options)
{
	int r = open_store(d, options);

	if (r >= 0)
		r = open_state(d, options);
	if (r >= 0)
		r = hold_state(d);
	if (r >= 0)
		r = open_fence(d, options);
	return r < 0 ? r : daemon_open_trail(d, options);
}

/* ---- the machine ---- */

/* Called on a job's thread. Logs once, because the reason is usually the same for every worker. */
static void no_parts(const char *why, void *userdata)
{
	Daemon *d = userdata;

	if (!atomic_flag_test_and_set(&d->no_parts_told))
		log_warning(
			"workers are children of gpupassd, not parts with a unit of their own: %s. "
			"One that hangs stays in this service's control group, and may delay a "
			"shutdown",
			why);
}

/* Parts work on this host as it is. What only development asks for is a child's business. */
static void use_parts(Daemon *d, const Options *options, WorkerConfig *worker)
{
	if (options->session) {
		no_parts("it is on the session bus", d);
		return;
	}
	if (options->elsewhere) {
		no_parts("another worker, library or root was asked for", d);
		return;
	}
	worker->parts_dir = PARTS_DIR;
	worker->locks_dir = PARTS_LOCKS_DIR;
	worker->fell_back = no_parts;
	worker->userdata = d;
}

/* Looking still works, so the daemon does not end. */
static void check_host(Daemon *d, const Options *options)
{
	_cleanup_free_ char *path = NULL;
	int r;

	/* The mover writes, not this process. */
	if (d->host.worker.parts_dir && access(PARTS_DIR "/" PART_MOVER, W_OK) == 0)
		return;
	r = real_host_check_writable(&d->host, &path);
	if (r == 0)
		return;
	d->host_note = strf("%s/%s cannot be written (%s), so no driver can be changed: see "
			    "whether gpupass-mover.socket is active, or this is a container",
			    options->worker.sysfs_dir, str_or_empty(path), strerror(-r));
	log_as(LOG_ERR, LOG_ID_NO_MOVER, "%s", d->host_note);
}

#define REST_USEC USEC_PER_SEC

static int on_rested(sd_event_source *source, uint64_t usec, void *userdata)
{
	Daemon *d = userdata;

	real_host_make_ready(&d->host);
	return 0;
}

/*
 * systemd needs a processor for each part that it starts. Whoever waits for the end of the job has
 * it first; a job that begins meanwhile has started what it needs.
 */
static void rest(void *userdata)
{
	Daemon *d = userdata;

	real_host_rest(&d->host);
	if (!d->rest_timer || sd_event_source_set_time_relative(d->rest_timer, REST_USEC) < 0 ||
	    sd_event_source_set_enabled(d->rest_timer, SD_EVENT_ONESHOT) < 0)
		real_host_make_ready(&d->host);
}

static void rest_at_quiet(Daemon *d)
{
	if (sd_event_add_time_relative(d->event, &d->rest_timer, CLOCK_MONOTONIC, REST_USEC, 0,
				       on_rested, d) < 0)
		d->rest_timer = NULL;
	mailbox_on_quiet(d->mailbox, rest, d);
}

int daemon_open_host(Daemon *d, const Options *options)
{
	const char *uri = options->libvirt_uri ? options->libvirt_uri : d->config->libvirt_uri;
	WorkerConfig worker = options->worker;
	int r;

	use_parts(d, options, &worker);
	r = real_host_init(&d->host, &worker);
	if (r < 0) {
		log_error("cannot open %s: %s", options->worker.sysfs_dir, strerror(-r));
		return r;
	}
	rest_at_quiet(d);
	check_host(d, options);
	if (!domain_source_is_none(uri))
		d->config->policy.domains = DOMAINS_LIBVIRT;
	else
		d->config->policy.domains =
			d->config->proxmox_guests ? DOMAINS_PROXMOX : DOMAINS_NONE;
	d->host.domains = d->config->policy.domains;
	if (d->host.domains != DOMAINS_LIBVIRT) {
		log_info("there is no libvirt, by Uri=none: groups can be bound, not assigned");
		return 0;
	}
	r = virt_new(uri, daemon_on_virt_event, d, &d->virt);
	if (r < 0) {
		log_error("cannot start the libvirt thread: %s", strerror(-r));
		return r;
	}
	d->host.virt = d->virt;
	return 0;
}
