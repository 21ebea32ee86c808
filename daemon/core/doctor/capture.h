/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The facts of a report of doctor as JSON, so that the report can be made again on another machine:
 * a test of a host that its makers cannot reach. Names, UUIDs and serial numbers are in it as they
 * are; the client replaces them before it writes them anywhere.
 */
#pragma once

#include "core/checks/checks.h"
#include "core/links/evidence.h"

typedef struct CaptureFacts {
	const CheckFacts *doctor; /* of the host as a whole */
	const Declarations *declarations;
	const Evidence *evidence; /* NULL: none */
} CaptureFacts;

/*
 * { "schema": org.gpupass1.capture/1, "report": what doctor_report() returned, "facts": {…} };
 * org.gpupass1(5), CAPTURE, has the members.
 */
char *capture_to_json(const CaptureFacts *from, const char *report);
