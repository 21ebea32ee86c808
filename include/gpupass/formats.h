/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The formats that are promised (docs/PROMISES.md), as gpupass --version names them, each with its
 * number. What each has in it: docs/schema. tests/check-promised compares both.
 */
#pragma once

/* What programs print and methods return: X(name and number). */
#define GPUPASS_DOCUMENTS(X)                                                                       \
	X("audit/1")                                                                               \
	X("audit-check/1")                                                                         \
	X("audit-page/1")                                                                          \
	X("doctor/1")                                                                              \
	X("drift/1")                                                                               \
	X("error/1")                                                                               \
	X("event/1")                                                                               \
	X("evidence/1")                                                                            \
	X("holders/1")                                                                             \
	X("job/1")                                                                                 \
	X("jobs/1")                                                                                \
	X("list/1")                                                                                \
	X("metrics/1")                                                                             \
	X("plan/1")                                                                                \
	X("show/1")                                                                                \
	X("status/1")                                                                              \
	X("topology/1")                                                                            \
	X("verify/1")                                                                              \
	X("version/1")

/*
 * Files that gpupass keeps: X(name and number, or the oldest number that is read, "-", and the one
 * that is written).
 */
#define GPUPASS_FILES(X)                                                                           \
	X("assignment/1-4")                                                                        \
	X("audit/1")                                                                               \
	X("boot/1")                                                                                \
	X("evidence/1-3")                                                                          \
	X("fence/1")                                                                               \
	X("journal/1-3")                                                                           \
	X("kept/1-2")                                                                              \
	X("numbers/1")                                                                             \
	X("quarantine/1-2")                                                                        \
	X("receipt/1-2")                                                                           \
	X("tenant/1-2")

/* For a line of them. */
#define GPUPASS_AND_FORMAT(name) " " name
