/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "core/fit/fit.h"
#include "core/links/evidence.h"
#include "core/pci/board.h"
#include "core/pci/pcie-distance.h"
#include "core/plan/types.h"
#include "core/verify/guest-report.h"
#include "core/verify/measure.h"

/* Every value has a name that no other has, and the name leads back to the value. */
#define CHECK_TABLE(prefix, Type, max)                                                             \
	do {                                                                                       \
		for (int i = 0; i < (int)(max); i++) {                                             \
			const char *name = prefix##_to_string((Type)i);                            \
			Type back;                                                                 \
                                                                                                   \
			assert_non_null(name);                                                     \
			assert_int_equal(prefix##_from_string(name, &back), 0);                    \
			assert_int_equal((int)back, i);                                            \
		}                                                                                  \
		assert_null(prefix##_to_string(max));                                              \
		assert_int_equal(prefix##_from_string("no such name", &(Type){ 0 }), -EINVAL);     \
		assert_int_equal(prefix##_from_string(NULL, &(Type){ 0 }), -EINVAL);               \
	} while (0)

TEST(every_state_has_a_name_that_leads_back)
{
	CHECK_TABLE(sighting_way, SightingWay, WAY_MAX_);
	CHECK_TABLE(fit_id, FitId, FIT_ID_MAX_);
	CHECK_TABLE(fit_mode, FitMode, FIT_MODE_MAX_);
	CHECK_TABLE(operation, Operation, OPERATION_MAX_);
	CHECK_TABLE(step_kind, StepKind, STEP_KIND_MAX_);
	CHECK_TABLE(verify_cause, VerifyCause, VERIFY_CAUSE_MAX_);
	CHECK_TABLE(workload_verdict, WorkloadVerdict, WORKLOAD_VERDICT_MAX_);
	CHECK_TABLE(workload_cause, WorkloadCause, WORKLOAD_CAUSE_MAX_);
	CHECK_TABLE(guest_stage, GuestStage, GUEST_STAGE_MAX_);
	CHECK_TABLE(guest_report_state, GuestReportState, GUEST_REPORT_STATE_MAX_);
	CHECK_TABLE(group_state, GroupState, GROUP_STATE_MAX_);
	CHECK_TABLE(provenance, Provenance, PROVENANCE_MAX_);
	CHECK_TABLE(job_state, JobState, JOB_STATE_MAX_);
	CHECK_TABLE(step_state, StepState, STEP_STATE_MAX_);
	CHECK_TABLE(nvlink_kind, NvlinkKind, NVLINK_KIND_MAX_);
	CHECK_TABLE(pcie_distance, PcieDistance, PCIE_DISTANCE_MAX_);
}

TEST(declared_is_the_strongest_evidence_and_none_the_weakest)
{
	assert_int_equal(PROVENANCE_NONE, 0);
	assert_true(PROVENANCE_INFERRED < PROVENANCE_CACHED);
	assert_true(PROVENANCE_CACHED < PROVENANCE_PROBED);
	assert_int_equal(PROVENANCE_DECLARED, PROVENANCE_MAX_ - 1);
}
