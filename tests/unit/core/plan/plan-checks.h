/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What tests of plans ask of one, and how pair0 of the model stands. */
#pragma once

#include "rig/plan-model.h"

static inline _unused_ void check_planned(PlanModel *m, const char *name)
{
	int r = model_plan(m);

	if (r != 0)
		fail_msg("%s: refused: %s (%s)", name, m->problem ? m->problem->reason : "errno",
			 m->problem ? str_or_empty(m->problem->cause) : "");
}

/* "preflight, define": the plan's steps. */
static inline _unused_ void check_steps(const PlanModel *m, const char *name, const char *steps)
{
	_cleanup_strv_ char **names = NULL;
	_cleanup_free_ char *joined = NULL;

	for (size_t i = 0; i < m->plan->n_steps; i++)
		strv_append(&names, step_kind_to_string(m->plan->steps[i]));
	joined = strv_join(names, ", ");
	if (strcmp(joined, steps) != 0)
		fail_msg("%s: the steps are: %s", name, joined);
	if (m->plan->changed != (*steps != '\0'))
		fail_msg("%s: changed is %d", name, m->plan->changed);
}

static inline _unused_ void check_warning(const PlanModel *m, const char *name, const char *part)
{
	_cleanup_free_ char *all = strv_join(m->plan->warnings, "\n");

	if (part ? !strstr(all, part) : *all != '\0')
		fail_msg("%s: the warnings are: %s", name, all);
}

/* ---- refusals ---- */

typedef struct Refusal {
	const char *name;
	void (*spoil)(PlanModel *m); /* what is wrong with the host or the request */
	GpupassError error;
	const char *reason, *cause, *remedy; /* parts of them; NULL: not looked at */
} Refusal;

static inline _unused_ void check_refusals(const Refusal *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const Refusal *row = &rows[i];
		int r;
		_cleanup_(model_done) PlanModel m = model_new();

		row->spoil(&m);
		r = model_plan(&m);
		if (r != PROBLEM)
			fail_msg("%s: gives %d, not a refusal", row->name, r);
		if (m.problem->error != row->error)
			fail_msg("%s: %s", row->name, problem_dbus_name(m.problem->error));
		if (!strstr(m.problem->reason, row->reason))
			fail_msg("%s: the reason is: %s", row->name, m.problem->reason);
		if (row->cause && !strstr(str_or_empty(m.problem->cause), row->cause))
			fail_msg("%s: the cause is: %s", row->name, m.problem->cause);
		if (!m.problem->remedy || !strstr(m.problem->remedy, row->remedy))
			fail_msg("%s: the remedy is: %s", row->name, m.problem->remedy);
		assert_null(m.plan);
	}
}

/* ---- how it stands ---- */

static inline _unused_ void cold(PlanModel *m)
{
	model_domain(m, "q35", NULL);
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

/* The text with more devices. */
static inline _unused_ void add_devices(char **text, const char *devices)
{
	char *end = strstr(*text, "</devices>");
	char *more;

	assert_non_null(end);
	*end = '\0';
	more = strf("%s%s</devices></domain>", *text, devices);
	free(*text);
	*text = more;
}

static inline _unused_ void put_by_hand(PlanModel *m, size_t n)
{
	model_domain(m, "q35", NULL);
	for (size_t i = 0; i < n; i++) {
		Bdf bdf = bdf_of(pair0_functions[i]);
		_cleanup_free_ char *hostdev =
			strf("<hostdev mode='subsystem' type='pci' managed='yes'><source><address "
			     "domain='0' bus='%u' slot='0' function='%u'/></source></hostdev>",
			     bdf.bus, bdf.function);

		add_devices(&m->config_xml, hostdev);
	}
}

static inline _unused_ void all_of_it_by_hand(PlanModel *m)
{
	put_by_hand(m, 4);
}
