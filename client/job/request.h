/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From the command line to the a{sv} options of org.gpupass1. */
#pragma once

#include "base/client.h"
#include "gpupass/states.h"

/* Appends the options that were given. `operation` is named only in a Plan call. */
int request_append_options(Client *c, sd_bus_message *call, Operation operation, bool plan);

/* The same for one of the groups that the command line names; NULL: none is named. */
int request_append_options_for(Client *c, sd_bus_message *call, Operation operation, bool plan,
			       const char *group);

/* --live and --config exclude no one: both may be given. The plan of a release takes neither. */
int request_check(Client *c, Operation operation);
