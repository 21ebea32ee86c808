/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plan in words. */
#pragma once

#include "core/plan/types.h"

/*
 * "cannot assign pair0 to vm42 (3f0c9a52-…)", for problem_message(). `domain` comes from
 * domain_ref_text(). Either may be NULL and is then left out.
 */
char *plan_prefix(Operation operation, const char *group, const char *domain);

/* One line about a step, as a job shows it when the step is done: "4 functions". */
char *plan_step_detail(const Plan *plan, StepKind step);
