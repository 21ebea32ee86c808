/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/pci/driver-name.h"

#include <string.h>

/* Variants have the names of their modules, with underscores: nvgrace_gpu_vfio_pci. */
bool driver_is_vfio(const char *driver)
{
	const char *tail = driver ? strstr(driver, "vfio") : NULL;

	return tail && (strcmp(tail, VFIO_PCI) == 0 || strcmp(tail, "vfio_pci") == 0);
}

bool driver_on_vfio(const char *driver, bool vfio_dev)
{
	return driver && (vfio_dev || driver_is_vfio(driver));
}

static bool text_valid(const char *s, size_t max)
{
	size_t n = strlen(s);

	if (n == 0 || n > max || s[0] == ' ' || s[n - 1] == ' ' || strcmp(s, "-") == 0)
		return false;
	for (; *s; s++)
		if (*s < ' ' || *s > '~')
			return false;
	return true;
}

bool driver_name_valid(const char *name)
{
	return text_valid(name, DRIVER_NAME_MAX) && !strchr(name, '/') && strcmp(name, ".") != 0 &&
	       strcmp(name, "..") != 0;
}

bool driver_override_valid(const char *override)
{
	return text_valid(override, DRIVER_OVERRIDE_MAX) && strcmp(override, "(null)") != 0;
}
