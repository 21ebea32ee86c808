/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What guests said of NVLink, for as long as their domains have the GPUs. */
#pragma once

#include "manager/types.h"

/* What the guest that has the group said of it last. Verdict UNKNOWN and 0: it was not asked. */
Verdict manager_group_verdict(const Manager *m, const Group *group, uint64_t *ret_asked_usec);
/* Takes what the end of a verification tells. */
void manager_note_verdict(Manager *m, JobEvent *ended);
void manager_clear_verdicts(Manager *m);
