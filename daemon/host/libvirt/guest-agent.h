/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs programs inside a guest through its QEMU guest agent: guest-ping, guest-info, then for each
 * program guest-exec, and guest-exec-status until it has ended. No shell. Blocks, and so runs on
 * job threads. One deadline covers everything; a single call to the agent waits a few seconds at
 * most.
 *
 * A program that outlives the deadline is left alone: the guest is its tenant's.
 */
#pragma once

#include "core/base/problem.h"
#include "core/verify/guest-agent.h"

/* How a message gets to the agent: libvirt, or a test. */
typedef struct AgentTransport {
	/*
	 * 0 with *ret_reply, or without it and with the outcome and perhaps libvirt's message in
	 * *ret_why; PROBLEM (LibvirtUnavailable, NoSuchDomain). Waits about `timeout_sec`
	 * at most.
	 */
	int (*call)(void *userdata, const char *message, unsigned timeout_sec, char **ret_reply,
		    GuestRun *ret_why, Problem **ret_problem);
	void *userdata;
} AgentTransport;

/* What a virErrorNumber of a message to the agent means. */
GuestOutcome guest_agent_outcome(int code);

/*
 * Runs the programs one after another until one is not GUEST_RAN; the rest stay GUEST_NOT_ASKED. A
 * program that ran and failed is GUEST_RAN. `runs` has n zeroed elements. 0 or PROBLEM.
 */
int guest_agent_run(const AgentTransport *transport, const char *const *const *commands, size_t n,
		    uint64_t deadline_usec, GuestRun *runs, Problem **ret_problem);
