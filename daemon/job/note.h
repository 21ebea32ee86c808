/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a job has to say to the log. job/ writes none: it is told to whoever listens to the job. */
#pragma once

typedef enum JobNoteKind {
	JOB_NOTE_RESET,
	JOB_NOTE_RESET_FAILED,
	JOB_NOTE_NOT_RESET, /* it was not, and that was no failure: there is no way */
	JOB_NOTE_ACCEPTED,  /* a board is given on without a reset, by an operator's word */
	JOB_NOTE_LINKS,	    /* what a guest told of links did not become evidence */
} JobNoteKind;

typedef struct JobNote {
	JobNoteKind kind;
	char *text; /* one line; NULL: nothing is to be said */
} JobNote;
