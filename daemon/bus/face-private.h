/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "bus/bus.h"
#include "bus/collection.h"
#include "bus/polkit.h"
#include "bus/quota.h"
#include "bus/refusals.h"
#include "bus/views.h"

struct Face {
	sd_bus *bus;
	Manager *manager;
	PciNames *names;
	Collection groups, gpus, assignments, jobs;
	ManagerView shown; /* the manager object's own properties */
	Refusals *refusals;
	Polkit *polkit;
	Quota reads,
		acts; /* answers owed: of dry runs and close looks, of what changes something */
};

/* Their userdata is the Face. */
extern const sd_bus_vtable manager_methods[], gpu_methods[];
