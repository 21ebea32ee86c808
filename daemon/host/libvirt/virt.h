/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The room's own state, which its files share. Other rooms include libvirt.h.
 *
 * Threads. The event thread runs libvirt's event loop and calls the listener; the connector opens
 * and closes connections, because virConnectOpen() waits for as long as libvirtd does not answer;
 * job threads make the calls. A detach has one more thread that waits for libvirt's answer.
 *
 * Locks. `lock` guards everything below it in the struct and is never held during a call into
 * libvirt: libvirt calls back with locks of its own held. Nor is that of `known`; its `reading` is,
 * and no callback takes it. `listener_lock` is held while the listener runs, so that who takes
 * that away knows that it is not called afterwards.
 */
#pragma once

#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <pthread.h>
#include <stdint.h>

#include "core/domain/use.h"
#include "gpupass/cleanup.h"
#include "host/libvirt/listener.h"

/* LIFECYCLE, DEVICE_ADDED, DEVICE_REMOVED, DEVICE_REMOVAL_FAILED, METADATA_CHANGE */
#define VIRT_EVENTS 5

typedef enum LinkState {
	LINK_DOWN,   /* no connection */
	LINK_SETUP,  /* open, events not yet registered: for the connector only */
	LINK_UP,     /* for everybody */
	LINK_BROKEN, /* libvirt closed it; the connector will drop it */
} LinkState;

/*
 * A thread waits for news of a live device. `device` is libvirt's alias, the name in events; NULL
 * takes the news of any device.
 */
typedef struct DeviceWait {
	struct DeviceWait *next;
	char uuid[VIR_UUID_STRING_BUFLEN];
	char *device;
	bool news;    /* something happened since this was last cleared: look again */
	bool refused; /* DEVICE_REMOVAL_FAILED */
} DeviceWait;

/* More at once cost as much one by one as all together. */
#define VIRT_CHANGES_MAX 64

typedef struct VirtChanges {
	bool all;
	char uuids[VIRT_CHANGES_MAX][VIR_UUID_STRING_BUFLEN];
	size_t n;
	uint64_t asked; /* counts those who want a reading of all that begins after they asked */
} VirtChanges;

/* known.c */
typedef struct VirtKnown {
	pthread_mutex_t reading; /* guards what follows, while it is read, too */
	DomainUses *uses;	 /* NULL: nothing is known */
	uint64_t connection;	 /* by which it was read */
	uint64_t answers;	 /* the last who asked before all was read */

	pthread_mutex_t lock; /* guards what follows */
	VirtChanges changes;  /* since it was read */
} VirtKnown;

struct Virt {
	char *uri; /* NULL: libvirt's default */
	int timer; /* wakes the event loop; armed with 0 when there is something to announce */
	pthread_t events, connector;
	int event_ids[VIRT_EVENTS]; /* the connector's; -1: not registered */

	pthread_mutex_t listener_lock;
	VirtListener listener; /* NULL: none, from now on */
	void *userdata;
	uint64_t announced; /* the event thread's: generation the listener knows; 0: none */

	VirtKnown known;

	pthread_mutex_t lock;
	pthread_cond_t changed; /* CLOCK_MONOTONIC; of anything below */
	bool stopping;
	bool events_stopping;
	bool events_ended, connector_ended;
	unsigned users; /* calls under way: Virt lives until they end */
	virConnectPtr conn;
	LinkState link;
	uint64_t libvirt_version, hypervisor_version; /* of the last connection; 0: not told */
	uint64_t generation;			      /* counts the connections that were LINK_UP */
	bool tried;				      /* the first attempt to connect has ended */
	uint64_t started_usec;
	char *last_error; /* why there is no connection; NULL: no attempt has ended yet */
	DeviceWait *waits;
};

/* One call's hold on Virt and reference to the connection. Zero-initialise. */
typedef struct VirtCall {
	Virt *virt;
	virConnectPtr conn;
	uint64_t connection; /* Virt.generation */
} VirtCall;

static inline _unused_ void domain_unrefp(virDomainPtr *domain)
{
	if (*domain)
		virDomainFree(*domain);
	*domain = NULL;
}
#define _cleanup_domain_ _cleanup_(domain_unrefp)

/*
 * Borrowed from the domain. Like nearly every call of libvirt it clears the thread's last error:
 * get the name before the call that may fail.
 */
static inline _unused_ const char *virt_domain_name(virDomainPtr domain)
{
	const char *name = virDomainGetName(domain);

	return name ? name : "";
}

/* As of the answer that the domain came with, a list or a lookup: asks nothing more of libvirt. */
static inline _unused_ bool virt_was_active(virDomainPtr domain)
{
	return virDomainGetID(domain) != (unsigned)-1;
}

/* ---- connection.c: its end ---- */

/* The event thread ends. Closing a connection needs it. */
void virt_stop_events(Virt *virt);
/* No thread of it runs any more, or ran yet. */
void virt_destroy(Virt *virt);

/* ---- known.c: what is known of all domains between two readings of all of them ---- */

/*
 * What is known of this domain is no longer so: libvirt has said it, or we have changed it. NULL:
 * that of any domain. From any thread; does not wait.
 */
void virt_known_changed(Virt *virt, const char *uuid);
void virt_known_init(VirtKnown *known);
void virt_known_done(VirtKnown *known);

/* ---- events.c: what libvirt says, and the threads that wait for it ---- */

/* Registers for events of this connection. On failure some may be registered. */
int virt_events_register(Virt *virt, virConnectPtr conn);
void virt_events_deregister(Virt *virt, virConnectPtr conn);

/* On the event thread: tells the listener that the connection is there, or is lost. */
void virt_announce(Virt *virt);

void virt_wait_enlist(Virt *virt, DeviceWait *wait);
void virt_wait_dismiss(Virt *virt, DeviceWait *wait);
