/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/launch/worker-find.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "host/scan/process.h"
#include "util/file.h"
#include "util/pid-lock.h"

#define COMMAND_LINE_MAX 16384
#define SYSTEM_SLICE "/system.slice/"

static const char *next_argument(const char *at, const char *end)
{
	at += strlen(at) + 1;
	return at < end ? at : NULL;
}

/*
 * Which lock a part that was asked these words would have; NULL: none. A probe by registers needs
 * none, and counts as a probe here.
 */
static const char *lock_of(const char *verb, const char *end)
{
	const char *option = next_argument(verb, end), *function = option;

	if (option && str_starts_with(option, "--"))
		function = next_argument(option, end);
	if (strcmp(verb, "probe") == 0)
		return LOCK_NAME_PROBE;
	if (strcmp(verb, "persistence") == 0)
		return option && str_starts_with(option, "--set=") ? function
								   : LOCK_NAME_PERSISTENCE;
	return str_equal(verb, "move") || str_equal(verb, "reset") || str_equal(verb, "vfs") ||
			       str_equal(verb, "erase")
		       ? function
		       : NULL;
}

/*
 * `line` has the arguments, each ended by NUL: the program, its options, a verb and what follows.
 */
static bool works_on(const char *line, size_t size, const WorkerConfig *config, const char *lock)
{
	const char *end = line + size, *at = line;
	bool sysfs = str_equal(config->sysfs_dir, "/sys");

	if (size == 0 || !(str_equal(line, config->program) || str_equal(line, config->eraser)))
		return false;
	while ((at = next_argument(at, end)) && str_starts_with(at, "--"))
		if (str_starts_with(at, "--sysfs="))
			sysfs = strcmp(at + strlen("--sysfs="), config->sysfs_dir) == 0;
	return sysfs && at && str_equal(lock_of(at, end), lock);
}

/* What to search for, and the searching process. */
typedef struct Search {
	const WorkerConfig *config;
	const char *lock; /* what it is at work on: question_lock_name() */
	uid_t own_uid;
	char *own_cgroup;	  /* control group of our children; NULL: not known or shared */
	struct statx programs[2]; /* one that is not there has no inode */
} Search;

static void search_clear(Search *search)
{
	free(search->own_cgroup);
}

/*
 * Accepts only what systemd itself has put into system.slice. A user has a control group below
 * user.slice, and can start sudo in it, whose uids are all 0, under any command line. In a session,
 * or without systemd, our own control group has other processes, too.
 */
static bool is_services_own(const char *cgroup)
{
	static const char suffix[] = ".service";
	size_t n = strlen(cgroup), m = strlen(suffix);

	return str_starts_with(cgroup, SYSTEM_SLICE) && n > m &&
	       strcmp(cgroup + n - m, suffix) == 0;
}

static void search_begin(const WorkerConfig *config, int proc_fd, Search *ret)
{
	_cleanup_close_ int self_fd = openat(proc_fd, "self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const char *const programs[] = { config->program, config->eraser };

	ret->config = config;
	ret->own_uid = geteuid();
	for (size_t i = 0; i < ELEMENTS(programs); i++)
		if (programs[i])
			(void)statx(AT_FDCWD, programs[i], 0, STATX_TYPE | STATX_INO,
				    &ret->programs[i]);
	if (self_fd >= 0 && process_cgroup(self_fd, &ret->own_cgroup) >= 0 &&
	    !is_services_own(ret->own_cgroup)) {
		free(ret->own_cgroup);
		ret->own_cgroup = NULL;
	}
}

static bool is_ours(const Search *search, int process_fd)
{
	uid_t uids[PROCESS_UIDS];

	if (process_uids(process_fd, uids) < 0)
		return false;
	return EVERY_OF(uids, PROCESS_UIDS, it == search->own_uid);
}

/*
 * Compares the file that the process runs, not its name: the link in /proc leads to the file
 * itself.
 */
static bool runs_our_program(const Search *search, int process_fd)
{
	struct statx exe;

	if (statx(process_fd, "exe", AT_STATX_DONT_SYNC, STATX_TYPE | STATX_INO, &exe) < 0)
		return false;
	return SOME(search->programs, ELEMENTS(search->programs),
		    it->stx_ino != 0 && it->stx_ino == exe.stx_ino &&
			    it->stx_dev_major == exe.stx_dev_major &&
			    it->stx_dev_minor == exe.stx_dev_minor);
}

/* Not read where it cannot be: in a session, and of what runs our program anyway. */
static bool is_in_our_cgroup(const Search *search, int process_fd)
{
	_cleanup_free_ char *cgroup = NULL;

	return search->own_cgroup && process_cgroup(process_fd, &cgroup) >= 0 &&
	       strcmp(cgroup, search->own_cgroup) == 0;
}

static bool says_so(const Search *search, int process_fd)
{
	_cleanup_free_ char *line = NULL;
	size_t size = 0;

	return file_read_at(process_fd, "cmdline", COMMAND_LINE_MAX, &line, &size) >= 0 &&
	       works_on(line, size, search->config, search->lock);
}

/*
 * Anybody can choose a command line, and reading it takes the lock of the process's memory, which
 * its user can keep for ever (tests/bus/attackers.py, stuck). So read it only of a process that has
 * our uids, and that either runs our program or is in the control group of our children: a worker
 * from before an update has a program file that was deleted.
 */
static bool is_worker(const Search *search, int process_fd)
{
	return is_ours(search, process_fd) &&
	       (runs_our_program(search, process_fd) || is_in_our_cgroup(search, process_fd)) &&
	       says_so(search, process_fd);
}

static pid_t find(const WorkerConfig *config, const char *lock)
{
	_cleanup_closedir_ DIR *proc = opendir("/proc");
	_cleanup_(search_clear) Search search = { .lock = lock };
	const struct dirent *entry;

	if (!proc)
		return 0;
	search_begin(config, dirfd(proc), &search);
	while ((entry = readdir(proc))) {
		_cleanup_close_ int fd = -1;
		unsigned long long pid;

		if (str_to_unsigned(entry->d_name, 10, INT32_MAX, &pid) >= 0 &&
		    dir_open_at(dirfd(proc), entry->d_name, false, &fd) >= 0 &&
		    is_worker(&search, fd))
			return (pid_t)pid;
	}
	return 0;
}

/* There may be only one such worker at a time, on the whole host. */
static bool is_counted(const WorkerConfig *config, QuestionLock lock)
{
	return config->children && (lock == LOCK_PROBE || lock == LOCK_PERSISTENCE);
}

static bool child_may_be_there(const WorkerChildren *children, QuestionLock lock)
{
	/* In this order: a call counts its child before it no longer counts as running. */
	return atomic_load(&children->of[lock].running) > 0 ||
	       atomic_load(&children->of[lock].none_of) !=
		       atomic_load(&children->of[lock].started) + 1;
}

/*
 * One that was started after we began to look, or that had no name yet then, is looked for next
 * time.
 */
static pid_t find_child(const WorkerConfig *config, QuestionLock lock, const char *name)
{
	WorkerChildren *children = config->children;
	unsigned started;
	bool running;
	pid_t pid;

	if (!child_may_be_there(children, lock))
		return 0;
	running = atomic_load(&children->of[lock].running) > 0;
	started = atomic_load(&children->of[lock].started);
	pid = find(config, name);
	if (pid == 0 && !running)
		atomic_store(&children->of[lock].none_of, started + 1);
	return pid;
}

pid_t worker_find(const WorkerConfig *config, QuestionLock lock, const Bdf *function)
{
	char text[BDF_TEXT_MAX];
	const char *name = question_lock_name(lock, function, text);
	pid_t pid = 0;

	if (!name)
		return 0;
	/* A part has rights that we have not, so that /proc does not show us its program. */
	if (config->locks_dir)
		pid = pid_lock_holder(config->locks_dir, name);
	if (pid > 0)
		return pid;
	return is_counted(config, lock) ? find_child(config, lock, name) : find(config, name);
}

void worker_question_begins(const WorkerConfig *config, QuestionLock lock)
{
	if (is_counted(config, lock))
		atomic_fetch_add(&config->children->of[lock].running, 1);
}

void worker_question_ends(const WorkerConfig *config, QuestionLock lock, bool started_child)
{
	if (!is_counted(config, lock))
		return;
	if (started_child)
		atomic_fetch_add(&config->children->of[lock].started, 1);
	atomic_fetch_sub(&config->children->of[lock].running, 1);
}
