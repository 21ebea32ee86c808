/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A plan in words. */
#pragma once

#include "core/plan/types.h"

/* "cannot assign pair0 to vm42 (3f0c9a52-…)", for problem_message(), with the domain as
 * domain_ref_text() has it. NULL parts are left out. */
char *plan_prefix(Operation operation, const char *group, const char *domain);

/* One line of detail for a step, as a job shows it when done: "4 functions". */
char *plan_step_detail(const Plan *plan, StepKind step);
