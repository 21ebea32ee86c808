/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/group/keep.h"

#include <fnmatch.h>

#include "util/xalloc.h"

static bool names(char *const *patterns, const char *text)
{
	for (; patterns && *patterns; patterns++)
		if (fnmatch(*patterns, text, 0) == 0)
			return true;
	return false;
}

/* A board that is in no catalogue is known by its ids: "10de:2684". */
static bool names_boards(char *const *patterns, const Group *group)
{
	for (size_t i = 0; i < group->n_gpus; i++) {
		_cleanup_free_ char *model = gpu_model(group->gpus[i]);

		if (!names(patterns, model))
			return false;
	}
	return group->n_gpus > 0;
}

static bool setting_names(const Group *group, const Policy *policy)
{
	if (!policy->keep_bound || group->fault || group->provenance == PROVENANCE_NONE ||
	    (group->provenance == PROVENANCE_INFERRED && !policy->accept_inferred))
		return false;
	return names(policy->keep_bound, group->name) || names_boards(policy->keep_bound, group);
}

KeptWhy group_kept(const Group *group, const PciFunction *const *functions, size_t n,
		   const Assignments *assignments, const Policy *policy)
{
	const Assignment *kept = kept_find(assignments, functions, n);

	if (kept && kept->kept == KEPT_ASKED)
		return KEPT_ASKED;
	return setting_names(group, policy) ? KEPT_SETTING : KEPT_NOT;
}

AssignedFunction group_identify(const Group *group, const PciFunction *function,
				const Inspection *inspection)
{
	const FunctionFacts *facts =
		inspection ? inspection_find(inspection, &function->bdf) : NULL;
	const Gpu *gpu = FIND_OF(group->gpus, group->n_gpus, it->lead == function);
	const char *known = gpu ? gpu->serial_number : NULL;

	return (AssignedFunction){
		.bdf = function->bdf,
		PCI_IDS_OF(function),
		.serial_number =
			xstrdup(facts && facts->serial_number ? facts->serial_number : known),
		.path = group_companion(group, &function->bdf) ? pci_function_path(function) : NULL,
	};
}

Assignment *group_keep(const Group *group, KeptWhy why, uint64_t now_usec, uint32_t caller_uid,
		       const Inspection *inspection)
{
	Assignment *kept = xcalloc(1, sizeof(*kept));
	size_t n;
	_cleanup_free_ const PciFunction **functions = group_functions(group, &n);

	*kept = (Assignment){
		.kept = why,
		.created_usec = now_usec,
		.created_by = caller_uid,
		.group_name = xstrdup(group->name),
		.functions = xcalloc(n + 1, sizeof(AssignedFunction)),
		.n_functions = n,
	};
	for (size_t i = 0; i < n; i++)
		kept->functions[i] = group_identify(group, functions[i], inspection);
	return kept;
}
