/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "bus/collection.h"
#include "bus/intake.h"
#include "bus/polkit.h"
#include "bus/quota.h"
#include "bus/refusals.h"
#include "bus/views.h"

typedef struct Face Face;
/* subject.c */
typedef struct Lookup Lookup;

struct Face {
	sd_bus *bus;
	Manager *manager;
	PciNames *names;
	Collection groups, gpus, assignments, jobs;
	bool unheard;
	ManagerView shown; /* the manager object's own properties */
	Intake *intake;
	Refusals *refusals;
	Polkit *polkit;
	Lookup *lookups;   /* that have ended, and whose calls come again */
	Quota looks;	   /* lookups under way */
	sd_bus_slot *name; /* asked for */
	/* FacePublished, of bus.h */
	void (*published)(int result, void *userdata);
	void *published_userdata;
	Quota reads,
		acts; /* answers owed: of dry runs and close looks, of what changes something */
};
