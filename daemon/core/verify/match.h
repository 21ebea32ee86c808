/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which of the guest's GPUs are the group's. By UUID where the host knows it: the board tells the
 * same one everywhere. Addresses in a guest are given by its firmware, and libvirt's XML has
 * indexes of controllers for bus numbers, which mostly but not always are the same: they count only
 * where they fit for every GPU of the domain.
 */
#pragma once

#include "core/verify/report.h"

/*
 * Finds the group's GPUs among those that the guest shows, and fills `gpus` (n_group). NOTHING, or
 * why they cannot be told; with GPU_MISSING and OTHER_GPUS *ret_which is the one that is not there.
 */
VerifyCause verify_match_gpus(const VerifyInput *input, const SmiGpus *seen, VerifiedGpu *gpus,
			      VerifyMatch *ret_match, size_t *ret_which);
