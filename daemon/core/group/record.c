/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/group/record.h"

static bool has_boards(const Assignment *record, const GroupSet *groups)
{
	for (size_t i = 0; i < record->n_functions; i++)
		if (group_set_find_gpu(groups, &record->functions[i].bdf))
			return true;
	return false;
}

const Assignment *group_record(const Group *group, const PciFunction *const *functions, size_t n,
			       const GroupSet *groups, const Assignments *assignments)
{
	const Assignment *named;

	for (size_t i = 0; i < n; i++) {
		const Assignment *record =
			assignments_find_function(assignments, &functions[i]->bdf);

		if (record)
			return record;
	}
	named = assignments_find_group(assignments, group->name);
	return named && !has_boards(named, groups) ? named : NULL;
}
