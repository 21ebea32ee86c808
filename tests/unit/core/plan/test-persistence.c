/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What plans make of persistence modes: steps, records, warnings, and what is shown. */
#include "rig/test.h"

#include "plan-checks.h"

#define A "0000:41:00.0"
#define B "0000:61:00.0"
#define LOST "GPU is lost (NVML error 15)"

static void both_on(PlanModel *m)
{
	model_persistence(m, A, PERSISTENCE_ON, NULL);
	model_persistence(m, B, PERSISTENCE_ON, NULL);
}

static void one_on(PlanModel *m)
{
	model_persistence(m, A, PERSISTENCE_OFF, NULL);
	model_persistence(m, B, PERSISTENCE_ON, NULL);
}

static void both_off(PlanModel *m)
{
	model_persistence(m, A, PERSISTENCE_OFF, NULL);
	model_persistence(m, B, PERSISTENCE_OFF, NULL);
}

/* The warnings are these and no others; `detail` is of the step that turns modes off. */
static void expect_modes(PlanModel *m, const char *name, const char *steps, const char *detail,
			 const char *warnings)
{
	_cleanup_free_ char *all = NULL, *found = NULL;

	expect_plan(m, name, steps, *warnings ? warnings : NULL);
	all = strv_join(m->plan->warnings, "\n");
	assert_string_equal(all, warnings);
	found = plan_step_detail(m->plan, STEP_PERSISTENCE_OFF);
	if (detail)
		assert_string_equal(found, detail);
}

#define PLANS(name, steps, detail, warnings, ...)                                                  \
	ON_MODEL(expect_modes(m, name, steps, detail, warnings), __VA_ARGS__)
#define MIG_WARNING(address)                                                                       \
	"MIG mode is on, or will be after a reset, and NVLink is off in MIG mode: " address        \
	"; gpupass leaves it so: nvidia-smi -i ADDRESS -mig 0 turns it off"
#define ASSIGN_WITH "preflight, persistence off, bind vfio-pci, define, verify, record"
#define ASSIGN_WITHOUT "preflight, bind vfio-pci, define, verify, record"

TEST(a_gpu_that_leaves_nvidia_with_the_mode_loses_it_first)
{
	/* fault P1 */
	PLANS("both on", ASSIGN_WITH, "2 GPUs", "", both_on(m));
	PLANS("one on", ASSIGN_WITH, "1 GPU", "", one_on(m));
	PLANS("both off", ASSIGN_WITHOUT, NULL, "", both_off(m));
	PLANS("nobody asked", ASSIGN_WITHOUT, NULL, "", (void)0);
	PLANS("may not ask", ASSIGN_WITHOUT, NULL,
	      "the persistence mode of " A ", " B
	      " was not read, because that opens a GPU: steps about it may be missing here; "
	      "root's plan has them",
	      m->request.wakes_nothing = true);
	PLANS("nothing to ask", "preflight, define, verify, record", NULL, "",
	      m->request.wakes_nothing = true, model_bind_pair0(m));
	/* fault P2 */
	PLANS("one lost", ASSIGN_WITH, "1 GPU",
	      "the persistence mode of " A " is not known: " LOST
	      "; it will be off when they are back on nvidia",
	      model_persistence(m, A, PERSISTENCE_UNKNOWN, LOST),
	      model_persistence(m, B, PERSISTENCE_ON, NULL));
	/* fault P2 */
	PLANS("no NVML", ASSIGN_WITHOUT, NULL,
	      "the persistence mode of " A ", " B " is not known"
	      ": NVML cannot be loaded; it will be off when they are back on nvidia",
	      model_persistence(m, A, PERSISTENCE_UNKNOWN, "NVML cannot be loaded"),
	      model_persistence(m, B, PERSISTENCE_UNKNOWN, "NVML cannot be loaded"));
	PLANS("MIG", ASSIGN_WITHOUT, NULL, MIG_WARNING(B), both_off(m),
	      m->persistence[1].mig = MIG_ON,
	      m->persistence[0].mig = m->persistence[0].mig_pending = MIG_OFF);
	PLANS("MIG after a reset", ASSIGN_WITHOUT, NULL, MIG_WARNING(A), both_off(m),
	      m->persistence[0].mig = MIG_OFF, m->persistence[0].mig_pending = MIG_ON);
	/* It has left nvidia since NVML was asked: there is no mode to be turned off any more. */
	PLANS("left meanwhile", "preflight, define, verify, record", NULL, "", both_on(m),
	      model_bind_pair0(m));
	PLANS("bind", "preflight, persistence off, bind vfio-pci, verify", "2 GPUs",
	      "persistence mode is on, and gpupass unbind will not turn it on again: " A ", " B,
	      asks(m, OPERATION_BIND), both_on(m));
}

TEST(the_record_says_which_had_the_mode)
{
	_cleanup_(model_done) PlanModel m = model_new();

	one_on(&m);
	check_planned(&m, "assign");
	for (size_t i = 0; i < m.plan->assignment->n_functions; i++) {
		const AssignedFunction *f = &m.plan->assignment->functions[i];
		Bdf a = bdf_of(A), b = bdf_of(B);

		assert_int_equal(f->original_persistence, bdf_equal(&f->bdf, &a) ? PERSISTENCE_OFF
							  : bdf_equal(&f->bdf, &b)
								  ? PERSISTENCE_ON
								  : PERSISTENCE_UNKNOWN);
	}
}

/* What was before the first assignment is what a release leads back to. */
TEST(a_record_there_is_keeps_its_modes)
{
	Assignment *record;
	_cleanup_(model_done) PlanModel m = model_new();

	both_off(&m);
	record = model_record(&m, "nvidia", NULL);
	record->functions[0].original_persistence = PERSISTENCE_ON;
	check_planned(&m, "assign again");
	assert_int_equal(m.plan->assignment->functions[0].original_persistence, PERSISTENCE_ON);
}

static void release(PlanModel *m, const char *driver)
{
	Assignment *record;

	asks(m, OPERATION_RELEASE);
	model_domain(m, "q35-assigned", NULL);
	model_bind_pair0(m);
	record = model_record(m, driver, NULL);
	record->functions[0].original_persistence = PERSISTENCE_ON;
	record->functions[2].original_persistence = PERSISTENCE_OFF;
}

#define RELEASE "preflight, define, reset, give back, "

static void released(PlanModel *m)
{
	release(m, "nvidia");
}

/* fault P1 */
TEST(a_release_turns_on_what_it_brings_back)
{
	PLANNED("release", RELEASE "persistence on, verify, forget", NULL, released(m));
	PLANNED("kept on vfio-pci", "preflight, define, reset, verify, forget", NULL,
		release(m, "nvidia"), m->request.keep_vfio = true);
	PLANNED("to no driver", RELEASE "verify, forget", NULL, release(m, NULL));
	/* Somebody has moved it back since, and may have turned the mode off on purpose. */
	PLANNED("on nvidia again", RELEASE "verify, forget", "0000:41:00.0 is not reset now",
		release(m, "nvidia"), model_drive(m, A, "nvidia", NULL));
	PLANNED("another board", RELEASE "verify, forget", "no record says", release(m, "nvidia"),
		m->host.assignments->items[0]->functions[0].device = 0x2235);
}

TEST(a_plan_shows_what_nvml_is_asked_to_set_in_its_place)
{
	ON_MODEL(expect_shown(m, "persistence-off"), one_on(m));
	ON_MODEL(expect_shown(m, "persistence-on"), released(m));
}
