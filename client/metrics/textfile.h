/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A file for node_exporter's textfile collector. */
#pragma once

/*
 * Writes all of it or nothing: a temporary file in the same folder, which takes the name when it is
 * complete. The collector reads names that end in .prom only, so not that file. -errno.
 */
int textfile_write(const char *path, const char *text);
