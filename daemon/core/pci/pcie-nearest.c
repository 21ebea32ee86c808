/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/pci/pcie-nearest.h"

#include "util/text.h"

/* Less is nearer: the greatest distance counts, then the others. */
static unsigned far(const PcieNearest *search, const PciFunction *candidate)
{
	unsigned greatest = 0, sum = 0;

	for (size_t i = 0; i < search->n_gpus; i++) {
		unsigned one = pcie_distance(candidate, search->gpus[i], search->n_nodes);

		sum += one;
		greatest = one > greatest ? one : greatest;
	}
	return greatest * 1000 + sum;
}

/* The nearest of those that are not `but`. */
static const PciFunction *best_of(const PcieNearest *search, const PciFunction *but)
{
	const PciFunction *best = NULL;

	EACH_OF (const PciFunction, candidate, search->candidates, search->n_candidates)
		if (candidate != but && (!best || far(search, candidate) < far(search, best)))
			best = candidate;
	return best;
}

/* "PIX to 0000:41:00.0, NODE to 0000:61:00.0", or without the addresses. */
static char *distances_text(const PcieNearest *search, const PciFunction *candidate, bool addresses)
{
	_cleanup_strv_ char **parts = NULL;

	for (size_t i = 0; i < search->n_gpus; i++)
		strv_appendf(&parts, "%s%s%s",
			     pcie_distance_to_string(
				     pcie_distance(candidate, search->gpus[i], search->n_nodes)),
			     addresses ? " to " : "",
			     addresses ? BDF_TEXT(&search->gpus[i]->bdf) : "");
	return strv_join(parts, ", ");
}

static int refuse_equal(const PcieNearest *search, const PciFunction *best, Problem **ret_problem)
{
	_cleanup_free_ char *joined = NULL, *told = distances_text(search, best, true);
	_cleanup_strv_ char **equal = NULL;

	for (size_t i = 0; i < search->n_candidates; i++)
		if (far(search, search->candidates[i]) == far(search, best))
			strv_append(&equal, BDF_TEXT(&search->candidates[i]->bdf));
	joined = strv_join(equal, ", ");
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_INVALID_ARGUMENT,
		.reason = strf("%s are equally near", joined),
		.cause = strf("%s: %s", BDF_TEXT(&best->bdf), told),
		.remedy = strf("name one: --with %s:%s", search->kind, BDF_TEXT(&best->bdf)));
}

int pcie_nearest(const PcieNearest *search, Bdf *ret, char **ret_reason, Problem **ret_problem)
{
	const PciFunction *best = best_of(search, NULL), *next = best_of(search, best);
	_cleanup_free_ char *told = NULL, *next_told = NULL;

	if (!best)
		return problem_set(ret_problem, GPUPASS_ERROR_INVALID_ARGUMENT,
				   "there is no %s that may be given with these GPUs",
				   search->kind);
	if (next && far(search, best) == far(search, next))
		return refuse_equal(search, best, ret_problem);
	told = distances_text(search, best, true);
	next_told = next ? distances_text(search, next, false) : NULL;
	*ret = best->bdf;
	*ret_reason =
		strf("%s %s: %s; %s%s%s%s", search->kind, BDF_TEXT(&best->bdf), told,
		     next ? "next is " : "there is no other", next ? BDF_TEXT(&next->bdf) : "",
		     next ? ": " : "", str_or_empty(next_told));
	return 0;
}
