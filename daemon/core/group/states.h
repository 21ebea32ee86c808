/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of the states of jobs and steps, for job/ and bus/. Those of groups are in group.h. */
#pragma once

#include "gpupass/states.h"
#include "gpupass/string-table.h"

DECLARE_STRING_TABLE(job_state, JobState);
DECLARE_STRING_TABLE(step_state, StepState);
