/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One call's hold on Virt and on its connection, and helpers of this room's threads. */
#pragma once

#include "core/base/problem.h"
#include "host/libvirt/virt.h"

/*
 * Takes the connection. Without one it answers LibvirtUnavailable at once. At start-up it first
 * waits, for a bounded time, for the first attempt to connect.
 */
int virt_call_begin(Virt *virt, VirtCall *ret, Problem **ret_problem);
void virt_call_end(VirtCall *call);
#define _cleanup_call_ _cleanup_(virt_call_end)

void virt_hold(Virt *virt);
void virt_release(Virt *virt);

/*
 * Waits on `changed`, with `lock` held, until the deadline at the latest (CLOCK_MONOTONIC;
 * UINT64_MAX: no deadline). May wake without a reason, as condition variables do.
 */
void virt_wait(Virt *virt, uint64_t deadline_usec);

/* Starts a thread with all signals blocked: the daemon takes them by signalfd. 0 or -errno. */
int virt_thread_start(pthread_t *ret, void *(*main)(void *), void *userdata, bool detached);
