/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/mig.h"

DEFINE_STRING_TABLE(mig_mode, MigMode, MIG_MODES)
