/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpupass-worker as a part: what it refuses, whoever asks. On this machine, where it only reads. */
#include "rig/test.h"

#include <errno.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/syscall.h>

#include "host/wire/request.h"
#include "rig/part-process.h"
#include "rig/temp-dir.h"
#include "util/text.h"
#include "worker/read-only.h"

#define GPU "0000:41:00.0"

/* The part, with this request on its way; NULL: none yet. */
static PartProcess start(const char *part, const char *words)
{
	_cleanup_free_ char *option = strf("--part=%s", part), *request = NULL;
	char *argv[] = { (char *)(str_equal(part, "initramfs") ? INITRAMFS
				  : str_equal(part, "eraser")  ? ERASER
							       : WORKER),
			 option, NULL };
	_cleanup_strv_ char **list = NULL;
	size_t size = 0;

	if (!words)
		return part_start(argv);
	strv_split(words, " ", &list);
	assert_int_equal(request_write(list, &request, &size), 0);
	return part_start_with(argv, request, size, false);
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
		{ "inspector", "inspect --no-labels", false },
		{ "inspector", "move -- " GPU " - -", false },
		{ "inspector", "examine --without-image", false },
		{ "examiner", "examine --without-image", true },
		{ "examiner", "examine", false },
		{ "examiner", "examine " GPU, false },
		{ "initramfs", "image", true },
		{ "initramfs", "examine --without-image", false },
		{ "initramfs", "inspect", false },
		{ "eraser", "inspect", false },
		{ "eraser", "move -- " GPU " - -", false },
		{ "eraser", "erase " GPU, false },
		{ "eraser", "erase --way=none --serial=S1 " GPU, false },
		{ "eraser", "erase --way=format-user " GPU, false },
		{ "eraser", "nvme-state --way=format-user " GPU, false },
		{ "eraser", "--root=/tmp nvme-state " GPU, false },
		{ "inspector", "nvme-state " GPU, false },
		{ "inspector", "erase " GPU, false },
		{ "config", "nvme " GPU, false },
		{ "prober", "persistence --set=on " GPU, false },
		{ "prober", "move -- " GPU " - -", false },
		{ "prober", "probe --mmio " GPU, false },
		{ "prober", "memory " GPU, false },
		{ "persistence", "persistence " GPU, false },
		{ "persistence", "probe " GPU, false },
		{ "persistence", "reset " GPU, false },
		{ "network", "nic", false },
		{ "network", "inspect", false },
		{ "network", "move -- " GPU " - -", false },
		{ "inspector", "nic " GPU, false },
		{ "uevents", "inspect", false },
		{ "uevents", "move -- " GPU " - -", false },
		{ "inspector", "uevents", false },
		{ "mover", "move -- " GPU " - -", false },
		{ "", "inspect", false },
		/* Or a taken-over daemon would have a library of its own choice run in the prober. */
		{ "prober", "--nvml=/tmp/evil.so probe " GPU, false },
		{ "prober", "probe " GPU " --nvml=/tmp/evil.so", false },
		{ "config", "--sysfs=/tmp config", false },
		{ "inspector", "--proc=/tmp inspect", false },
		{ "initramfs", "--root=/tmp image", false },
		{ "examiner", "--root=/tmp examine --without-image", false },
		{ "config", "--part=inspector", false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		PartProcess part = start(rows[i].part, rows[i].words);
		char answer[256];
		int status;

		shutdown(part.fd, SHUT_WR);
		status = part_end(&part, answer, sizeof(answer));
		if ((status == 0) != rows[i].done ||
		    (rows[i].done ? !strstr(answer, "\"error\":0,") : answer[0] != '\0'))
			fail_msg("%s, %s: %d, %s", rows[i].part, rows[i].words, status, answer);
	}
}

/* They are started before they are asked, and serve one request after another. */
TEST(some_wait_and_stay)
{
	static const char *const parts[] = { "inspector", "config" };
	static const char *const requests[] = { "inspect\0", "config\0" };

	for (size_t i = 0; i < ELEMENTS(parts); i++) {
		PartProcess part = start(parts[i], NULL);
		size_t size = strlen(requests[i]) + 2;
		char answer[4096];

		for (unsigned n = 0; n < 3; n++) {
			assert_int_equal(send(part.fd, requests[i], size, MSG_NOSIGNAL), size);
			part_read_up_to(&part, "}\n", answer, sizeof(answer));
			assert_true(str_starts_with(answer, "\n{"));
			assert_non_null(strstr(answer, "\"error\":0,"));
		}
		shutdown(part.fd, SHUT_WR);
		assert_int_equal(part_end(&part, answer, sizeof(answer)), 0);
		assert_string_equal(answer, "");
	}
}

/* promise C12 */
/* What the daemon has made ready, and never asked. */
TEST(one_that_was_never_asked_ends_well)
{
	static const char *const parts[] = { "inspector", "config", "prober" };

	for (size_t i = 0; i < ELEMENTS(parts); i++) {
		PartProcess part = start(parts[i], NULL);
		char answer[2];

		shutdown(part.fd, SHUT_RDWR);
		assert_int_equal(part_end(&part, answer, sizeof(answer)), 0);
	}
}

TEST(what_follows_the_kernels_messages_ends_with_its_caller)
{
	PartProcess part = start("uevents", "uevents");
	char answer[2];

	shutdown(part.fd, SHUT_WR);
	part_read_up_to(&part, "\n", answer, sizeof(answer));
	assert_int_equal(waitpid(part.pid, NULL, WNOHANG), 0);
	shutdown(part.fd, SHUT_RD);
	assert_int_equal(part_end(&part, answer, sizeof(answer)), 0);
}

/* ---- what only looks opens nothing for writing ---- */

static int refused(int fd)
{
	return fd < 0 && errno == EPERM ? 0 : 1;
}

/* In a process that is read-only from now on: the number of the first thing that is wrong. */
static int try_all(const char *file)
{
	static const int writes[] = { O_WRONLY, O_RDWR, O_RDONLY | O_CREAT, O_RDONLY | O_TRUNC,
				      O_RDONLY | O_APPEND };
	struct open_how how = { .flags = O_WRONLY };

	if (become_read_only() < 0)
		return 1;
	for (size_t i = 0; i < ELEMENTS(writes); i++)
		if (refused(openat(AT_FDCWD, file, writes[i], 0600)))
			return 10 + (int)i;
	if (refused(openat(AT_FDCWD, "/tmp", O_TMPFILE | O_RDWR, 0600)))
		return 2;
	if (refused((int)syscall(SYS_openat2, AT_FDCWD, file, &how, sizeof(how))))
		return 3;
#ifdef SYS_open
	if (refused((int)syscall(SYS_open, file, O_RDWR, 0)))
		return 4;
	if (refused((int)syscall(SYS_creat, file, 0600)))
		return 5;
	if (syscall(SYS_open, file, O_RDONLY, 0) < 0)
		return 6;
#endif
	if (open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW) < 0)
		return 7;
	if (open("/", O_RDONLY | O_DIRECTORY | O_PATH) < 0)
		return 8;
	/* What is open already stays as it was: the answer is written there. */
	return write(STDOUT_FILENO, "", 0) < 0 ? 9 : 0;
}

/* promise C8 */
WITH_DIR(nothing_is_opened_for_writing)
{
	_cleanup_free_ char *file = strf("%s/x", dir->path);
	int status = 0, fd = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	pid_t pid;

	assert_true(fd >= 0);
	close(fd);
	pid = fork();
	if (pid == 0)
		_exit(try_all(file));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}
