/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verbs that change something. */
#include "verbs/acts.h"

#include <string.h>

#include "base/address.h"
#include "base/json.h"
#include "base/text.h"
#include "bus/bus.h"
#include "job/job.h"
#include "job/request.h"
#include "model/json.h"
#include "verbs/list.h"
#include "verbs/plan.h"
#include "verbs/verbs.h"

int act(Client *c, const char *method, Operation operation, const char *first, const char *second)
{
	_cleanup_message_ sd_bus_message *call = NULL;
	int r = bus_new_manager_call(c, method, &call, second ? "ss" : "s", first, second);

	if (r >= 0)
		r = request_append_options(c, call, operation, false);
	return r < 0 ? r : job_run(c, call);
}

int verb_bind(Client *c, char *const *arguments, _unused_ size_t n_arguments)
{
	if (c->options->given & OPTION_DRY_RUN)
		return plan_show(c, OPERATION_BIND, "", arguments[0]);
	return act(c, "Bind", OPERATION_BIND, arguments[0], NULL);
}

int verb_unbind(Client *c, char *const *arguments, _unused_ size_t n_arguments)
{
	if (c->options->given & OPTION_DRY_RUN)
		return plan_show(c, OPERATION_UNBIND, "", arguments[0]);
	return act(c, "Unbind", OPERATION_UNBIND, arguments[0], NULL);
}

/*
 * Puts addresses into the kernel's form; passes UUIDs, serial: and slot: on for the daemon to
 * check.
 */
static int append_gpus(Client *c, sd_bus_message *call, char *const *gpus, size_t n)
{
	int r;

	r = sd_bus_message_open_container(call, SD_BUS_TYPE_ARRAY, "s");
	if (r < 0)
		return bus_build_failed(c, r);
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *address = address_normalise(gpus[i]);

		r = sd_bus_message_append(call, "s", address ? address : gpus[i]);
		if (r < 0)
			return bus_build_failed(c, r);
	}
	r = sd_bus_message_close_container(call);
	return r < 0 ? bus_build_failed(c, r) : 0;
}

static int print_declared(Client *c, const char *path)
{
	_cleanup_(group_clear) Group group = { 0 };
	_cleanup_free_ char *gpus = NULL;
	int r;

	r = object_load(c, OBJECT_GROUP, path, &group);
	if (r < 0)
		return r;
	if (c->options->json != JSON_OFF)
		return json_print(c, json_build("{s:s, s:o, s:[]}", "schema", GPUPASS_SCHEMA_SHOW,
						"group", json_group(&group), "gpus"));
	gpus = strv_join(group.gpu_addresses, ", ");
	if (!c->options->quiet)
		fprintf(c->err.stream, "Declared %s: %s; it is %s\n", group.name, gpus,
			group.state);
	return 0;
}

int verb_declare(Client *c, char *const *arguments, size_t n_arguments)
{
	_cleanup_message_ sd_bus_message *call = NULL, *reply = NULL;
	const char *path;
	int r;

	r = bus_new_manager_call(c, "Declare", &call, "s", arguments[0]);
	if (r >= 0)
		r = append_gpus(c, call, arguments + 1, n_arguments - 1);
	if (r < 0)
		return r;
	if (c->options->given & OPTION_NO_BRIDGE_SEEN)
		r = sd_bus_message_append(call, "a{sv}", 1, GPUPASS_OPTION_NO_BRIDGE_SEEN, "b", 1);
	else
		r = sd_bus_message_append(call, "a{sv}", 0);
	if (r < 0)
		return bus_build_failed(c, r);
	r = bus_call(c, call, BUS_TIMEOUT_ACT_USEC, "o", &reply);
	if (r < 0)
		return r;
	r = sd_bus_message_read(reply, "o", &path);
	if (r < 0)
		return bus_bad_reply(c, strerror(-r));
	r = print_declared(c, path);
	return r < 0 ? r : GPUPASS_EXIT_DONE;
}

int act_plainly(Client *c, const char *method, const char *argument)
{
	_cleanup_message_ sd_bus_message *call = NULL, *reply = NULL;
	int r;

	if (argument)
		r = bus_new_manager_call(c, method, &call, "sa{sv}", argument, 0);
	else
		r = bus_new_manager_call(c, method, &call, "a{sv}", 0);
	return r < 0 ? r : bus_call(c, call, BUS_TIMEOUT_ACT_USEC, "", &reply);
}

/* The list as it is now, if JSON was requested. */
static int list_if_json(Client *c)
{
	_cleanup_(world_clear) World w = { 0 };
	int r;

	if (c->options->json == JSON_OFF)
		return GPUPASS_EXIT_DONE;
	r = world_load(c, &w);
	if (r >= 0)
		r = list_print_json(c, &w);
	return r < 0 ? r : GPUPASS_EXIT_DONE;
}

/* `done`: what to say about the group afterwards. */
static int act_at_once(Client *c, const char *method, const char *group, const char *done)
{
	int r = act_plainly(c, method, group);

	if (r < 0)
		return r;
	if (!c->options->quiet)
		fprintf(c->err.stream, "%s %s\n", done, group);
	return list_if_json(c);
}

int verb_forget(Client *c, char *const *arguments, _unused_ size_t n_arguments)
{
	return act_at_once(c, "Forget", arguments[0], "Withdrew the declaration of");
}

int verb_clear(Client *c, char *const *arguments, _unused_ size_t n_arguments)
{
	return act_at_once(c, "Clear", arguments[0], "Lifted the quarantine of");
}

int verb_rescan(Client *c, _unused_ char *const *arguments, _unused_ size_t n_arguments)
{
	_cleanup_(world_clear) World w = { 0 };
	int r;

	r = act_plainly(c, "Rescan", NULL);
	if (r >= 0)
		r = world_load(c, &w);
	if (r < 0)
		return r;
	if (!c->options->quiet)
		fprintf(c->err.stream, "Found %zu GPU%s, %zu group%s\n", w.n_gpus,
			w.n_gpus == 1 ? "" : "s", w.n_groups, w.n_groups == 1 ? "" : "s");
	r = c->options->json == JSON_OFF ? 0 : list_print_json(c, &w);
	return r < 0 ? r : GPUPASS_EXIT_DONE;
}
