/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A plan as the journal keeps it: everything that is needed to repeat or undo it, and nothing that
 * is only shown. Clients get plan_to_json() instead.
 */
#pragma once

#include <jansson.h>

#include "core/plan/types.h"

json_t *plan_to_record(const Plan *plan);

/* Strict: -EBADMSG with *ret_message for what plan_to_record() would not have written. */
int plan_from_record(const json_t *record, Plan **ret, char **ret_message);
