/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the runs of nvidia-smi brought. Output is read before the exit status is looked at: what is
 * complete counts, and what warns of a GPU counts in any case.
 */
#pragma once

#include "core/verify/guest-agent.h"
#include "core/verify/report.h"

/* The programs, in the order of the runs. */
#define VERIFY_RUNS 4
extern const char *const *const verify_commands[VERIFY_RUNS];
enum { RUN_GPUS, RUN_TOPOLOGY, RUN_NVLINK, RUN_PEERS };

typedef struct Answers {
	SmiGpus gpus;
	SmiMatrix topology, peers;
	SmiNvlinks nvlinks;
	VerifyCause missing[VERIFY_RUNS]; /* why the answer is not there; VERIFY_NOTHING: it is */
	bool partial;			  /* the list of GPUs may lack some */
	unsigned bad[VERIFY_RUNS];	  /* the line that is not understood; 0: none */
	SmiAlarms alarms;		  /* of all runs */
} Answers;

void answers_read(const GuestRun runs[VERIFY_RUNS], Answers *ret);
/* The first run without an answer; VERIFY_RUNS: there is none. */
size_t answers_first_missing(const Answers *answers);

/* `nvidia-smi topo -m: exit status 3, "…"`. The quoted words are the guest's, made harmless. */
char *answers_describe(const GuestRun runs[VERIFY_RUNS], size_t which, const Answers *answers);
/* An answer that is there proves nothing after all. */
void answers_refuse(const GuestRun runs[VERIFY_RUNS], size_t which, Answers *answers);
/* What is worth a note although the answer is there: an exit status, a warning. NULL: nothing. */
char *answers_note(const GuestRun runs[VERIFY_RUNS], const Answers *answers);
