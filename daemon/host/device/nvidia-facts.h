/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What of NVIDIA's driver decides whether it lets go of a GPU: its version, and nvidia_drm. */
#pragma once

#include "core/facts/inspection.h"
#include "host/device/roots.h"

/* Sets nvidia_modeset and nvidia_version of *into. */
int nvidia_facts_read(const InspectRoots *roots, Inspection *into);
