/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Making the VFs of a NIC that groups are declared with. */
#include "job/steps.h"

static int make_vfs(_unused_ StepContext *c, _unused_ Problem **ret_problem)
{
	return 0;
}

static int are_there(_unused_ StepContext *c, _unused_ Problem **ret_problem)
{
	return 0;
}

const StepOps step_vfs = { .act = make_vfs, .holds = are_there, .shows = GROUP_UNREADY };
