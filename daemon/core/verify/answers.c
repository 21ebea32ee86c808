/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/verify/answers.h"

#include "util/text.h"
#include "util/xalloc.h"

static const char *const ask_gpus[] = { "nvidia-smi", "--query-gpu=index,uuid,pci.bus_id",
					"--format=csv,noheader", NULL };
static const char *const ask_topology[] = { "nvidia-smi", "topo", "-m", NULL };
static const char *const ask_nvlink[] = { "nvidia-smi", "nvlink", "--status", NULL };
static const char *const ask_peers[] = { "nvidia-smi", "topo", "-p2p", "n", NULL };

const char *const *const verify_commands[VERIFY_RUNS] = { ask_gpus, ask_topology, ask_nvlink,
							  ask_peers };

/* nvidia-smi(1), RETURN VALUE. What has a word of its own in told.c is told by that. */
static const struct {
	int status;
	VerifyCause cause;
	bool whole; /* the output is whole all the same */
} statuses[] = {
	{ 0, VERIFY_NOTHING, true },
	{ 3, VERIFY_SMI_FAILED, true }, /* one of the GPUs does not have it */
	{ 4, VERIFY_NOT_PERMITTED, false },
	{ 6, VERIFY_SMI_FAILED, true }, /* no device was found */
	{ 9, VERIFY_NO_DRIVER, false },
	{ 12, VERIFY_NO_DRIVER, false }, /* NVML's library is not there */
	{ 14, VERIFY_SMI_FAILED, true }, /* an infoROM is corrupted */
	{ 15, VERIFY_SMI_FAILED, true }, /* a GPU is not accessible: it is not in the output */
	{ 18, VERIFY_MISMATCH, false },	 /* not in the manual: NVML's error 18 */
};

static const struct {
	SmiTold told;
	VerifyCause cause;
} failures[] = {
	{ TOLD_NO_DRIVER, VERIFY_NO_DRIVER },
	{ TOLD_MISMATCH, VERIFY_MISMATCH },
	{ TOLD_NOT_PERMITTED, VERIFY_NOT_PERMITTED },
	{ TOLD_NO_COMMAND, VERIFY_NO_COMMAND },
};

/* Why a program has no answer whose run had this outcome. */
static const VerifyCause outcomes[] = {
	[GUEST_NOT_ASKED] = VERIFY_BAD_REPLY,	  [GUEST_RAN] = VERIFY_NOTHING,
	[GUEST_NOT_RUNNING] = VERIFY_NOT_RUNNING, [GUEST_NO_CHANNEL] = VERIFY_NO_CHANNEL,
	[GUEST_NO_AGENT] = VERIFY_NO_AGENT,	  [GUEST_EXEC_DISABLED] = VERIFY_EXEC_DISABLED,
	[GUEST_NOT_STARTED] = VERIFY_NO_SMI,	  [GUEST_TIMEOUT] = VERIFY_TIMEOUT,
	[GUEST_TOO_MUCH] = VERIFY_TOO_MUCH,	  [GUEST_GARBLED] = VERIFY_BAD_REPLY,
	[GUEST_REFUSED] = VERIFY_BAD_REPLY,
};
_Static_assert(ELEMENTS(outcomes) == GUEST_OUTCOME_MAX_, "each outcome has its cause");

/* The heaviest words of the run. */
static SmiTold told_by(const GuestRun *run)
{
	_cleanup_free_ char *out = smi_excerpt(run->out, run->out_size);
	_cleanup_free_ char *err = smi_excerpt(run->err, run->err_size);
	SmiTold a = told_of(out), b = told_of(err);

	return a > b ? a : b;
}

static bool is_whole(const GuestRun *run)
{
	return !run->signalled &&
	       SOME(statuses, ELEMENTS(statuses), it->status == run->exit_code && it->whole);
}

/* Why a run that ended has no answer. */
static VerifyCause cause_of_end(const GuestRun *run, int error)
{
	SmiTold told = told_by(run);

	for (size_t i = 0; i < ELEMENTS(failures); i++)
		if (failures[i].told == told)
			return failures[i].cause;
	if (run->signalled)
		return VERIFY_SMI_FAILED;
	for (size_t i = 1; i < ELEMENTS(statuses); i++)
		if (statuses[i].status == run->exit_code)
			return statuses[i].cause;
	if (run->exit_code != 0)
		return VERIFY_SMI_FAILED;
	return error == -EFBIG ? VERIFY_TOO_MUCH : VERIFY_BAD_OUTPUT;
}

static int read_answer(const GuestRun *run, size_t which, Answers *into)
{
	const char *text = str_or_empty(run->out);
	unsigned *bad = &into->bad[which];
	int r;

	switch (which) {
	case RUN_GPUS:
		return smi_parse_gpus(text, run->out_size, &into->gpus, bad);
	case RUN_TOPOLOGY:
		return smi_parse_topology(text, run->out_size, &into->topology, bad);
	case RUN_NVLINK:
		r = smi_parse_nvlinks(text, run->out_size, &into->nvlinks, bad);
		/* Some versions print this as an error, with nothing on stdout. */
		if (r == 0 && into->nvlinks.n_items == 0 && run->err_size > 0)
			r = smi_parse_nvlinks(run->err, run->err_size, &into->nvlinks, NULL);
		return r;
	default:
		return smi_parse_peers(text, run->out_size, &into->peers, bad);
	}
}

static bool tells_of_none(const SmiNvlinks *nvlinks)
{
	return nvlinks->all_inactive ||
	       SOME(nvlinks->items, nvlinks->n_items, it->all_inactive || it->not_offered);
}

/*
 * Tables are whole or refused. A list may have been cut short, and then lacks links; and nothing
 * printed is an answer only of a run that went well.
 */
static bool is_answer(const GuestRun *run, size_t which, const Answers *answers)
{
	if (run->signalled)
		return false;
	if (which == RUN_GPUS && answers->gpus.n_items == 0 && !answers->gpus.unreadable)
		return is_whole(run);
	if (which == RUN_NVLINK && !tells_of_none(&answers->nvlinks))
		return answers->nvlinks.n_items > 0 ? is_whole(run) : run->exit_code == 0;
	return true;
}

static void forget(size_t which, Answers *answers)
{
	if (which == RUN_TOPOLOGY)
		memset(&answers->topology, 0, sizeof(answers->topology));
	else if (which == RUN_NVLINK)
		memset(&answers->nvlinks, 0, sizeof(answers->nvlinks));
	else if (which == RUN_PEERS)
		memset(&answers->peers, 0, sizeof(answers->peers));
}

static void read_run(const GuestRun runs[VERIFY_RUNS], size_t which, Answers *into)
{
	const GuestRun *run = &runs[which];
	int r;

	alarms_read(run->out, run->out_size, &into->alarms);
	alarms_read(run->err, run->err_size, &into->alarms);
	into->missing[which] = outcomes[run->outcome];
	if (run->outcome == GUEST_NOT_STARTED &&
	    told_of(str_or_empty(run->detail)) == TOLD_NOT_PERMITTED)
		into->missing[which] = VERIFY_NOT_PERMITTED;
	/* After one that did not run, no other was asked for. */
	if (run->outcome == GUEST_NOT_ASKED && which > 0)
		into->missing[which] = into->missing[which - 1];
	if (into->missing[which] != VERIFY_NOTHING)
		return;
	r = read_answer(run, which, into);
	if (r < 0 || !is_answer(run, which, into)) {
		into->missing[which] = cause_of_end(run, r);
		forget(which, into);
	}
}

void answers_read(const GuestRun runs[VERIFY_RUNS], Answers *ret)
{
	for (size_t i = 0; i < VERIFY_RUNS; i++)
		read_run(runs, i, ret);
	ret->partial = !is_whole(&runs[RUN_GPUS]) || ret->gpus.unreadable;
}

void answers_refuse(const GuestRun runs[VERIFY_RUNS], size_t which, Answers *answers)
{
	answers->missing[which] = cause_of_end(&runs[which], -EBADMSG);
}

size_t answers_first_missing(const Answers *answers)
{
	size_t i = 0;

	while (i < VERIFY_RUNS && answers->missing[i] == VERIFY_NOTHING)
		i++;
	return i;
}

char *answers_describe(const GuestRun runs[VERIFY_RUNS], size_t which, const Answers *answers)
{
	const GuestRun *run = &runs[which];
	const char *text = str_or_empty(run->out);
	_cleanup_free_ char *command = strv_join((char *const *)verify_commands[which], " ");
	_cleanup_free_ char *out = answers->bad[which] > 0
					   ? smi_line(text, run->out_size, answers->bad[which])
					   : smi_excerpt(text, run->out_size);
	_cleanup_free_ char *err = smi_excerpt(run->err, run->err_size);
	const char *words = str_or_empty(run->detail);
	_cleanup_free_ char *detail = smi_excerpt(words, strlen(words));
	const char *said;

	/* nvidia-smi prints most of its errors to stdout. */
	said = *detail ? detail : !*out || told_of(err) > told_of(out) ? err : out;
	if (run->outcome != GUEST_RAN)
		return *said ? xstrdup(said) : strf("no answer to %s", command);
	return strf("%s: %s %lld%s%s%s", command,
		    run->signalled ? "ended by signal" : "exit status", (long long)run->exit_code,
		    *said ? ", \"" : "", said, *said ? "\"" : "");
}

char *answers_note(const GuestRun runs[VERIFY_RUNS], const Answers *answers)
{
	for (size_t i = 0; i < VERIFY_RUNS; i++)
		if (answers->missing[i] == VERIFY_NOTHING && runs[i].outcome == GUEST_RAN &&
		    (runs[i].exit_code != 0 || told_by(&runs[i]) == TOLD_WARNING))
			return answers_describe(runs, i, answers);
	return NULL;
}
