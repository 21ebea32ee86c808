/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/group/states.h"

#include "core/group/group.h"
#include "core/links/link.h"

DEFINE_STRING_TABLE(group_state, GroupState, GPUPASS_GROUP_STATES)
DEFINE_STRING_TABLE(provenance, Provenance, GPUPASS_PROVENANCES)
DEFINE_STRING_TABLE(job_state, JobState, GPUPASS_JOB_STATES)
DEFINE_STRING_TABLE(step_state, StepState, GPUPASS_STEP_STATES)
