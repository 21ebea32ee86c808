/* SPDX-License-Identifier: GPL-2.0-or-later */
/* PCI addresses as tests write them. */
#pragma once

#include "gpupass/cleanup.h"
#include "util/bdf.h"

static inline _unused_ Bdf bdf_of(const char *text)
{
	Bdf bdf = { 0 };

	if (bdf_parse(text, &bdf) < 0)
		fail_msg("%s is no address", text);
	return bdf;
}
