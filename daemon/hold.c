/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "hold.h"

#include <string.h>

#include "job/assignment-store.h"
#include "util/file.h"
#include "util/log.h"

int hold_directory(int dir_fd, const char *what)
{
	int r = dir_lock(dir_fd);

	if (r == -EWOULDBLOCK)
		log_error("another gpupassd works on %s", what);
	else if (r < 0)
		log_error("cannot lock %s: %s", what, strerror(-r));
	if (r < 0)
		return r;
	r = dir_sweep(dir_fd, FILE_TEMPORARY_SUFFIX);
	if (r >= 0)
		r = dir_sweep(dir_fd, ASSIGNMENT_CHECK_SUFFIX);
	/* It does no harm where it is. */
	if (r < 0)
		log_warning("cannot remove what was left half written in %s: %s", what,
			    strerror(-r));
	return 0;
}
