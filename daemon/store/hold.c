/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/hold.h"

#include "util/clock.h"
#include "util/file.h"
#include "util/log.h"

#define WAIT_USEC (2 * USEC_PER_SEC)
#define POLL_USEC (20 * USEC_PER_MSEC)

/*
 * A daemon that ended or was killed may leave a child that is about to exec. Until it does, the
 * child holds the lock, too (flock(2)). So wait a little for a lock that is taken.
 */
static int lock(int dir_fd)
{
	uint64_t deadline = now_monotonic() + WAIT_USEC;
	int r;

	while ((r = dir_lock(dir_fd)) == -EWOULDBLOCK && now_monotonic() < deadline)
		usleep(POLL_USEC);
	return r;
}

int hold_directory(int dir_fd, const char *what)
{
	int r = lock(dir_fd);

	if (r == -EWOULDBLOCK)
		log_error("another gpupassd works on %s", what);
	else if (r < 0)
		log_error("cannot lock %s: %s", what, strerror(-r));
	if (r < 0)
		return r;
	r = dir_sweep(dir_fd, FILE_TEMPORARY_SUFFIX);
	if (r >= 0)
		r = dir_sweep(dir_fd, FILE_PROBE_SUFFIX);
	/* A file that cannot be removed does no harm. */
	if (r < 0)
		log_warning("cannot remove what was left half written in %s: %s", what,
			    strerror(-r));
	return 0;
}
