/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages to a domain's guest agent. */
#include <libvirt/libvirt-qemu.h>

#include "host/libvirt/call.h"
#include "host/libvirt/libvirt.h"
#include "util/xalloc.h"

/* The most of libvirt's message that is kept; it may quote the agent. */
#define DETAIL_MAX 1024

typedef struct Agent {
	const VirtCall *call;
	virDomainPtr domain;
	const char *name;
} Agent;

static int agent_call(void *userdata, const char *message, unsigned timeout_sec, char **ret_reply,
		      GuestRun *ret_why, Problem **ret_problem)
{
	const Agent *agent = userdata;
	_cleanup_free_ char *message_of_error = NULL;
	const virError *error;

	*ret_reply = virDomainQemuAgentCommand(agent->domain, message, (int)timeout_sec, 0);
	if (*ret_reply)
		return 0;
	if (virt_error_is_no_domain())
		return virt_no_such_domain(agent->name, ret_problem);
	error = virGetLastError();
	ret_why->outcome = guest_agent_outcome(error ? error->code : VIR_ERR_INTERNAL_ERROR);
	message_of_error = xstrndup(
		error && error->message ? error->message : "libvirt gave no reason", DETAIL_MAX);
	/* A lost connection says nothing about the guest. The check clears the error. */
	if (virConnectIsAlive(agent->call->conn) != 1)
		return virt_unavailable(agent->call->virt->uri, message_of_error, ret_problem);
	free(ret_why->detail);
	ret_why->detail = TAKE_PTR(message_of_error);
	return 0;
}

int virt_guest_run(Virt *virt, const char *uuid, const char *const *const *commands, size_t n,
		   uint64_t deadline_usec, GuestRun *runs, Problem **ret_problem)
{
	_cleanup_call_ VirtCall call = { 0 };
	_cleanup_domain_ virDomainPtr domain = NULL;
	Agent agent;
	AgentTransport transport = { .call = agent_call, .userdata = &agent };
	int r = virt_call_begin_on(virt, uuid, &call, &domain, ret_problem);

	if (r != 0)
		return r;
	agent = (Agent){ &call, domain, virt_domain_name(domain) };
	return guest_agent_run(&transport, commands, n, deadline_usec, runs, ret_problem);
}
