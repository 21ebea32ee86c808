/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/launch/child.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "util/clock.h"
#include "util/thread.h"
#include "util/xalloc.h"

/*
 * Pauses between checks of a child that has closed its output but not ended: 0.1 ms, doubled up to
 * 25 ms.
 */
#define REAP_PAUSE_USEC 100U
#define REAP_PAUSE_DOUBLINGS 8U

Children *children_new(size_t n, size_t output_max)
{
	Children *children = xcalloc(1, sizeof(*children));

	children->output_max = output_max;
	children->items = xcalloc(n + 1, sizeof(Child));
	children->polls = xcalloc(n + 1, sizeof(struct pollfd));
	children->n_items = n;
	for (size_t i = 0; i < n; i++)
		children->items[i].fd = -1;
	return children;
}

/* stdin from /dev/null, stdout into the pipe, stderr as ours. */
static int prepare_files(posix_spawn_file_actions_t *actions, int output_fd)
{
	int e;

	e = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	if (e == 0)
		e = posix_spawn_file_actions_adddup2(actions, output_fd, STDOUT_FILENO);
	return -e;
}

/*
 * Default signals, none blocked, whatever this thread has. A process group of its own, so that a
 * terminal's Ctrl-C for the caller does not end a worker between two writes.
 */
static int prepare_attributes(posix_spawnattr_t *attributes)
{
	sigset_t none, all;
	int e;

	sigemptyset(&none);
	sigfillset(&all);
	e = posix_spawnattr_setsigmask(attributes, &none);
	if (e == 0)
		e = posix_spawnattr_setsigdefault(attributes, &all);
	if (e == 0)
		e = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSIGMASK |
								 POSIX_SPAWN_SETSIGDEF |
								 POSIX_SPAWN_SETPGROUP);
	return -e;
}

static int spawn(char *const *argv, int output_fd, pid_t *ret)
{
	char *no_environment[] = { NULL };
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	int r = -posix_spawn_file_actions_init(&actions);

	if (r < 0)
		return r;
	r = -posix_spawnattr_init(&attributes);
	if (r < 0) {
		posix_spawn_file_actions_destroy(&actions);
		return r;
	}
	r = prepare_files(&actions, output_fd);
	if (r == 0)
		r = prepare_attributes(&attributes);
	if (r == 0)
		r = -posix_spawn(ret, argv[0], &actions, &attributes, argv, no_environment);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	return r;
}

static int make_pipe(int *ret_read_fd, int *ret_write_fd)
{
	_cleanup_close_ int read_fd = -1, write_fd = -1;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -errno;
	read_fd = fds[0];
	write_fd = fds[1];
	/* Only at our end: the flag belongs to the open file, and each end is one of its own. */
	if (fcntl(read_fd, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	*ret_read_fd = TAKE_FD(read_fd);
	*ret_write_fd = TAKE_FD(write_fd);
	return 0;
}

static void begin(Child *child, int read_fd)
{
	child->fd = read_fd;
	child->running = true;
	child->status = -1;
}

int children_start(Children *children, size_t index, char *const *argv)
{
	Child *child = &children->items[index];
	_cleanup_close_ int read_fd = -1, write_fd = -1;
	int r = make_pipe(&read_fd, &write_fd);

	if (r < 0)
		return r;
	r = spawn(argv, write_fd, &child->pid);
	if (r < 0)
		child->pid = 0;
	else
		begin(child, TAKE_FD(read_fd));
	return r;
}

/* With what a started one has: stdin from /dev/null, stdout into the pipe, no signal blocked. */
static _Noreturn void go_on_as_child(int output_fd, int (*work)(const void *data), const void *data)
{
	int null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	sigset_t none;

	sigemptyset(&none);
	setpgid(0, 0);
	if (null_fd < 0 || dup2(null_fd, STDIN_FILENO) < 0 || dup2(output_fd, STDOUT_FILENO) < 0 ||
	    sigprocmask(SIG_SETMASK, &none, NULL) < 0)
		_exit(EXIT_FAILURE);
	_exit(work(data));
}

int children_fork(Children *children, size_t index, int (*work)(const void *data), const void *data)
{
	Child *child = &children->items[index];
	_cleanup_close_ int read_fd = -1, write_fd = -1;
	int r = make_pipe(&read_fd, &write_fd);
	pid_t pid;

	if (r < 0)
		return r;
	pid = fork();
	if (pid < 0)
		return -errno;
	if (pid == 0)
		go_on_as_child(write_fd, work, data);
	child->pid = pid;
	begin(child, TAKE_FD(read_fd));
	return 0;
}

void children_adopt(Children *children, size_t index, int read_fd)
{
	children->items[index].adopted = true;
	begin(&children->items[index], read_fd);
}

/* Makes room for more output, including one byte for the NUL. */
static int make_room(Child *child, size_t limit)
{
	size_t bigger = child->capacity ? child->capacity * 2 : 4096;

	if (child->size + 1 < child->capacity)
		return 0;
	if (child->capacity >= limit + 2)
		return -EFBIG;
	if (bigger > limit + 2)
		bigger = limit + 2;
	child->output = xrealloc(child->output, bigger);
	child->output[child->size] = '\0';
	child->capacity = bigger;
	return 0;
}

/* Reads what is there; closes our end at the end of the output, or when there is too much of it. */
static void read_output(Child *child, size_t limit)
{
	while (child->fd >= 0) {
		ssize_t n = 0;
		int r = make_room(child, limit);

		if (r >= 0) {
			n = read(child->fd, child->output + child->size,
				 child->capacity - child->size - 1);
			if (n < 0 && errno == EINTR)
				continue;
			if (n < 0 && errno == EAGAIN)
				return;
			r = n < 0 ? -errno : 0;
		}
		if (n > 0) {
			child->size += (size_t)n;
			child->output[child->size] = '\0';
			if (child->size <= limit)
				continue;
			r = -EFBIG;
		}
		child->error = r;
		child->fd = close_fd(child->fd);
	}
}

static void reap(Child *child)
{
	siginfo_t info = { 0 };

	if (child->adopted) {
		child->running = false;
		return;
	}
	if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG) < 0) {
		/* Reaped elsewhere (SIGCHLD is ignored): its answer must speak for itself. */
		if (errno == ECHILD)
			child->running = false;
		return;
	}
	if (info.si_pid != child->pid)
		return;
	child->running = false;
	if (info.si_code == CLD_EXITED)
		child->status = info.si_status;
	else
		child->signal = info.si_status;
}

/* Takes the empty line away. */
static void note_begun(Child *child)
{
	if (!child->adopted || child->begun || child->size == 0)
		return;
	child->begun = true;
	if (child->output[0] != '\n')
		return;
	child->size--;
	memmove(child->output, child->output + 1, child->size);
	child->output[child->size] = '\0';
}

/* Whether its last line has come, and nothing behind it. */
static bool has_said_all(const Child *child)
{
	size_t size = child->last ? strlen(child->last) : 0;
	const char *line;

	if (!child->last || child->size <= size || child->output[child->size - 1] != '\n')
		return false;
	if (size == 0)
		return strchr(child->output, '\n') == child->output + child->size - 1;
	line = child->output + child->size - 1 - size;
	return memcmp(line, child->last, size) == 0 && (line == child->output || line[-1] == '\n');
}

typedef struct Progress {
	size_t running;
	size_t silent;	/* those of them that closed their output */
	size_t unbegun; /* adopted, and nothing came yet */
} Progress;

static Progress look(Children *children)
{
	Progress progress = { 0 };

	EACH (Child, child, children->items, children->n_items) {
		if (!child->running)
			continue;
		read_output(child, children->output_max);
		note_begun(child);
		child->whole = has_said_all(child);
		if (child->whole)
			child->running = false;
		else if (child->fd < 0)
			reap(child);
		progress.running += child->running;
		progress.silent += child->running && child->fd < 0;
		progress.unbegun += child->running && child->adopted && !child->begun;
	}
	return progress;
}

static void wait_for_output(Children *children, uint64_t usec)
{
	const struct timespec timeout = clock_timespec(usec);
	nfds_t n = 0;

	for (size_t i = 0; i < children->n_items; i++)
		if (children->items[i].running && children->items[i].fd >= 0)
			children->polls[n++] =
				(struct pollfd){ .fd = children->items[i].fd, .events = POLLIN };
	ppoll(children->polls, n, &timeout, NULL); /* whatever the result, check again */
}

/* Until all have ended, or only begun. */
static void wait_until(Children *children, uint64_t timeout_usec, bool begun)
{
	uint64_t start = now_monotonic();
	unsigned doublings = 0;

	for (;;) {
		Progress progress = look(children);
		uint64_t elapsed = now_monotonic() - start, pause;

		if ((begun ? progress.unbegun : progress.running) == 0 || elapsed >= timeout_usec)
			return;
		pause = timeout_usec - elapsed;
		/*
		 * poll() reports the end of an output. Not every kernel can report the end of a
		 * process, so check a few times. It usually follows at once.
		 */
		if (progress.silent > 0 && pause > REAP_PAUSE_USEC << doublings)
			pause = REAP_PAUSE_USEC << doublings;
		if (progress.silent > 0 && doublings < REAP_PAUSE_DOUBLINGS)
			doublings++;
		wait_for_output(children, pause);
	}
}

void children_wait(Children *children, uint64_t timeout_usec)
{
	wait_until(children, timeout_usec, false);
}

void children_wait_begun(Children *children, uint64_t timeout_usec)
{
	wait_until(children, timeout_usec, true);
}

static void *reap_at_last(void *userdata)
{
	_cleanup_free_ pid_t *pid = userdata;

	while (waitid(P_PID, (id_t)*pid, NULL, WEXITED) < 0 && errno == EINTR)
		;
	return NULL;
}

/* Without a thread for it, the child stays a zombie until this process ends: one table entry. */
static void leave_behind(pid_t pid)
{
	_cleanup_free_ pid_t *copy = xmalloc(sizeof(*copy));
	pthread_t thread;

	*copy = pid;
	if (thread_start(&thread, reap_at_last, copy, true) >= 0)
		TAKE_PTR(copy); /* the thread owns it now */
}

Children *children_free(Children *children)
{
	if (!children)
		return NULL;
	EACH (Child, child, children->items, children->n_items) {
		close_fd(child->fd);
		free(child->output);
		free(child->asked.request);
		if (child->running && !child->adopted)
			leave_behind(child->pid);
	}
	free(children->items);
	free(children->polls);
	free(children);
	return NULL;
}

bool child_runs(pid_t pid)
{
	siginfo_t info = { 0 };

	/*
	 * Checks without reaping, which is the thread's job. Fails when the child was already
	 * reaped.
	 */
	return waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       info.si_pid == 0;
}
