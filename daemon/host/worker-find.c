/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/worker-find.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "host/worker-persistence.h"
#include "host/worker-probe.h"
#include "util/file.h"
#include "util/text.h"

#define COMMAND_LINE_MAX 16384

static const char *next_argument(const char *at, const char *end)
{
	at += strlen(at) + 1;
	return at < end ? at : NULL;
}

static bool is_set_option(const char *argument)
{
	return str_starts_with(argument, "--set=");
}

/* One that only reads the mode changes nothing. *at becomes the option, which the function follows. */
static bool sets_persistence(const char **at, const char *end)
{
	const char *option = next_argument(*at, end);

	if (!option || !is_set_option(option))
		return false;
	*at = option;
	return true;
}

/*
 * `line` is the arguments, each ended by NUL. `function` NULL: a worker that asks NVML the question,
 * of which only one at a time is wanted.
 */
static bool works_on(const char *line, size_t size, const WorkerConfig *config,
		     const char *function, const char *question)
{
	const char *end = line + size, *at = line;
	bool sysfs = str_equal(config->sysfs_dir, "/sys");
	const char *program = line + (size > 0 && *line == '@'); /* as launch.c marks units */

	if (size == 0 || strcmp(program, config->program) != 0)
		return false;
	while ((at = next_argument(at, end))) {
		if (str_starts_with(at, "--sysfs="))
			sysfs = strcmp(at + strlen("--sysfs="), config->sysfs_dir) == 0;
		if (!function && strcmp(at, question) == 0)
			return sysfs && !sets_persistence(&at, end);
		if (strcmp(at, "persistence") == 0 && !sets_persistence(&at, end))
			return false;
		if (strcmp(at, "move") != 0 && strcmp(at, "reset") != 0 && !is_set_option(at))
			continue;
		at = next_argument(at, end);
		if (at && (strcmp(at, "--") == 0 || strcmp(at, "--slot") == 0))
			at = next_argument(at, end);
		return sysfs && at && str_equal(at, function);
	}
	return false;
}

static pid_t find(const WorkerConfig *config, const char *function, const char *question)
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
		    works_on(line, size, config, function, question))
			return (pid_t)pid;
	}
	return 0;
}

pid_t worker_find(const WorkerConfig *config, const Bdf *function)
{
	return find(config, BDF_TEXT(function), NULL);
}

pid_t worker_find_probe(const WorkerConfig *config)
{
	return find(config, NULL, "probe");
}

pid_t worker_find_persistence(const WorkerConfig *config)
{
	return find(config, NULL, "persistence");
}
