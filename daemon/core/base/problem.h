/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What went wrong, in the words an operator gets: what, why, what was changed, and the remedy.
 *
 * Functions that can refuse return 0, a negative errno (memory, I/O: the request failed for
 * reasons of this machine), or PROBLEM (> 0) with *ret_problem set: an expected outcome that the
 * caller hands on, never drops.
 */
#pragma once

#include "gpupass/cleanup.h"
#include "gpupass/errors.h"

#define PROBLEM 1

typedef struct Problem {
	GpupassError error;
	char *reason; /* short, ends the sentence "cannot assign pair0 to vm42: …" */
	char *cause;  /* lines with the BDF and the holder; may be NULL */
	char *state;  /* what was changed; NULL means "nothing was changed" */
	char *remedy; /* may be NULL */
} Problem;

/*
 * Sets *ret_problem to a new problem and returns PROBLEM, or -ENOMEM. `reason` is formatted;
 * cause and remedy are added with the calls below. Use as: return problem_set(ret_problem, …).
 */
int problem_set(Problem **ret_problem, GpupassError error, const char *reason, ...) _printf_(3, 4);
/* Replace the part; on memory shortage the part stays empty, the problem stands. Return PROBLEM. */
int problem_cause(Problem *problem, const char *format, ...) _printf_(2, 3);
int problem_state(Problem *problem, const char *format, ...) _printf_(2, 3);
int problem_remedy(Problem *problem, const char *format, ...) _printf_(2, 3);

/*
 * The whole message, as it travels in a D-Bus error:
 *   cannot assign pair1 to vm42: IOMMU group 57 is not viable
 *   Cause:  …
 *   State:  nothing was changed
 *   Remedy: …
 * `prefix` ("cannot assign pair1 to vm42") may be NULL. Further lines of a part are indented to
 * its first. NULL when memory is out.
 */
char *problem_message(const Problem *problem, const char *prefix);

/* "org.gpupass1.Error.IommuGroupNotViable" */
const char *problem_dbus_name(GpupassError error);

Problem *problem_free(Problem *problem);
DEFINE_CLEANUP(Problem, problem_free)
