/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process for each of many hosts, so many at once, each with its own limit of time and of what it
 * may say. None waits for another, but for its turn.
 */
#pragma once

#include "hosts/process.h"

typedef struct CrewPlan {
	ProcessRun *run;
	void *userdata;
	size_t n;
	size_t at_once;
	uint64_t limit_usec; /* of each, from its own start */
	size_t out_max;	     /* bytes of each */
	size_t all_max;	     /* bytes of all */
} CrewPlan;

typedef struct CrewResult {
	int error;  /* 0: it ended by itself. -ETIMEDOUT, -EFBIG: it was ended. Or it never began */
	int status; /* its exit code; -1: a signal ended it */
	char *out;  /* what it said, with a NUL behind it; NULL: nothing */
	size_t out_size;
	char *err; /* the end of what came on its standard error; NULL: nothing */
	size_t err_size;
} CrewResult;

/* *ret: as many results as there are hosts. -errno: none could be had. */
int crew_run(const CrewPlan *plan, CrewResult **ret);
void crew_results_free(CrewResult *results, size_t n);
