/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/libvirt/guest-agent.h"

#include <libvirt/virterror.h>

#include "util/clock.h"

/*
 * libvirt (9.0, qemuAgentGuestSync) first synchronises with the agent, for up to 5 s. A live agent
 * answers each of our messages at once: it starts programs and does not wait for them.
 */
#define CALL_TIMEOUT_SEC 5U
/*
 * VIR_ERR_AGENT_COMMAND_TIMEOUT, which the headers of 9.0 lack: what was VIR_ERR_AGENT_UNRESPONSIVE
 * when the agent synchronised, and then did not answer in time.
 */
#define AGENT_COMMAND_TIMEOUT 112
#define POLL_MIN_USEC (20 * USEC_PER_MSEC)
#define POLL_MAX_USEC USEC_PER_SEC

typedef struct Session {
	const AgentTransport *transport;
	uint64_t deadline;
	Problem **ret_problem;
} Session;

/*
 * Error codes of libvirt 9.0: qemuDomainAgentAvailable() and qemuAgentCommandFull(). An error of
 * the agent itself has no code of its own (VIR_ERR_INTERNAL_ERROR); nor has an error of a driver
 * without agents. Later versions have codes of their own for both.
 */
GuestOutcome guest_agent_outcome(int code)
{
	switch (code) {
	case VIR_ERR_OPERATION_INVALID:
		return GUEST_NOT_RUNNING;
	case VIR_ERR_ARGUMENT_UNSUPPORTED:
	case VIR_ERR_CONFIG_UNSUPPORTED:
	case VIR_ERR_NO_SUPPORT:
		return GUEST_NO_CHANNEL;
	case VIR_ERR_AGENT_UNRESPONSIVE:
	case VIR_ERR_AGENT_UNSYNCED:
	case AGENT_COMMAND_TIMEOUT:
		return GUEST_NO_AGENT;
	default:
		return GUEST_REFUSED;
	}
}

/* Turns a parser's error into the outcome of the run. */
static int garbled(GuestRun *run, int r)
{
	run->outcome = r == -EFBIG ? GUEST_TOO_MUCH : GUEST_GARBLED;
	return 0;
}

/* 0 with *ret_reply NULL: run->outcome says why there is none. */
static int call(const Session *s, const char *message, GuestRun *run, char **ret_reply)
{
	uint64_t now = now_monotonic(), left = s->deadline > now ? s->deadline - now : 0;
	unsigned timeout = CALL_TIMEOUT_SEC;

	if (left == 0) {
		run->outcome = GUEST_TIMEOUT;
		return 0;
	}
	/* libvirt takes whole seconds, and 0 would mean not to wait. */
	if (left < timeout * USEC_PER_SEC)
		timeout = (unsigned)(left / USEC_PER_SEC) + 1;
	return s->transport->call(s->transport->userdata, message, timeout, ret_reply, run,
				  s->ret_problem);
}

/* An agent that answered before no longer answers. */
static void fell_silent(GuestRun *run)
{
	if (run->outcome == GUEST_NO_AGENT)
		run->outcome = GUEST_TIMEOUT;
}

/* GUEST_RAN: the agent is there, and may start programs. */
static int greet(const Session *s, GuestRun *run)
{
	_cleanup_free_ char *pong = NULL, *info = NULL;
	bool may_exec = false;
	int r = call(s, AGENT_PING, run, &pong);

	if (r != 0 || !pong)
		return r;
	r = call(s, AGENT_INFO, run, &info);
	if (r != 0 || !info) {
		fell_silent(run);
		return r;
	}
	r = agent_parse_info(info, &may_exec);
	if (r < 0)
		return garbled(run, r);
	run->outcome = may_exec ? GUEST_RAN : GUEST_EXEC_DISABLED;
	return 0;
}

static void pause_for(uint64_t usec)
{
	const struct timespec time = clock_timespec(usec);

	nanosleep(&time, NULL);
}

static int wait_for_end(const Session *s, int64_t pid, GuestRun *run)
{
	_cleanup_free_ char *message = agent_status_message(pid);
	uint64_t pause = POLL_MIN_USEC;

	for (;;) {
		_cleanup_free_ char *reply = NULL;
		bool ended = false;
		int r;

		r = call(s, message, run, &reply);
		if (r != 0 || !reply) {
			fell_silent(run);
			return r;
		}
		r = agent_parse_status(reply, &ended, run);
		if (r < 0)
			return garbled(run, r);
		if (ended)
			return 0;
		pause_for(pause);
		pause = pause * 2 < POLL_MAX_USEC ? pause * 2 : POLL_MAX_USEC;
	}
}

static int run_one(const Session *s, const char *const *argv, GuestRun *run)
{
	_cleanup_free_ char *message = agent_exec_message(argv), *reply = NULL;
	int64_t pid = 0;
	int r = call(s, message, run, &reply);

	if (r != 0 || !reply) {
		fell_silent(run);
		/* The agent knows guest-exec, so it refuses this program. */
		if (run->outcome == GUEST_REFUSED)
			run->outcome = GUEST_NOT_STARTED;
		return r;
	}
	r = agent_parse_pid(reply, &pid);
	return r < 0 ? garbled(run, r) : wait_for_end(s, pid, run);
}

int guest_agent_run(const AgentTransport *transport, const char *const *const *commands, size_t n,
		    uint64_t deadline_usec, GuestRun *runs, Problem **ret_problem)
{
	const Session session = {
		.transport = transport,
		.deadline = deadline_usec,
		.ret_problem = ret_problem,
	};
	int r;

	if (n == 0)
		return 0;
	r = greet(&session, &runs[0]);
	for (size_t i = 0; r == 0 && i < n; i++) {
		if (i == 0 && runs[0].outcome != GUEST_RAN)
			break;
		runs[i].outcome = GUEST_NOT_ASKED;
		r = run_one(&session, commands[i], &runs[i]);
		if (runs[i].outcome != GUEST_RAN)
			break;
	}
	return r;
}
