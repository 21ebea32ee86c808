/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is wrong with this host, or with one domain and its group: a table of checks over facts that
 * the caller has gathered. A check changes nothing; it reports what it finds and names a remedy. If
 * a fact could not be gathered, a check is "unknown" and says what is missing; it never passes.
 */
#pragma once

#include "core/doctor/facts.h"

/*
 * Runs every check and returns the report, schema org.gpupass1.doctor/1:
 *   { "schema", "domain": {"name", "uuid", "group"} or null, "symptom": {…} or null,
 *     "counts": {"pass", "warn", "fail", "unknown", "skipped"},
 *     "checks": [ {"id", "title", "status", "what": […], "remedy", "objects": […], "see",
 *                  "evidence"} ] }
 */
char *doctor_report(const DoctorFacts *facts);

/* For tests: the id of a check, in the order of the table; NULL after the last. */
const char *doctor_check_id(size_t index);
