/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "bus/backlog.h"
#include "bus/collection.h"
#include "bus/decision.h"
#include "bus/polkit.h"
#include "bus/views.h"

typedef struct Face Face;
/* subject.c */
typedef struct Lookup Lookup;

typedef enum Shown {
	SHOWN_GROUPS,
	SHOWN_GPUS,
	SHOWN_ASSIGNMENTS,
	SHOWN_JOBS,
	SHOWN_MAX_,
} Shown;

struct Face {
	sd_bus *bus;
	Manager *manager;
	PciNames *names;
	Collection shown[SHOWN_MAX_]; /* in this order */
	bool told;		      /* what changes; until the name is ours nobody can know us */
	ManagerView own;	      /* the properties of the manager object */
	Backlog *backlog;
	Callers *callers;
	Refusals refusals;
	Polkit *polkit;
	Lookup *lookups;
	struct Pending *pending; /* answers owed */
	sd_bus_slot *name;	 /* asked for */
	/* FacePublished, of bus.h */
	void (*published)(int result, void *userdata);
	void *published_userdata;
};
