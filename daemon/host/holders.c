/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/inspect.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "host/cgroup.h"
#include "host/device-files.h"
#include "util/file.h"
#include "util/text.h"

/* More would not make a refusal any clearer, and must fit into one document. */
#define HOLDERS_MAX 1024
#define CGROUP_MAX_BYTES 65536U
/* Longer than any line of maps: a path of PATH_MAX and 73 bytes before it. */
#define MAPS_LINE_BYTES (2 * PATH_MAX)

typedef struct Scan {
	const DeviceFiles *files;
	Inspection *into;
	int unreadable; /* processes */
} Scan;

typedef struct Process {
	pid_t pid;
	int fd;
	bool unreadable;
	size_t first; /* of its holders in the inspection */
} Process;

/* Processes come and go while we look: everything about one may fail, and then it is gone. What
 * counts is what we were not allowed to see. */
static int cannot_look(Process *process, int error)
{
	if (error == -EACCES || error == -EPERM)
		process->unreadable = true;
	return error == -ENOMEM || error == -EMFILE || error == -ENFILE ? error : 0;
}

static bool is_known(const Scan *scan, const Process *process, const DeviceFile *file)
{
	for (size_t i = process->first; i < scan->into->n_holders; i++) {
		const Holder *holder = &scan->into->holders[i];

		if (bdf_equal(&holder->bdf, &file->bdf) && strcmp(holder->path, file->path) == 0)
			return true;
	}
	return false;
}

static int add_holder(Scan *scan, const Process *process, const DeviceFile *file)
{
	Inspection *into = scan->into;
	char *path;
	Holder *p;

	if (into->n_holders >= HOLDERS_MAX || is_known(scan, process, file))
		return 0;
	p = reallocarray(into->holders, into->n_holders + 1, sizeof(Holder));
	if (!p)
		return -ENOMEM;
	into->holders = p;
	path = strdup(file->path);
	if (!path)
		return -ENOMEM;
	into->holders[into->n_holders++] = (Holder){
		.bdf = file->bdf,
		.pid = process->pid,
		.path = path,
		.vfio = file->vfio,
	};
	return 0;
}

static int note_name(Scan *scan, const Process *process, char *name)
{
	const DeviceFile *files;
	size_t n = 0;

	files = device_files_match(scan->files, name, &n);
	for (size_t i = 0; files && i < n; i++) {
		int r = add_holder(scan, process, &files[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

/* The links in /proc/PID/fd. Reading them opens nothing. *ret_n: how many there were. */
static int scan_descriptors(Scan *scan, Process *process, int task_fd, size_t *ret_n)
{
	_cleanup_closedir_ DIR *dir = NULL;
	struct dirent *entry;
	int fd, r;

	*ret_n = 0;
	r = dir_open_at(task_fd, "fd", false, &fd);
	if (r < 0)
		return cannot_look(process, r);
	dir = fdopendir(fd);
	if (!dir) {
		close_fd(fd);
		return -errno;
	}
	while ((entry = readdir(dir))) {
		char target[PATH_MAX];
		ssize_t n;

		if (entry->d_name[0] == '.')
			continue;
		(*ret_n)++;
		n = readlinkat(dirfd(dir), entry->d_name, target, sizeof(target) - 1);
		if (n < 0) {
			r = cannot_look(process, -errno);
		} else {
			target[n] = '\0';
			r = note_name(scan, process, target);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* A mapping keeps a device in use after its descriptor was closed. */
static int scan_mappings(Scan *scan, Process *process, int task_fd)
{
	_cleanup_fclose_ FILE *f = NULL;
	char line[MAPS_LINE_BYTES];
	int fd, r;

	fd = openat(task_fd, "maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return cannot_look(process, -errno);
	f = fdopen(fd, "re");
	if (!f) {
		close_fd(fd);
		return -errno;
	}
	while (fgets(line, sizeof(line), f)) {
		char *path = strchr(line, '/');

		if (!path)
			continue;
		path[strcspn(path, "\n")] = '\0';
		r = note_name(scan, process, path);
		if (r < 0)
			return r;
	}
	return 0;
}

static int scan_task(Scan *scan, Process *process, int task_fd, size_t *ret_n)
{
	int r = scan_descriptors(scan, process, task_fd, ret_n);

	return r < 0 ? r : scan_mappings(scan, process, task_fd);
}

/*
 * Each thread by itself. The process's own entries are its first thread's: empty when that one has
 * ended while others live on, with everything they hold.
 */
static int scan_threads(Scan *scan, Process *process)
{
	_cleanup_strv_ char **names = NULL;
	_cleanup_close_ int tasks_fd = -1;
	int r;

	r = dir_open_at(process->fd, "task", false, &tasks_fd);
	if (r >= 0)
		r = dir_list(tasks_fd, "", &names);
	if (r < 0)
		return cannot_look(process, r);
	for (char **name = names; name && *name; name++) {
		_cleanup_close_ int fd = -1;
		size_t n;

		r = dir_open_at(tasks_fd, *name, false, &fd);
		r = r < 0 ? cannot_look(process, r) : scan_task(scan, process, fd, &n);
		if (r < 0)
			return r;
	}
	return 0;
}

static void forget_holders(Inspection *into, size_t first)
{
	while (into->n_holders > first) {
		Holder *holder = &into->holders[--into->n_holders];

		free(holder->command);
		free(holder->unit);
		free(holder->container);
		free(holder->path);
	}
}

static int name_holder(const char *command, const char *cgroup, Holder *holder)
{
	holder->command = strdup(command);
	if (!holder->command)
		return -ENOMEM;
	return cgroup ? cgroup_identify(cgroup, &holder->unit, &holder->container) : 0;
}

/* Who it is. A process that has ended meanwhile holds nothing any more. */
static int name_holders(Scan *scan, Process *process)
{
	_cleanup_free_ char *command = NULL, *cgroup = NULL;
	Inspection *into = scan->into;
	int r;

	if (into->n_holders == process->first)
		return 0;
	r = file_read_line_at(process->fd, "comm", &command);
	if (r == -ENOMEM)
		return r;
	if (r < 0) {
		forget_holders(into, process->first);
		return 0;
	}
	r = file_read_at(process->fd, "cgroup", CGROUP_MAX_BYTES, &cgroup, NULL);
	if (r == -ENOMEM)
		return r;
	for (size_t i = process->first; i < into->n_holders; i++) {
		r = name_holder(command, cgroup, &into->holders[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int scan_process(Scan *scan, int proc_fd, const char *name, pid_t pid)
{
	_cleanup_close_ int fd = -1;
	Process process = { .pid = pid, .first = scan->into->n_holders };
	size_t n = 0;
	int r;

	r = dir_open_at(proc_fd, name, false, &fd);
	if (r < 0)
		return cannot_look(&process, r);
	process.fd = fd;
	r = scan_task(scan, &process, fd, &n);
	if (r >= 0 && n == 0)
		r = scan_threads(scan, &process);
	if (r >= 0)
		r = name_holders(scan, &process);
	if (process.unreadable)
		scan->unreadable++;
	return r;
}

int holders_scan(const InspectRoots *roots, const Bdf *functions, size_t n, Inspection *into)
{
	_cleanup_(device_files_clear) DeviceFiles files = { 0 };
	_cleanup_strv_ char **names = NULL;
	Scan scan = { .files = &files, .into = into };
	int r;

	r = device_files_collect(roots, functions, n, &files);
	if (r < 0 || files.n_items == 0)
		return r;
	r = dir_list(roots->proc_fd, "", &names);
	if (r < 0)
		return r;
	for (char **name = names; name && *name; name++) {
		unsigned long long pid;

		if (str_to_unsigned(*name, 10, INT_MAX, &pid) < 0)
			continue;
		r = scan_process(&scan, roots->proc_fd, *name, (pid_t)pid);
		if (r < 0)
			return r;
	}
	return scan.unreadable;
}
