/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The metrics of gpupass, by Prometheus' conventions: base units, and the type's ending is added by
 * the writer. docs/MONITORING.md has the same table, with labels; tests/check-docs compares.
 */
#pragma once

#include "gpupass/string-table.h"

typedef enum MetricType { METRIC_GAUGE, METRIC_COUNTER, METRIC_HISTOGRAM, METRIC_INFO } MetricType;

/*
 * X(enumerator, name without the type's ending, type, help). The help has no quote and no
 * backslash: OpenMetrics and the format before escape them differently.
 */
#define METRIC_FAMILIES(X)                                                                         \
	X(METRIC_UP, "gpupass_up", METRIC_GAUGE, "1 if gpupassd answered, 0 if it did not")        \
	X(METRIC_BUILD, "gpupass_build", METRIC_INFO, "The version of gpupassd")                   \
	X(METRIC_START, "gpupass_start_time_seconds", METRIC_GAUGE,                                \
	  "When gpupassd started; its counters begin there")                                       \
	X(METRIC_LIBVIRT, "gpupass_libvirt_connected", METRIC_GAUGE, "1 if libvirt answers")       \
	X(METRIC_IOMMU, "gpupass_iommu_enabled", METRIC_GAUGE, "1 if the kernel has an IOMMU")     \
	X(METRIC_SCAN, "gpupass_scan_timestamp_seconds", METRIC_GAUGE,                             \
	  "When devices and drivers were read last")                                               \
	X(METRIC_NOTES, "gpupass_notes", METRIC_GAUGE,                                             \
	  "Faults of the host and its settings that gpupass status prints as notes")               \
	X(METRIC_GROUPS, "gpupass_groups", METRIC_GAUGE, "Groups by state and model")              \
	X(METRIC_GROUP_INFO, "gpupass_group", METRIC_INFO,                                         \
	  "Which board a group is made of, and which domain has it")                               \
	X(METRIC_GROUP_STATE, "gpupass_group_state", METRIC_GAUGE,                                 \
	  "1 for the state that a group is in, 0 for all others")                                  \
	X(METRIC_GROUP_GPUS, "gpupass_group_gpus", METRIC_GAUGE, "GPUs of a group")                \
	X(METRIC_GROUP_COMPANION, "gpupass_group_companion", METRIC_INFO,                          \
	  "A NIC, VF or NVMe that goes with the GPUs of a group")                                  \
	X(METRIC_GROUP_LINKS, "gpupass_group_links", METRIC_GAUGE,                                 \
	  "NVLink links between two GPUs of a group that were seen active; 0 if nobody looked")    \
	X(METRIC_GROUP_LINKS_EXPECTED, "gpupass_group_links_expected", METRIC_GAUGE,               \
	  "NVLink links between two GPUs of a group that its boards have")                         \
	X(METRIC_GROUP_EVIDENCE, "gpupass_group_evidence_timestamp_seconds", METRIC_GAUGE,         \
	  "When the links of a group were seen last")                                              \
	X(METRIC_GROUP_VERDICT, "gpupass_group_verdict", METRIC_GAUGE,                             \
	  "1 for what the guest said last of the links of its group, 0 for all other verdicts")    \
	X(METRIC_GROUP_VERIFIED, "gpupass_group_verified_timestamp_seconds", METRIC_GAUGE,         \
	  "When the guest was asked last")                                                         \
	X(METRIC_GPU_INFO, "gpupass_gpu", METRIC_INFO, "A GPU, its board and its group")           \
	X(METRIC_GPU_HEALTH, "gpupass_gpu_health", METRIC_GAUGE,                                   \
	  "1 for the health of a GPU as seen from the host, 0 for all others")                     \
	X(METRIC_GPU_AER, "gpupass_gpu_aer_errors", METRIC_COUNTER,                                \
	  "PCIe errors of a GPU that the kernel counted")                                          \
	X(METRIC_ASSIGNMENTS, "gpupass_assignments", METRIC_GAUGE, "Groups assigned to domains")   \
	X(METRIC_DRIFT, "gpupass_drift_findings", METRIC_GAUGE,                                    \
	  "Differences between the assignments and the machine, by group")                         \
	X(METRIC_DRIFT_SEARCHED, "gpupass_drift_timestamp_seconds", METRIC_GAUGE,                  \
	  "When drift was looked for last")                                                        \
	X(METRIC_FOREIGN, "gpupass_foreign_findings", METRIC_GAUGE,                                \
	  "Domains that have a group, or a part of it, that gpupass did not give them")            \
	X(METRIC_QUARANTINES, "gpupass_quarantines", METRIC_GAUGE, "Quarantines that last")        \
	X(METRIC_CLAIMS, "gpupass_claims", METRIC_GAUGE,                                           \
	  "Claims of jobs on functions of GPUs, which keep other jobs away")                       \
	X(METRIC_OPEN_JOBS, "gpupass_open_jobs", METRIC_GAUGE, "Jobs that have not ended")         \
	X(METRIC_OPEN_JOB_START, "gpupass_open_job_start_timestamp_seconds", METRIC_GAUGE,         \
	  "When the oldest open job of a group began")                                             \
	X(METRIC_AUDIT_WRITABLE, "gpupass_audit_writable", METRIC_GAUGE,                           \
	  "1 if the last record of the audit trail could be written")                              \
	X(METRIC_AUDIT_LOST, "gpupass_audit_records_lost", METRIC_COUNTER,                         \
	  "Records of the audit trail that could not be written")                                  \
	X(METRIC_JOBS, "gpupass_jobs", METRIC_COUNTER, "Jobs that ended, by how")                  \
	X(METRIC_JOB_DURATION, "gpupass_job_duration_seconds", METRIC_HISTOGRAM,                   \
	  "How long jobs took, from the call to their end")                                        \
	X(METRIC_STEP_DURATION, "gpupass_step_duration_seconds", METRIC_HISTOGRAM,                 \
	  "How long steps of jobs took that had something to do")                                  \
	X(METRIC_FAILURES, "gpupass_failures", METRIC_COUNTER,                                     \
	  "Jobs that failed, and calls that could begin none, by the name of the error")           \
	X(METRIC_RESETS, "gpupass_resets", METRIC_COUNTER,                                         \
	  "Functions reset between two tenants, by the method and what came of it")                \
	X(METRIC_RECOVERED, "gpupass_recovered_jobs", METRIC_COUNTER,                              \
	  "Jobs that were interrupted and then recovered, by the outcome")                         \
	X(METRIC_QUARANTINES_MADE, "gpupass_quarantines_made", METRIC_COUNTER,                     \
	  "Quarantines that began")                                                                \
	X(METRIC_QUARANTINES_LIFTED, "gpupass_quarantines_lifted", METRIC_COUNTER,                 \
	  "Quarantines that gpupass clear lifted")                                                 \
	X(METRIC_DRIFT_FOUND, "gpupass_drift_found", METRIC_COUNTER,                               \
	  "Findings of drift that came")                                                           \
	X(METRIC_DRIFT_GONE, "gpupass_drift_gone", METRIC_COUNTER,                                 \
	  "Findings of drift that went: mended, or the cause is gone")                             \
	X(METRIC_FOREIGN_FOUND, "gpupass_foreign_found", METRIC_COUNTER,                           \
	  "Findings of foreign use that came")                                                     \
	X(METRIC_FOREIGN_GONE, "gpupass_foreign_gone", METRIC_COUNTER,                             \
	  "Findings of foreign use that went")                                                     \
	X(METRIC_REFUSED_CALLS, "gpupass_refused_calls", METRIC_COUNTER,                           \
	  "Calls that polkit denied, or a limit refused")

NAMED_ENUM(MetricFamily, METRIC_FAMILIES, METRIC_FAMILY_MAX_);
