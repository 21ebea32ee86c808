/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Methods that only look: dry runs, scans, topology, and a close look at one GPU. Those that start
 * a thread ask polkit whether the caller may read. They open or wake a GPU for root only.
 */
#include "bus/methods-read.h"

#include <string.h>

#include "bus/request.h"
#include "core/group/topology-json.h"
#include "gpupass/dbus.h"
#include "util/text.h"
#include "util/xalloc.h"

static const OptionSpec plan_options[] = {
	OPTION(GPUPASS_OPTION_OPERATION, 's', operation),
	OPTION(GPUPASS_OPTION_LIVE, 'b', live),
	OPTION(GPUPASS_OPTION_CONFIG, 'b', config),
	OPTION(GPUPASS_OPTION_MODEL, 's', model),
	OPTION(GPUPASS_OPTION_KEEP_VFIO, 'b', keep_vfio),
	OPTION(GPUPASS_OPTION_PERSIST, 'b', persist),
	OPTION(GPUPASS_OPTION_RESET, 'b', reset),
	OPTION(GPUPASS_OPTION_TIMEOUT, 't', timeout_usec),
	OPTION(GPUPASS_OPTION_ALLOW_BOOT_VGA, 'b', allow_boot_vga),
	OPTION(GPUPASS_OPTION_ACCEPT_DIRTY, 'b', accept_dirty),
	OPTION(GPUPASS_OPTION_NUMA, 's', numa),
	OPTION(GPUPASS_OPTION_FIT, 's', fit),
};

static void plan_ready(PlanResult *result, void *userdata)
{
	_cleanup_(pending_freep) Pending *pending = userdata;

	if (result->json)
		sd_bus_reply_method_return(pending->call, "s", result->json);
	else
		pending_reply_error(pending, result->error_name, result->message);
}

static int plan_operation(const RequestOptions *options, Operation *ret, sd_bus_error *error)
{
	if (!options->operation)
		*ret = OPERATION_ASSIGN;
	else if (operation_from_string(options->operation, ret) < 0 || *ret == OPERATION_VERIFY ||
		 *ret == OPERATION_PROBE) /* have no plan */
		return invalid_argument(error, "there is no such operation to plan",
					"give assign, release, bind, unbind or reconcile");
	return 0;
}

static bool needs_group(Operation operation)
{
	return operation == OPERATION_BIND || operation == OPERATION_UNBIND ||
	       operation == OPERATION_RECONCILE;
}

/* Strings of the request are borrowed from the message and the options. */
static int read_plan(Face *f, sd_bus_message *m, RequestOptions *options, JobRequest *ret,
		     sd_bus_error *error)
{
	const char *domain, *group;
	Operation operation = OPERATION_ASSIGN;
	int r;

	r = sd_bus_message_read(m, "ss", &domain, &group);
	if (r >= 0)
		r = options_read(m, plan_options, ELEMENTS(plan_options), options, error);
	if (r >= 0)
		r = plan_operation(options, &operation, error);
	if (r >= 0)
		r = check_timeout(options, error);
	if (r >= 0)
		r = check_name(needs_group(operation) ? group : domain, "domain or group", false,
			       error);
	if (r >= 0)
		r = check_name(group, "group", true, error);
	if (r >= 0)
		r = check_name(domain, "domain", true, error);
	if (r >= 0)
		r = check_name(str_or_empty(options->model), "model", true, error);
	if (r < 0)
		return r;
	*ret = request_from(f, operation, options);
	ret->group = *group ? (char *)group : NULL;
	if (operation == OPERATION_RELEASE)
		ret->target = (char *)domain;
	else
		ret->domain = *domain ? (char *)domain : NULL;
	return check_fit(options, ret, error);
}

int method_plan(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	_cleanup_(request_options_clear) RequestOptions options = { 0 };
	_cleanup_(pending_freep) Pending *pending = NULL;
	JobRequest request;
	Face *f = userdata;
	int r;

	r = read_plan(f, m, &options, &request, error);
	if (r < 0)
		return r;
	r = begin_read(f, m, &pending, error);
	if (r <= 0)
		return r < 0 ? r : 1;
	request.wakes_nothing = !caller_is_privileged(pending->caller.uid);
	manager_plan(f->manager, &request, plan_ready, TAKE_PTR(pending));
	return 1;
}

static void rescanned(void *userdata)
{
	_cleanup_(pending_freep) Pending *pending = userdata;

	sd_bus_reply_method_return(pending->call, NULL);
}

int method_rescan(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	_cleanup_(pending_freep) Pending *pending = NULL;
	Face *f = userdata;
	int r;

	r = options_read(m, NULL, 0, NULL, error);
	if (r >= 0)
		r = begin(f, m, GPUPASS_ACTION_MANAGE, NULL, &pending, error);
	if (r <= 0)
		return r < 0 ? r : 1;
	manager_refresh(f->manager, rescanned, TAKE_PTR(pending));
	return 1;
}

int method_get_drift(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	_cleanup_(pending_freep) Pending *pending = NULL;
	Face *f = userdata;
	int r;

	r = options_read(m, NULL, 0, NULL, error);
	if (r >= 0)
		r = begin_read(f, m, &pending, error);
	if (r <= 0)
		return r < 0 ? r : 1;
	manager_get_drift(f->manager, pending_answer, TAKE_PTR(pending));
	return 1;
}

/* ---- topology ---- */

int method_get_topology(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	Face *f = userdata;
	const Inventory *inventory = manager_inventory(f->manager);
	_cleanup_free_ char *json = NULL;
	int r;

	r = options_read(m, NULL, 0, NULL, error);
	if (r < 0)
		return r;
	if (!inventory)
		return sd_bus_error_set(
			error, problem_dbus_name(GPUPASS_ERROR_INTERNAL),
			"this host was not scanned yet\nState:  nothing was changed\n"
			"Remedy: see journalctl -u gpupassd");
	json = topology_to_json(&(TopologyFacts){
		.snapshot = inventory->snapshot,
		.gpus = inventory->gpus,
		.groups = inventory->groups,
		.uses = manager_uses(f->manager),
		.host = inventory->facts,
	});
	return sd_bus_reply_method_return(m, "s", json);
}

/* ---- Gpu.Inspect ---- */

static int append_string(sd_bus_message *reply, const char *key, const char *value)
{
	return str_is_empty(value) ? 0 : sd_bus_message_append(reply, "{sv}", key, "s", value);
}

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
	int r = sd_bus_message_open_container(reply, 'a', "{sv}");

	if (r >= 0)
		r = append_string(reply, "link-speed", facts->link_speed);
	if (r >= 0)
		r = append_string(reply, "link-speed-max", facts->link_speed_max);
	if (r >= 0 && facts->link_width > 0)
		r = sd_bus_message_append(reply, "{sv}", "link-width", "u", facts->link_width);
	if (r >= 0 && facts->link_width_max > 0)
		r = sd_bus_message_append(reply, "{sv}", "link-width-max", "u",
					  facts->link_width_max);
	if (r >= 0)
		r = append_string(reply, "serial-number", facts->serial_number);
	if (r >= 0)
		r = append_string(reply, "uuid", facts->uuid);
	if (r >= 0)
		r = append_string(reply, "driver-override", facts->driver_override);
	if (r >= 0)
		r = sd_bus_message_append(reply, "{sv}", "virtual-functions", "u", facts->num_vfs);
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
static int check_not_in_hand(const Face *f, uid_t uid, const char *address, sd_bus_error *error)
{
	const Inventory *inventory = manager_inventory(f->manager);
	const Group *group;
	bool quarantined;
	Bdf lead;

	if (caller_is_privileged(uid) || !inventory || bdf_parse(address, &lead) < 0)
		return 0;
	group = group_set_find_gpu(inventory->groups, &lead);
	quarantined = group && group->state == GROUP_QUARANTINED;
	if (!group || (!quarantined && manager_group_job(f->manager, group) == 0))
		return 0;
	return sd_bus_error_setf(error,
				 problem_dbus_name(quarantined ? GPUPASS_ERROR_QUARANTINED
							       : GPUPASS_ERROR_GROUP_BUSY),
				 "%s, and a look at its GPUs may wait for it\n"
				 "State:  nothing was changed\nRemedy: %s",
				 quarantined ? "it is quarantined" : "a job has it in hand",
				 quarantined ? "see why: gpupass status; look as root"
					     : "look when it is done: gpupass jobs");
}

static int method_inspect(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	_cleanup_(pending_freep) Pending *pending = NULL;
	_cleanup_free_ Bdf *functions = NULL;
	Face *f = userdata;
	const GpuView *view = collection_find(&f->gpus, sd_bus_message_get_path(m));
	size_t n = 0;
	int r;

	r = options_read(m, NULL, 0, NULL, error);
	if (r >= 0)
		r = begin_read(f, m, &pending, error);
	if (r <= 0)
		return r < 0 ? r : 1;
	if (!view)
		return sd_bus_error_set(error, problem_dbus_name(GPUPASS_ERROR_NO_SUCH_GPU),
					"this GPU is gone");
	r = check_not_in_hand(f, pending->caller.uid, view->address, error);
	if (r < 0)
		return r;
	/* The leading function first, then those that share its slot. */
	functions = xcalloc(view->functions.n_items + 1, sizeof(Bdf));
	bdf_parse(view->address, &functions[n++]);
	for (size_t i = 0; i < view->functions.n_items; i++)
		if (strcmp(view->functions.items[i].address, view->address) != 0)
			bdf_parse(view->functions.items[i].address, &functions[n++]);
	manager_inspect(f->manager, functions, n, inspected, TAKE_PTR(pending));
	return 1;
}

const sd_bus_vtable gpu_methods[] = {
	SD_BUS_VTABLE_START(0),
	METHOD_ASKS("Inspect", "a{sv}", SD_BUS_PARAM(options), "a{sv}", SD_BUS_PARAM(facts),
		    method_inspect),
	SD_BUS_VTABLE_END,
};
