/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/wire/move.h"

#include "move.inc"
