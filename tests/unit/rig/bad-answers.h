/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ways in which a worker may answer that are no answer, whatever it was asked. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* More than any answer has: host/wire/question.c. */
#define BAD_BYTES (17U << 20)

/* What it is asked has a document of its own, or the common one. */
static inline const char *bad_schema(const char *verb)
{
	static const char *const own[] = { "machines", "memory", "probe" };

	for (unsigned i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (strcmp(verb, own[i]) == 0)
			return own[i];
	return "worker";
}

/* false: there is no such way. Otherwise it has answered, if it has not ended the process. */
static inline bool bad_answer(const char *way, const char *verb)
{
	if (strcmp(way, "nothing") == 0)
		return true;
	if (strcmp(way, "half") == 0)
		printf("{\"schema\":\"org.gpupass1.%s/1\",\"verb\":", bad_schema(verb));
	else if (strcmp(way, "twice") == 0)
		printf("{\"schema\":\"org.gpupass1.%s/1\"}\n{}\n", bad_schema(verb));
	else if (strcmp(way, "garbage") == 0)
		puts("panic: \001\377 not JSON");
	else if (strcmp(way, "other-version") == 0)
		printf("{\"schema\":\"org.gpupass1.%s/9\"}\n", bad_schema(verb));
	else if (strcmp(way, "huge") == 0)
		for (unsigned i = 0; i < BAD_BYTES / 16 && fputs("[[[[[[[[[[[[[[[[", stdout) >= 0;
		     i++)
			;
	else if (strcmp(way, "status") == 0)
		_exit(7);
	else if (strcmp(way, "crash") == 0)
		raise(SIGKILL);
	else
		return false;
	fflush(stdout);
	return true;
}
