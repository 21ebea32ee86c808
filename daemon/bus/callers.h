/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who sent each call of a method of ours: the bus is asked before the call reaches its handler,
 * without blocking the loop. The bus never gives a name twice, and its policy has let the caller
 * in. Calls of the standard interfaces only read what is shown, and pass at once.
 */
#pragma once

#include <systemd/sd-bus.h>

#include "gpupass/cleanup.h"
#include "store/caller.h"

#define CALLER_UNKNOWN ((uid_t)-1)

typedef struct Caller {
	uid_t uid;		  /* CALLER_UNKNOWN: the caller has left, or the bus did not say */
	CallerIdentity *identity; /* for the audit trail; NULL: not known */
} Caller;
/* With a reference of its own. */
Caller caller_copy(const Caller *caller);
void caller_clear(Caller *caller);

/* Of lists of calls that wait, which go on by `next`. */
#define WAITING_REMOVE(head, item)                                                                 \
	({                                                                                         \
		__typeof__(item) *place_ = &(head);                                                \
		while (*place_ && *place_ != (item))                                               \
			place_ = &(*place_)->next;                                                 \
		if (*place_)                                                                       \
			*place_ = (item)->next;                                                    \
	})
/* How many are of this user, whose uid is a member of each. */
#define WAITING_OF(head, member, whose)                                                            \
	({                                                                                         \
		size_t n_ = 0;                                                                     \
		for (__typeof__(head) item_ = (head); item_; item_ = item_->next)                  \
			n_ += item_->member == (whose);                                            \
		n_;                                                                                \
	})

typedef struct Callers Callers;

/* All borrowed. */
int callers_new(sd_bus *bus, CallerResolver *resolver, Callers **ret);
/* Who sent the call that is dispatched now. */
const Caller *callers_current(const Callers *callers);
/* Dispatches a call to its handler once more, after asking again who sent it. */
int callers_dispatch_again(Callers *callers, sd_bus_message *m);
/* Sets what a negative errno says of a call that could not go on, in the words of a problem. */
int callers_set_error(sd_bus_error *ret_error, int error);
/* Answers the call with it. */
void callers_refuse(sd_bus_message *m, int error);

/* ---- what is asked of the bus daemon itself ---- */

#define BUS_DAEMON "org.freedesktop.DBus"

/* Asks about the name of a client. The answer comes to `answered`. */
int bus_daemon_ask(sd_bus *bus, const char *interface, const char *member, const char *name,
		   uint64_t timeout_usec, sd_bus_message_handler_t answered, void *userdata,
		   sd_bus_slot **ret);
/*
 * A number of the dictionary that it answered with, or, where key is NULL, the number that is its
 * answer. < 0: it did not, or sd-bus answered by itself, as at a deadline; or somebody else did; or
 * that number is not there.
 */
int bus_daemon_read(sd_bus_message *answer, const char *key, uint32_t *ret);
