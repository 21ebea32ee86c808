/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "util/pcie-speed.h"

static const char *const names[] = { NULL,	"2.5 GT/s", "5 GT/s", "8 GT/s",
				     "16 GT/s", "32 GT/s",  "64 GT/s" };

const char *pcie_speed_name(unsigned code)
{
	return code < ELEMENTS(names) ? names[code] : NULL;
}

unsigned pcie_speed_code(const char *text)
{
	size_t n = strcspn(text, " "), without = n;

	if (n > 2 && strncmp(text + n - 2, ".0", 2) == 0)
		without -= 2;
	for (unsigned i = 1; i < ELEMENTS(names); i++)
		if (strncmp(text, names[i], without) == 0 && names[i][without] == ' ' &&
		    strncmp(text + n, " GT/s", 5) == 0)
			return i;
	return 0;
}

static unsigned lesser(unsigned own, unsigned port)
{
	return port > 0 && port < own ? port : own;
}

PcieLink pcie_link_least(PcieLink own, PcieLink port)
{
	return (PcieLink){ lesser(own.speed, port.speed), lesser(own.width, port.width) };
}
