/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the process of a host tells: one JSON document with the exit code, and with what the verb
 * has printed or why it failed. Who reads it trusts nothing in it, since the host sent some of it.
 */
#pragma once

#include <jansson.h>

#include "base/errors.h"
#include "hosts/crew.h"

typedef struct HostAnswer {
	bool reached; /* gpupassd there, or its absence of rights, groups, …, has been heard of */
	int code;     /* exit code of the verb for this host alone */
	/* Of these the first that is not NULL counts. */
	Failure *failure;
	json_t *document; /* of the verb, or its rows */
	char *text;	  /* what it prints; clean but for colours, where there may be some */
	char *notes;	  /* what it prints on standard error besides; clean; may be NULL */
} HostAnswer;

/* In the process. `document` may be NULL; its reference is not taken. -errno. */
int answer_write(int fd, int code, json_t *document, const char *text, const char *notes);
int answer_write_failure(int fd, const Failure *failure);

/*
 * In gpupass. Whatever there is, it is an answer: one that cannot be used becomes a failure.
 * -ENOMEM alone is an error. `verb` is for the remedy.
 */
int answer_read(const char *host, const char *verb, const CrewResult *result, const CrewPlan *plan,
		bool colour, HostAnswer *ret);
/* The failure in one line, clean: "cannot talk to gpupassd: ssh says: …". NULL: out of memory. */
char *answer_reason(const HostAnswer *answer);
/* The answer is of no use for what `what` says: "has another schema". Takes what it had. */
int answer_refuse(HostAnswer *answer, const char *host, const char *what);
void answer_clear(HostAnswer *answer);

/* A copy without control characters, but with sequences that set a colour, if wanted. */
char *answer_clean(const char *text, bool colour);
