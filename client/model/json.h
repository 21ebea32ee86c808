/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The objects of model.h as JSON. Keys are in lower case with underscores; what is not known is
 * null; times are microseconds since the epoch.
 */
#pragma once

#include <jansson.h>

#include "base/json.h"
#include "model/model.h"

/* Events of `gpupass monitor`, one document a line. */
#define SCHEMA_EVENT "org.gpupass1.event/1"

json_t *json_of_object(ObjectKind kind, const void *from);
json_t *json_groups(const World *w);
json_t *json_jobs(const World *w);
