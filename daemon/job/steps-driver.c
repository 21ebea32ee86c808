/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Moving a group's functions between drivers, all side by side, through disposable workers. */

#include "core/setup/driver-release.h"
#include "job/guest-exit.h"
#include "job/steps.h"
#include "util/text.h"
#include "util/xalloc.h"

typedef struct Moves {
	DriverTarget *targets;
	MoveOutcome *outcomes;
	size_t n;
} Moves;

static void moves_clear(Moves *moves)
{
	for (size_t i = 0; i < moves->n; i++)
		move_outcome_clear(&moves->outcomes[i]);
	free(moves->targets);
	free(moves->outcomes);
}

/*
 * Who undoes an erase leaves one alone that is at work: where it was, the next prepare finds it.
 */
static bool takes_part(const StepContext *c, const PlanFunction *f, StepMove where)
{
	const Host *host = c->place->host;

	if (bdf_in(&f->bdf, c->stuck_functions, c->n_stuck_functions))
		return false;
	if (where == STEP_MOVE_ASIDE)
		return f->erase;
	return where == STEP_MOVE_ON || !f->erase ||
	       host->ops->worker_on(c->place->host, &f->bdf) == 0;
}

static DriverTarget target_of(const PlanFunction *f, StepMove where)
{
	DriverTarget target = { .bdf = f->bdf };

	if (where == STEP_MOVE_ASIDE) {
		target.driver = NVME_DRIVER;
	} else {
		target.driver = where == STEP_MOVE_ON ? f->to_driver : f->from_driver;
		target.driver_override = where == STEP_MOVE_ON ? f->to_override : f->from_override;
	}
	return target;
}

/* Every function of the plan, except those whose worker never came back. */
static Moves moves_make(const StepContext *c, StepMove where)
{
	bool vfs = where == STEP_MOVE_VFS;
	size_t n = vfs ? c->plan->n_bound_vfs : c->plan->n_functions;
	Moves moves = {
		.targets = xcalloc(n + 1, sizeof(DriverTarget)),
		.outcomes = xcalloc(n + 1, sizeof(MoveOutcome)),
	};

	for (; vfs && moves.n < n; moves.n++)
		moves.targets[moves.n] = (DriverTarget){
			.bdf = c->plan->bound_vfs[moves.n],
			.driver = VFIO_PCI,
			.driver_override = VFIO_PCI,
		};
	EACH (const PlanFunction, f, c->plan->functions, vfs ? 0 : n)
		if (takes_part(c, f, where))
			moves.targets[moves.n++] = target_of(f, where);
	return moves;
}

/* It was not started, because an older worker is still there; it was not too slow. */
static bool is_beside_another(const MoveOutcome *outcome)
{
	return outcome->still_running && outcome->result.error == -EBUSY;
}

static void remember_stuck(StepContext *c, const DriverTarget *target, const MoveOutcome *outcome)
{
	if (is_beside_another(outcome))
		step_remember_stuck(c, &target->bdf, "%s is still at work on %s",
				    step_worker_name(outcome->pid).text, BDF_TEXT(&target->bdf));
	else
		step_remember_stuck(c, &target->bdf,
				    "%s still waits in the kernel to move %s to %s",
				    step_worker_name(outcome->pid).text, BDF_TEXT(&target->bdf),
				    target->driver ? target->driver : "no driver");
}

/* A driver that leaves a GPU: for nvidia it depends on the release what ends it. */
static char *wait_remedy(const StepContext *c, const DriverTarget *target)
{
	const Inspection *seen = c->prepared ? c->prepared->inspection : NULL;

	EACH (const PlanFunction, f, c->plan->functions, c->plan->n_functions)
		if (bdf_equal(&f->bdf, &target->bdf) && str_equal(f->from_driver, NVIDIA_DRIVER) &&
		    !str_equal(target->driver, NVIDIA_DRIVER))
			return release_wait_remedy(seen ? seen->nvidia_version : NULL,
						   BDF_TEXT(&target->bdf));
	return strf("look for holders (gpupass show %s); a reboot ends it for certain, see "
		    "gpupassd(8), QUARANTINE",
		    BDF_TEXT(&target->bdf));
}

static int timed_out(const StepContext *c, const DriverTarget *target, const MoveOutcome *outcome,
		     Problem **ret_problem)
{
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_UNBIND_TIMEOUT,
		.reason = strf("moving %s to %s did not end within %llu s", BDF_TEXT(&target->bdf),
			       target->driver ? target->driver : "no driver",
			       (unsigned long long)(c->timeout_usec / 1000000)),
		.cause = strf("%s waits in the kernel; the driver's remove() does not return "
			      "while something holds the device",
			      step_worker_name(outcome->pid).text),
		.remedy = wait_remedy(c, target));
}

static int does_not_answer(const DriverTarget *target, Problem **ret_problem)
{
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_BIND_FAILED,
		.reason = strf("%s does not answer since it was moved to %s",
			       BDF_TEXT(&target->bdf), str_or_empty(target->driver)),
		.cause = xstrdup("its config space reads all ones: it did not wake up, or is off "
				 "its bus"),
		.remedy =
			strf("see dmesg | grep %s; power-cycle the host", BDF_TEXT(&target->bdf)));
}

static int no_answer(const DriverTarget *target, const MoveOutcome *outcome, Problem **ret_problem)
{
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_BIND_FAILED,
		.reason = strf("%s could not be moved to %s", BDF_TEXT(&target->bdf),
			       target->driver ? target->driver : "no driver"),
		.cause = strf("%s%s", outcome->problem->cause,
			      outcome->result.changed ? "; how far it came is not known" : ""),
		.remedy = xstrdup(outcome->problem->remedy));
}

static int move_failed(const DriverTarget *target, const MoveOutcome *outcome,
		       Problem **ret_problem)
{
	const DriverResult *result = &outcome->result;
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_BIND_FAILED,
		.reason = strf("%s could not be moved to %s", BDF_TEXT(&target->bdf),
			       target->driver ? target->driver : "no driver"),
		.cause = strf("%s: step \"%s\" failed: %s; it is on %s now", BDF_TEXT(&target->bdf),
			      str_or_empty(driver_phase_to_string(result->phase)),
			      strerror(-result->error),
			      result->driver ? result->driver : "no driver"),
		.remedy = strf("see the kernel's log: dmesg | grep %s", BDF_TEXT(&target->bdf)));
}

/* The holders that have a file were refused before: this one has none. */
static int has_users(const DriverTarget *target, Problem **ret_problem)
{
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_HOST_IN_USE,
		.reason = strf("%s is in use by something that the driver counts",
			       BDF_TEXT(&target->bdf)),
		.cause = strf("NVIDIA's driver does not give its unbindLock "
			      "(/proc/driver/nvidia/gpus/%s/unbindLock): it counts users that have "
			      "no file open, too",
			      BDF_TEXT(&target->bdf)),
		.remedy = xstrdup("shut down the domains with vGPUs of it, stop DCGM, "
				  "nvidia-persistenced and nvidia-smi, and unload nvidia_drm; see "
				  "TROUBLESHOOTING, vGPU"));
}

static int judge_one(const StepContext *c, const DriverTarget *target, const MoveOutcome *outcome,
		     Problem **ret_problem)
{
	if (outcome->still_running && !is_beside_another(outcome))
		return timed_out(c, target, outcome, ret_problem);
	if (outcome->problem)
		return no_answer(target, outcome, ret_problem);
	if (outcome->result.phase == DRIVER_PHASE_LOCK && outcome->result.error == -EBUSY)
		return has_users(target, ret_problem);
	return outcome->result.phase == DRIVER_PHASE_VERIFY && outcome->result.error == -ENODEV
		       ? does_not_answer(target, ret_problem)
		       : move_failed(target, outcome, ret_problem);
}

static int judge(StepContext *c, const Moves *moves, int error, Problem **ret_problem)
{
	int result = 0;

	for (size_t i = 0; i < moves->n; i++) {
		const MoveOutcome *outcome = &moves->outcomes[i];

		if (outcome->result.error == 0)
			continue;
		if (outcome->still_running)
			remember_stuck(c, &moves->targets[i], outcome);
		if (result == 0)
			result = judge_one(c, &moves->targets[i], outcome, ret_problem);
	}
	return result != 0 ? result : error;
}

int step_move(StepContext *c, StepMove where, Problem **ret_problem)
{
	_cleanup_(moves_clear) Moves moves = moves_make(c, where);
	int r = host_move(c->place->host, moves.targets, moves.n, c->timeout_usec, moves.outcomes);

	return judge(c, &moves, r, ret_problem);
}

int step_drivers_hold(StepContext *c, Problem **ret_problem)
{
	_cleanup_(inspection_freep) Inspection *now = NULL;
	int r = step_glance(c, &now, ret_problem);

	if (r != 0)
		return r;
	EACH (const PlanFunction, want, c->plan->functions, c->plan->n_functions) {
		const FunctionFacts *is = inspection_find(now, &want->bdf);

		if (is && str_equal(is->driver, want->to_driver) &&
		    str_equal(is->driver_override, want->to_override))
			continue;
		return problem_refuse(
			ret_problem, GPUPASS_ERROR_BIND_FAILED,
			.reason = strf("%s is not on %s", BDF_TEXT(&want->bdf),
				       want->to_driver ? want->to_driver : "no driver"),
			.cause = strf("re-read: driver %s, driver_override %s",
				      is && is->driver ? is->driver : "none",
				      is && is->driver_override ? is->driver_override : "none"));
	}
	return 0;
}

bool step_drivers_are_back(StepContext *c)
{
	_cleanup_(moves_clear) Moves moves = moves_make(c, STEP_MOVE_BACK);
	_cleanup_free_ Bdf *functions = BDF_LIST(moves.targets, moves.n);
	_cleanup_(inspection_freep) Inspection *now = NULL;
	const FunctionFacts *is;

	if (host_glance(c->place->host, functions, moves.n, INSPECT_CONFIG_NOT, &now, NULL) != 0)
		return false;
	return EVERY(moves.targets, moves.n,
		     (is = inspection_find(now, &it->bdf)) && str_equal(is->driver, it->driver) &&
			     str_equal(is->driver_override, it->driver_override));
}

static int forward(StepContext *c, Problem **ret_problem)
{
	return step_move(c, STEP_MOVE_ON, ret_problem);
}

static int backward(StepContext *c, Problem **ret_problem)
{
	return step_move(c, STEP_MOVE_BACK, ret_problem);
}

static int unbind(StepContext *c, Problem **ret_problem)
{
	int r;

	/* The boot has bound functions that had drifted off vfio-pci: do not undo that. */
	if (c->rebooted && c->plan->operation == OPERATION_RECONCILE)
		return 0;
	r = step_refuse_while_in_guest(c, ret_problem);
	if (r == PROBLEM)
		return problem_remedy(*ret_problem, "shut that guest down");
	if (r == 0)
		r = step_reset_returning(c, ret_problem);
	return r != 0 ? r : backward(c, ret_problem);
}

/*
 * The reset, a step before, has searched all processes. No domain can start with a function since
 * the fence was closed; libvirt tells of one that was attached to a running domain by hand. What
 * opens one past libvirt in this moment is not looked for again: the kernel takes no function from
 * it, remove() waits for it to let go, and the move tells so.
 */
static bool was_searched(const StepContext *c)
{
	_cleanup_free_ Bdf *functions = plan_addresses(c->plan);

	return plan_has_step(c->plan, STEP_RESET) &&
	       c->place->rules->policy.domains == DOMAINS_LIBVIRT &&
	       guest_runs_nowhere(c->place->host, functions, c->plan->n_functions);
}

static int restore(StepContext *c, Problem **ret_problem)
{
	int r = was_searched(c) ? 0 : step_refuse_while_in_guest(c, ret_problem);

	return r != 0 ? r : forward(c, ret_problem);
}

/*
 * The host has had them since, and its driver's remove() would wait for whoever uses them: a
 * quarantine can be lifted, a worker that waits in the kernel cannot be ended.
 */
static int take_back(StepContext *c, Problem **ret_problem)
{
	int r;

	if (step_drivers_are_back(c))
		return 0;
	r = step_refuse_while_host_uses(c, ret_problem);
	return r != 0 ? r : backward(c, ret_problem);
}

const StepOps step_bind = {
	.act = forward,
	.undo = unbind,
	.holds = step_drivers_hold,
	.changes = STEP_CHANGES_FUNCTIONS,
	.shows = GROUP_BINDING,
};
const StepOps step_restore = {
	.act = restore,
	.undo = take_back,
	.holds = step_drivers_hold,
	.changes = STEP_CHANGES_FUNCTIONS,
	.shows = GROUP_RELEASING,
	/* A domain gets its functions back only if all of them are on vfio-pci. */
	.barrier = true,
};
