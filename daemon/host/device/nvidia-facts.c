/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/device/nvidia-facts.h"

#include <errno.h>
#include <unistd.h>

#include "core/facts/setup-files.h"
#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/text.h"

#define VERSION_MAX_BYTES 16384

static void read_version(int proc_fd, char **ret)
{
	_cleanup_free_ char *text = NULL;
	int r = file_read_at(proc_fd, "driver/nvidia/version", VERSION_MAX_BYTES, &text, NULL);

	if (r >= 0)
		*ret = setup_read_nvidia_version(text);
}

/*
 * The parameter is for root to read (0400). nvidia_drm without a parameter that says no counts as
 * one that says yes: a wrong no would end in an unbind that never returns.
 */
static int read_modeset(int sysfs_fd, bool *ret)
{
	_cleanup_free_ char *text = NULL;
	int r = 0;

	*ret = faccessat(sysfs_fd, "module/nvidia_drm", F_OK, 0) == 0;
	if (*ret)
		r = sysfs_line_if_any(sysfs_fd, "module/nvidia_drm/parameters/modeset", &text);
	if (r < 0)
		return r;
	*ret = *ret && !str_equal(text, "N") && !str_equal(text, "0");
	return 0;
}

int nvidia_facts_read(const InspectRoots *roots, Inspection *into)
{
	read_version(roots->proc_fd, &into->nvidia_version);

	return read_modeset(roots->sysfs_fd, &into->nvidia_modeset);
}
