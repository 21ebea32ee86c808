/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/disk-watch.h"

#include "core/facts/record.h"
#include "util/file.h"
#include "util/mutex.h"
#include "util/text.h"
#include "util/xalloc.h"

/* dir_list() leaves out what begins with a dot. */
#define PROBE ".check"

struct DiskWatch {
	pthread_mutex_t lock;
	char *reason; /* NULL: no failure */
};

#include "disk-watch.inc"

void disk_watch_note(DiskWatch *watch, const char *what, int error)
{
	if (!watch || (error != -EIO && error != -EROFS))
		return;
	MUTEX_HOLD(&watch->lock);
	if (!watch->reason)
		watch->reason = strf("%s could not be written: %s", what, strerror(-error));
}

char *disk_watch_reason(DiskWatch *watch)
{
	if (!watch)
		return NULL;
	MUTEX_HOLD(&watch->lock);
	return xstrdup(watch->reason);
}

int disk_watch_refuse(DiskWatch *watch, const char *what, const char *file, int error,
		      Problem **ret_problem)
{
	if (error == -EPROTO)
		return problem_refuse(
			ret_problem, GPUPASS_ERROR_GROUP_BUSY,
			.reason =
				strf("%s could not be written: there is a file of a later version "
				     "of gpupass",
				     what),
			.cause = xstrdup(file),
			.remedy = xstrdup(RECORD_NEWER_REMEDY ", or move the file away"));
	disk_watch_note(watch, what, error);
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_STATE_READ_ONLY,
		.reason = strf("%s could not be written: %s", what, strerror(-error)),
		.cause = xstrdup(file),
		.remedy = xstrdup("see that its file system is writable and has space left (df; "
				  "dmesg); the next command tries again by itself"));
}

static int probe(int dir_fd)
{
	int r = file_replace_at(dir_fd, PROBE, PROBE, strlen(PROBE), 0600);

	return r < 0 ? r : file_remove_at(dir_fd, PROBE);
}

int disk_watch_check(DiskWatch *watch, const int *dir_fds, size_t n, Problem **ret_problem)
{
	int r = 0;

	if (!watch)
		return 0;
	MUTEX_HOLD(&watch->lock);
	for (size_t i = 0; watch->reason && r == 0 && i < n; i++)
		r = probe(dir_fds[i]);
	if (r == 0) {
		free(watch->reason);
		watch->reason = NULL;
		return 0;
	}
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_STATE_READ_ONLY,
		.reason = strf("the daemon's files cannot be written: %s", strerror(-r)),
		.cause = xstrdup(watch->reason),
		.remedy =
			xstrdup("see dmesg for that disk and mount -o remount,rw; the next command "
				"tries again by itself"));
}
