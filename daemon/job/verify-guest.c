/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/verify-guest.h"

#include "util/clock.h"

/* The guest is only asked to print two small files. */
#define REPORT_USEC (10 * USEC_PER_SEC)

/* The agent has run programs, and has not fallen silent meanwhile. */
static bool agent_answers(const VerifyReport *report)
{
	switch (report->cause) {
	case VERIFY_NOT_RUNNING:
	case VERIFY_NOT_ATTACHED:
	case VERIFY_CHANGED:
	case VERIFY_NO_CHANNEL:
	case VERIFY_NO_AGENT:
	case VERIFY_EXEC_DISABLED:
	case VERIFY_TIMEOUT:
	case VERIFY_BAD_REPLY:
		return false;
	default:
		return true;
	}
}

/* What cannot be asked is not there. */
static void guest_run(const JobPlace *place, const char *uuid, const char *const *const *commands,
		      size_t n, uint64_t deadline, GuestRun *runs)
{
	_cleanup_(problem_freep) Problem *ignored = NULL;

	(void)place->host->ops->guest_run(place->host, uuid, commands, n, deadline, runs, &ignored);
}

GuestReport *verify_read_guest_report(const JobPlace *place, const VerifyInput *input,
				      const VerifyReport *report, uint64_t deadline)
{
	uint64_t soon = now_monotonic() + REPORT_USEC;
	GuestRun runs[GUEST_REPORT_RUNS] = { 0 };
	GuestReport *found = NULL;

	if (!agent_answers(report))
		return NULL;
	guest_run(place, input->domain_uuid, guest_report_commands, GUEST_REPORT_RUNS,
		  soon < deadline ? soon : deadline, runs);
	found = guest_report_judge(runs, input->domain_uuid, now_realtime());
	for (size_t i = 0; i < GUEST_REPORT_RUNS; i++)
		guest_run_clear(&runs[i]);
	return found;
}

Workload *verify_measure(const JobPlace *place, const VerifyInput *input,
			 const VerifyReport *report, uint64_t deadline)
{
	Workload *w = NULL;
	bool done;

	w = measure_begin(input, report);
	done = w->cause != WORKLOAD_NO_PROGRAM;
	for (size_t i = 0; !done && i < MEASURE_COMMANDS; i++) {
		MeasureCommand command;
		const char *const *argv = command.argv;
		GuestRun run = { 0 };

		measure_command(i, report->n_gpus, &command);
		guest_run(place, input->domain_uuid, &argv, 1, deadline, &run);
		measure_hear(w, input, report, i, &run, &done);
		guest_run_clear(&run);
	}
	return w;
}
