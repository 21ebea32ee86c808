/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waiting calls, in order of arrival, with their total size. */
#pragma once

#include <stdbool.h>
#include <systemd/sd-bus.h>

#include "gpupass/cleanup.h"

typedef struct WaitingCall {
	struct WaitingCall *next;
	sd_bus_message *call;
	size_t bytes;
} WaitingCall;

typedef struct CallQueue {
	WaitingCall *first, *last;
	size_t n, bytes;
} CallQueue;

int call_queue_add(CallQueue *queue, sd_bus_message *call, size_t bytes);
/* Takes the first call, with its reference. NULL: the queue is empty. */
sd_bus_message *call_queue_take(CallQueue *queue, size_t *ret_bytes);
/* true: it was in the queue. */
bool call_queue_remove(CallQueue *queue, const sd_bus_message *call);
void call_queue_remove_sender(CallQueue *queue, const char *sender);
void call_queue_clear(CallQueue *queue);
