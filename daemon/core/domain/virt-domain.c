/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/domain/virt-domain.h"

#include "virt-domain.inc"
