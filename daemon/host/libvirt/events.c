/* SPDX-License-Identifier: GPL-2.0-or-later */
/* libvirt's callbacks. All run on the event thread. */
#include "host/libvirt/virt.h"

#include "util/mutex.h"
#include "util/text.h"

static void tell(Virt *virt, VirtEventKind kind, const char *uuid)
{
	MUTEX_HOLD(&virt->listener_lock);

	if (virt->listener)
		virt->listener(kind, uuid, virt->userdata);
}

/*
 * The connection may have been lost and made again before this ran. The listener still hears of
 * both, in order, because what it knew before is no longer valid.
 */
void virt_announce(Virt *virt)
{
	for (;;) {
		uint64_t now;

		pthread_mutex_lock(&virt->lock);
		now = virt->link == LINK_UP ? virt->generation : 0;
		pthread_mutex_unlock(&virt->lock);
		if (now == virt->announced)
			return;
		if (virt->announced != 0) {
			virt->announced = 0;
			tell(virt, VIRT_EVENT_DISCONNECTED, NULL);
		} else {
			virt->announced = now;
			tell(virt, VIRT_EVENT_CONNECTED, NULL);
		}
	}
}

void virt_wait_enlist(Virt *virt, DeviceWait *wait)
{
	MUTEX_HOLD(&virt->lock);

	wait->next = virt->waits;
	virt->waits = wait;
}

void virt_wait_dismiss(Virt *virt, DeviceWait *wait)
{
	MUTEX_HOLD(&virt->lock);

	for (DeviceWait **p = &virt->waits; *p; p = &(*p)->next)
		if (*p == wait) {
			*p = wait->next;
			break;
		}
}

/* `device` NULL: the event is about the domain as a whole. */
static void wake_waits(Virt *virt, const char *uuid, const char *device, bool refused)
{
	MUTEX_HOLD(&virt->lock);

	for (DeviceWait *w = virt->waits; w; w = w->next) {
		if (!str_equal(w->uuid, uuid) ||
		    (device && w->device && !str_equal(w->device, device)))
			continue;
		w->news = true;
		w->refused = w->refused || refused;
	}
	pthread_cond_broadcast(&virt->changed);
}

static void domain_event(Virt *virt, virDomainPtr domain, const char *device, bool refused)
{
	char uuid[VIR_UUID_STRING_BUFLEN];

	if (virDomainGetUUIDString(domain, uuid) < 0) {
		virt_known_changed(virt, NULL);
		return;
	}
	/* Who hears of it next reads it anew. */
	virt_known_changed(virt, uuid);
	wake_waits(virt, uuid, device, refused);
	/* Before CONNECTED the listener has read nothing that this could change. */
	if (virt->announced != 0)
		tell(virt, VIRT_EVENT_DOMAIN, uuid);
}

static int on_lifecycle(virConnectPtr conn _unused_, virDomainPtr domain, int event _unused_,
			int detail _unused_, void *userdata)
{
	domain_event(userdata, domain, NULL, false);
	return 0;
}

/* Both DEVICE_ADDED and DEVICE_REMOVED. */
static void on_device(virConnectPtr conn _unused_, virDomainPtr domain, const char *device,
		      void *userdata)
{
	domain_event(userdata, domain, device, false);
}

static void on_removal_failed(virConnectPtr conn _unused_, virDomainPtr domain, const char *device,
			      void *userdata)
{
	domain_event(userdata, domain, device, true);
}

/* Our own <metadata> is part of a domain's state. */
static void on_metadata(virConnectPtr conn _unused_, virDomainPtr domain, int type _unused_,
			const char *namespace _unused_, void *userdata)
{
	domain_event(userdata, domain, NULL, false);
}

int virt_events_register(Virt *virt, virConnectPtr conn)
{
	/* Each kind has a callback type of its own; void (*)(void) stands for any of them. */
	static const struct {
		int event;
		void (*callback)(void);
	} table[VIRT_EVENTS] = {
		{ VIR_DOMAIN_EVENT_ID_LIFECYCLE, (void (*)(void))on_lifecycle },
		{ VIR_DOMAIN_EVENT_ID_DEVICE_ADDED, (void (*)(void))on_device },
		{ VIR_DOMAIN_EVENT_ID_DEVICE_REMOVED, (void (*)(void))on_device },
		{ VIR_DOMAIN_EVENT_ID_DEVICE_REMOVAL_FAILED, (void (*)(void))on_removal_failed },
		{ VIR_DOMAIN_EVENT_ID_METADATA_CHANGE, (void (*)(void))on_metadata },
	};

	for (size_t i = 0; i < VIRT_EVENTS; i++) {
		virt->event_ids[i] = virConnectDomainEventRegisterAny(
			conn, NULL, table[i].event,
			(virConnectDomainEventGenericCallback)table[i].callback, virt, NULL);
		if (virt->event_ids[i] < 0)
			return -EIO;
	}
	return 0;
}

/* Each registration holds a reference to the connection, which would otherwise never be freed. */
void virt_events_deregister(Virt *virt, virConnectPtr conn)
{
	for (size_t i = 0; i < VIRT_EVENTS; i++) {
		if (virt->event_ids[i] >= 0)
			virConnectDomainEventDeregisterAny(conn, virt->event_ids[i]);
		virt->event_ids[i] = -1;
	}
}
