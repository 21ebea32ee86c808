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

struct Face {
	sd_bus *bus;
	Manager *manager;
	PciNames *names;
	Collection groups, gpus, assignments, jobs;
	bool told;	   /* what changes; until the name is ours nobody can know us */
	ManagerView shown; /* the manager object's own properties */
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
