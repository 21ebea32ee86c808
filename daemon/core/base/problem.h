/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What went wrong, in the words the operator sees: what, why, what was changed, and the remedy.
 *
 * A function that can refuse returns 0, a negative errno, or PROBLEM (> 0) with *ret_problem set. A
 * negative errno means that this machine failed the request (I/O). PROBLEM is an expected
 * outcome: the caller passes it on and never drops it.
 */
#pragma once

#include "gpupass/cleanup.h"
#include "gpupass/errors.h"

#define PROBLEM 1

typedef struct Problem {
	GpupassError error;
	char *reason; /* short; completes "cannot assign pair0 to vm42: …" */
	char *cause;  /* lines with the BDF and the holder; may be NULL */
	char *state;  /* what was changed; NULL means "nothing was changed" */
	char *remedy; /* may be NULL */
} Problem;

/* The parts of a new problem, made by strf() or xstrdup(). All but the reason may be NULL. */
typedef struct ProblemText {
	char *reason;
	char *cause;
	char *state;
	char *remedy;
} ProblemText;

/*
 * A refusal is one statement:
 *   return problem_refuse(ret_problem, GPUPASS_ERROR_GROUP_BUSY,
 *                         .reason = strf("%s has group %s already", domain, group),
 *                         .remedy = strf("gpupass release %s", domain));
 * Takes the texts, sets *ret_problem to a new problem and returns PROBLEM.
 */
#define problem_refuse(ret_problem, error, ...)                                                    \
	problem_refuse_with(ret_problem, error, (ProblemText){ __VA_ARGS__ })
int problem_refuse_with(Problem **ret_problem, GpupassError error, ProblemText text);

/* A refusal with a reason only. Use as: return problem_set(ret_problem, …). */
int problem_set(Problem **ret_problem, GpupassError error, const char *reason, ...) _printf_(3, 4);

/* Of a negative errno that no name above fits: this machine failed, or gpupass has a bug. */
int problem_errno(Problem **ret_problem, int error, const char *reason, ...) _printf_(3, 4);

/* These add to a problem that another function made. They replace the part and return PROBLEM. */
int problem_state(Problem *problem, const char *format, ...) _printf_(2, 3);
int problem_remedy(Problem *problem, const char *format, ...) _printf_(2, 3);

/*
 * The whole message, as a D-Bus error carries it:
 *   cannot assign pair1 to vm42: IOMMU group 57 is not viable
 *   Cause:  …
 *   State:  nothing was changed
 *   Remedy: …
 * `prefix` ("cannot assign pair1 to vm42") may be NULL. All lines of a part have the same indent.
 */
char *problem_message(const Problem *problem, const char *prefix);

/* "org.gpupass1.Error.IommuGroupNotViable" */
const char *problem_dbus_name(GpupassError error);

DECLARE_FREE(Problem, problem_free)
