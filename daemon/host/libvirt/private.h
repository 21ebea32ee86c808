/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the parts of host/libvirt share:
 *   connection.c  threads, the connection and its repair, virt_new(), virt_free()
 *   events.c      what libvirt says about domains, and who waits for it
 *   error.c       libvirt's errors as problems
 *   libvirt.c             look up, read, define
 *   attach.c      live devices, attach
 *   detach.c      detach
 *   agent.c       messages to the guest agent
 *
 * Threads. The event thread runs libvirt's event loop and calls the listener; the connector opens
 * and closes connections, because virConnectOpen() waits for as long as libvirtd does not answer;
 * job threads make the calls. A detach has one more thread that waits for libvirt's answer.
 *
 * Locks. `lock` guards everything below it in the struct and is never held during a call into
 * libvirt: libvirt calls back with locks of its own held. `listener_lock` is held while the
 * listener runs, so that virt_free() can promise that it is not called afterwards.
 */
#pragma once

#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>
#include <pthread.h>
#include <stdint.h>

#include "host/libvirt/libvirt.h"

/* LIFECYCLE, DEVICE_ADDED, DEVICE_REMOVED, DEVICE_REMOVAL_FAILED, METADATA_CHANGE */
#define VIRT_EVENTS 5

typedef enum LinkState {
	LINK_DOWN,   /* no connection */
	LINK_SETUP,  /* open, events not yet registered: for the connector only */
	LINK_UP,     /* for everybody */
	LINK_BROKEN, /* libvirt closed it; the connector will drop it */
} LinkState;

/*
 * Somebody waits for news of a live device. `device` is libvirt's alias, the name that events
 * give; NULL takes the news of any device.
 */
typedef struct DeviceWait {
	struct DeviceWait *next;
	char uuid[VIR_UUID_STRING_BUFLEN];
	char *device;
	bool news;    /* something happened since this was last cleared: look again */
	bool refused; /* DEVICE_REMOVAL_FAILED */
} DeviceWait;

struct Virt {
	char *uri; /* NULL: libvirt's default */
	int timer; /* wakes the event loop; armed with 0 when there is something to announce */
	pthread_t events, connector;
	int event_ids[VIRT_EVENTS]; /* the connector's; -1: not registered */

	pthread_mutex_t listener_lock;
	VirtListener listener; /* NULL from virt_free() on */
	void *userdata;
	uint64_t announced; /* the event thread's: generation the listener knows; 0: none */

	pthread_mutex_t lock;
	pthread_cond_t changed; /* CLOCK_MONOTONIC; of anything below */
	bool stopping;
	bool events_stopping;
	bool events_ended, connector_ended;
	unsigned users; /* calls under way: virt_free() must not pull Virt from under them */
	virConnectPtr conn;
	LinkState link;
	uint64_t generation; /* counts the connections that were LINK_UP */
	bool tried;	     /* the first attempt to connect has ended */
	uint64_t started_usec;
	char *last_error; /* why there is no connection; NULL: no attempt has ended yet */
	DeviceWait *waits;
};

/* --- connection.c --- */

/* One call's hold on Virt and reference to the connection. Zero-initialise. */
typedef struct VirtCall {
	Virt *virt;
	virConnectPtr conn;
} VirtCall;

/*
 * Takes the connection. Without one the answer is LibvirtUnavailable at once, except at start-up,
 * where the first attempt to connect is waited for, a bounded time.
 */
int virt_call_begin(Virt *virt, VirtCall *ret, Problem **ret_problem);
void virt_call_end(VirtCall *call);

void virt_hold(Virt *virt);
void virt_release(Virt *virt);

/*
 * Waits on `changed`, with `lock` held, at most until the deadline (CLOCK_MONOTONIC; UINT64_MAX:
 * none). May return for nothing, as condition variables do.
 */
void virt_wait(Virt *virt, uint64_t deadline_usec);

/* A thread with all signals blocked: the daemon takes them by signalfd. 0 or -errno. */
int virt_thread_start(pthread_t *ret, void *(*main)(void *), void *userdata, bool detached);

/* --- events.c --- */

/* Registers for events of this connection. On failure some may be registered. */
int virt_events_register(Virt *virt, virConnectPtr conn);
void virt_events_deregister(Virt *virt, virConnectPtr conn);
/* On the event thread: tells the listener what became of the connection. */
void virt_announce(Virt *virt);
void virt_wait_enlist(Virt *virt, DeviceWait *wait);
void virt_wait_dismiss(Virt *virt, DeviceWait *wait);

/* --- error.c --- */

/* Why this thread's last libvirt call failed: LibvirtUnavailable or `code`, with its words. */
int virt_problem(const VirtCall *call, Problem **ret_problem, GpupassError code, const char *reason,
		 ...) _printf_(4, 5);
int virt_unavailable(const char *uri, const char *why, Problem **ret_problem);
int virt_no_such_domain(const char *text, Problem **ret_problem);

/* --- libvirt.c --- */

/* 0, NoSuchDomain or LibvirtUnavailable. */
int virt_lookup_uuid(const VirtCall *call, const char *uuid, virDomainPtr *ret,
		     Problem **ret_problem);

/* After a failed call about a domain, which may just have gone: NoSuchDomain, or as virt_problem(). */
int virt_read_problem(const VirtCall *call, const char *name, Problem **ret_problem);

/* --- attach.c --- */

/* What a running domain has of a function. All false for a domain that does not run, or has gone. */
typedef struct LiveDevice {
	bool running;
	bool present;
	bool acpi;   /* the guest can hear of a hotplug */
	char *alias; /* libvirt's name of the device; NULL: none */
} LiveDevice;

int virt_live_device(const VirtCall *call, virDomainPtr domain, const Bdf *function,
		     LiveDevice *ret, Problem **ret_problem);
void live_device_clear(LiveDevice *device);

static inline _unused_ void domain_unrefp(virDomainPtr *domain)
{
	if (*domain)
		virDomainFree(*domain);
	*domain = NULL;
}
#define _cleanup_domain_ _cleanup_(domain_unrefp)
#define _cleanup_call_ _cleanup_(virt_call_end)

/*
 * Borrowed from the domain. Like nearly every call of libvirt it clears the thread's last error:
 * ask for the name before the call that may fail.
 */
static inline _unused_ const char *virt_domain_name(virDomainPtr domain)
{
	const char *name = virDomainGetName(domain);

	return name ? name : "";
}

/* The last error of this thread is of this kind: the domain is gone. */
static inline _unused_ bool virt_error_is_no_domain(void)
{
	const virError *error = virGetLastError();

	return error && error->code == VIR_ERR_NO_DOMAIN;
}
