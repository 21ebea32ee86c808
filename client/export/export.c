/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/export.h"

#include <stdlib.h>

#include "base/text.h"

size_t export_gpus(const Export *e)
{
	size_t n = 0;

	for (size_t i = 0; i < e->n_groups; i++)
		n += e->groups[i].n_gpus;
	return n;
}

const ExportGpu *export_gpu(const Export *e, size_t i)
{
	for (size_t g = 0; g < e->n_groups; g++) {
		if (i < e->groups[g].n_gpus)
			return &e->groups[g].gpus[i];
		i -= e->groups[g].n_gpus;
	}
	return NULL;
}

static void clear_group(ExportGroup *group)
{
	for (size_t i = 0; i < group->n_gpus; i++) {
		free(group->gpus[i].functions);
		free(group->gpus[i].name);
	}
	free(group->gpus);
	free(group->name);
	free(group->model);
}

void export_clear(Export *e)
{
	for (size_t i = 0; i < e->n_groups; i++)
		clear_group(&e->groups[i]);
	free(e->groups);
	strv_free(e->left_out);
	strv_free(e->guest.models);
	strv_free(e->guest.links);
}
