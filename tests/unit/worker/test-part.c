/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpupass-worker as a part: what it refuses, whoever asks. On this machine, where it only reads. */
#include "rig/test.h"

#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/wire/request.h"
#include "util/text.h"

#define GPU "0000:41:00.0"

/* The part without a request; its process, and our end of the connection. */
static pid_t start_idle(const char *part, int *ret_fd)
{
	_cleanup_free_ char *option = strf("--part=%s", part);
	const char *program = strcmp(part, "initramfs") == 0 ? INITRAMFS : WORKER;
	char *argv[] = { (char *)program, option, NULL };
	posix_spawn_file_actions_t actions;
	int fds[2];
	pid_t pid = 0;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, fds[1], STDOUT_FILENO);
	assert_int_equal(posix_spawn(&pid, program, &actions, NULL, argv, environ), 0);
	posix_spawn_file_actions_destroy(&actions);
	close(fds[1]);
	*ret_fd = fds[0];
	return pid;
}

/* The part with this request, the only one. */
static pid_t start(const char *part, const char *words, int *ret_fd)
{
	_cleanup_free_ char *request = NULL;
	_cleanup_strv_ char **list = NULL;
	pid_t pid = start_idle(part, ret_fd);
	size_t request_size = 0;

	strv_split(words, " ", &list);
	assert_int_equal(request_write(list, &request, &request_size), 0);
	/* One that knows no such part may have ended already. */
	(void)!send(*ret_fd, request, request_size, MSG_NOSIGNAL);
	shutdown(*ret_fd, SHUT_WR);
	return pid;
}

static int exit_status(pid_t pid)
{
	int status = 0;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Its exit status, and the first of its answer. */
static int ask(const char *part, const char *words, char *answer, size_t size)
{
	int fd = -1;
	pid_t pid = start(part, words, &fd);

	memset(answer, 0, size);
	for (ssize_t n; size > 1 && (n = read(fd, answer, size - 1)) > 0; size -= (size_t)n)
		answer += n;
	close(fd);
	return exit_status(pid);
}

/* promise C7 */
TEST(a_part_does_what_it_is_there_for_and_nothing_else)
{
	static const struct {
		const char *part, *words;
		bool done;
	} rows[] = {
		{ "config", "config", true },
		{ "config", "inspect", false },
		{ "config", "move -- " GPU " - -", false },
		{ "config", "reset " GPU, false },
		{ "config", "image", false },
		{ "config", "examine", false },
		{ "config", "probe " GPU, false },
		{ "inspector", "inspect", true },
		{ "inspector", "config", false },
		{ "inspector", "inspect --awake", false },
		{ "inspector", "move -- " GPU " - -", false },
		{ "inspector", "examine --without-image", false },
		{ "examiner", "examine --without-image", true },
		{ "examiner", "examine", false },
		{ "examiner", "examine " GPU, false },
		{ "initramfs", "image", true },
		{ "initramfs", "examine --without-image", false },
		{ "initramfs", "inspect", false },
		{ "prober", "persistence --set=on " GPU, false },
		{ "prober", "move -- " GPU " - -", false },
		{ "prober", "probe --mmio " GPU, false },
		{ "prober", "memory " GPU, false },
		{ "persistence", "persistence " GPU, false },
		{ "persistence", "probe " GPU, false },
		{ "persistence", "reset " GPU, false },
		{ "uevents", "inspect", false },
		{ "uevents", "move -- " GPU " - -", false },
		{ "inspector", "uevents", false },
		{ "mover", "move -- " GPU " - -", false },
		{ "", "inspect", false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		char answer[256];
		int status = ask(rows[i].part, rows[i].words, answer, sizeof(answer));

		if ((status == 0) != rows[i].done ||
		    (strstr(answer, "\"error\":0,") != NULL) != rows[i].done)
			fail_msg("%s, %s: %d, %s", rows[i].part, rows[i].words, status, answer);
	}
}

/* Or a taken-over daemon would have a library of its own choice run in the prober. */
TEST(a_part_takes_no_other_host_and_no_library)
{
	static const struct {
		const char *part, *words;
	} rows[] = {
		{ "prober", "--nvml=/tmp/evil.so probe " GPU },
		{ "prober", "probe " GPU " --nvml=/tmp/evil.so" },
		{ "config", "--sysfs=/tmp config" },
		{ "inspector", "--proc=/tmp inspect" },
		{ "initramfs", "--root=/tmp image" },
		{ "examiner", "--root=/tmp examine --without-image" },
		{ "config", "--part=inspector" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		char answer[256];

		if (ask(rows[i].part, rows[i].words, answer, sizeof(answer)) == 0 ||
		    answer[0] != '\0')
			fail_msg("%s: %s", rows[i].words, answer);
	}
}

/* Reads one line. */
static void read_line(int fd, char *line, size_t size)
{
	size_t n = 0;

	while (n < size - 1 && read(fd, line + n, 1) == 1 && line[n++] != '\n')
		;
	line[n] = '\0';
}

/* They are started before they are asked, and serve one request after another. */
TEST(some_wait_and_stay)
{
	static const char *const parts[] = { "inspector", "config" };
	static const char *const verbs[] = { "inspect", "config" };

	for (size_t i = 0; i < ELEMENTS(parts); i++) {
		char *words[] = { (char *)verbs[i], NULL };
		_cleanup_free_ char *request = NULL;
		size_t size = 0;
		int fd = -1;
		pid_t pid = start_idle(parts[i], &fd);

		assert_int_equal(request_write(words, &request, &size), 0);
		for (unsigned n = 0; n < 3; n++) {
			char line[4096];

			assert_int_equal(send(fd, request, size, MSG_NOSIGNAL), size);
			read_line(fd, line, sizeof(line));
			assert_string_equal(line, "\n");
			read_line(fd, line, sizeof(line));
			assert_non_null(strstr(line, "\"error\":0,"));
		}
		shutdown(fd, SHUT_WR);
		assert_int_equal(read(fd, (char[1]){ 0 }, 1), 0);
		assert_int_equal(exit_status(pid), 0);
		close(fd);
	}
}

/* promise C12 */
/* What the daemon has made ready, and never asked. */
TEST(one_that_was_never_asked_ends_well)
{
	static const char *const parts[] = { "inspector", "config", "prober" };

	for (size_t i = 0; i < ELEMENTS(parts); i++) {
		int fd = -1;
		pid_t pid = start_idle(parts[i], &fd);

		close(fd);
		assert_int_equal(exit_status(pid), 0);
	}
}

TEST(what_follows_the_kernels_messages_ends_with_its_caller)
{
	char begins = 0;
	int fd = -1;
	pid_t pid = start("uevents", "uevents", &fd);

	assert_int_equal(read(fd, &begins, 1), 1);
	assert_int_equal(begins, '\n');
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	close(fd);
	assert_int_equal(exit_status(pid), 0);
}
