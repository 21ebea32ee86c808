/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "bus/request.h"

/* Asks whether the caller may, starts the job and answers with its object. */
int start_job(Face *face, sd_bus_message *m, const char *action, const JobRequest *request,
	      sd_bus_error *error);
