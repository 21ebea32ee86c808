/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A job's line for the log. job/ does not log: the listener of the job writes the line. */
#pragma once

#include "core/facts/reset-report.h"

typedef enum JobNoteKind {
	JOB_NOTE_RESET,
	JOB_NOTE_RESET_FAILED,
	JOB_NOTE_NOT_RESET, /* not a failure: the board has no way to reset */
	JOB_NOTE_ACCEPTED,  /* an operator accepted a board without a reset */
	JOB_NOTE_LINKS,	    /* a guest's answer about links was not kept as evidence */
} JobNoteKind;

typedef struct JobNote {
	JobNoteKind kind;
	char *text;	   /* one line; NULL: nothing to log */
	ResetTally resets; /* of a note about resets: what there was, for counting */
} JobNote;
