/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the kept groups on disk (core/facts/kept.h). The boot helper uses it, too. Writes, renames
 * and creates nothing.
 */
#pragma once

#include "core/facts/kept.h"

/* "0000:41:00.0.json", by the first function. */
char *kept_file_name(const Assignment *kept);

/* Reads one file, whatever its name. */
int kept_file_read(int dir_fd, const char *name, Assignment **ret, char **ret_why);

/*
 * Adds all of the directory to `all`. *notes gets a line for each file that cannot be used: its
 * group is not kept, and nothing else depends on it. Fails if the directory cannot be read.
 */
int kept_files_read(int dir_fd, Assignments *all, char ***notes);
