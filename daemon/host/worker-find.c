/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/worker-find.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "util/file.h"
#include "util/text.h"

#define COMMAND_LINE_MAX 16384

static const char *next_argument(const char *at, const char *end)
{
	at += strlen(at) + 1;
	return at < end ? at : NULL;
}

/* `line` is the arguments, each ended by NUL. */
static bool works_on(const char *line, size_t size, const WorkerConfig *config,
		     const char *function)
{
	const char *end = line + size, *at = line;
	bool sysfs = str_equal(config->sysfs_dir, "/sys");

	if (size == 0 || strcmp(line, config->program) != 0)
		return false;
	while ((at = next_argument(at, end))) {
		if (str_starts_with(at, "--sysfs="))
			sysfs = strcmp(at + strlen("--sysfs="), config->sysfs_dir) == 0;
		if (strcmp(at, "move") != 0 && strcmp(at, "reset") != 0)
			continue;
		at = next_argument(at, end);
		if (at && (strcmp(at, "--") == 0 || strcmp(at, "--slot") == 0))
			at = next_argument(at, end);
		return sysfs && at && strcmp(at, function) == 0;
	}
	return false;
}

pid_t worker_find(const WorkerConfig *config, const Bdf *function)
{
	_cleanup_closedir_ DIR *proc = opendir("/proc");
	const struct dirent *entry;

	while (proc && (entry = readdir(proc))) {
		_cleanup_free_ char *path = strf("%s/cmdline", entry->d_name), *line = NULL;
		unsigned long long pid;
		size_t size = 0;

		if (!path || str_to_unsigned(entry->d_name, 10, INT32_MAX, &pid) < 0)
			continue;
		if (file_read_at(dirfd(proc), path, COMMAND_LINE_MAX, &line, &size) >= 0 &&
		    works_on(line, size, config, BDF_TEXT(function)))
			return (pid_t)pid;
	}
	return 0;
}
