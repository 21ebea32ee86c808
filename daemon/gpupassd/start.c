/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The start, up to the name on the bus: recovers open jobs, looks at the host, and waits for
 * libvirt, but not for long. Also handles libvirt's events, then and later.
 */
#include <systemd/sd-daemon.h>
#include <systemd/sd-id128.h>

#include "gpupassd/daemon.h"
#include "util/clock.h"
#include "util/log.h"

/* How long a start waits for libvirt before it answers callers without knowing the domains. */
#define LIBVIRT_GRACE_USEC (3 * USEC_PER_SEC)

static void published(int result, void *userdata)
{
	Daemon *d = userdata;

	if (result == 0) {
		sd_notify(0, "READY=1");
		log_info("ready: %zu groups", manager_inventory(d->manager)->groups->n_items);
		/* A process for each GPU: not before callers can be answered. */
		manager_look_at_health(d->manager);
		return;
	}
	if (result == -EEXIST)
		log_error("another gpupassd runs on this bus");
	else
		log_error("cannot take the bus name: %s", strerror(-result));
	sd_event_exit(d->event, GPUPASS_EXIT_FAILED);
}

/* Takes the name once there is a whole picture, so that no caller sees half of one. */
static void publish(void *userdata)
{
	Daemon *d = userdata;
	int r;

	if (d->published || !manager_inventory(d->manager))
		return;
	d->published = true;
	r = face_publish(d->face, published, d);
	if (r < 0)
		published(r, d);
}

static int on_grace_over(sd_event_source *source, uint64_t usec, void *userdata)
{
	Daemon *d = userdata;

	d->grace_over = true;
	publish(d);
	return 0;
}

static void first_scan_done(void *userdata)
{
	Daemon *d = userdata;

	if (!manager_inventory(d->manager)) {
		log_error("cannot scan this host; giving up");
		sd_event_exit(d->event, GPUPASS_EXIT_FAILED);
	} else if (d->grace_over) {
		publish(d);
	}
}

/* Looks at the host after open jobs are recovered. When libvirt is slow, or a worker of the
 * previous daemon delays recovery, we take the name before that: the groups of those jobs are
 * quarantined. */
static void recovered(void *userdata)
{
	Daemon *d = userdata;

	manager_refresh(d->manager, publish, d);
}

/* libvirt may have come meanwhile, so that jobs that waited for it can be recovered. */
static void recovered_without_libvirt(void *userdata)
{
	Daemon *d = userdata;

	if (d->recover_again && manager_recover(d->manager, recovered, d) < 0)
		recovered(d);
	d->recover_again = false;
}

static void libvirt_connected(void *userdata)
{
	Daemon *d = userdata;

	manager_libvirt_changed(d->manager, true);
	/* Nothing has moved since the first scan began, so there is no need for a second one. */
	if (!d->published && !manager_has_open_jobs(d->manager)) {
		manager_settle(d->manager, publish, d);
		return;
	}
	d->recover_again = manager_recover(d->manager, recovered, d) == -EBUSY;
}

static void libvirt_disconnected(void *userdata)
{
	manager_libvirt_changed(((Daemon *)userdata)->manager, false);
}

static void libvirt_domain_changed(void *userdata)
{
	manager_libvirt_changed(((Daemon *)userdata)->manager, true);
}

/* Runs on libvirt's thread: only posts to the loop. */
void daemon_on_virt_event(VirtEventKind kind, const char *uuid, void *userdata)
{
	static const MailboxCallback callbacks[] = {
		[VIRT_EVENT_CONNECTED] = libvirt_connected,
		[VIRT_EVENT_DISCONNECTED] = libvirt_disconnected,
		[VIRT_EVENT_DOMAIN] = libvirt_domain_changed,
	};
	Daemon *d = userdata;

	mailbox_post(d->mailbox, callbacks[kind], d);
}

#define HOST_ID SD_ID128_MAKE(5e, 0c, 4b, 8e, 2d, 1a, 4f, 4d, 9b, 0e, 6b, 7c, 1d, 93, aa, 20)

int daemon_set_up_manager(Daemon *d, const Options *options)
{
	sd_id128_t host = SD_ID128_NULL;
	ManagerPlace place = {
		.mailbox = d->mailbox,
		.job = { .host = &d->host.host,
			 .store = &d->store,
			 .receipts = &d->receipts,
			 .journal = &d->journal,
			 .numbers = &d->numbers,
			 .quarantine = &d->quarantine,
			 .tenants = &d->tenants,
			 .fence = &d->fence,
			 .topology = &d->topology,
			 .trail = d->trail },
		.config_directory = options->config_directory,
		.policy = d->config->policy,
		.host_note = d->host_note,
	};
	int r;

	/* In a container there may be none. */
	(void)sd_id128_get_machine_app_specific(HOST_ID, &host);
	place.job.host_key = host.qwords[0];
	daemon_audit_life(d, AUDIT_START);
	r = manager_new(&place, &d->manager);
	if (r >= 0) {
		manager_load_state(d->manager);
		manager_load_boot(d->manager, options->runtime_directory);
		r = face_new(d->bus, d->manager, d->resolver, GPUPASS_PCI_IDS, &d->face);
	}
	if (r < 0)
		log_error("cannot set up: %s", strerror(-r));
	return r;
}

/* Without libvirt nothing is waited for, and no event tells of domains. */
static void start_without_libvirt(Daemon *d)
{
	d->grace_over = true;
	mailbox_post(d->mailbox, libvirt_connected, d);
}

int daemon_start(Daemon *d)
{
	int r;

	/* Recover what touches no domain without waiting for libvirt. */
	r = manager_recover(d->manager, recovered_without_libvirt, d);
	if (r >= 0)
		manager_rescan(d->manager, first_scan_done, d);
	if (r >= 0 && d->virt)
		r = sd_event_add_time_relative(d->event, NULL, CLOCK_MONOTONIC, LIBVIRT_GRACE_USEC,
					       0, on_grace_over, d);
	else if (r >= 0)
		start_without_libvirt(d);
	if (r < 0)
		log_error("cannot set up: %s", strerror(-r));
	return r;
}
