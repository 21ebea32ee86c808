/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Warnings about persistence mode, which GPUs lose with nvidia, and MIG mode, which they keep. */
#include "core/plan/planner.h"

/* Why the mode of a function that leaves nvidia is unknown; NULL: it is known, or nobody asked. */
static const char *why_unknown(const Planner *p, const PlanFunction *function)
{
	const GpuPersistence *gpu =
		persistence_find(p->facts->persistence, p->facts->n_persistence, &function->bdf);

	if (!gpu || gpu->mode != PERSISTENCE_UNKNOWN || !plan_function_leaves_nvidia(function))
		return NULL;
	return gpu->why;
}

/* Once for all functions with this reason. */
static void warn_of_unknown(Planner *p, size_t i)
{
	const char *why = why_unknown(p, &p->plan->functions[i]);
	_cleanup_strv_ char **addresses = NULL;
	_cleanup_free_ char *which = NULL;

	for (size_t k = 0; why && k < p->plan->n_functions; k++) {
		const PlanFunction *function = &p->plan->functions[k];

		if (!str_equal(why_unknown(p, function), why))
			continue;
		if (k < i)
			return;
		strv_append(&addresses, BDF_TEXT(&function->bdf));
	}
	if (!addresses)
		return;
	which = strv_join(addresses, ", ");
	plan_warn(p->plan,
		  "the persistence mode of %s is not known: %s; "
		  "it will be off when they are back on nvidia",
		  which, why);
}

/* Concerns GPUs only: the other functions of a board are on other drivers. */
static bool leaves_unasked(const Planner *p, size_t i)
{
	return p->request->wakes_nothing && plan_function_leaves_nvidia(&p->plan->functions[i]);
}

static bool loses_persistence(const Planner *p, size_t i)
{
	return plan_function_loses_persistence(&p->plan->functions[i]);
}

static bool is_in_mig_mode(const Planner *p, size_t i)
{
	const GpuPersistence *gpu = persistence_find(p->facts->persistence, p->facts->n_persistence,
						     &p->plan->functions[i].bdf);

	return gpu && (gpu->mig == MIG_ON || gpu->mig_pending == MIG_ON);
}

void plan_warn_of_persistence(Planner *p)
{
	plan_warn_of_functions(
		p, leaves_unasked, "the persistence mode of ",
		" was not read, because that opens a GPU: steps about it may be missing here; root's "
		"plan has them");
	plan_warn_of_functions(
		p, is_in_mig_mode,
		"MIG mode is on, or will be after a reset, and NVLink is off in MIG mode: ",
		"; gpupass leaves it so: nvidia-smi -i ADDRESS -mig 0 turns it off");
	for (size_t i = 0; i < p->plan->n_functions; i++)
		warn_of_unknown(p, i);
	/* A bind leaves no record of the mode. */
	if (p->request->operation == OPERATION_BIND)
		plan_warn_of_functions(
			p, loses_persistence,
			"persistence mode is on, and gpupass unbind will not turn it on again: ",
			"");
}

/* The warning about GPUs that a plan left asleep. */

static bool was_left_asleep(const Planner *p, size_t i)
{
	const FunctionFacts *facts =
		inspection_find(p->facts->inspection, &p->plan->functions[i].bdf);

	return facts && facts->left_asleep;
}

void plan_warn_of_unseen(Planner *p)
{
	plan_warn_of_functions(
		p, was_left_asleep,
		"GPUs that may sleep were not checked for an answer, because that wakes them: ",
		"; root's plan checks them");
}
