/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verbs that change something. assign and release take several groups. Each group is one job, a
 * transaction of its own. For several groups every plan is made before the first job, and what this
 * command assigned is released when a later job fails.
 */

#include "base/text.h"
#include "bus/bus.h"
#include "job/job.h"
#include "model/json.h"
#include "model/model.h"
#include "show/describe.h"
#include "util/xalloc.h"
#include "verbs/verbs.h"

/* Of several groups, each is a job of its own. */
static int check_one_job(Client *c, size_t n_groups)
{
	if (n_groups < 2 || !(c->options->given & OPTION_NO_BLOCK))
		return 0;
	return client_usage(c, "--no-block is about one job\nRemedy: name one group");
}

/* ---- assign ---- */

/* They are told of, and the failure that caused it stays what the command ends with. */
static void give_back(Client *c, char *const *groups, const bool *ours, size_t n)
{
	Failure *failure = TAKE_PTR(c->failure);
	json_t *job = TAKE_PTR(c->failed_job);

	for (size_t i = n; i > 0; i--) {
		int r;

		if (!ours[i - 1])
			continue;
		r = job_request(c, "Release", groups[i - 1], NULL, NULL, NULL);
		if (r == GPUPASS_EXIT_DONE)
			fprintf(c->err.stream,
				"gpupass: released %s again, which this command had assigned\n",
				groups[i - 1]);
		else
			fprintf(c->err.stream,
				"gpupass: %s stays assigned: it could not be released again\n"
				"  Remedy: gpupass release %s\n",
				groups[i - 1], groups[i - 1]);
		client_forgive(c);
	}
	c->failure = failure;
	c->failed_job = job;
}

static void tell_not_begun(Client *c, char *const *groups, const bool *wanted, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (wanted[i])
			fprintf(c->err.stream, "gpupass: %s was not begun\n", groups[i]);
}

static int assign_each(Client *c, const char *domain, char *const *groups, bool *wanted, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int r;

		if (!wanted[i])
			continue;
		r = job_request(c, "Assign", domain, groups[i], NULL, NULL);
		if (r == GPUPASS_EXIT_DONE)
			continue;
		/* Interrupted: the job goes on, and what was assigned is wanted still. */
		if (r == JOB_EXIT_INTERRUPTED)
			tell_not_begun(c, groups + i + 1, wanted + i + 1, n - i - 1);
		else
			give_back(c, groups, wanted, i);
		return r;
	}
	return GPUPASS_EXIT_DONE;
}

static int check_once(Client *c, char *const *groups, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (SOME_OF(groups, i, strcmp(groups[i], it) == 0))
			return client_usage(c, "%s is named twice", groups[i]);
	return 0;
}

static int assign_several(Client *c, const char *domain, char *const *groups, size_t n)
{
	_cleanup_free_ bool *wanted = xcalloc(n, sizeof(bool));
	int r = check_once(c, groups, n);

	if (c->options->given & OPTION_WAIT)
		return client_usage(c, "--wait is about one group\n"
				       "Remedy: assign one group after the other");
	if (r >= 0)
		r = check_one_job(c, n);
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = plan_changes(c, OPERATION_ASSIGN, domain, groups[i], &wanted[i]);
	return r < 0 ? r : assign_each(c, domain, groups, wanted, n);
}

/* What a person answers; NULL for none of them. */
static char *ask(Client *c, char *const *names)
{
	_cleanup_free_ char *line = NULL;
	char *word, *save = NULL;
	size_t size = 0;

	fprintf(c->err.stream, "Which group: ");
	fflush(c->err.stream);
	if (getline(&line, &size, stdin) < 0)
		return NULL;
	word = strtok_r(line, " \t\n", &save);
	if (!word || strtok_r(NULL, " \t\n", &save) || !strv_contains(names, word))
		return NULL;
	return xstrdup(word);
}

/*
 * Which of several free groups: gpupassd would take one, and who types has perhaps another in mind.
 * *ret NULL: gpupassd chooses, because there is one, because the domain has one, or because
 * somebody said that any will do.
 */
static int choose(Client *c, const char *domain, char **ret)
{
	_cleanup_(world_clear) World w = { 0 };
	_cleanup_strv_ char **names = NULL;
	_cleanup_free_ char *list = NULL;
	bool linked;
	int r;

	if (c->options->given & (OPTION_ANY | OPTION_MODEL))
		return 0;
	r = world_load(c, &w);
	if (r < 0)
		return r;
	linked = SOME(w.groups, w.n_groups, strv_length(it->gpus) > 1);
	EACH (const Group, group, w.groups, w.n_groups) {
		if (group_is_of_domain(group, domain))
			return 0;
		/* A GPU alone is not chosen where others are linked (core/plan/choose). */
		if (group->assignable && (!linked || strv_length(group->gpus) > 1))
			strv_append(&names, group->name);
	}
	if (!names || strv_length(names) < 2)
		return 0;
	list = strv_join(names, ", ");
	if (c->err.tty && isatty(STDIN_FILENO) == 1 && !c->options->quiet) {
		fprintf(c->err.stream, "%zu groups are free: %s\n", strv_length(names), list);
		*ret = ask(c, names);
		if (*ret)
			return 0;
	}
	return client_usage(c,
			    "several groups are free: %s\n"
			    "Remedy: name one: gpupass assign %s %s; or take any: --any",
			    list, domain, names[0]);
}

int verb_assign(Client *c, char *const *arguments, size_t n_arguments)
{
	_cleanup_free_ char *chosen = NULL;
	const char *group = n_arguments > 1 ? arguments[1] : NULL;
	int r;

	if (n_arguments > 2 && (c->options->given & OPTION_DRY_RUN))
		return plans_show(c, OPERATION_ASSIGN, arguments[0], arguments + 1);
	if (n_arguments > 2)
		return assign_several(c, arguments[0], arguments + 1, n_arguments - 1);
	if (!group) {
		r = choose(c, arguments[0], &chosen);
		if (r < 0)
			return r;
		group = chosen;
	}
	if (c->options->given & OPTION_DRY_RUN)
		return plan_show(c, OPERATION_ASSIGN, arguments[0], group);
	return job_request(c, "Assign", arguments[0], group ? group : "", NULL, NULL);
}

/* ---- release ---- */

static int release_each(Client *c, char *const *targets, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int r = job_request(c, "Release", targets[i], NULL, NULL, NULL);

		if (r == GPUPASS_EXIT_DONE)
			continue;
		for (size_t k = i + 1; k < n; k++)
			fprintf(c->err.stream, "gpupass: the release of %s was not begun\n",
				targets[k]);
		return r;
	}
	return GPUPASS_EXIT_DONE;
}

int verb_release(Client *c, char *const *arguments, size_t n_arguments)
{
	_cleanup_strv_ char **groups = NULL;
	char *const *targets = arguments;
	size_t n = n_arguments;
	int r = check_once(c, arguments, n_arguments);

	if (r >= 0 && n == 1) {
		r = meant_groups(c, arguments[0], &groups);
		targets = groups;
		n = strv_length(groups);
	}
	if (r >= 0)
		r = check_one_job(c, n);
	if (r < 0)
		return r;
	if (c->options->given & OPTION_DRY_RUN)
		return plans_show(c, OPERATION_RELEASE, NULL, targets);
	return release_each(c, targets, n);
}

/* ---- verbs of one group or job ---- */

static int bind_or_unbind(Client *c, Operation operation, const char *method, const char *group)
{
	if (c->options->given & OPTION_DRY_RUN)
		return plan_show(c, operation, "", group);
	return job_request(c, method, group, NULL, NULL, NULL);
}

int verb_bind(Client *c, char *const *arguments, _unused_ size_t n_arguments)
{
	return bind_or_unbind(c, OPERATION_BIND, "Bind", arguments[0]);
}

int verb_unbind(Client *c, char *const *arguments, _unused_ size_t n_arguments)
{
	return bind_or_unbind(c, OPERATION_UNBIND, "Unbind", arguments[0]);
}

int verb_prepare(Client *c, char *const *arguments, _unused_ size_t n_arguments)
{
	return bind_or_unbind(c, OPERATION_PREPARE, "Prepare", arguments[0]);
}

#define NEAREST "nearest:"

/* Asks which it is, says why, and appends it. */
static int append_nearest(Client *c, const char *kind, char ***members)
{
	_cleanup_message_ sd_bus_message *call = NULL, *reply = NULL;
	const char *member, *reason;
	int r = bus_new_manager_call(c, "Nearest", &call, "s", kind);

	if (r >= 0)
		r = sd_bus_message_append_strv(call, *members);
	if (r >= 0)
		r = bus_append_options(c, call, NULL, 0);
	if (r >= 0)
		r = bus_call(c, call, BUS_TIMEOUT_READ_USEC, "ss", &reply);
	if (r < 0)
		return r;
	r = sd_bus_message_read(reply, "ss", &member, &reason);
	if (r < 0)
		return bus_bad_reply(c, strerror(-r));
	if (!c->options->quiet && c->options->json == JSON_OFF)
		terminal_prose(&c->err, 0, 2, reason);
	strv_append(members, member);
	return 0;
}

/*
 * Puts addresses into the kernel's form; passes UUIDs, serial: and slot: on for the daemon to
 * check. What is named is not chosen as the nearest, wherever it stands.
 */
static int list_members(Client *c, char *const *gpus, size_t n, char ***ret)
{
	const Options *o = c->options;
	int r = 0;

	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *address = address_normalise(gpus[i]);

		strv_append(ret, address ? address : gpus[i]);
	}
	for (size_t i = 0; i < o->n_with; i++)
		if (!str_starts_with(o->with[i], NEAREST))
			strv_append(ret, o->with[i]);
	for (size_t i = 0; r >= 0 && i < o->n_with; i++)
		if (str_starts_with(o->with[i], NEAREST))
			r = append_nearest(c, o->with[i] + strlen(NEAREST), ret);
	return r;
}

static int print_declared(Client *c, const char *path)
{
	_cleanup_(group_clear) Group group = { 0 };
	_cleanup_free_ char *gpus = NULL, *with = NULL;
	_cleanup_strv_ char **companions = NULL;
	int r = object_load(c, OBJECT_GROUP, path, &group);

	if (r < 0)
		return r;
	if (c->options->json != JSON_OFF)
		return json_print(c, json_build("{s:s, s:o, s:[]}", "schema", GPUPASS_SCHEMA_SHOW,
						"group", json_of_object(OBJECT_GROUP, &group),
						"gpus"));
	gpus = strv_join(group.gpu_addresses, ", ");
	companions = group_companions(&group);
	with = strv_join(companions, ", ");
	if (!c->options->quiet)
		fprintf(c->err.stream, "Declared %s: %s%s%s; it is %s%s%s\n", group.name, gpus,
			*with ? " with " : "", with, group.state,
			group.assignable || !*group.reason ? "" : ": ",
			group.assignable ? "" : group.reason);
	return 0;
}

static uint64_t read_vlan(const char *text)
{
	unsigned long long vlan;

	return str_to_unsigned(text, 10, UINT32_MAX, &vlan) < 0 ? 0 : vlan;
}

int verb_declare(Client *c, char *const *arguments, size_t n_arguments)
{
	const uint64_t given = c->options->given;
	/* What is no number is no VLAN, as 0 is none: the daemon says so. */
	const uint64_t vlan = given & OPTION_VLAN ? read_vlan(c->options->vlan) : 0;
	const BusOption flags[] = {
		BUS_NUMBER(GPUPASS_OPTION_VLAN, given & OPTION_VLAN, vlan),
		BUS_FLAG(GPUPASS_OPTION_NO_BRIDGE_SEEN, given & OPTION_NO_BRIDGE_SEEN),
		BUS_FLAG(GPUPASS_OPTION_WHOLE_NIC, given & OPTION_WHOLE_NIC),
		BUS_FLAG(GPUPASS_OPTION_ERASE, given & OPTION_ERASE),
	};
	_cleanup_message_ sd_bus_message *call = NULL, *reply = NULL;
	_cleanup_strv_ char **members = NULL;
	const char *path;
	int r = list_members(c, arguments + 1, n_arguments - 1, &members);

	if (r >= 0)
		r = bus_new_manager_call(c, "Declare", &call, "s", arguments[0]);
	if (r >= 0)
		r = sd_bus_message_append_strv(call, members);
	if (r >= 0)
		r = bus_append_options(c, call, flags, ELEMENTS(flags));
	if (r >= 0)
		r = bus_call(c, call, BUS_TIMEOUT_ACT_USEC, "o", &reply);
	if (r < 0)
		return r;
	r = sd_bus_message_read(reply, "o", &path);
	return r < 0 ? bus_bad_reply(c, strerror(-r)) : print_declared(c, path);
}

/* Calls a method that is done at once; `argument` may be NULL. */
static int act_plainly(Client *c, const char *method, const char *argument)
{
	_cleanup_message_ sd_bus_message *call = NULL, *reply = NULL;
	int r;

	if (argument)
		r = bus_new_manager_call(c, method, &call, "sa{sv}", argument, 0);
	else
		r = bus_new_manager_call(c, method, &call, "a{sv}", 0);
	return r < 0 ? r : bus_call(c, call, BUS_TIMEOUT_ACT_USEC, "", &reply);
}

/* `done`: what to say about the group afterwards. */
static int act_at_once(Client *c, const char *method, const char *group, const char *done)
{
	_cleanup_(world_clear) World w = { 0 };
	int r = act_plainly(c, method, group);

	if (r < 0)
		return r;
	if (!c->options->quiet)
		fprintf(c->err.stream, "%s %s\n", done, group);
	/* The list as it is now. */
	if (c->options->json != JSON_OFF)
		r = world_load(c, &w);
	return r < 0 || c->options->json == JSON_OFF ? r : list_print_json(c, &w);
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
	int r = act_plainly(c, "Rescan", NULL);

	if (r >= 0)
		r = world_load(c, &w);
	if (r < 0)
		return r;
	if (!c->options->quiet)
		fprintf(c->err.stream, "Found %zu GPU%s, %zu group%s\n", w.n_gpus,
			w.n_gpus == 1 ? "" : "s", w.n_groups, w.n_groups == 1 ? "" : "s");
	return c->options->json == JSON_OFF ? 0 : list_print_json(c, &w);
}

int verb_cancel(Client *c, char *const *arguments, _unused_ size_t n_arguments)
{
	uint32_t id = 0;
	int r = job_id_parse(c, arguments[0], &id);

	return r < 0 ? r : job_cancel(c, id);
}

/* ---- hookscript ---- */

/*
 * Proxmox VE runs it before and after a virtual machine, and starts none whose pre-start fails.
 * Which groups the machine has, and whether it may have them, is gpupassd's to say: it is asked
 * about each group, after it has looked at the machine's definition anew.
 */

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
