/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/group/record.h"

#include "util/domain-devices.h"
#include "util/text.h"

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
	return named && !SOME(named->functions, named->n_functions,
			      group_set_find_gpu(groups, &it->bdf))
		       ? named
		       : NULL;
}

static bool is_ours(const DomainHostdev *hostdev)
{
	return hostdev->alias && !hostdev->argument &&
	       str_starts_with(hostdev->alias, DOMAIN_ALIAS_PREFIX);
}

bool mark_counts(const GroupSet *groups, const DomainUse *use, const char *group)
{
	_cleanup_free_ char *stem = NULL;
	const Group *named;

	if (!domain_use_names(use, group))
		return false;
	stem = domain_alias_stem(group);
	named = group_set_find(groups, group);
	return SOME(use->hostdevs, use->n_hostdevs,
		    str_starts_with(str_or_empty(it->alias), stem) ||
			    (named && group_set_find_gpu(groups, &it->bdf) == named));
}

bool mark_is_ours(const DomainUse *use, const PciFunction *const *functions, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const DomainHostdev *hostdev = domain_use_hostdev(use, &functions[i]->bdf);

		if (!hostdev || !is_ours(hostdev))
			return false;
	}
	return true;
}
