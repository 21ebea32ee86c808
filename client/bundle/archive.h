/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tar of plain files (POSIX.1-1988, ustar), so that the client needs no library for it. The same
 * files give the same bytes: each belongs to root, has mode 0644, and is of 1970-01-01.
 */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* The longest name that has room in a header. */
#define ARCHIVE_NAME_MAX 99

/* -EINVAL for a name that is too long, -EFBIG from 8 GiB on, what fwrite(3) says. */
int archive_add(FILE *f, const char *name, const char *data, size_t size);
int archive_end(FILE *f);
