/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpupass-mover: the part of the daemon that writes to sysfs. It moves PCI functions from driver to
 * driver and resets them, side by side, one process each, since any of these writes may never
 * return. It has no library but libc, and reads nothing but its request and the kernel's files.
 */
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "gpupass/errors.h"
#include "host/wire/request.h"
#include "mover/command.h"
#include "util/arguments.h"
#include "util/heap.h"
#include "util/pid-lock.h"
#include "util/text.h"

/* Of /proc its unit shows it nothing but /proc/driver. */
#define NVIDIA_GPUS_DIR "/run/gpupass/proc-driver/nvidia/gpus"

/* In the place of an answer: another process is at work on the function, nothing was done. */
#define BUSY "busy"
/* After the answers: all processes of the batch have ended, and there may be another batch. */
#define END "end\n"

typedef struct Roots {
	const char *sysfs_dir, *locks_dir, *gpus_dir;
} Roots;

static const char usage[] =
	"Usage: gpupass-mover [OPTION]...\n"
	"\n"
	"Moves PCI functions to drivers, or resets them, for gpupassd(8). Reads requests from\n"
	"standard input, and writes one line for each function to standard output.\n"
	"\n"
	"      --sysfs=DIR     sysfs (default /sys)\n"
	"      --gpus=DIR      where nvidia lists its GPUs (default " NVIDIA_GPUS_DIR ")\n"
	"      --locks=DIR     where it locks what it works on (default " PARTS_LOCKS_DIR ")\n"
	"  -h, --help          show this help\n"
	"      --version       show the version\n";

static const Program program = { "gpupass-mover", usage, GPUPASS_VERSION };

/*
 * Whoever asked has closed the connection before the work began: systemd was slow, and the daemon
 * has given up, and may have told so. Its end for writing is always closed.
 */
static bool nobody_waits(void)
{
	struct pollfd caller = { .fd = STDIN_FILENO };

	return poll(&caller, 1, 0) > 0 && (caller.revents & (POLLHUP | POLLERR));
}

/* One write for one line: others write into the same connection. */
static int say(size_t number, const char *answer)
{
	_cleanup_free_ char *line = strf("%zu %s\n", number, answer);

	if (send(STDOUT_FILENO, line, strlen(line), MSG_NOSIGNAL) >= 0 ||
	    (errno == ENOTSOCK && write(STDOUT_FILENO, line, strlen(line)) >= 0))
		return GPUPASS_EXIT_DONE;
	/* The log should have what nobody waits for any more. */
	fprintf(stderr, "gpupass-mover: nobody waits any more for this answer: %s\n", answer);
	return GPUPASS_EXIT_DONE;
}

/* In a process of its own, which has the lock as long as it is at work. */
static int work(const Roots *roots, size_t number, const MoverCommand *command)
{
	_cleanup_close_ int lock_fd = -1;
	_cleanup_free_ char *answer = NULL;
	int r;

	heap_reserve(MOVE_MEMORY_BYTES);
	r = pid_lock_take(roots->locks_dir, BDF_TEXT(&command->target.bdf), &lock_fd);
	if (r == -EBUSY)
		return say(number, BUSY);
	if (r < 0)
		return program_fail(&program, BDF_TEXT(&command->target.bdf), r);
	answer = mover_command_run(command, NULL, roots->sysfs_dir, roots->gpus_dir);
	/* Who has the answer may begin the next move at once. */
	lock_fd = close_fd(lock_fd);
	return say(number, answer);
}

/*
 * Waits for all of them, however long: this process is the unit's main one. Each answers by itself,
 * so that one that hangs keeps no other's answer.
 */
static int work_on_all(const Roots *roots, const MoverCommand *commands, size_t n)
{
	int status = GPUPASS_EXIT_DONE, ended;

	for (size_t i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(work(roots, i, &commands[i]));
		/* No more are begun: a half-moved group only has to be moved back. */
		if (pid < 0) {
			status = program_fail(&program, "cannot fork", -errno);
			break;
		}
	}
	for (;;) {
		if (wait(&ended) < 0) {
			if (errno == EINTR)
				continue;
			break;
		}
		if (!WIFEXITED(ended) || WEXITSTATUS(ended) != 0)
			status = GPUPASS_EXIT_FAILED;
	}
	return status;
}

/* Whoever asked can ask no more: it has closed its end, or that for writing. */
static bool nobody_asks(void)
{
	struct pollfd caller = { .fd = STDIN_FILENO, .events = POLLRDHUP };

	return poll(&caller, 1, 0) != 0;
}

/* true when there may be another batch. */
static bool serve(const Roots *roots, char *const *words, int *ret_status)
{
	_cleanup_free_ MoverCommand *commands = NULL;
	size_t n = 0;
	int r = mover_commands_parse(words, &commands, &n);

	*ret_status = GPUPASS_EXIT_FAILED;
	if (r < 0)
		return program_fail(&program, "no request", r), false;
	if (nobody_waits())
		return program_fail(&program, "whoever asked has given up, so nothing is done",
				    -EPIPE),
		       false;
	/* Who does not hear that it begins may have another mover do it. */
	r = request_begin(STDOUT_FILENO);
	if (r < 0)
		return program_fail(&program, "whoever asked has gone, so nothing is done", r),
		       false;
	*ret_status = work_on_all(roots, commands, n);
	return *ret_status == GPUPASS_EXIT_DONE && !nobody_asks() &&
	       send(STDOUT_FILENO, END, strlen(END), MSG_NOSIGNAL) >= 0;
}

/*
 * Batch after batch: the daemon has movers started before it needs them, and may keep one for its
 * next batch.
 */
static int serve_all(const Roots *roots, int stop_fd)
{
	int status = GPUPASS_EXIT_DONE, r;
	bool more;

	do {
		_cleanup_strv_ char **words = NULL;

		r = request_next(STDIN_FILENO, stop_fd, &words);
		if (r < 0)
			status = program_fail(&program, "no request", r);
		more = r > 0 && serve(roots, words, &status);
	} while (more);
	/* systemd has this connection open, too, until it has seen the end of this process. */
	shutdown(STDOUT_FILENO, SHUT_WR);
	return status;
}

/*
 * SIGCONT is what systemd sends to stop the unit, as it does no harm to a mover at work. One that
 * has nothing to do ends by it: its unit is gone then, and nobody would see it.
 */
static int open_stop(int *ret_fd)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCONT);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	*ret_fd = signalfd(-1, &set, SFD_CLOEXEC);
	return *ret_fd < 0 ? -errno : 0;
}

int main(int argc, char **argv)
{
	Roots roots = { .sysfs_dir = "/sys",
			.locks_dir = PARTS_LOCKS_DIR,
			.gpus_dir = NVIDIA_GPUS_DIR };
	const Argument known[] = {
		{ "sysfs", .text = &roots.sysfs_dir },
		{ "gpus", .text = &roots.gpus_dir },
		{ "locks", .text = &roots.locks_dir },
	};
	_cleanup_close_ int stop_fd = -1;
	int first, status, r;

	signal(SIGPIPE, SIG_IGN);
	if (!arguments_parse(&program, known, ELEMENTS(known), argc, argv, &first, &status))
		return status;
	if (first < argc)
		return arguments_refuse(&program, "unexpected argument", argv[first]);
	/* A process of the same user that has as many rights may look into one that is dumpable. */
	r = prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : open_stop(&stop_fd);
	return r < 0 ? program_fail(&program, "cannot confine itself", r)
		     : serve_all(&roots, stop_fd);
}
