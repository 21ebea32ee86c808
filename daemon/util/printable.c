/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "util/printable.h"

#include "gpupass/printable.h"

char *text_printable(const char *text)
{
	return printable_copy(text, "\n");
}
