/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which of the guest's GPUs are the group's. The UUID decides if the host knows it: the board
 * reports the same one everywhere. The guest's firmware gives addresses, and libvirt's XML has
 * indexes of controllers for bus numbers. These mostly agree, but not always, so addresses count
 * only if they fit for every GPU of the domain.
 */
#pragma once

#include "core/verify/report.h"

/*
 * Finds the group's GPUs among those that the guest shows, and fills `gpus` (n_group). NOTHING, or
 * why they cannot be identified. With GPU_MISSING and OTHER_GPUS *ret_which is the GPU that the
 * guest does not show.
 */
VerifyCause verify_match_gpus(const VerifyInput *input, const SmiGpus *seen, VerifiedGpu *gpus,
			      VerifyMatch *ret_match, size_t *ret_which);
