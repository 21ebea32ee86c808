/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which user owns each name on the bus. We ask the bus daemon once for each name that calls,
 * without blocking the loop, and keep the answer until the name leaves. The bus never gives a name
 * twice, so a cached answer cannot become wrong.
 */
#pragma once

#include <sys/types.h>

#include "bus/call-queue.h"
#include "store/caller.h"

typedef struct Callers Callers;

typedef struct Caller {
	struct Caller *next; /* with the same hash */
	Callers *callers;
	char *name;		  /* unique, ":1.42" */
	bool known;		  /* uid is valid */
	uid_t uid;		  /* the user who connected, as the bus daemon says */
	CallerIdentity *identity; /* for the audit trail; NULL: not known yet, or memory is out */
	uint32_t backlog;	  /* bytes that the bus daemon kept for this name when last asked */
	sd_bus_slot *backlog_question;
	void *backlog_asker;
	bool too_large;	   /* it sent a call that was too large before its user was known */
	uint64_t last_use; /* the name that has been idle longest is forgotten first */
	sd_bus_slot *question;
	CallQueue held; /* calls that wait until the user is known */
} Caller;

typedef struct CallersListener {
	/* The user is known from now on. */
	void (*known)(Caller *caller, void *userdata);
	/* The bus daemon cannot name the user. The caller is forgotten after this. */
	void (*unknown)(Caller *caller, const char *why, void *userdata);
	/* The caller has left the bus, and is forgotten after this. */
	void (*left)(Caller *caller, void *userdata);
	void *userdata;
} CallersListener;

/* bus and resolver are borrowed. */
int callers_new(sd_bus *bus, CallerResolver *resolver, const CallersListener *listener,
		Callers **ret);

typedef void (*CallerVisit)(Caller *caller, void *userdata);
/* Visits each caller whose user is known. */
void callers_visit(Callers *callers, CallerVisit visit, void *userdata);

/* NULL: callers_get() was not called for this name yet, or it has left the bus. */
Caller *callers_find(Callers *callers, const char *name);
/* The same. Asks the bus daemon if that was not done yet. -ENOSPC: the table is full. */
int callers_get(Callers *callers, const char *name, Caller **ret);

Callers *callers_free(Callers *callers);
DEFINE_CLEANUP(Callers, callers_free)
