/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/libvirt/call.h"

#include <signal.h>
#include <string.h>

#include "host/libvirt/error.h"
#include "util/clock.h"
#include "util/xalloc.h"

/* How long a call made at start-up waits for the first attempt to connect. */
#define FIRST_CONNECT_USEC (10 * USEC_PER_SEC)

void virt_wait(Virt *virt, uint64_t deadline)
{
	const struct timespec until = clock_timespec(deadline);

	if (deadline == UINT64_MAX)
		pthread_cond_wait(&virt->changed, &virt->lock);
	else
		pthread_cond_timedwait(&virt->changed, &virt->lock, &until);
}

int virt_thread_start(pthread_t *ret, void *(*main)(void *), void *userdata, bool detached)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int r;

	r = pthread_attr_init(&attr);
	if (r != 0)
		return -r;
	if (detached)
		pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	/* A thread starts with its creator's mask, so it never runs with a signal open. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(ret, &attr, main, userdata);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -r;
}

void virt_hold(Virt *virt)
{
	pthread_mutex_lock(&virt->lock);
	virt->users++;
	pthread_mutex_unlock(&virt->lock);
}

void virt_release(Virt *virt)
{
	pthread_mutex_lock(&virt->lock);
	virt->users--;
	pthread_cond_broadcast(&virt->changed);
	pthread_mutex_unlock(&virt->lock);
}

int virt_call_begin(Virt *virt, VirtCall *ret, Problem **ret_problem)
{
	_cleanup_free_ char *why = NULL;
	uint64_t deadline = virt->started_usec + FIRST_CONNECT_USEC;
	virConnectPtr conn = NULL;
	uint64_t connection;

	pthread_mutex_lock(&virt->lock);
	virt->users++;
	while (!virt->tried && !virt->stopping && now_monotonic() < deadline)
		virt_wait(virt, deadline);
	if (virt->link == LINK_UP && !virt->stopping) {
		conn = virt->conn;
		virConnectRef(conn);
	} else if (virt->stopping) {
		why = xstrdup("the daemon is stopping");
	} else if (virt->last_error) {
		why = xstrdup(virt->last_error);
	} else {
		why = xstrdup("it accepts connections, but does not answer");
	}
	connection = virt->generation;
	pthread_mutex_unlock(&virt->lock);
	if (conn) {
		*ret = (VirtCall){ .virt = virt, .conn = conn, .connection = connection };
		return 0;
	}
	virt_release(virt);
	return virt_unavailable(virt->uri, why, ret_problem);
}

void virt_call_end(VirtCall *call)
{
	if (!call->virt)
		return;
	virConnectClose(call->conn);
	virt_release(call->virt);
	*call = (VirtCall){ 0 };
}
