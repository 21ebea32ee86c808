/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpupassd as a whole: what it owns, and the stages of its start in their order. Each stage logs
 * its errors. Only files of this room include it.
 */
#pragma once

#include <stdatomic.h>
#include <systemd/sd-event.h>

#include "bus/bus.h"
#include "gpupassd/command-line.h"
#include "manager/config.h"

/* Threads may outlive the loop, so we never free what they use. */
typedef struct Daemon {
	sd_event *event;
	sd_bus *bus;
	Mailbox *mailbox;
	Config *config;
	AssignmentStore store;
	KeptStore kept; /* of `store` */
	ReceiptStore receipts;
	Journal journal;
	NumberStore numbers;
	QuarantineStore quarantine;
	TenantStore tenants;
	FenceStore fence;
	TopologyStore topology;
	Trail *trail;
	CallerResolver *resolver;
	atomic_flag audit_announced; /* a letter is on its way to the loop */
	RealHost host;
	Virt *virt;
	Manager *manager;
	Face *face;
	struct Uevents *uevents;     /* NULL: not followed */
	sd_event_source *tidy_timer; /* on while there may be something to tidy up */
	sd_event_source *rest_timer; /* NULL: parts are made ready at once */
	atomic_flag no_parts_told;
	uint64_t unsent; /* messages that the bus had not taken when we last looked */
	int exit_code;
	char *host_note;
	bool published;
	bool grace_over;
	bool recover_again;
} Daemon;

/* loop.c: the loop, its signals, and the mailbox; then the bus on it. */
int daemon_set_up_loop(Daemon *d);
int daemon_open_bus(Daemon *d, bool session);
/* Adds the sources that say when to look again. */
int daemon_start_looking(Daemon *d, bool real_sysfs);

/* open.c: opens and locks the files on disk; and the machine, with libvirt. */
int daemon_open_state(Daemon *d, const Options *options);
int daemon_open_host(Daemon *d, const Options *options);

/* Records the start or the end of the daemon. */
void daemon_audit_life(Daemon *d, AuditKind kind);

/* start.c: from recovery and the first look to the name on the bus. */
int daemon_set_up_manager(Daemon *d, const Options *options);
int daemon_start(Daemon *d);
/* Called on libvirt's event thread. */
void daemon_on_virt_event(VirtEventKind kind, const char *uuid, void *userdata);
