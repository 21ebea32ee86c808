/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/call-queue.h"

#include "util/text.h"

int call_queue_add(CallQueue *queue, sd_bus_message *call, size_t bytes)
{
	WaitingCall *waiting = malloc(sizeof(WaitingCall));

	if (!waiting)
		return -ENOMEM;
	*waiting = (WaitingCall){ .call = sd_bus_message_ref(call), .bytes = bytes };
	if (queue->last)
		queue->last->next = waiting;
	else
		queue->first = waiting;
	queue->last = waiting;
	queue->n++;
	queue->bytes += bytes;
	return 0;
}

/* previous: the one before it, NULL for the first. Returns the call, still referenced. */
static sd_bus_message *unlink_call(CallQueue *queue, WaitingCall *previous, WaitingCall *waiting)
{
	sd_bus_message *call = waiting->call;

	if (previous)
		previous->next = waiting->next;
	else
		queue->first = waiting->next;
	if (queue->last == waiting)
		queue->last = previous;
	queue->n--;
	queue->bytes -= waiting->bytes;
	free(waiting);
	return call;
}

sd_bus_message *call_queue_take(CallQueue *queue, size_t *ret_bytes)
{
	if (!queue->first)
		return NULL;
	*ret_bytes = queue->first->bytes;
	return unlink_call(queue, NULL, queue->first);
}

bool call_queue_remove(CallQueue *queue, const sd_bus_message *call)
{
	WaitingCall *previous = NULL;

	for (WaitingCall *i = queue->first; i; previous = i, i = i->next) {
		if (i->call != call)
			continue;
		sd_bus_message_unref(unlink_call(queue, previous, i));
		return true;
	}
	return false;
}

void call_queue_remove_sender(CallQueue *queue, const char *sender)
{
	WaitingCall *previous = NULL, *next;

	for (WaitingCall *i = queue->first; i; i = next) {
		next = i->next;
		if (str_equal(sd_bus_message_get_sender(i->call), sender))
			sd_bus_message_unref(unlink_call(queue, previous, i));
		else
			previous = i;
	}
}

void call_queue_clear(CallQueue *queue)
{
	while (queue->first)
		sd_bus_message_unref(unlink_call(queue, NULL, queue->first));
}
