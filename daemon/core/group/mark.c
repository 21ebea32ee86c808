/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/group/mark.h"

#include "core/domain/xml-marks.h"
#include "util/text.h"

static bool is_ours(const DomainHostdev *hostdev)
{
	return hostdev->alias && !hostdev->argument &&
	       str_starts_with(hostdev->alias, ALIAS_PREFIX);
}

bool mark_counts(const GroupSet *groups, const DomainUse *use, const char *group)
{
	const Group *named;

	if (!domain_use_names(use, group))
		return false;
	named = group_set_find(groups, group);
	for (size_t i = 0; i < use->n_hostdevs; i++)
		if (alias_is_of_group(use->hostdevs[i].alias, group) ||
		    (named && group_set_find_gpu(groups, &use->hostdevs[i].bdf) == named))
			return true;
	return false;
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
