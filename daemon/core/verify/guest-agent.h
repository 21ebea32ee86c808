/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The QEMU guest agent's messages: programs run in a guest without a shell (guest-exec). Pure: the
 * calls are host/libvirt/guest-agent's. The replies are the guest's, and so not to be trusted:
 * bounded, strict JSON, strict base64.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gpupass/cleanup.h"
#include "gpupass/string-table.h"

/* Of one reply, and of each stream of a program in it. */
#define AGENT_REPLY_MAX (256U * 1024)
#define AGENT_STREAM_MAX (64U * 1024)

#define AGENT_PING "{\"execute\":\"guest-ping\"}"
#define AGENT_INFO "{\"execute\":\"guest-info\"}"

/* What became of a program that was to run in a guest. */
#define GUEST_OUTCOMES(X)                                                                          \
	X(GUEST_NOT_ASKED, "not-asked")                                                            \
	X(GUEST_RAN, "ran")			/* to its end: exit code and output are there */   \
	X(GUEST_NOT_RUNNING, "not-running")	/* the domain is shut off or paused */             \
	X(GUEST_NO_CHANNEL, "no-channel")	/* the domain has no device for the agent */       \
	X(GUEST_NO_AGENT, "no-agent")		/* nobody answers on it */                         \
	X(GUEST_EXEC_DISABLED, "exec-disabled") /* the agent must not run programs */              \
	X(GUEST_NOT_STARTED, "not-started")	/* the program could not be started */             \
	X(GUEST_TIMEOUT, "timeout")		/* it, or the agent, did not end in time */        \
	X(GUEST_TOO_MUCH, "too-much")		/* it printed more than is taken */                \
	X(GUEST_GARBLED, "garbled")		/* the agent's reply is none */                    \
	X(GUEST_REFUSED, "refused")		/* libvirt would not hand the message on */

typedef enum GuestOutcome {
#define X(enumerator, name) enumerator,
	GUEST_OUTCOMES(X)
#undef X
		GUEST_OUTCOME_MAX_,
} GuestOutcome;
DECLARE_STRING_TABLE(guest_outcome, GuestOutcome);

typedef struct GuestRun {
	GuestOutcome outcome;
	bool signalled;	   /* a signal ended it: exit_code is its number */
	int64_t exit_code; /* Windows has 32 bits of it */
	char *out, *err;   /* NUL-terminated, and perhaps with NULs inside; NULL: nothing */
	size_t out_size, err_size;
	char *detail; /* libvirt's or the agent's words; NULL: none */
} GuestRun;
void guest_run_clear(GuestRun *run);

/* guest-exec, and guest-exec-status. NULL when memory is out or an argument is no UTF-8. */
char *agent_exec_message(const char *const *argv);
char *agent_status_message(int64_t pid);

/* Each: 0, -EBADMSG (no such reply), -EFBIG, -ENOMEM. */

/* Of guest-info: whether guest-exec and guest-exec-status may be used. */
int agent_parse_info(const char *reply, bool *ret_may_exec);
/* Of guest-exec. */
int agent_parse_pid(const char *reply, int64_t *ret_pid);
/* Of guest-exec-status. *ret_ended false: it still runs, and *ret is as it was. */
int agent_parse_status(const char *reply, bool *ret_ended, GuestRun *ret);

/*
 * Strict: whole quads, padding only at the end, no other characters, unused bits zero. The result
 * has a NUL behind it.
 */
int base64_decode(const char *text, size_t size, size_t max, char **ret, size_t *ret_size);
