/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is wrong with this host, or with one domain and its group: a table of checks over facts that
 * were gathered before. Each check finds, changes nothing, and names a remedy. A check whose facts
 * could not be had is skipped and says why: never passed.
 */
#pragma once

#include "core/doctor/facts.h"

/*
 * Runs every check and gives the report, schema org.gpupass1.doctor/1; NULL when memory is out:
 *   { "schema", "domain": {"name", "uuid", "group"} or null, "symptom": {…} or null,
 *     "counts": {"pass", "warn", "fail", "skipped"},
 *     "checks": [ {"id", "title", "status", "what": […], "remedy", "objects": […], "see"} ] }
 */
char *doctor_report(const DoctorFacts *facts);

/* For tests: ids in the table's order; NULL behind the last. */
const char *doctor_check_id(size_t index);
