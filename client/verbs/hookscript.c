/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Proxmox VE runs a hookscript before and after a virtual machine, and starts none whose pre-start
 * fails. Which groups the machine has, and whether it may have them, is gpupassd's to say: it is
 * asked about each group, after it has looked at the machine's definition anew.
 */
#include <string.h>

#include "bus/bus.h"
#include "job/job.h"
#include "model/model.h"
#include "verbs/acts.h"
#include "verbs/verbs.h"

/* 1: the machine has a part of the group. 0: it has none. A refusal is a failure. */
static int has_group(Client *c, const char *vmid, const char *group)
{
	_cleanup_message_ sd_bus_message *call = NULL, *reply = NULL;
	int r = bus_new_manager_call(c, "Plan", &call, "ssa{sv}", vmid, group, 1,
				     GPUPASS_OPTION_OPERATION, "s",
				     operation_to_string(OPERATION_BIND));

	if (r < 0)
		return r;
	r = bus_call(c, call, BUS_TIMEOUT_ACT_USEC, "s", &reply);
	if (r >= 0)
		return 1;
	if (!c->failure || strcmp(c->failure->name, error_name(GPUPASS_ERROR_NOT_ASSIGNED)) != 0)
		return r;
	client_forgive(c);
	return 0;
}

static int bind_group(Client *c, const char *vmid, const char *group, bool reset)
{
	_cleanup_message_ sd_bus_message *call = NULL;
	int r = bus_new_manager_call(c, "Bind", &call, "sa{sv}", group, 2, GPUPASS_OPTION_DOMAIN,
				     "s", vmid, GPUPASS_OPTION_RESET, "b", reset);

	return r < 0 ? r : job_run(c, call, NULL);
}

/* Of several groups: main() would tell of one only. */
static int tell_failure(Client *c, int r)
{
	GpupassExit code;

	if (r >= 0 || !c->failure)
		return r;
	code = c->failure->code;
	failure_print(c->failure, &c->err);
	client_forgive(c);
	return (int)code;
}

/*
 * Before a start it ends at the first group that fails: the machine does not start. After a stop
 * each group is reset that can be, and it ends as the first that could not.
 */
static int bind_all(Client *c, const char *vmid, bool reset)
{
	_cleanup_(world_clear) World w = { 0 };
	int r, ended = GPUPASS_EXIT_DONE;

	r = act_plainly(c, "Rescan", NULL);
	if (r >= 0)
		r = world_load(c, &w);
	if (r < 0)
		return r;
	for (size_t i = 0; i < w.n_groups; i++) {
		const char *group = w.groups[i].name;

		r = has_group(c, vmid, group);
		if (r > 0)
			r = bind_group(c, vmid, group, reset);
		if (r != 0 && !reset)
			return r;
		r = tell_failure(c, r);
		if (r < 0)
			return r;
		if (ended == GPUPASS_EXIT_DONE)
			ended = r;
	}
	return ended;
}

int verb_hookscript(Client *c, char *const *arguments, _unused_ size_t n_arguments)
{
	const char *vmid = arguments[0], *phase = arguments[1];

	if (strcmp(phase, "pre-start") == 0)
		return bind_all(c, vmid, false);
	if (strcmp(phase, "post-stop") == 0)
		return bind_all(c, vmid, true);
	if (strcmp(phase, "post-start") == 0 || strcmp(phase, "pre-stop") == 0)
		return GPUPASS_EXIT_DONE;
	return client_usage(c, "'%s' is no phase: pre-start, post-start, pre-stop or post-stop",
			    phase);
}
