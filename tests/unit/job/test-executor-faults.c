/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every write of every operation is made to fail, and the whole world is compared with before. */
#include "rig/test.h"

#include <string.h>

#include "job/steps.h"
#include "rig/job-rig.h"
#include "util/file.h"
#include "util/text.h"

/* ---- scenarios ---- */

/* The definition was put back by hand; record and drivers stand. */
static void definition_lost(Rig *rig)
{
	FakeDomain *domain;

	rig_assigned(rig);
	domain = fake_domain(&rig->fake, "vm42");
	for (unsigned i = 0; i < 4; i++) {
		Bdf bdf = { 0, i < 2 ? 0x41 : 0x61, 0, (uint8_t)(i % 2) };
		char *without = fake_xml_detach(domain->config_xml, &bdf);

		free(domain->config_xml);
		domain->config_xml = without;
	}
}

typedef struct Scenario {
	const char *name;
	void (*setup)(Rig *rig);
	JobRequest request;
	unsigned n_writes; /* calls that write, without the store's */
} Scenario;

static const Scenario scenarios[] = {
	{ "assign cold", rig_shut_off, RIG_ASSIGN, 2 }, /* move, define */
	{ "assign live", rig_running, RIG_ASSIGN, 6 },	/* move, four attaches, define */
	{ "assign what is bound", rig_shut_off_bound, RIG_ASSIGN, 1 }, /* define */
	{ "assign what drifted", rig_drifted, RIG_ASSIGN, 1 },	       /* move */
	{ "assign anew", definition_lost, RIG_ASSIGN, 1 },	       /* define */
	{ "release cold", rig_assigned, RIG_RELEASE, 3 },	       /* define, reset, move */
	{ "release live", rig_assigned_live, RIG_RELEASE,
	  7 }, /* four detaches, define, reset, move */
	{ "bind", rig_shut_off, RIG_BIND, 1 },
	{ "unbind", rig_shut_off_bound, RIG_UNBIND, 1 },
};

static const FakeOp writing[] = { FAKE_MOVE, FAKE_RESET, FAKE_DEFINE, FAKE_ATTACH, FAKE_DETACH };

/* How often the scenario calls each operation when nothing fails. */
static void count_calls(const Scenario *scenario, unsigned counts[FAKE_OP_MAX_])
{
	Rig *rig = rig_new();

	scenario->setup(rig);
	fake_watch(&rig->fake);
	rig_must(rig, &scenario->request);
	memcpy(counts, rig->fake.calls, sizeof(rig->fake.calls));
	if (fake_write_calls(&rig->fake) != scenario->n_writes)
		fail_msg("%s: %u calls that write", scenario->name, fake_write_calls(&rig->fake));
	rig_free(rig);
}

/* libvirt's own words for what failed; drivers fail with a number. */
static FakeFault fault_of(FakeOp op, unsigned nth, bool late)
{
	static const GpupassError problems[FAKE_OP_MAX_] = {
		[FAKE_DEFINE] = GPUPASS_ERROR_DEFINE_FAILED,
		[FAKE_ATTACH] = GPUPASS_ERROR_ATTACH_FAILED,
		[FAKE_DETACH] = GPUPASS_ERROR_DETACH_TIMEOUT,
		[FAKE_GET] = GPUPASS_ERROR_LIBVIRT_UNAVAILABLE,
	};

	return (FakeFault){
		.op = op,
		.nth = nth,
		.late = late,
		.error = op == FAKE_MOVE || op == FAKE_RESET || op == FAKE_INSPECT ? -EIO : 0,
		.problem = problems[op],
	};
}

static GpupassError expected_error(FakeOp op)
{
	if (op == FAKE_MOVE)
		return GPUPASS_ERROR_BIND_FAILED;
	if (op == FAKE_RESET)
		return GPUPASS_ERROR_RESET_FAILED;
	return op == FAKE_INSPECT ? GPUPASS_ERROR_PART_FAILED : fault_of(op, 1, false).problem;
}

/* ---- one call fails ---- */

static void run_with_fault(const Scenario *scenario, const FakeFault *fault)
{
	_cleanup_free_ char *before = NULL;
	_cleanup_free_ char *what =
		strf("%s, %s %u fails%s", scenario->name, fake_op_to_string(fault->op), fault->nth,
		     fault->late ? " late" : "");
	Rig *rig = rig_new();
	Outcome outcome;

	scenario->setup(rig);
	before = rig_world(rig);
	fake_watch(&rig->fake);
	fake_fail(&rig->fake, fault);
	outcome = rig_run(rig, &scenario->request);
	if (outcome.state != JOB_FAILED || outcome.error != expected_error(fault->op))
		fail_msg("%s: %s, %s", what, job_state_to_string(outcome.state),
			 str_or_empty(outcome.message));
	if (!strstr(outcome.message, "State:  everything was put back as it was"))
		fail_msg("%s: the message has another state: %s", what, outcome.message);
	rig_check_world(rig, before, what);
	/* Nothing is left behind that would stand in the way of another try. */
	outcome_clear(&outcome);
	fake_watch(&rig->fake);
	rig_must(rig, &scenario->request);
	rig_free(rig);
}

/* fault 28 */
TEST(whatever_write_fails_everything_is_put_back)
{
	for (size_t i = 0; i < ELEMENTS(scenarios); i++) {
		unsigned counts[FAKE_OP_MAX_];

		count_calls(&scenarios[i], counts);
		for (size_t k = 0; k < ELEMENTS(writing); k++)
			for (unsigned nth = 1; nth <= counts[writing[k]]; nth++)
				for (int late = 0; late <= 1; late++) {
					FakeFault fault = fault_of(writing[k], nth, late);

					run_with_fault(&scenarios[i], &fault);
				}
	}
}

/* Reads of the verify step, and those with which a step follows up its own write. */
TEST(whatever_read_fails_after_a_write_everything_is_put_back)
{
	static const FakeOp reading[] = { FAKE_INSPECT, FAKE_GET };

	for (size_t i = 0; i < ELEMENTS(scenarios); i++) {
		unsigned counts[FAKE_OP_MAX_], first[FAKE_OP_MAX_];
		_cleanup_(prepared_freep) Prepared *prepared = NULL;
		_cleanup_free_ char *prefix = NULL;
		Rig *rig = rig_new();
		Outcome outcome;

		/* What prepare() and the preflight step read comes before the first write. */
		scenarios[i].setup(rig);
		fake_watch(&rig->fake);
		outcome = rig_prepare(rig, &scenarios[i].request, &prepared, &prefix);
		assert_int_equal(outcome.state, JOB_RUNNING);
		memcpy(first, rig->fake.calls, sizeof(first));
		first[FAKE_INSPECT]++;
		rig_free(rig);
		count_calls(&scenarios[i], counts);
		for (size_t k = 0; k < ELEMENTS(reading); k++)
			for (unsigned nth = first[reading[k]] + 1; nth <= counts[reading[k]];
			     nth++) {
				FakeFault fault = fault_of(reading[k], nth, false);

				run_with_fault(&scenarios[i], &fault);
			}
	}
}

/* ---- all of it is undone ---- */

/* Step by step forward, then back, then back once more. */
TEST(a_whole_plan_can_be_undone_and_undone_again)
{
	for (size_t i = 0; i < ELEMENTS(scenarios); i++) {
		_cleanup_(prepared_freep) Prepared *prepared = NULL;
		_cleanup_(problem_freep) Problem *problem = NULL;
		_cleanup_free_ char *before = NULL, *prefix = NULL;
		Rig *rig = rig_new();
		StepContext context;
		Outcome outcome;

		scenarios[i].setup(rig);
		before = rig_world(rig);
		outcome = rig_prepare(rig, &scenarios[i].request, &prepared, &prefix);
		assert_int_equal(outcome.state, JOB_RUNNING);
		context = (StepContext){
			.place = &rig->place,
			.prepared = prepared,
			.plan = prepared->plan,
			.timeout_usec = 1000000,
		};
		for (size_t k = 0; k < prepared->plan->n_steps; k++)
			assert_int_equal(
				step_ops(prepared->plan->steps[k])->act(&context, &problem), 0);
		for (int again = 0; again <= 1; again++) {
			for (size_t k = prepared->plan->n_steps; k-- > 0;) {
				const StepOps *ops = step_ops(prepared->plan->steps[k]);

				if (ops->undo)
					assert_int_equal(ops->undo(&context, &problem), 0);
			}
			rig_check_world(rig, before, scenarios[i].name);
		}
		step_context_clear(&context);
		rig_free(rig);
	}
}

/* ---- one function fails ---- */

/* fault 14 */
TEST(a_function_that_does_not_move_leaves_none_moved)
{
	static const char *const functions[] = { PAIR0_FUNCTIONS };
	static const DriverPhase phases[] = { DRIVER_PHASE_READ, DRIVER_PHASE_OVERRIDE,
					      DRIVER_PHASE_UNBIND, DRIVER_PHASE_PROBE,
					      DRIVER_PHASE_VERIFY };

	for (size_t i = 0; i < ELEMENTS(functions) * ELEMENTS(phases); i++) {
		JobRequest request = assign_request("vm42", "pair0");
		const FakeMoveFault fault = {
			.bdf = functions[i / ELEMENTS(phases)],
			.driver = "vfio-pci",
			.phase = phases[i % ELEMENTS(phases)],
			.error = -ENXIO,
		};
		_cleanup_free_ char *before = NULL, *step = NULL;
		Rig *rig = rig_new();
		Outcome outcome;

		rig_running(rig);
		before = rig_world(rig);
		fake_fail_move(&rig->fake, &fault);
		step = strf("%s: step \"%s\" failed", fault.bdf,
			    driver_phase_to_string(fault.phase));
		outcome = rig_run(rig, &request);
		if (outcome.state != JOB_FAILED || outcome.error != GPUPASS_ERROR_BIND_FAILED ||
		    !strstr(outcome.message, step))
			fail_msg("row %zu: %s", i, str_or_empty(outcome.message));
		rig_check_world(rig, before, fault.bdf);
		outcome_clear(&outcome);
		rig_free(rig);
	}
}

/* fault 7 */
/* drivers_probe reports success also when nothing binds. */
TEST(a_function_that_only_seems_to_have_moved_is_noticed)
{
	static const struct {
		void (*setup)(Rig *rig);
		JobRequest request;
		FakeMoveFault lie;
	} rows[] = {
		{ rig_shut_off,
		  RIG_ASSIGN,
		  { .bdf = "0000:61:00.1", .driver = "vfio-pci", .phase = DRIVER_PHASE_PROBE } },
		{ rig_shut_off,
		  RIG_BIND,
		  { .bdf = "0000:41:00.0", .driver = "vfio-pci", .phase = DRIVER_PHASE_UNBIND } },
		{ rig_assigned,
		  RIG_RELEASE,
		  { .bdf = "0000:61:00.0", .driver = "nvidia", .phase = DRIVER_PHASE_PROBE } },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *before = NULL, *what = strf("row %zu", i);
		Rig *rig = rig_new();
		Outcome outcome;

		rows[i].setup(rig);
		before = rig_world(rig);
		fake_fail_move(&rig->fake, &rows[i].lie);
		outcome = rig_run(rig, &rows[i].request);
		if (outcome.state != JOB_FAILED || outcome.error != GPUPASS_ERROR_BIND_FAILED ||
		    !strstr(outcome.message, rows[i].lie.bdf) ||
		    !strstr(outcome.message, "re-read: driver "))
			fail_msg("row %zu: %s", i, str_or_empty(outcome.message));
		rig_check_world(rig, before, what);
		outcome_clear(&outcome);
		rig_free(rig);
	}
}

/* ---- the store fails ---- */

/* A job finds out only when it comes to the store: it was in order at the preflight. */
static void then_store_fails(FakeHost *fake, FakeOp op, unsigned nth)
{
	Rig *rig = (Rig *)fake; /* its first member */

	if ((op == FAKE_DEFINE || op == FAKE_MOVE) && nth == 1 && !rig->read_only)
		rig_store_read_only(rig, true);
}

static void run_with_store(const Scenario *scenario, bool from_the_start)
{
	const char *expected = from_the_start ? "State:  nothing was changed"
					      : "State:  everything was put back as it was";
	_cleanup_(prepared_freep) Prepared *prepared = NULL;
	_cleanup_free_ char *before = NULL, *prefix = NULL;
	Rig *rig = rig_new();
	Outcome outcome;

	scenario->setup(rig);
	before = rig_world(rig);
	outcome = rig_prepare(rig, &scenario->request, &prepared, &prefix);
	assert_int_equal(outcome.state, JOB_RUNNING);
	fake_watch(&rig->fake);
	if (from_the_start)
		rig_store_read_only(rig, true);
	else
		rig->fake.hook = then_store_fails;
	outcome = rig_execute(rig, prepared, prefix);
	assert_true(rig->read_only);
	rig_store_read_only(rig, false);
	if (outcome.state != JOB_FAILED || outcome.error != GPUPASS_ERROR_STATE_READ_ONLY ||
	    !strstr(outcome.message, "the assignment could not be written: Permission denied") ||
	    !strstr(outcome.message, "assignments.d/3f0c9a52-") || !outcome.remedy ||
	    !strstr(outcome.message, expected))
		fail_msg("%s: %s", scenario->name, str_or_empty(outcome.message));
	assert_int_equal(fake_write_calls(&rig->fake) == 0, from_the_start);
	rig_check_world(rig, before, scenario->name);
	outcome_clear(&outcome);
	rig_free(rig);
}

TEST(what_cannot_be_recorded_is_refused_or_undone)
{
	for (size_t i = 0; i < ELEMENTS(scenarios); i++)
		for (int from_the_start = 0; from_the_start <= 1; from_the_start++)
			if (scenarios[i].request.operation == OPERATION_ASSIGN ||
			    scenarios[i].request.operation == OPERATION_RELEASE)
				run_with_store(&scenarios[i], from_the_start);
}

/* fault 41 */
TEST(a_record_of_another_version_is_neither_replaced_nor_removed)
{
	static const char newer[] = "{\"schema\": \"org.gpupass1.assignment/9\"}\n";

	for (int released = 0; released <= 1; released++) {
		JobRequest request =
			released ? release_request("vm42") : assign_request("vm42", "pair0");
		_cleanup_free_ char *before = NULL;
		Rig *rig = rig_new();
		Outcome outcome;

		if (released)
			rig_assigned(rig);
		else
			rig_shut_off(rig);
		assert_int_equal(file_replace_at(rig->store.records.dir_fd,
						 "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242.json", newer,
						 strlen(newer), 0644),
				 0);
		before = rig_world(rig);
		outcome = rig_run(rig, &request);
		/* By the domain's own mark it could be released, and what the record says of before
		 * would be lost. */
		assert_int_equal(outcome.state, JOB_FAILED);
		assert_int_equal(outcome.error, GPUPASS_ERROR_GROUP_BUSY);
		assert_non_null(strstr(outcome.message, "another version"));
		rig_check_world(rig, before, released ? "release" : "assign");
		outcome_clear(&outcome);
		rig_free(rig);
	}
}
