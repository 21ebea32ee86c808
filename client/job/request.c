/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/request.h"

#include "bus/bus.h"
#include "model/model.h"

static int append_flags(sd_bus_message *call, uint64_t given)
{
	static const struct {
		uint64_t option;
		const char *key;
	} flags[] = {
		{ OPTION_LIVE, GPUPASS_OPTION_LIVE },
		{ OPTION_CONFIG, GPUPASS_OPTION_CONFIG },
		{ OPTION_KEEP_VFIO, GPUPASS_OPTION_KEEP_VFIO },
		{ OPTION_PERSIST, GPUPASS_OPTION_PERSIST },
		{ OPTION_ALLOW_BOOT_VGA, GPUPASS_OPTION_ALLOW_BOOT_VGA },
		{ OPTION_ACCEPT_DIRTY, GPUPASS_OPTION_ACCEPT_DIRTY },
		{ OPTION_MMIO, GPUPASS_OPTION_MMIO },
		{ OPTION_WORKLOAD, GPUPASS_OPTION_WORKLOAD },
	};
	int r;

	for (size_t i = 0; i < ELEMENTS(flags); i++) {
		if (!(given & flags[i].option))
			continue;
		r = sd_bus_message_append(call, "{sv}", flags[i].key, "b", 1);
		if (r < 0)
			return r;
	}
	return 0;
}

static int append_options(sd_bus_message *call, const Options *o, Operation operation, bool plan,
			  const char *group)
{
	int r;

	r = sd_bus_message_open_container(call, SD_BUS_TYPE_ARRAY, "{sv}");
	if (r >= 0)
		r = append_flags(call, o->given);
	if (r >= 0 && (o->given & OPTION_MODEL))
		r = sd_bus_message_append(call, "{sv}", GPUPASS_OPTION_MODEL, "s", o->model);
	if (r >= 0 && (o->given & OPTION_NUMA))
		r = sd_bus_message_append(call, "{sv}", GPUPASS_OPTION_NUMA, "s", o->numa);
	if (r >= 0 && (o->given & OPTION_FIT))
		r = sd_bus_message_append(call, "{sv}", GPUPASS_OPTION_FIT, "s", o->fit);
	if (r >= 0 && (o->given & OPTION_TIMEOUT))
		r = sd_bus_message_append(call, "{sv}", GPUPASS_OPTION_TIMEOUT, "t",
					  o->timeout_usec);
	if (r >= 0 && group)
		r = sd_bus_message_append(call, "{sv}", GPUPASS_OPTION_GROUP, "s", group);
	if (r >= 0 && plan)
		r = sd_bus_message_append(call, "{sv}", GPUPASS_OPTION_OPERATION, "s",
					  operation_to_string(operation));
	return r < 0 ? r : sd_bus_message_close_container(call);
}

int request_append_options_for(Client *c, sd_bus_message *call, Operation operation, bool plan,
			       const char *group)
{
	int r = append_options(call, c->options, operation, plan, group);

	return r < 0 ? bus_build_failed(c, r) : 0;
}

int request_append_options(Client *c, sd_bus_message *call, Operation operation, bool plan)
{
	return request_append_options_for(c, call, operation, plan, NULL);
}

int request_check(Client *c, Operation operation)
{
	const uint64_t of_assign = OPTION_LIVE | OPTION_CONFIG | OPTION_MODEL |
				   OPTION_ALLOW_BOOT_VGA | OPTION_NUMA | OPTION_FIT |
				   OPTION_ACCEPT_DIRTY;
	uint64_t wrong = 0;

	if (operation == OPERATION_RELEASE)
		wrong = c->options->given & of_assign;
	else if (operation == OPERATION_ASSIGN)
		wrong = c->options->given & OPTION_KEEP_VFIO;
	if (!wrong)
		return 0;
	return client_usage(c, "--%s is no option of %s", option_name(wrong & -wrong),
			    operation == OPERATION_RELEASE ? "a release" : "an assignment");
}
