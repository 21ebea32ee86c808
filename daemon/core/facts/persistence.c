/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/persistence.h"

#include "persistence.inc"
