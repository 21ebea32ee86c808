/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "core/facts/examination.h"

/*
 * Others' hooks of libvirt, and the scripts that these name, as far as they move boards. Our own is
 * left out.
 */
void examine_other_hooks(int root_fd, Examination *e);
