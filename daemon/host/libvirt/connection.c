/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The event thread, and the connector that opens and closes the connection. */

#include "host/libvirt/call.h"
#include "host/libvirt/libvirt.h"
#include "host/libvirt/virt.h"
#include "util/clock.h"
#include "util/mutex.h"
#include "util/thread.h"
#include "util/xalloc.h"

/*
 * libvirt counts as dead after INTERVAL * (COUNT + 1) seconds of silence. libvirtd asks each client
 * every 5 s whether it is there (keepalive_interval in libvirtd.conf), which counts as a sign of
 * life. We ask only when it has not: a little later.
 */
#define KEEPALIVE_INTERVAL_SEC 7
#define KEEPALIVE_COUNT 2
#define RETRY_MIN_USEC (500 * USEC_PER_MSEC)
#define RETRY_MAX_USEC (10 * USEC_PER_SEC)
/* A call that lost the connection waits this long before it is repeated. */
#define LOSS_PAUSE_USEC (250 * USEC_PER_MSEC)
#define EVENT_ERROR_PAUSE_USEC (100 * USEC_PER_MSEC)

/* --- the event thread --- */

/* Safe from any thread; the event loop then runs on_timer(). */
static void wake_events(Virt *virt)
{
	virEventUpdateTimeout(virt->timer, 0);
}

static void on_timer(int timer, void *userdata)
{
	/* Disarm first: the next announcement arms the timer again. */
	virEventUpdateTimeout(timer, -1);
	virt_announce(userdata);
}

static void *events_main(void *userdata)
{
	Virt *virt = userdata;

	pthread_mutex_lock(&virt->lock);
	while (!virt->events_stopping) {
		int r;

		pthread_mutex_unlock(&virt->lock);
		r = virEventRunDefaultImpl();
		pthread_mutex_lock(&virt->lock);
		if (r < 0 && !virt->events_stopping) /* do not spin on a permanent error */
			virt_wait(virt, now_monotonic() + EVENT_ERROR_PAUSE_USEC);
	}
	virt->events_ended = true;
	pthread_cond_broadcast(&virt->changed);
	pthread_mutex_unlock(&virt->lock);
	return NULL;
}

/* --- the connector --- */

static const char *close_reason(int reason)
{
	switch (reason) {
	case VIR_CONNECT_CLOSE_REASON_EOF:
		return "libvirt closed the connection";
	case VIR_CONNECT_CLOSE_REASON_KEEPALIVE:
		return "libvirt stopped answering, and the connection was given up";
	default:
		return "the connection was lost";
	}
}

/* Holds `lock`. */
static void set_last_error(Virt *virt, const char *message)
{
	free(virt->last_error);
	virt->last_error = xstrdup(message);
}

/*
 * libvirt calls this once for a connection, on the thread that notices the loss: the event thread,
 * or a job thread in the middle of a call. libvirt holds a lock of the connection meanwhile.
 */
static void on_close(virConnectPtr conn, int reason, void *userdata)
{
	Virt *virt = userdata;

	pthread_mutex_lock(&virt->lock);
	if (virt->conn == conn) {
		virt->link = LINK_BROKEN;
		set_last_error(virt, close_reason(reason));
	}
	pthread_cond_broadcast(&virt->changed);
	pthread_mutex_unlock(&virt->lock);
	wake_events(virt);
}

/* With this thread's last libvirt error. */
static void remember_error(Virt *virt)
{
	const char *message = virGetLastErrorMessage();

	MUTEX_HOLD(&virt->lock);

	set_last_error(virt, message);
}

static void set_link(Virt *virt, virConnectPtr conn, LinkState link)
{
	MUTEX_HOLD(&virt->lock);

	virt->conn = conn;
	virt->link = link;
	pthread_cond_broadcast(&virt->changed);
}

static void disconnect(Virt *virt)
{
	virConnectPtr conn = virt->conn; /* only this thread sets it */

	if (!conn)
		return;
	set_link(virt, conn, LINK_BROKEN);
	virt_events_deregister(virt, conn);
	virConnectUnregisterCloseCallback(conn, on_close);
	set_link(virt, NULL, LINK_DOWN);
	wake_events(virt);
	virConnectClose(conn);
}

static bool set_up(Virt *virt, virConnectPtr conn)
{
	/*
	 * Ignores errors of the first two calls: drivers that run in this process (test:///)
	 * support neither, and cannot be lost; for a connection that is already lost, registering
	 * for events fails, too.
	 */
	virConnectSetKeepAlive(conn, KEEPALIVE_INTERVAL_SEC, KEEPALIVE_COUNT);
	virConnectRegisterCloseCallback(conn, on_close, virt, NULL);
	return virt_events_register(virt, conn) == 0;
}

static void learn_version(Virt *virt, virConnectPtr conn)
{
	unsigned long version = 0;

	if (virConnectGetLibVersion(conn, &version) < 0)
		version = 0;
	MUTEX_HOLD(&virt->lock);
	virt->libvirt_version = version;
	virt->hypervisor_version = 0;
}

/*
 * libvirt may have to ask QEMU first, which takes seconds (qemuConnectGetVersion() fills the cache
 * of its capabilities), so that nobody waits for this.
 */
static void learn_hypervisor_version(Virt *virt)
{
	virConnectPtr conn = virt->conn; /* only this thread sets it */
	unsigned long version = 0;

	if (!virt_connected(virt) || virConnectGetVersion(conn, &version) < 0)
		return;
	MUTEX_HOLD(&virt->lock);
	virt->hypervisor_version = version;
}

static void try_connect(Virt *virt)
{
	virConnectPtr conn;

	conn = virConnectOpen(virt->uri);
	if (!conn) {
		remember_error(virt);
		return;
	}
	set_link(virt, conn, LINK_SETUP);
	if (!set_up(virt, conn)) {
		remember_error(virt);
		disconnect(virt);
		return;
	}
	learn_version(virt, conn);
	pthread_mutex_lock(&virt->lock);
	if (virt->link == LINK_SETUP) { /* it was not closed meanwhile */
		virt->link = LINK_UP;
		virt->generation++;
		set_last_error(virt, NULL);
	}
	pthread_mutex_unlock(&virt->lock);
	wake_events(virt);
}

/* Holds `lock`. Waits until the deadline, or until Virt stops. */
static void pause_until(Virt *virt, uint64_t deadline)
{
	while (!virt->stopping && now_monotonic() < deadline)
		virt_wait(virt, deadline);
}

static void *connector_main(void *userdata)
{
	Virt *virt = userdata;
	uint64_t delay = RETRY_MIN_USEC;

	pthread_mutex_lock(&virt->lock);
	while (!virt->stopping) {
		uint64_t since;

		pthread_mutex_unlock(&virt->lock);
		try_connect(virt);
		pthread_mutex_lock(&virt->lock);
		virt->tried = true;
		pthread_cond_broadcast(&virt->changed);
		since = now_monotonic();
		pthread_mutex_unlock(&virt->lock);
		learn_hypervisor_version(virt);
		pthread_mutex_lock(&virt->lock);
		while (virt->link == LINK_UP && !virt->stopping)
			virt_wait(virt, UINT64_MAX);
		/* A connection that lasted resets the delay; one that breaks at once does not. */
		if (now_monotonic() - since > RETRY_MAX_USEC)
			delay = RETRY_MIN_USEC;
		pthread_mutex_unlock(&virt->lock);
		disconnect(virt);
		pthread_mutex_lock(&virt->lock);
		pause_until(virt, now_monotonic() + delay);
		delay = delay * 2 < RETRY_MAX_USEC ? delay * 2 : RETRY_MAX_USEC;
	}
	virt->connector_ended = true;
	pthread_cond_broadcast(&virt->changed);
	pthread_mutex_unlock(&virt->lock);
	return NULL;
}

void virt_versions(Virt *virt, uint64_t *ret_libvirt, uint64_t *ret_hypervisor)
{
	MUTEX_HOLD(&virt->lock);

	*ret_libvirt = virt->libvirt_version;
	*ret_hypervisor = virt->hypervisor_version;
}

bool virt_connected(Virt *virt)
{
	MUTEX_HOLD(&virt->lock);

	return virt->link == LINK_UP;
}

int virt_wait_connected(Virt *virt, uint64_t timeout_usec)
{
	uint64_t now = now_monotonic();
	uint64_t deadline = timeout_usec < UINT64_MAX - now ? now + timeout_usec : UINT64_MAX;
	uint64_t pause = now + LOSS_PAUSE_USEC < deadline ? now + LOSS_PAUSE_USEC : deadline;
	int r;

	pthread_mutex_lock(&virt->lock);
	virt->users++;
	pause_until(virt, pause);
	while (virt->link != LINK_UP && !virt->stopping && now_monotonic() < deadline)
		virt_wait(virt, deadline);
	if (virt->stopping)
		r = -ESHUTDOWN;
	else
		r = virt->link == LINK_UP && now_monotonic() < deadline ? 0 : -ETIMEDOUT;
	pthread_mutex_unlock(&virt->lock);
	virt_release(virt);
	return r;
}

/* --- beginning and end --- */

/* libvirt prints errors to stderr by default; ours travel in problems. */
static void on_error(void *userdata _unused_, virErrorPtr error _unused_)
{
}

static void register_once(void)
{
	virInitialize();
	virSetErrorFunc(NULL, on_error);
	virEventRegisterDefaultImpl();
}

void virt_destroy(Virt *virt)
{
	if (virt->timer >= 0)
		virEventRemoveTimeout(virt->timer);
	virt_known_done(&virt->known);
	pthread_cond_destroy(&virt->changed);
	pthread_mutex_destroy(&virt->lock);
	pthread_mutex_destroy(&virt->listener_lock);
	free(virt->last_error);
	free(virt->uri);
	free(virt);
}

void virt_stop_events(Virt *virt)
{
	pthread_mutex_lock(&virt->lock);
	virt->events_stopping = true;
	pthread_cond_broadcast(&virt->changed);
	pthread_mutex_unlock(&virt->lock);
	wake_events(virt);
}

static int init_locks(Virt *virt)
{
	pthread_condattr_t attr;
	int r = pthread_condattr_init(&attr);

	if (r != 0)
		return -r;
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	r = pthread_cond_init(&virt->changed, &attr);
	pthread_condattr_destroy(&attr);
	if (r != 0)
		return -r;
	virt_known_init(&virt->known);
	pthread_mutex_init(&virt->lock, NULL);
	pthread_mutex_init(&virt->listener_lock, NULL);
	return 0;
}

static int start_threads(Virt *virt)
{
	int r;

	virt->timer = virEventAddTimeout(-1, on_timer, virt, NULL);
	if (virt->timer < 0)
		return -EIO;
	r = thread_start(&virt->events, events_main, virt, false);
	if (r < 0)
		return r;
	r = thread_start(&virt->connector, connector_main, virt, false);
	if (r < 0) {
		virt_stop_events(virt);
		pthread_join(virt->events, NULL);
	}
	return r;
}

int virt_new(const char *uri, VirtListener listener, void *userdata, Virt **ret)
{
	/* libvirt's own state is process-wide, and can be set up only once. */
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	Virt *virt = xcalloc(1, sizeof(*virt));
	int r;

	virt->listener = listener;
	virt->userdata = userdata;
	virt->started_usec = now_monotonic();
	virt->timer = -1;
	for (size_t i = 0; i < VIRT_EVENTS; i++)
		virt->event_ids[i] = -1;
	r = init_locks(virt);
	if (r < 0) {
		free(virt);
		return r;
	}
	virt->uri = xstrdup(uri);
	pthread_once(&once, register_once);
	r = start_threads(virt);
	if (r < 0) {
		virt_destroy(virt);
		return r;
	}
	*ret = virt;
	return 0;
}
