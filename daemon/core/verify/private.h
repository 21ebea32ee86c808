/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of core/verify share. */
#pragma once

#include "core/verify/verify.h"

/*
 * Finds the group's GPUs among those that the guest shows, and fills `gpus` (n_group). NOTHING, or
 * why they cannot be told; with GPU_MISSING and OTHER_GPUS *ret_which is the one that is not there.
 */
VerifyCause verify_match_gpus(const VerifyInput *input, const SmiGpus *seen, VerifiedGpu *gpus,
			      VerifyMatch *ret_match, size_t *ret_which);

/*
 * Writes the report's reason and remedy for its cause. `what` (may be NULL) are words for the
 * sentence: a program's or libvirt's, or an address. `link` (may be NULL): the one that is worst.
 */
int verify_explain(VerifyReport *report, const VerifyInput *input, const char *what,
		   const VerifiedLink *link);
