/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages of the QEMU guest agent, which runs programs in a guest without a shell (guest-exec).
 * This code is pure; host/libvirt/guest-agent makes the calls. The guest writes the replies, so
 * they are not trusted: bounded, strict JSON, strict base64.
 */
#pragma once

#include <stdint.h>

#include "gpupass/cleanup.h"
#include "gpupass/string-table.h"

/* The limit of one reply, and of each output stream in it. */
#define AGENT_REPLY_MAX (256U * 1024)
#define AGENT_STREAM_MAX (64U * 1024)

#define AGENT_PING "{\"execute\":\"guest-ping\"}"
#define AGENT_INFO "{\"execute\":\"guest-info\"}"

/* The outcome of a program that should run in a guest. */
#define GUEST_OUTCOMES(X)                                                                          \
	X(GUEST_NOT_ASKED, "not-asked")                                                            \
	X(GUEST_RAN, "ran")			/* it ended: exit code and output are there */     \
	X(GUEST_NOT_RUNNING, "not-running")	/* the domain is shut off or paused */             \
	X(GUEST_NO_CHANNEL, "no-channel")	/* the domain has no device for the agent */       \
	X(GUEST_NO_AGENT, "no-agent")		/* no agent answers */                             \
	X(GUEST_EXEC_DISABLED, "exec-disabled") /* the agent may not run programs */               \
	X(GUEST_NOT_STARTED, "not-started")	/* the program could not be started */             \
	X(GUEST_TIMEOUT, "timeout")		/* the program or the agent took too long */       \
	X(GUEST_TOO_MUCH, "too-much")		/* it printed more than the limit */               \
	X(GUEST_GARBLED, "garbled")		/* the agent's reply is not one */                 \
	X(GUEST_REFUSED, "refused")		/* libvirt refused to pass the message on */

DECLARE_ENUM(guest_outcome, GuestOutcome, GUEST_OUTCOMES, GUEST_OUTCOME_MAX_);

typedef struct GuestRun {
	GuestOutcome outcome;
	bool signalled;	   /* a signal ended it: exit_code is its number */
	int64_t exit_code; /* Windows uses 32 bits */
	/* With a NUL at the end, and perhaps NULs inside; NULL: nothing. Of too much, the begin. */
	char *out, *err;
	size_t out_size, err_size;
	char *detail; /* libvirt's or the agent's words; NULL: none */
} GuestRun;
DECLARE_CLEAR(GuestRun, guest_run_clear)

/* guest-exec, and guest-exec-status. The arguments are ASCII. */
char *agent_exec_message(const char *const *argv);
char *agent_status_message(int64_t pid);

/* Each returns 0, -EBADMSG (not such a reply) or -EFBIG. */

/* The reply to guest-info: may guest-exec and guest-exec-status be used? */
int agent_parse_info(const char *reply, bool *ret_may_exec);
/* The reply to guest-exec. */
int agent_parse_pid(const char *reply, int64_t *ret_pid);
/*
 * The reply to guest-exec-status. *ret_ended false: it still runs, and *ret is unchanged. If there
 * is more output than AGENT_STREAM_MAX, or than the agent keeps, the outcome is GUEST_TOO_MUCH.
 */
int agent_parse_status(const char *reply, bool *ret_ended, GuestRun *ret);

/*
 * Strict: whole quads, padding only at the end, no other characters, unused bits zero. The result
 * has a NUL after it.
 */
int base64_decode(const char *text, size_t size, size_t max, char **ret, size_t *ret_size);
