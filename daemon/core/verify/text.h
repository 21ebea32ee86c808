/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A report in words and as JSON. */
#pragma once

#include "core/verify/guest-report.h"
#include "core/verify/report.h"
#include "core/verify/workload.h"

/*
 * Writes the reason and remedy of the report for its cause. `what` (may be NULL): words for the
 * sentence, from a program or libvirt, or an address. `link` (may be NULL): the worst link.
 */
void verify_explain(VerifyReport *report, const VerifyInput *input, const char *what,
		    const VerifiedLink *link);

/* "NV4", "SYS", "nothing"; new. */
char *smi_path_text(SmiCell cell);

/* More members of the document. Either may be NULL: it was not looked at. */
typedef struct VerifyMore {
	const GuestReport *guest_report;
	const Workload *workload;
} VerifyMore;

/* Schema org.gpupass1.verify/1; times are CLOCK_REALTIME. */
char *verify_report_to_json(const VerifyReport *report, const VerifyInput *input,
			    const char *domain_uuid, uint64_t asked_usec, const VerifyMore *more);
