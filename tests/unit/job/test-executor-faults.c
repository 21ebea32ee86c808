/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Every write of every operation is made to fail, and the whole world is compared with before. */
#include "rig/test.h"

#include <string.h>

#include "job/steps.h"
#include "rig/job-rig.h"
#include "util/file.h"
#include "util/text.h"

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

static void run_with_fault(const Scenario *scenario, FakeOp op, unsigned nth, bool late)
{
	_cleanup_(rig_freep) Rig *rig = rig_for(scenario);
	_cleanup_free_ char *what = strf("%s, %s %u fails%s", scenario->name, fake_op_to_string(op),
					 nth, late ? " late" : "");
	const FakeFault fault = fault_of(op, nth, late);

	rig->row = what;
	fake_fail(&rig->fake, &fault);
	rig_fails(rig, &scenario->request, expected_error(op),
		  "State:  everything was put back as it was");
	/* Nothing is left behind that would stand in the way of another try. */
	fake_watch(&rig->fake);
	rig_must(rig, &scenario->request);
}

/* fault 28 */
TEST(whatever_write_fails_everything_is_put_back)
{
	static const FakeOp writing[] = { FAKE_MOVE, FAKE_RESET, FAKE_DEFINE, FAKE_ATTACH,
					  FAKE_DETACH };

	for (size_t i = 0; i < N_SCENARIOS; i++) {
		Undisturbed all;

		rig_run_undisturbed(&scenarios[i], &all);
		free(all.world);
		for (size_t k = 0; k < ELEMENTS(writing); k++)
			for (unsigned nth = 1; nth <= all.calls[writing[k]]; nth++)
				for (int late = 0; late <= 1; late++)
					run_with_fault(&scenarios[i], writing[k], nth, late);
	}
}

/* Reads of the verify step, and those with which a step follows up its own write. */
TEST(whatever_read_fails_after_a_write_everything_is_put_back)
{
	static const FakeOp reading[] = { FAKE_INSPECT, FAKE_GET };

	for (size_t i = 0; i < N_SCENARIOS; i++) {
		Undisturbed all;

		/* What an NVMe does not say of itself is for a person: test-prepare.c. */
		if (scenarios[i].request.plan.operation == OPERATION_PREPARE)
			continue;
		rig_run_undisturbed(&scenarios[i], &all);
		free(all.world);
		/* What prepare() and the preflight step read comes before the first write. */
		all.planned[FAKE_INSPECT]++;
		for (size_t k = 0; k < ELEMENTS(reading); k++)
			for (unsigned nth = all.planned[reading[k]] + 1;
			     nth <= all.calls[reading[k]]; nth++)
				run_with_fault(&scenarios[i], reading[k], nth, false);
	}
}

/* ---- all of it is undone ---- */

/* Step by step forward, then back, then back once more. */
TEST(a_whole_plan_can_be_undone_and_undone_again)
{
	for (size_t i = 0; i < N_SCENARIOS; i++) {
		_cleanup_(rig_freep) Rig *rig = rig_for(&scenarios[i]);
		_cleanup_(problem_freep) Problem *problem = NULL;
		StepContext context;
		const Plan *plan;

		rig_note_world(rig);
		plan = rig_plan(rig, &scenarios[i].request);
		context = (StepContext){
			.place = &rig->place,
			.prepared = rig->planned,
			.plan = plan,
			.timeout_usec = 1000000,
		};
		for (size_t k = 0; k < plan->n_steps; k++)
			assert_int_equal(step_ops(plan->steps[k])->act(&context, &problem), 0);
		for (int again = 0; again <= 1; again++) {
			for (size_t k = plan->n_steps; k-- > 0;) {
				const StepOps *ops = step_ops(plan->steps[k]);

				if (ops->undo)
					assert_int_equal(ops->undo(&context, &problem), 0);
			}
			rig_check_noted(rig);
		}
		step_context_clear(&context);
	}
}

/* ---- one function fails ---- */

/* fault 14 */
TEST(a_function_that_does_not_move_leaves_none_moved)
{
	static const DriverPhase phases[] = { DRIVER_PHASE_READ, DRIVER_PHASE_OVERRIDE,
					      DRIVER_PHASE_UNBIND, DRIVER_PHASE_PROBE,
					      DRIVER_PHASE_VERIFY };

	for (size_t i = 0; i < ELEMENTS(pair0_bdfs) * ELEMENTS(phases); i++) {
		const FakeMoveFault fault = {
			.bdf = pair0_bdfs[i / ELEMENTS(phases)],
			.driver = "vfio-pci",
			.phase = phases[i % ELEMENTS(phases)],
			.error = -ENXIO,
		};
		_cleanup_free_ char *step = strf("%s: step \"%s\" failed", fault.bdf,
						 driver_phase_to_string(fault.phase));
		_cleanup_(rig_freep) Rig *rig = rig_new();

		rig_running(rig);
		fake_fail_move(&rig->fake, &fault);
		rig_fails(rig, &ASSIGN, GPUPASS_ERROR_BIND_FAILED, step);
	}
}

/* fault 7 */
/* drivers_probe reports success also when nothing binds. */
TEST(a_function_that_only_seems_to_have_moved_is_noticed)
{
	static const struct {
		void (*arrange)(Rig *rig);
		JobRequest request;
		FakeMoveFault lie;
	} rows[] = {
		{ rig_shut_off,
		  ASSIGN,
		  { .bdf = "0000:61:00.1", .driver = "vfio-pci", .phase = DRIVER_PHASE_PROBE } },
		{ rig_shut_off,
		  BIND,
		  { .bdf = "0000:41:00.0", .driver = "vfio-pci", .phase = DRIVER_PHASE_UNBIND } },
		{ rig_assigned,
		  RELEASE,
		  { .bdf = "0000:61:00.0", .driver = "nvidia", .phase = DRIVER_PHASE_PROBE } },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		rows[i].arrange(rig);
		fake_fail_move(&rig->fake, &rows[i].lie);
		rig_fails(rig, &rows[i].request, GPUPASS_ERROR_BIND_FAILED, rows[i].lie.bdf);
		assert_non_null(strstr(rig->last.message, "re-read: driver "));
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
	_cleanup_(rig_freep) Rig *rig = rig_for(scenario);

	rig_note_world(rig);
	rig_plan(rig, &scenario->request);
	fake_watch(&rig->fake);
	if (from_the_start)
		rig_store_read_only(rig, true);
	else
		rig->fake.hook = then_store_fails;
	rig_go(rig);
	assert_true(rig->read_only);
	rig_store_read_only(rig, false);
	rig_expect(rig, JOB_FAILED, GPUPASS_ERROR_STATE_READ_ONLY,
		   from_the_start ? "State:  nothing was changed"
				  : "State:  everything was put back as it was");
	if (!strstr(rig->last.message, "the assignment could not be written: Permission denied") ||
	    !strstr(rig->last.message, "assignments.d/3f0c9a52-") || !rig->last.remedy)
		fail_msg("%s: %s", scenario->name, rig->last.message);
	assert_int_equal(fake_write_calls(&rig->fake) == 0, from_the_start);
	assert_int_equal(rig->last.rolled_back, !from_the_start);
	rig_check_noted(rig);
}

TEST(what_cannot_be_recorded_is_refused_or_undone)
{
	for (size_t i = 0; i < N_SCENARIOS; i++)
		for (int from_the_start = 0; from_the_start <= 1; from_the_start++)
			if (scenarios[i].request.plan.operation == OPERATION_ASSIGN ||
			    scenarios[i].request.plan.operation == OPERATION_RELEASE)
				run_with_store(&scenarios[i], from_the_start);
}

/* fault 41 */
/* By the domain's own mark it could be released, and what the record says of before would be lost. */
TEST(a_record_of_another_version_is_neither_replaced_nor_removed)
{
	static const char newer[] = "{\"schema\": \"org.gpupass1.assignment/9\"}\n";

	for (int released = 0; released <= 1; released++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		(released ? rig_assigned : rig_shut_off)(rig);
		assert_int_equal(file_replace_at(rig->store.records.dir_fd, VM42 ".json", newer,
						 strlen(newer), 0644),
				 0);
		rig_fails(rig, released ? &RELEASE : &ASSIGN, GPUPASS_ERROR_GROUP_BUSY,
			  "later version");
	}
}
