/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whose the names on the bus are. The bus daemon is asked once for each name that calls, by a call
 * that the loop does not wait for, and what it answered is kept until the name leaves. A name is
 * never given a second time, so that what is known cannot become wrong.
 */
#pragma once

#include <sys/types.h>

#include "bus/call-queue.h"

typedef struct Callers Callers;

typedef struct Caller {
	struct Caller *next; /* with the same hash */
	Callers *callers;
	char *name;	  /* unique, ":1.42" */
	bool known;	  /* uid is */
	uid_t uid;	  /* of whom the bus says that he connected */
	uint32_t backlog; /* bytes that wait for him in the bus daemon, as it told last */
	sd_bus_slot *backlog_question;
	void *backlog_asker;
	bool too_large;	   /* a call of his was, while it was not known whose it is */
	uint64_t last_use; /* who has not called for longest is forgotten first */
	sd_bus_slot *question;
	CallQueue held; /* until he is known */
} Caller;

typedef struct CallersListener {
	/* He is known from now on. */
	void (*known)(Caller *caller, void *userdata);
	/* The bus does not tell who he is; he is forgotten after this. */
	void (*unknown)(Caller *caller, const char *why, void *userdata);
	/* He has left the bus, and is forgotten after this. */
	void (*left)(Caller *caller, void *userdata);
	void *userdata;
} CallersListener;

/* bus is borrowed. */
int callers_new(sd_bus *bus, const CallersListener *listener, Callers **ret);

typedef void (*CallerVisit)(Caller *caller, void *userdata);
/* Each one that is known. */
void callers_visit(Callers *callers, CallerVisit visit, void *userdata);

/* NULL: nobody asked for him yet, or he has left. */
Caller *callers_find(Callers *callers, const char *name);
/* The same, and the bus is asked for him where that was not done. -ENOSPC: too many are known. */
int callers_get(Callers *callers, const char *name, Caller **ret);

Callers *callers_free(Callers *callers);
DEFINE_CLEANUP(Callers, callers_free)
