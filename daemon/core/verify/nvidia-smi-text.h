/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parsers of nvidia-smi's output share. */
#pragma once

#include <stddef.h>

#define SMI_TEXT_MAX (64U * 1024)

/*
 * A copy with a NUL at its end, without carriage returns, "ESC [ … m", "ESC [ K", and the mark that
 * Windows puts before UTF-8. -EBADMSG for a NUL or any other control character inside, -EFBIG.
 */
int smi_clean(const char *text, size_t size, char **ret);

/* Cuts the next line off, in place; NULL at the end. */
char *smi_next_line(char **rest);

/* Plain decimal digits, without leading zeros, up to `max`; -EBADMSG otherwise. */
int smi_number(const char *text, unsigned max, unsigned *ret);
