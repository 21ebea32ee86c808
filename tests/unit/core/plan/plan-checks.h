/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tests of plans ask of one, and how pair0 of the model stands. */
#pragma once

#include <stdio.h>

#include "rig/plan-model.h"
#include "rig/text-diff.h"
#include "util/json.h"

/* ---- rows, which end with what is done to the model, which is called m ---- */

#define ON_MODEL(then, ...)                                                                        \
	do {                                                                                       \
		PlanModel model = model_new(), *m = &model;                                        \
                                                                                                   \
		__VA_ARGS__;                                                                       \
		then;                                                                              \
		model_done(m);                                                                     \
	} while (0)

/* Steps as "preflight, define", and a part of the warnings; NULL: there are none. */
#define PLANNED(name, steps, warning, ...)                                                         \
	ON_MODEL(expect_plan(m, name, steps, warning), __VA_ARGS__)

/* Parts of what is said; NULL: not looked at. */
#define REFUSED(name, error, reason, cause, remedy, ...)                                           \
	ON_MODEL(expect_refusal(m, name, error, reason, cause, remedy), __VA_ARGS__)

static inline _unused_ void check_planned(PlanModel *m, const char *name)
{
	int r = model_plan(m);

	if (r != 0)
		fail_msg("%s: refused: %s (%s)", name, m->problem ? m->problem->reason : "errno",
			 m->problem ? str_or_empty(m->problem->cause) : "");
}

static inline _unused_ void check_warning(const PlanModel *m, const char *name, const char *part)
{
	_cleanup_free_ char *all = strv_join(m->plan->warnings, "\n");

	if (part ? !strstr(all, part) : *all != '\0')
		fail_msg("%s: the warnings are: %s", name, all);
}

/* What a plan has beside its steps follows from them. */
static inline _unused_ void expect_plan(PlanModel *m, const char *name, const char *steps,
					const char *warning)
{
	bool attach = strstr(steps, "attach"), define = strstr(steps, "define");
	_cleanup_strv_ char **names = NULL;
	_cleanup_free_ char *joined = NULL;
	const Plan *plan;

	check_planned(m, name);
	plan = m->plan;
	for (size_t i = 0; i < plan->n_steps; i++)
		strv_append(&names, step_kind_to_string(plan->steps[i]));
	joined = strv_join(names, ", ");
	if (strcmp(joined, steps) != 0)
		fail_msg("%s: the steps are: %s", name, joined);
	check_warning(m, name, warning);
	if (plan->changed != (*steps != '\0') || plan->config != define ||
	    plan->live != (attach || strstr(steps, "detach")) ||
	    (plan->hostdevs != NULL) != attach || (plan->xml_after != NULL) != define ||
	    (plan->assignment != NULL) != (strstr(steps, "record") || strstr(steps, "forget")))
		fail_msg("%s: changed %d, live %d, config %d; or hostdevs, XML or record", name,
			 plan->changed, plan->live, plan->config);
}

static inline _unused_ void expect_refusal(PlanModel *m, const char *name, GpupassError error,
					   const char *reason, const char *cause,
					   const char *remedy)
{
	int r = model_plan(m);
	const Problem *problem = m->problem;

	if (r != PROBLEM)
		fail_msg("%s: gives %d, not a refusal", name, r);
	if (problem->error != error || !strstr(problem->reason, reason) ||
	    (cause && !strstr(str_or_empty(problem->cause), cause)) ||
	    !strstr(str_or_empty(problem->remedy), remedy))
		fail_msg("%s: %s: %s; %s; %s", name, problem_dbus_name(problem->error),
			 problem->reason, str_or_empty(problem->cause),
			 str_or_empty(problem->remedy));
	assert_null(m->plan);
}

/* "steps[0]: {…}": a line a member, and a line an item of a list. */
static inline _unused_ char *plan_lines(const Plan *plan)
{
	_cleanup_free_ char *text = plan_to_json(plan);
	_cleanup_json_ json_t *json = json_loads(text, 0, NULL);
	_cleanup_strv_ char **lines = NULL;
	const char *key;
	json_t *value;

	json_object_foreach (json, key, value) {
		size_t n = json_array_size(value);
		_cleanup_free_ char *whole = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);

		if (n == 0)
			strv_appendf(&lines, "%s: %s\n", key, whole);
		for (size_t i = 0; i < n; i++) {
			_cleanup_free_ char *item = json_dumps(json_array_get(value, i),
							       JSON_COMPACT | JSON_ENCODE_ANY);

			strv_appendf(&lines, "%s[%zu]: %s\n", key, i, item);
		}
	}
	return strv_join(lines, "");
}

/* A plan as it is shown: fixtures/plans/NAME. */
static inline _unused_ void expect_shown(PlanModel *m, const char *name)
{
	_cleanup_free_ char *path = strf(FIXTURES "/plans/%s", name), *expected = NULL;
	_cleanup_free_ char *shown = NULL, *diff = NULL;

	check_planned(m, name);
	shown = plan_lines(m->plan);
	if (file_read_at(AT_FDCWD, path, 1U << 20, &expected, NULL) < 0)
		fail_msg("%s cannot be read", path);
	diff = text_diff(expected, shown);
	if (*diff)
		fprintf(stderr, "%s:\n%s", name, diff);
	assert_true(*diff == '\0');
}

static inline _unused_ void asks(PlanModel *m, Operation operation)
{
	m->request.operation = operation;
	m->without_domain = operation == OPERATION_BIND || operation == OPERATION_UNBIND;
}

/* ---- how it stands ---- */

/* A declaration of pair1 alone leaves pair0 to be inferred. */
static inline _unused_ void infer_pair0(PlanModel *m)
{
	host_declare(&m->host, "[Group]\nName=pair1\nGpu=a1:00.0\nGpu=c1:00.0\n");
}

static inline _unused_ void assigned_cold(PlanModel *m)
{
	model_record(m, "nvidia", NULL);
	model_bind_pair0(m);
	model_domain(m, "q35-assigned", NULL);
}

static inline _unused_ void assigned_up(PlanModel *m)
{
	model_record(m, "nvidia", NULL);
	model_bind_pair0(m);
	model_domain(m, "q35-eight-ports-assigned", "q35-eight-ports-attached");
	model_holder(m, "0000:41:00.0", "/dev/vfio/33", true);
}

static inline _unused_ void record_lost(PlanModel *m)
{
	model_bind_pair0(m);
	model_domain(m, "q35-assigned", NULL);
}

static inline _unused_ void driver_drifted(PlanModel *m)
{
	assigned_cold(m);
	model_drive(m, "0000:61:00.0", "nvidia", NULL);
}

static const char *const one_function[] = { "0000:61:00.1", NULL };

static inline _unused_ void other_has_one_function_by_hand(PlanModel *m)
{
	model_other_domain(m, "vm9", false, one_function, NULL);
}

static inline _unused_ void other_runs_with_one_function_by_hand(PlanModel *m)
{
	model_other_domain(m, "vm9", true, one_function, NULL)->hostdevs[0].config = false;
}

static inline _unused_ void put_by_hand(PlanModel *m, size_t n)
{
	model_domain(m, "q35", NULL);
	for (size_t i = 0; i < n; i++) {
		Bdf bdf = bdf_of(pair0_functions[i]);
		_cleanup_free_ char *hostdev = strf(
			"<hostdev mode='subsystem' type='pci' managed='yes'><source><address "
			"domain='0' bus='%u' slot='0' function='%u'/></source></hostdev></devices>",
			bdf.bus, bdf.function);

		model_edit(&m->config_xml, NULL, "</devices>", hostdev);
	}
}
