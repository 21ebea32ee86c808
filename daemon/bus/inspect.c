/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Gpu.Inspect: a close look at one GPU. It opens or wakes a GPU for root only. */

#include "bus/call.h"
#include "util/text.h"
#include "util/xalloc.h"

static int append_lines(sd_bus_message *reply, const char *key, char *const *lines)
{
	int r = sd_bus_message_open_container(reply, 'e', "sv");

	if (r >= 0)
		r = sd_bus_message_append(reply, "s", key);
	if (r >= 0)
		r = sd_bus_message_open_container(reply, 'v', "as");
	if (r >= 0)
		r = sd_bus_message_append_strv(reply, (char **)lines);
	if (r >= 0)
		r = sd_bus_message_close_container(reply);
	return r < 0 ? r : sd_bus_message_close_container(reply);
}

static int append_holders(sd_bus_message *reply, const Inspection *inspection)
{
	_cleanup_strv_ char **lines = NULL;

	for (size_t i = 0; i < inspection->n_holders; i++)
		strv_append_take(&lines, holder_text(&inspection->holders[i]));
	return append_lines(reply, "holders", lines);
}

static int append_unseen(sd_bus_message *reply, const Inspection *inspection)
{
	_cleanup_strv_ char **lines = NULL;

	inspection_tell_unseen(inspection, &lines);
	return !lines ? 0 : append_lines(reply, "unseen", lines);
}

static int append_facts(sd_bus_message *reply, const Inspection *inspection,
			const FunctionFacts *facts)
{
	const struct {
		const char *key, *value;
	} texts[] = {
		{ "link-speed", facts->link_speed },
		{ "link-speed-max", facts->link_speed_max },
		{ "serial-number", facts->serial_number },
		{ "uuid", facts->uuid },
		{ "driver-override", facts->driver_override },
	};
	const struct {
		const char *key;
		unsigned value;
		bool always;
	} numbers[] = {
		{ "link-width", facts->link_width, false },
		{ "link-width-max", facts->link_width_max, false },
		{ "virtual-functions", facts->num_vfs, true },
	};
	int r = sd_bus_message_open_container(reply, 'a', "{sv}");

	for (size_t i = 0; r >= 0 && i < ELEMENTS(texts); i++)
		if (!str_is_empty(texts[i].value))
			r = sd_bus_message_append(reply, "{sv}", texts[i].key, "s", texts[i].value);
	for (size_t i = 0; r >= 0 && i < ELEMENTS(numbers); i++)
		if (numbers[i].value > 0 || numbers[i].always)
			r = sd_bus_message_append(reply, "{sv}", numbers[i].key, "u",
						  numbers[i].value);
	if (r >= 0)
		r = append_holders(reply, inspection);
	if (r >= 0)
		r = append_unseen(reply, inspection);
	return r < 0 ? r : sd_bus_message_close_container(reply);
}

static void inspected(const Inspection *inspection, const Problem *problem, void *userdata)
{
	_cleanup_(pending_freep) Pending *pending = userdata;
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *reply = NULL;
	int r;

	if (problem) {
		_cleanup_free_ char *message = problem_message(problem, "cannot look at this GPU");

		pending_reply_error(pending, problem_dbus_name(problem->error), message);
		return;
	}
	r = sd_bus_message_new_method_return(pending->call, &reply);
	if (r >= 0)
		r = append_facts(reply, inspection, &inspection->functions[0]);
	if (r >= 0)
		sd_bus_send(NULL, reply, NULL);
}

/*
 * The inspection of a function waits for the device's lock. When that takes too long, we leave its
 * worker behind. While something holds the function and may never let go, a user in a loop could
 * leave any number of processes. Root may have a reason to look all the same.
 */
static int check_not_in_hand(const Call *call, const char *address)
{
	const Group *group;
	bool quarantined;
	Bdf lead;

	if (caller_is_privileged(call->pending->caller.uid) || bdf_parse(address, &lead) < 0)
		return 0;
	group = manager_group_in_hand(call->face->manager, &lead);
	if (!group)
		return 0;
	quarantined = group->state == GROUP_QUARANTINED;
	return sd_bus_error_setf(call->error,
				 problem_dbus_name(quarantined ? GPUPASS_ERROR_QUARANTINED
							       : GPUPASS_ERROR_GROUP_BUSY),
				 "%s, and a look at its GPUs may wait for it\n"
				 "State:  nothing was changed\nRemedy: %s",
				 quarantined ? "it is quarantined" : "a job has it in hand",
				 quarantined ? "see why: gpupass status; look as root"
					     : "look when it is done: gpupass jobs");
}

int call_inspect(Call *call)
{
	const GpuView *view = collection_find(&call->face->shown[SHOWN_GPUS],
					      sd_bus_message_get_path(call->message));
	_cleanup_free_ Bdf *functions = NULL;
	size_t n = 0;
	int r;

	if (!view)
		return sd_bus_error_set(call->error, problem_dbus_name(GPUPASS_ERROR_NO_SUCH_GPU),
					"this GPU is gone");
	r = check_not_in_hand(call, view->address);
	if (r < 0)
		return r;
	/* The leading function first, then those that share its slot. */
	functions = xcalloc(view->functions.n_items + 1, sizeof(Bdf));
	bdf_parse(view->address, &functions[n++]);
	for (size_t i = 0; i < view->functions.n_items; i++)
		if (strcmp(view->functions.items[i].address, view->address) != 0)
			bdf_parse(view->functions.items[i].address, &functions[n++]);
	manager_inspect(call->face->manager, functions, n, inspected, call->pending);
	return 0;
}
