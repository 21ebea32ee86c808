/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "verbs/meant.h"

#include <string.h>

#include "base/text.h"
#include "model/model.h"

int meant_groups(Client *c, const char *word, char ***ret)
{
	_cleanup_(world_clear) World w = { 0 };
	_cleanup_strv_ char **names = NULL;
	const Group *first = NULL;
	bool sure;
	int r = world_load(c, &w);

	if (r < 0)
		return r;
	sure = !world_find_group_named(&w, word);
	for (size_t i = 0; i < w.n_groups; i++) {
		const Group *group = &w.groups[i];

		if (!group_is_of_domain(group, word))
			continue;
		first = first ? first : group;
		sure &= strcmp(group->state, "assigned") == 0 &&
			strcmp(group->domain_uuid, first->domain_uuid) == 0;
		strv_append(&names, group->name);
	}
	if (!sure || strv_length(names) < 2) {
		names = strv_free(names);
		strv_append(&names, word);
	}
	*ret = TAKE_PTR(names);
	return 0;
}
