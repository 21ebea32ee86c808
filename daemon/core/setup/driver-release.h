/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the releases of NVIDIA's kernel driver do in an unbind, by version ("550.54.15"). */
#pragma once

#include "gpupass/string-table.h"

#define RELEASE_ANSWERS(X)                                                                         \
	X(RELEASE_UNKNOWN, "unknown") /* no version, or the tables do not reach it */              \
	X(RELEASE_NO, "no")                                                                        \
	X(RELEASE_YES, "yes")

DECLARE_ENUM(release_answer, ReleaseAnswer, RELEASE_ANSWERS, RELEASE_ANSWER_MAX_);

/*
 * nvidia_drm with modeset=1 has nvidia-modeset keep every GPU in use, without an open file
 * (nvkms-kapi.c, AllocateDevice). Whether nv_pci_remove() itself makes it let go of a GPU; if not,
 * the unbind waits for ever.
 */
ReleaseAnswer release_frees_modeset(const char *version);

/*
 * Whether nv_pci_remove() waits for the last user of a GPU before it takes the GPU off its list.
 * If so, a user that lets go ends the wait. A close after that is not counted any more, so that
 * otherwise nothing ends it.
 */
ReleaseAnswer release_wait_can_end(const char *version);

/*
 * In an operator's words. `version` may be NULL. The cause says why an unbind from this release
 * waits for ever beside nvidia_drm with modeset=1.
 */
#define RELEASE_MODESET_REASON                                                                     \
	"nvidia_drm runs with modeset=1, which keeps every GPU on nvidia in use, without a process"
#define RELEASE_MODESET_REMEDY                                                                     \
	"rmmod nvidia_drm; where a display server uses it, boot with nvidia-drm.modeset=0 "        \
	"instead"
char *release_modeset_cause(const char *version);
/* What ends an unbind from nvidia that does not return: of the GPU with this address. */
char *release_wait_remedy(const char *version, const char *address);
