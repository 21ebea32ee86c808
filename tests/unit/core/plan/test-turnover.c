/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a plan makes of who had the boards last. */
#include "rig/test.h"

#include "plan-checks.h"

#define OTHER "00000000-0000-0000-0000-000000000009"

static const char *const leads[] = { "0000:41:00.0", "0000:61:00.0" };

static void mark(PlanModel *m, const char *lead, TenantState state, const char *uuid)
{
	const Bdf bdf = bdf_of(lead);
	TenantFile *file;

	if (!m->tenants)
		m->tenants = calloc(1, sizeof(Tenants));
	assert_non_null(m->tenants);
	file = GROW(m->tenants->items, m->tenants->n_items);
	file->bdf = bdf;
	file->mark = calloc(1, sizeof(TenantMark));
	assert_non_null(file->mark);
	tenant_mark_identify(file->mark, gpu_set_find(m->host.set, &bdf));
	file->mark->state = state;
	file->mark->domain_uuid = uuid ? strdup(uuid) : NULL;
}

static void mark_both(PlanModel *m, TenantState state, const char *uuid)
{
	for (size_t i = 0; i < ELEMENTS(leads); i++)
		mark(m, leads[i], state, uuid);
}

static void never_used(_unused_ PlanModel *m)
{
}

static void clean_of_other(PlanModel *m)
{
	mark_both(m, TENANT_CLEAN, OTHER);
}

static void dirty_of_itself(PlanModel *m)
{
	mark_both(m, TENANT_DIRTY, VM42);
}

static void dirty_of_other(PlanModel *m)
{
	mark_both(m, TENANT_DIRTY, OTHER);
}

static void dirty_of_nobody_known(PlanModel *m)
{
	mark_both(m, TENANT_DIRTY, NULL);
}

static void one_is_dirty(PlanModel *m)
{
	mark(m, leads[0], TENANT_CLEAN, OTHER);
	mark(m, leads[1], TENANT_DIRTY, OTHER);
}

static void one_is_dirty_and_alone(PlanModel *m)
{
	one_is_dirty(m);
	model_set(&model_function(m, leads[0])->reset_methods, NULL);
	model_function(m, NIC)->bdf = bdf_of("0000:41:00.7");
}

/* Then vfio resets the slot. */
static void dirty_and_pm(PlanModel *m)
{
	mark_both(m, TENANT_DIRTY, OTHER);
	model_set(&model_function(m, leads[0])->reset_methods, "pm bus");
}

static void unreadable(PlanModel *m)
{
	m->tenants = calloc(1, sizeof(Tenants));
	assert_non_null(m->tenants);
	record_faults_add(&m->tenants->faults, &tenant_kind, "", -EIO, NULL, NULL, 0);
	m->tenants->unread = true;
}

static void bound_and_dirty(PlanModel *m)
{
	dirty_of_other(m);
	model_bind_pair0(m);
}

static void running_and_dirty(PlanModel *m)
{
	dirty_of_other(m);
	model_domain(m, "q35-eight-ports", "q35-eight-ports-live");
}

static void runs_with_it(PlanModel *m)
{
	dirty_of_other(m);
	assigned_up(m);
	model_domain(m, "q35-eight-ports", "q35-eight-ports-attached");
}

static void drifted_and_dirty(PlanModel *m)
{
	m->request.operation = OPERATION_RECONCILE;
	dirty_of_other(m);
	driver_drifted(m);
}

static void gone_from_the_definition(PlanModel *m)
{
	m->request.operation = OPERATION_RECONCILE;
	mark(m, leads[0], TENANT_DIRTY, OTHER);
	mark(m, leads[1], TENANT_DIRTY, VM42);
	assigned_cold(m);
	model_domain(m, "q35", NULL);
}

static void reconciled_while_it_runs(PlanModel *m)
{
	m->request.operation = OPERATION_RECONCILE;
	dirty_of_other(m);
	assigned_up(m);
	m->host.assignments->items[0]->domain_name[0] = 'x';
}

/* promise G7 */
TEST(what_another_tenant_had_is_reset_first)
{
	static const struct {
		const char *name;
		void (*prepare)(PlanModel *m);
		const char *steps, *warning;
		size_t resets; /* functions */
	} rows[] = {
		{ "never used", never_used, "preflight, bind vfio-pci, define, verify, record",
		  NULL, 0 },
		{ "clean", clean_of_other, "preflight, bind vfio-pci, define, verify, record", NULL,
		  0 },
		{ "its own", dirty_of_itself, "preflight, bind vfio-pci, define, verify, record",
		  NULL, 0 },
		{ "another's", dirty_of_other,
		  "preflight, bind vfio-pci, reset, define, verify, record",
		  "0000:41:00.0 was last used by " OTHER " and not reset since: it is reset first",
		  4 },
		{ "nobody's", dirty_of_nobody_known,
		  "preflight, bind vfio-pci, reset, define, verify, record",
		  "last used by a tenant that is not known", 4 },
		{ "one of two", one_is_dirty,
		  "preflight, bind vfio-pci, reset, define, verify, record",
		  "0000:61:00.0 was last used by " OTHER, 4 },
		{ "one of two, whose partner has no method", one_is_dirty_and_alone,
		  "preflight, bind vfio-pci, reset, define, verify, record",
		  "0000:61:00.0 was last used by " OTHER, 2 },
		{ "by power management only", dirty_and_pm,
		  "preflight, bind vfio-pci, reset, define, verify, record", OTHER, 4 },
		{ "unreadable", unreadable,
		  "preflight, bind vfio-pci, reset, define, verify, record", "Input/output error",
		  4 },
		{ "bound", bound_and_dirty, "preflight, reset, define, verify, record", OTHER, 4 },
		{ "running", running_and_dirty,
		  "preflight, bind vfio-pci, reset, attach, define, verify, record", OTHER, 4 },
		{ "its guest runs with it", runs_with_it, "define, verify, record", NULL, 0 },
		{ "reconcile, drivers", drifted_and_dirty,
		  "preflight, bind vfio-pci, reset, verify", OTHER, 4 },
		{ "reconcile, definition", gone_from_the_definition,
		  "preflight, reset, define, verify", "0000:41:00.0 was last used by " OTHER, 4 },
		{ "reconcile, running", reconciled_while_it_runs, "record", NULL, 0 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		size_t resets = 0;
		PlanModel m = model_new();

		rows[i].prepare(&m);
		check_planned(&m, rows[i].name);
		check_steps(&m, rows[i].name, rows[i].steps);
		if (rows[i].warning)
			check_warning(&m, rows[i].name, rows[i].warning);
		for (size_t k = 0; k < m.plan->n_functions; k++)
			resets += m.plan->functions[k].reset != PLAN_RESET_NOT;
		if (resets != rows[i].resets)
			fail_msg("%s: %zu functions are reset", rows[i].name, resets);
		model_done(&m);
	}
}

TEST(the_plan_as_json_tells_tenants_and_the_reset_after_the_bind)
{
	_cleanup_free_ char *json = NULL;
	const char *reset, *bound;
	PlanModel m = model_new();

	one_is_dirty_and_alone(&m);
	check_planned(&m, "assign");
	json = plan_to_json(m.plan);
	assert_non_null(json);
	reset = strstr(json, "/sys/bus/pci/devices/0000:61:00.0/reset\"");
	bound = strstr(json, "/drivers_probe\"");
	assert_non_null(reset);
	assert_non_null(bound);
	assert_true(bound < reset);
	assert_null(strstr(json, "0000:41:00.0/reset\""));
	assert_non_null(strstr(json, "\"tenant_state\": \"dirty\""));
	assert_non_null(strstr(json, "\"tenant_state\": \"clean\""));
	assert_non_null(strstr(json, "\"tenant\": \"" OTHER "\""));
	model_done(&m);
}

/* The other half of the slot is the host's, so that neither it nor its function can be reset. */
static void without_any_method(PlanModel *m)
{
	mark(m, leads[0], TENANT_DIRTY, OTHER);
	model_set(&model_function(m, leads[0])->reset_methods, NULL);
	model_function(m, NIC)->bdf = bdf_of("0000:41:00.7");
}

/* promise G7 */
static void by_power_management_only(PlanModel *m)
{
	without_any_method(m);
	model_set(&model_function(m, leads[0])->reset_methods, "pm");
}

TEST(what_cannot_be_reset_is_refused)
{
	const Refusal rows[] = {
		{ "no method", without_any_method, GPUPASS_ERROR_RESET_FAILED,
		  "the kernel knows no way to reset 0000:41:00.0",
		  "0000:41:00.0 was last used by " OTHER " and not reset since", "--accept-dirty" },
		{ "power management is no reset", by_power_management_only,
		  GPUPASS_ERROR_RESET_FAILED, "the kernel knows no way to reset 0000:41:00.0",
		  "pm, is power management", "--accept-dirty" },
	};

	check_refusals(rows, ELEMENTS(rows));
}

TEST(an_operators_word_takes_it_as_it_is_and_says_so)
{
	PlanModel m = model_new();

	without_any_method(&m);
	m.request.accept_dirty = true;
	check_planned(&m, "accepted");
	check_steps(&m, "accepted", "preflight, bind vfio-pci, reset, define, verify, record");
	check_warning(&m, "accepted", "vm42 gets it as it is");
	model_done(&m);
}

/* A word for what can be reset changes nothing: it is reset. */
TEST(an_operators_word_spares_no_reset)
{
	PlanModel m = model_new();

	dirty_of_other(&m);
	m.request.accept_dirty = true;
	check_planned(&m, "accepted");
	check_warning(&m, "accepted", "it is reset first");
	assert_true(m.plan->boards[0].reset);
	model_done(&m);
}

TEST(a_release_tells_what_it_cannot_reset)
{
	PlanModel m = model_new();

	m.request.operation = OPERATION_RELEASE;
	driver_drifted(&m);
	check_planned(&m, "release");
	check_warning(&m, "release",
		      "0000:61:00.0 is not reset now, since 0000:61:00.0 is on nvidia");
	assert_true(m.plan->boards[0].reset);
	assert_false(m.plan->boards[1].reset);
	model_done(&m);
}
