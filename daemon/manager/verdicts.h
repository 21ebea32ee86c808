/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The verdicts of guests on NVLink, kept while their domains have the GPUs. */
#pragma once

#include "manager/types.h"

/* The last verdict of the guest that has the group. VERDICT_UNKNOWN and 0: it was not asked. */
Verdict manager_group_verdict(const Manager *m, const Group *group, uint64_t *ret_asked_usec);
/* Keeps the verdict of a verification that ended; takes members out of the event. */
void manager_note_verdict(Manager *m, JobEvent *ended);
void manager_clear_verdicts(Manager *m);
