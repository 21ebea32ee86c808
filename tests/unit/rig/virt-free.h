/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Closes and joins, in a limited time: an event thread that is stuck in libvirt is left behind. The
 * daemon's Virt lives until the process ends.
 */
#pragma once

#include "host/libvirt/call.h"
#include "host/libvirt/libvirt.h"
#include "host/libvirt/virt.h"
#include "util/clock.h"
#include "util/mutex.h"

/* It waits this long for all threads and calls to end. */
#define VIRT_FREE_USEC (500 * USEC_PER_MSEC)
/* The part of that time that is reserved for the event thread, which stops last. */
#define VIRT_FREE_EVENTS_USEC (100 * USEC_PER_MSEC)

/* Holds `lock`. Waits until *flag is set or the deadline has passed; returns *flag. */
static inline bool virt_wait_flag(Virt *virt, const bool *flag, uint64_t deadline)
{
	while (!*flag && now_monotonic() < deadline)
		virt_wait(virt, deadline);
	return *flag;
}

/* Joins a thread that has ended by then; does not wait for one that is stuck in libvirt. */
static inline bool virt_join(Virt *virt, pthread_t thread, const bool *ended, uint64_t deadline)
{
	bool has_ended;

	pthread_mutex_lock(&virt->lock);
	has_ended = virt_wait_flag(virt, ended, deadline);
	pthread_mutex_unlock(&virt->lock);
	if (has_ended)
		pthread_join(thread, NULL);
	else
		pthread_detach(thread);
	return has_ended;
}

static inline bool virt_stop_connector(Virt *virt, uint64_t deadline)
{
	pthread_mutex_lock(&virt->lock);
	virt->stopping = true;
	pthread_cond_broadcast(&virt->changed);
	pthread_mutex_unlock(&virt->lock);
	return virt_join(virt, virt->connector, &virt->connector_ended, deadline);
}

static inline bool virt_wait_users(Virt *virt, uint64_t deadline)
{
	MUTEX_HOLD(&virt->lock);

	while (virt->users > 0 && now_monotonic() < deadline)
		virt_wait(virt, deadline);
	return virt->users == 0;
}

static inline Virt *virt_free(Virt *virt)
{
	uint64_t deadline = now_monotonic() + VIRT_FREE_USEC;
	bool connector, users, events;

	if (!virt)
		return NULL;
	pthread_mutex_lock(&virt->listener_lock);
	virt->listener = NULL;
	pthread_mutex_unlock(&virt->listener_lock);
	/* Closing a connection needs the event loop, so that thread stops last. */
	connector = virt_stop_connector(virt, deadline - VIRT_FREE_EVENTS_USEC);
	users = virt_wait_users(virt, deadline - VIRT_FREE_EVENTS_USEC);
	virt_stop_events(virt);
	events = virt_join(virt, virt->events, &virt->events_ended, deadline);
	if (connector && users && events)
		virt_destroy(virt);
	/* Leaks it on purpose: a thread that is still in libvirt comes back to this memory. */
	return NULL;
}
DEFINE_CLEANUP(Virt, virt_free)
