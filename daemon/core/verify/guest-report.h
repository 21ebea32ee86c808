/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The report that a guest with the user-data of `gpupass export` leaves in a file. The tenant can
 * write anything into it: it is bounded, strictly parsed, shown as the guest's word, and decides
 * nothing. What was written before this boot, or in another machine, is told apart.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "core/verify/guest-agent.h"

#define GUEST_REPORT_SCHEMA "org.gpupass1.guest-report/1"
#define GUEST_REPORT_PATH "/var/lib/gpupass-guest/report.json"
#define GUEST_REPORT_MAX (8U * 1024)
#define GUEST_REPORT_TEXT_MAX 160
#define GUEST_REPORT_GPUS_MAX 64
#define GUEST_REPORT_LINKS_MAX 36

#define GUEST_STAGES(X)                                                                            \
	X(GUEST_STAGE_UNKNOWN, "unknown")                                                          \
	X(GUEST_STAGE_INSTALLING, "installing")                                                    \
	X(GUEST_STAGE_FAILED, "failed") /* `detail` says why */                                    \
	X(GUEST_STAGE_REBOOT, "reboot-needed")                                                     \
	X(GUEST_STAGE_CHECKED, "checked")

DECLARE_ENUM(guest_stage, GuestStage, GUEST_STAGES, GUEST_STAGE_MAX_);

/* Whether the report is about the machine as it runs now. */
#define GUEST_REPORT_STATES(X)                                                                     \
	X(GUEST_REPORT_NONE, "none")		 /* there is no such file */                       \
	X(GUEST_REPORT_UNREADABLE, "unreadable") /* it is not such a report */                     \
	X(GUEST_REPORT_OTHER_DOMAIN,                                                               \
	  "other-domain") /* written in another machine, or no one knows */                        \
	X(GUEST_REPORT_EARLIER_BOOT, "earlier-boot")                                               \
	X(GUEST_REPORT_CURRENT, "current")

DECLARE_ENUM(guest_report_state, GuestReportState, GUEST_REPORT_STATES, GUEST_REPORT_STATE_MAX_);

typedef struct GuestReport {
	GuestReportState state;
	/* What follows is set unless it is NONE or UNREADABLE. */
	GuestStage stage;
	uint64_t written_usec; /* by the guest's clock, since 1970 */
	bool has_age;	       /* false: the guest's clock is ahead of the host's */
	uint64_t age_usec;
	char *detail, *driver, *distribution; /* printable ASCII; never NULL */
	unsigned n_gpus;
	unsigned links[GUEST_REPORT_GPUS_MAX]; /* active ones of each */
	size_t n_links;
	bool as_expected; /* as the user-data said it should be */
} GuestReport;
DECLARE_FREE(GuestReport, guest_report_free)

/* Read the guest's boot id, and its report. */
#define GUEST_REPORT_RUNS 2
extern const char *const *const guest_report_commands[GUEST_REPORT_RUNS];

/*
 * What the runs brought. `domain_uuid` is the domain's, `now_usec` the host's CLOCK_REALTIME.
 */
GuestReport *guest_report_judge(const GuestRun runs[GUEST_REPORT_RUNS], const char *domain_uuid,
				uint64_t now_usec);

/* The member "guest_report" of org.gpupass1.verify/1. */
json_t *guest_report_to_json(const GuestReport *report);
