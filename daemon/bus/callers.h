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

typedef struct Callers Callers;

/* All borrowed. */
int callers_new(sd_bus *bus, CallerResolver *resolver, Callers **ret);
/* Who sent the call that is dispatched now. */
const Caller *callers_current(const Callers *callers);
/* Dispatches a call to its handler once more, after asking again who sent it. */
int callers_dispatch_again(Callers *callers, sd_bus_message *m);
DECLARE_FREE(Callers, callers_free)
