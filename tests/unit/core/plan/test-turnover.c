/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a plan makes of who had the boards last. */
#include "rig/test.h"

#include "plan-checks.h"

#define OTHER "00000000-0000-0000-0000-000000000009"

static const char *const leads[] = { "0000:41:00.0", "0000:61:00.0" };

static void mark(PlanModel *m, const char *lead, TenantState state, const char *uuid)
{
	const Bdf bdf = bdf_of(lead);

	model_mark(m, gpu_set_find(m->host.set, &bdf), state, uuid);
}

static void mark_both(PlanModel *m, TenantState state, const char *uuid)
{
	for (size_t i = 0; i < ELEMENTS(leads); i++)
		mark(m, leads[i], state, uuid);
}

static void dirty_of_other(PlanModel *m)
{
	mark_both(m, TENANT_DIRTY, OTHER);
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

/* So many functions are reset. */
static void expect_resets(PlanModel *m, const char *name, const char *steps, const char *warning,
			  size_t resets)
{
	expect_plan(m, name, steps, warning);
	for (size_t k = 0; k < m->plan->n_functions; k++)
		resets -= m->plan->functions[k].reset != PLAN_RESET_NOT;
	if (resets != 0)
		fail_msg("%s: %zu functions too few are reset", name, resets);
}

#define RESETS(name, steps, warning, resets, ...)                                                  \
	ON_MODEL(expect_resets(m, name, steps, warning, resets), __VA_ARGS__)
#define AS_IT_IS "preflight, bind vfio-pci, define, verify, record"
#define RESET_FIRST "preflight, bind vfio-pci, reset, define, verify, record"

/* promise G7 */
TEST(what_another_tenant_had_is_reset_first)
{
	RESETS("never used", AS_IT_IS, "", 0, (void)0);
	RESETS("clean", AS_IT_IS, "", 0, mark_both(m, TENANT_CLEAN, OTHER));
	RESETS("its own", AS_IT_IS, "", 0, mark_both(m, TENANT_DIRTY, VM42));
	RESETS("another's", RESET_FIRST,
	       "0000:41:00.0 was last used by " OTHER " and not reset since: it is reset first", 4,
	       dirty_of_other(m));
	RESETS("nobody's", RESET_FIRST, "last used by a tenant that is not known", 4,
	       mark_both(m, TENANT_DIRTY, NULL));
	RESETS("one of two", RESET_FIRST, "0000:61:00.0 was last used by " OTHER, 4,
	       one_is_dirty(m));
	RESETS("one of two, whose partner has no method", RESET_FIRST,
	       "0000:61:00.0 was last used by " OTHER, 2, one_is_dirty_and_alone(m));
	/* Then vfio resets the slot. */
	RESETS("by power management only", RESET_FIRST, OTHER, 4, mark_both(m, TENANT_DIRTY, OTHER),
	       model_set(&model_function(m, leads[0])->reset_methods, "pm bus"));
	RESETS("unreadable", RESET_FIRST, "Input/output error", 4, {
		m->tenants = xcalloc(1, sizeof(Tenants));
		record_faults_add(&m->tenants->faults, &tenant_kind, "", -EIO, NULL, NULL, 0);
		m->tenants->unread = true;
	});
	RESETS("bound", "preflight, reset, define, verify, record", OTHER, 4, dirty_of_other(m),
	       model_bind_pair0(m));
	RESETS("running", "preflight, bind vfio-pci, reset, attach, define, verify, record", OTHER,
	       4, dirty_of_other(m), model_domain(m, "q35-eight-ports", "q35-eight-ports-live"));
	RESETS("its guest runs with it", "define, verify, record", "", 0, dirty_of_other(m),
	       assigned_up(m), model_domain(m, "q35-eight-ports", "q35-eight-ports-attached"));
	RESETS("reconcile, drivers", "preflight, bind vfio-pci, reset, verify", OTHER, 4,
	       asks(m, OPERATION_RECONCILE), dirty_of_other(m), driver_drifted(m));
	RESETS("reconcile, definition", "preflight, reset, define, verify",
	       "0000:41:00.0 was last used by " OTHER, 4, {
		       asks(m, OPERATION_RECONCILE);
		       mark(m, leads[0], TENANT_DIRTY, OTHER);
		       mark(m, leads[1], TENANT_DIRTY, VM42);
		       assigned_cold(m);
		       model_domain(m, "q35", NULL);
	       });
	RESETS("reconcile, running", "record", "", 0, {
		asks(m, OPERATION_RECONCILE);
		dirty_of_other(m);
		assigned_up(m);
		m->host.assignments->items[0]->domain_name[0] = 'x';
	});
}

TEST(a_plan_shows_tenants_and_the_reset_after_the_bind)
{
	ON_MODEL(expect_shown(m, "turnover"), one_is_dirty_and_alone(m));
}

/* The other half of the slot is the host's, so that neither it nor its function can be reset. */
static void without_any_method(PlanModel *m)
{
	mark(m, leads[0], TENANT_DIRTY, OTHER);
	model_set(&model_function(m, leads[0])->reset_methods, NULL);
	model_function(m, NIC)->bdf = bdf_of("0000:41:00.7");
}

TEST(what_cannot_be_reset_is_refused)
{
	REFUSED("no method", GPUPASS_ERROR_RESET_FAILED,
		"the kernel knows no way to reset 0000:41:00.0",
		"0000:41:00.0 was last used by " OTHER " and not reset since", "--accept-dirty",
		without_any_method(m));
	/* promise G7 */
	REFUSED("power management is no reset", GPUPASS_ERROR_RESET_FAILED,
		"the kernel knows no way to reset 0000:41:00.0", "pm, is power management",
		"--accept-dirty", without_any_method(m),
		model_set(&model_function(m, leads[0])->reset_methods, "pm"));
}

TEST(an_operators_word_takes_it_as_it_is_and_says_so)
{
	PLANNED("accepted", RESET_FIRST, "vm42 gets it as it is", without_any_method(m),
		m->request.accept_dirty = true);
}

/* A word for what can be reset changes nothing: it is reset. */
TEST(an_operators_word_spares_no_reset)
{
	ON_MODEL((expect_plan(m, "accepted", RESET_FIRST, "it is reset first"),
		  assert_true(m->plan->boards[0].reset)),
		 dirty_of_other(m), m->request.accept_dirty = true);
}

TEST(a_release_tells_what_it_cannot_reset)
{
	ON_MODEL((check_planned(m, "release"),
		  check_warning(m, "release",
				"0000:61:00.0 is not reset now, since 0000:61:00.0 is on nvidia"),
		  assert_true(m->plan->boards[0].reset), assert_false(m->plan->boards[1].reset)),
		 asks(m, OPERATION_RELEASE), driver_drifted(m));
}
