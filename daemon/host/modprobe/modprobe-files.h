/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The host's settings for modprobe, and which modules its kernel has built in. */
#pragma once

#include "core/facts/examination.h"

/*
 * Below root_fd ("/"). Fills `modprobe`, `modprobe_at` and `builtin`; what could not be read is in
 * `unread`.
 */
void modprobe_files_read(int root_fd, const char *release, Examination *e);
