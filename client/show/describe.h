/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words for groups and GPUs that several verbs print. Returned strings are new. */
#pragma once

#include "model/model.h"

Colour group_colour(const Group *group);
/* "● " or "○ " */
const char *group_bullet(const Terminal *t, const Group *group);
/* "2× RTX A6000, NV4, NIC" */
char *group_summary(const Terminal *t, const Group *group);
/* "assigned to vm42" */
char *group_state_text(const Group *group);
/* "nic:0000:42:00.0" …: as declare takes them; NULL: none. */
char **group_companions(const Group *group);
/* "33,41"; each number once; "-" when none is known. */
char *numbers_text(const BusInt32s *list);
/* "no NVLink", "SXM", "unknown board" for a GPU in no group. */
const char *gpu_exclusion(const Gpu *gpu);
/* Of a job: its state, or "cancelling" where it has still to stop. */
const char *job_shown_state(const Job *job);
/* "assign pair1, domain vm42" */
char *job_title(const Job *job);
/* A line of a block: "vm42, 4dea22b3-…"; none without a UUID. */
void domain_field(const Terminal *t, const char *name, const char *uuid);
/* "-" for "". */
const char *or_dash(const char *s);

/* "declare it with: gpupass declare …"; NULL where a declaration would not help. */
char *group_remedy(const Group *group);
/* What the operator should know of this group and do, one line; NULL when nothing. */
char *group_hint(const Group *group);
/* Manager.Notes, on stderr. */
void print_notes(Client *c, const World *w);
