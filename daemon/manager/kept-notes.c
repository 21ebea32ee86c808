/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/kept-notes.h"

#include "core/facts/kept.h"
#include "manager/state.h"
#include "util/text.h"

/* Its boards are those of one group, which is kept by this file. */
static bool is_in_force(const Manager *m, const Assignment *kept)
{
	const Group *group = group_set_find_gpu(m->inventory->groups, &kept->functions[0].bdf);

	return group && group->kept == KEPT_ASKED;
}

void manager_note_kept(const Manager *m, char ***notes)
{
	for (size_t i = 0; m->inventory && m->assignments && i < m->assignments->n_kept; i++) {
		const Assignment *kept = m->assignments->kept[i];

		if (kept->kept != KEPT_ASKED || is_in_force(m, kept))
			continue;
		strv_appendf(notes,
			     "%s was to be kept on vfio-pci (gpupass bind --persist), but its "
			     "boards at %s and elsewhere are not there as they were, or not one "
			     "group; bind it again with --persist, or remove kept.d/%s",
			     kept->group_name, BDF_TEXT(&kept->functions[0].bdf), kept->file);
	}
}
