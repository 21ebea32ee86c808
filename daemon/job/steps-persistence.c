/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Persistence mode of GPUs that leave the nvidia driver with the mode on, or come back to that
 * driver. The plan lists these GPUs. nvidia-smi turns it off, NVML on. We believe what NVML reports
 * after each change.
 *
 * After a boot we set nothing: the driver starts without the mode (host/device/nvml.h: "not
 * persistent across reboots"), as it would have without the job. An operator who wants the mode at
 * boot has turned it on by other means.
 */

#include "job/steps.h"
#include "util/text.h"
#include "util/xalloc.h"

typedef struct Modes {
	Bdf *gpus;
	GpuPersistence *now;
	size_t n;
	PersistenceMode wanted;
} Modes;

static void modes_clear(Modes *modes)
{
	persistence_list_free(modes->now, modes->n);
	free(modes->gpus);
}

typedef bool (*Which)(const PlanFunction *function);

/*
 * Except those whose worker never came back: their group is quarantined. And except those that
 * nvidia-persistenced has `now`, as before; NULL: nobody looked.
 */
static Modes modes_make(const StepContext *c, Which which, bool on, Inspection *now)
{
	size_t n = c->plan->n_functions;
	Modes modes = {
		.gpus = xcalloc(n + 1, sizeof(Bdf)),
		.now = xcalloc(n + 1, sizeof(GpuPersistence)),
		.wanted = on ? PERSISTENCE_ON : PERSISTENCE_OFF,
	};

	EACH (const PlanFunction, f, c->plan->functions, n)
		if (which(f) && !bdf_in(&f->bdf, c->stuck_functions, c->n_stuck_functions) &&
		    !(now && inspection_excuse(now, &f->bdf, f->kept_by)))
			modes.gpus[modes.n++] = f->bdf;
	return modes;
}

/* "0000:41:00.0: GPU is lost (NVML error 15)", and the addresses alone. */
static void collect_wrong(const Modes *modes, char ***ret_wrong, char ***ret_causes)
{
	EACH (const GpuPersistence, gpu, modes->now, modes->n) {
		if (gpu->mode == modes->wanted)
			continue;
		strv_append(ret_wrong, BDF_TEXT(&gpu->bdf));
		strv_appendf(ret_causes, "%s: %s", BDF_TEXT(&gpu->bdf), str_or_empty(gpu->why));
	}
}

static int refuse(const Modes *modes, char *const *wrong, char *const *causes,
		  Problem **ret_problem)
{
	_cleanup_free_ char *which = strv_join(wrong, ", "), *ids = strv_join(wrong, ",");
	bool on = modes->wanted == PERSISTENCE_ON;

	return problem_refuse(
		ret_problem, GPUPASS_ERROR_BIND_FAILED,
		.reason = strf(on ? "persistence mode of %s was on, and is not known to be on again"
				  : "persistence mode of %s could not be turned off",
			       which),
		.cause = strv_join(causes, "\n"),
		.remedy =
			strf(on ? "see whether nvidia-smi works, then: nvidia-smi -i %s -pm 1"
				: "install nvidia-smi if it is missing, or see why it fails, then "
				  "try again: nvidia-smi -i %s -pm 0",
			     ids));
}

/* How nvidia-smi failed, where NVML says that the mode is off: "0000:41:00.0: …", a line each. */
static void collect_notes(const Modes *modes, char ***into)
{
	for (size_t i = 0; into && i < modes->n; i++) {
		const GpuPersistence *gpu = &modes->now[i];

		if (gpu->mode == modes->wanted && gpu->why)
			strv_appendf(into, "%s: %s", BDF_TEXT(&gpu->bdf), gpu->why);
	}
}

/* `now` and `into_notes` may be NULL. */
static int set_modes(StepContext *c, Which which, bool on, Inspection *now, char ***into_notes,
		     Problem **ret_problem)
{
	_cleanup_strv_ char **wrong = NULL, **causes = NULL;
	_cleanup_(modes_clear) Modes modes = modes_make(c, which, on, now);

	host_set_persistence(c->place->host, modes.gpus, modes.n, on, c->timeout_usec, modes.now);
	collect_wrong(&modes, &wrong, &causes);
	collect_notes(&modes, into_notes);
	return wrong ? refuse(&modes, wrong, causes, ret_problem) : 0;
}

/* Adds why nvidia-persistenced holds a GPU still. */
static void explain(char *const *notes, Problem *problem)
{
	_cleanup_free_ char *text = strv_join(notes, "\n");
	char *cause =
		strf("%s%s%s", str_or_empty(problem->cause), problem->cause ? "\n" : "", text);

	free(problem->cause);
	problem->cause = cause;
}

/*
 * This takes seconds, in which a process may open a GPU. So check once more what the preflight
 * checked; and nvidia-persistenced must have let go.
 */
static int turn_off(StepContext *c, Problem **ret_problem)
{
	_cleanup_strv_ char **notes = NULL;
	int r = set_modes(c, plan_function_loses_persistence, false, NULL, &notes, ret_problem);

	if (r == 0)
		r = step_check_released(c, ret_problem);
	if (r == PROBLEM && notes)
		explain(notes, *ret_problem);
	return r;
}

/* NVML sets the mode also of a GPU that nvidia-persistenced has: see whether it has let go. */
static int turn_on_again(StepContext *c, Problem **ret_problem)
{
	_cleanup_(inspection_freep) Inspection *now = NULL;
	bool kept = false;

	if (c->rebooted)
		return 0;
	kept |= SOME(c->plan->functions, c->plan->n_functions, it->kept_by > 0);
	if (kept && step_inspect(c, &now, NULL) < 0)
		now = NULL;
	return set_modes(c, plan_function_loses_persistence, true, now, NULL, ret_problem);
}

static int restore(StepContext *c, Problem **ret_problem)
{
	return c->rebooted ? 0
			   : set_modes(c, plan_function_regains_persistence, true, NULL, NULL,
				       ret_problem);
}

/*
 * The GPUs leave nvidia next, which turns the mode off in any case, and finds a worker that hangs.
 */
static int take_back(StepContext *c, _unused_ Problem **ret_problem)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	int r = c->rebooted ? 0
			    : set_modes(c, plan_function_regains_persistence, false, NULL, NULL,
					&problem);

	return r == PROBLEM ? 0 : r;
}

/* NVML reports the mode only for GPUs on nvidia, and other steps check the driver. */
const StepOps step_persistence_off = {
	.act = turn_off,
	.undo = turn_on_again,
	.changes = STEP_CHANGES_MODE,
	.shows = GROUP_BINDING,
	.undo_optional = true,
};
const StepOps step_persistence_on = {
	.act = restore,
	.undo = take_back,
	.changes = STEP_CHANGES_MODE,
	.shows = GROUP_RELEASING,
	.act_optional = true,
	.finishes = true,
};
