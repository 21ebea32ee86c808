/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The real gpupass-mover, with this test at the other end of its socket. */
#include "rig/test.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "gpupass/errors.h"
#include "host/wire/question.h"
#include "host/wire/request.h"
#include "mover/command.h"
#include "rig/temp-dir.h"
#include "rig/worker-model.h"
#include "util/pid-lock.h"
#include "util/text.h"

typedef struct Run {
	int status;
	char output[8192];
} Run;

static pid_t spawn_mover(const SysfsTree *tree, const char *locks, int fd)
{
	_cleanup_free_ char *sysfs = strf("--sysfs=%s", tree->sysfs);
	_cleanup_free_ char *lock = strf("--locks=%s", locks);
	char *argv[] = { (char[]){ MOVER }, sysfs, lock, NULL };
	posix_spawn_file_actions_t actions;
	pid_t pid = 0;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fd, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, fd, STDOUT_FILENO);
	assert_int_equal(posix_spawn(&pid, MOVER, &actions, NULL, argv, environ), 0);
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

static Run run_bytes(const SysfsTree *tree, const char *locks, const char *request, size_t size)
{
	Run run = { 0 };
	size_t n = 0;
	ssize_t got;
	int fds[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	pid = spawn_mover(tree, locks, fds[1]);
	close(fds[1]);
	assert_int_equal(send(fds[0], request, size, MSG_NOSIGNAL), size);
	shutdown(fds[0], SHUT_WR);
	while ((got = read(fds[0], run.output + n, sizeof(run.output) - 1 - n)) > 0)
		n += (size_t)got;
	close(fds[0]);
	assert_int_equal(waitpid(pid, &run.status, 0), pid);
	return run;
}

static Run run_words(const SysfsTree *tree, const char *locks, const char *const *words)
{
	_cleanup_free_ char *request = NULL;
	size_t size = 0;

	assert_int_equal(request_write((char *const *)words, &request, &size), 0);
	return run_bytes(tree, locks, request, size);
}

/* The answer of command `number`, without its number; "" when there is none. */
static const char *line_of(Run *run, unsigned number)
{
	_cleanup_free_ char *prefix = strf("%u ", number);

	for (char *line = run->output; line && *line; line = strchr(line, '\0') + 1) {
		char *end = strchr(line, '\n');

		if (!end)
			break;
		if (str_starts_with(line, prefix)) {
			*end = '\0';
			return line + strlen(prefix);
		}
		line = end;
		*line = '\0';
	}
	return "";
}

WITH_DIR(a_batch_is_answered_line_by_line)
{
	const TempDir *dir = *state;
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	static const char *const words[] = { "move", "--",    DISPLAY, "nvidia",
					     "-",    "reset", AUDIO,   NULL };
	const Bdf display = tree_bdf(DISPLAY), audio = tree_bdf(AUDIO);
	MoveAnswer moved = { 0 };
	ResetAnswer report = { 0 };
	char *why = NULL;
	Run run, copy;
	const char *text;

	tree_add_gpu(tree, DISPLAY, 0x2230, "nvidia", 33, NULL);
	run = copy = run_words(tree, dir->path, words);
	assert_int_equal(run.status, 0);
	text = line_of(&run, 0);
	assert_int_equal(
		answer_parse(question(ASK_MOVE), &display, 1, text, strlen(text), &moved, &why), 0);
	assert_int_equal(moved.result.error, 0);
	assert_false(moved.result.changed);
	assert_string_equal(moved.result.driver, "nvidia");
	answer_clear(question(ASK_MOVE), &moved);
	text = line_of(&copy, 1);
	assert_int_equal(
		answer_parse(question(ASK_RESET), &audio, 1, text, strlen(text), &report, &why), 0);
	answer_clear(question(ASK_RESET), &report);
}

/* What another process is at work on is left alone, and the others are done. */
WITH_DIR(one_function_has_one_mover_at_a_time)
{
	const TempDir *dir = *state;
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	static const char *const words[] = { "move", "--",  DISPLAY, "nvidia", "-", "move",
					     "--",   AUDIO, "-",     "-",      NULL };
	_cleanup_close_ int lock_fd = -1;
	Run run, copy;

	tree_add_gpu(tree, DISPLAY, 0x2230, "nvidia", 33, NULL);
	assert_int_equal(pid_lock_take(dir->path, DISPLAY, &lock_fd), 0);
	run = copy = run_words(tree, dir->path, words);
	assert_string_equal(line_of(&run, 0), "busy");
	assert_non_null(strstr(line_of(&copy, 1), AUDIO));
}

/* promise C7 */
/* Whoever has taken over the daemon has no more to say than the grammar. */
WITH_DIR(what_is_no_request_does_nothing)
{
	static const struct {
		const char *bytes;
		size_t size;
	} rows[] = {
#define WITH_NUL(text) { text, sizeof(text) }
		{ "\0", 1 },
		WITH_NUL("move\0--\0" DISPLAY "\0nvidia\0-"), /* cut off */
		WITH_NUL("move\0--\0" DISPLAY "\0nvidia\0"),
		WITH_NUL("move\0" DISPLAY "\0nvidia\0-\0"),
		WITH_NUL("move\0--\0../../41:00.0\0nvidia\0-\0"),
		WITH_NUL("move\0--\0" DISPLAY "\0../nvidia\0-\0"),
		WITH_NUL("move\0--\0" DISPLAY "\0nvidia\0a\nb\0"),
		WITH_NUL("move\0--\0" DISPLAY "\0nvidia\0-\0more\0"),
		WITH_NUL("move\0--\0" DISPLAY "\0nvidia\0-\0reset\0" DISPLAY "\0"),
		WITH_NUL("reset\0--slots\0" DISPLAY "\0"),
		WITH_NUL("inspect\0" DISPLAY "\0"),
		WITH_NUL("--sysfs=/tmp\0move\0--\0" DISPLAY "\0nvidia\0-\0"),
#undef WITH_NUL
	};
	const TempDir *dir = *state;

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
		Run run = run_bytes(tree, dir->path, rows[i].bytes, rows[i].size);

		if (!WIFEXITED(run.status) || WEXITSTATUS(run.status) != GPUPASS_EXIT_FAILED ||
		    run.output[0] != '\0')
			fail_msg("row %zu: %d, %s", i, run.status, run.output);
	}
}

/* One that was started before anybody had a request for it. */
static pid_t spawn_idle(void **state, const SysfsTree *tree, int *ret_fd)
{
	const TempDir *dir = *state;
	int fds[2];
	pid_t pid;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	pid = spawn_mover(tree, dir->path, fds[1]);
	close(fds[1]);
	*ret_fd = fds[0];
	return pid;
}

static void assert_ends_well(pid_t pid, int fd)
{
	int status = -1;
	char byte;

	assert_int_equal(read(fd, &byte, 1), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(fd);
}

/* promise C12 */
WITH_DIR(whoever_has_no_request_gets_nothing_done)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	int fd = -1;
	pid_t pid = spawn_idle(state, tree, &fd);

	shutdown(fd, SHUT_WR);
	assert_ends_well(pid, fd);
}

/* Up to a line that is this one. */
static void read_up_to(int fd, const char *last, char *output, size_t size)
{
	size_t n = 0;

	output[0] = '\0';
	while (!strstr(output, last) && n < size - 1) {
		ssize_t got = read(fd, output + n, size - 1 - n);

		assert_true(got > 0);
		n += (size_t)got;
		output[n] = '\0';
	}
}

WITH_DIR(batch_follows_batch)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	static const char words[] = "move\0--\0" DISPLAY "\0nvidia\0-\0";
	int fd = -1;
	pid_t pid = spawn_idle(state, tree, &fd);
	char output[8192];

	tree_add_gpu(tree, DISPLAY, 0x2230, "nvidia", 33, NULL);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(send(fd, words, sizeof(words), 0), sizeof(words));
		read_up_to(fd, "\nend\n", output, sizeof(output));
		assert_true(str_starts_with(output, "\n0 {"));
	}
	shutdown(fd, SHUT_WR);
	assert_ends_well(pid, fd);
}

/* systemctl stop of a mover sends this: see its unit. */
WITH_DIR(one_with_nothing_to_do_can_be_stopped)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	static const char words[] = "move\0--\0" DISPLAY "\0nvidia\0-\0";
	int fd = -1;
	pid_t pid = spawn_idle(state, tree, &fd);
	char output[8192];

	tree_add_gpu(tree, DISPLAY, 0x2230, "nvidia", 33, NULL);
	assert_int_equal(send(fd, words, sizeof(words), 0), sizeof(words));
	read_up_to(fd, "\nend\n", output, sizeof(output)); /* so it knows the signal by now */
	kill(pid, SIGCONT);
	assert_ends_well(pid, fd);
}

/* promise C12 */
/* The daemon would have another mover do it: it has not heard that this one begins. */
WITH_DIR(who_cannot_hear_that_it_begins_gets_nothing_done)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	static const char words[] = "move\0--\0" DISPLAY "\0-\0-\0";
	_cleanup_free_ char *unbind = strf("%s/bus/pci/drivers/nvidia/unbind", tree->sysfs);
	struct stat st = { 0 };
	int fd = -1, status = 0;
	pid_t pid = spawn_idle(state, tree, &fd);

	tree_add_gpu(tree, DISPLAY, 0x2230, "nvidia", 33, NULL);
	shutdown(fd, SHUT_RD);
	assert_int_equal(send(fd, words, sizeof(words), 0), sizeof(words));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(WEXITSTATUS(status), GPUPASS_EXIT_FAILED);
	assert_true(stat(unbind, &st) < 0 || st.st_size == 0);
	close(fd);
}

/* The daemon has told by then that the function may be stuck; it must not be moved later on. */
WITH_DIR(who_has_given_up_gets_nothing_done)
{
	const TempDir *dir = *state;
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	char words[] = "move\0--\0" DISPLAY "\0nvidia\0-\0";
	int fds[2], status = 0;
	pid_t pid;

	tree_add_gpu(tree, DISPLAY, 0x2230, "nvidia", 33, NULL);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	assert_int_equal(send(fds[0], words, sizeof(words), 0), sizeof(words));
	close(fds[0]);
	pid = spawn_mover(tree, dir->path, fds[1]);
	close(fds[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), GPUPASS_EXIT_FAILED);
	assert_int_equal(pid_lock_holder(dir->path, DISPLAY), 0);
}
