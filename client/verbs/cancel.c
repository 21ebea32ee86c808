/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/job.h"
#include "verbs/verbs.h"

int verb_cancel(Client *c, char *const *arguments, _unused_ size_t n_arguments)
{
	uint32_t id = 0;
	int r = job_id_parse(c, arguments[0], &id);

	return r < 0 ? r : job_cancel(c, id);
}
