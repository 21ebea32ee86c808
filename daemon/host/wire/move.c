/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/wire/move.h"

DEFINE_STRING_TABLE(driver_phase, DriverPhase, DRIVER_PHASES)

#include "move.inc"
