/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a verification looks at in the guest after the links. Neither changes the verdict. */
#pragma once

#include "core/verify/guest-report.h"
#include "core/verify/measure.h"
#include "job/place.h"

/* NULL if the guest agent runs no programs. */
GuestReport *verify_read_guest_report(const JobPlace *place, const VerifyInput *input,
				      const VerifyReport *report, uint64_t deadline);

/* Runs what the guest has to measure the links. */
Workload *verify_measure(const JobPlace *place, const VerifyInput *input,
			 const VerifyReport *report, uint64_t deadline);
