/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is a worker, among processes that say that they are one. */
#define OWN_MAIN
#include "rig/test.h"

#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "host/launch/worker-find.h"
#include "host/scan/process.h"
#include "rig/sysfs-tree.h"
#include "rig/temp-dir.h"
#include "rig/worker-model.h"
#include "util/text.h"

#define NOBODY 65534

#define SYSFS_OPTION "--sysfs="

/* Runs the program by that command line, and has it running; it stays a minute. */
static pid_t start_as(const char *program, uid_t uid, char *const *command_line)
{
	_cleanup_close_ int fd = open(program, O_RDONLY | O_CLOEXEC);
	char gone = 0;
	int fds[2];
	pid_t pid;

	assert_true(fd >= 0);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (uid != geteuid() &&
		    (setgroups(0, NULL) < 0 || setgid(uid) < 0 || setuid(uid) < 0))
			_exit(1);
		/* By its descriptor: its folder may be closed to others. */
		fexecve(fd, command_line, environ);
		_exit(1);
	}
	assert_true(pid > 0);
	close(fds[1]);
	assert_int_equal(read(fds[0], &gone, 1), 0); /* closed by its exec */
	close(fds[0]);
	return pid;
}

static pid_t start(const char *program, uid_t uid)
{
	_cleanup_free_ char *sysfs = strf(SYSFS_OPTION "%s", bad_worker_mode("slow-60000"));
	/* What a worker that moves DISPLAY is called. */
	char *const command_line[] = { (char[]){ BAD_WORKER }, sysfs,
				       (char[]){ "move" },     (char[]){ "--" },
				       (char[]){ DISPLAY },    (char[]){ "-" },
				       (char[]){ "-" },	       NULL };

	return start_as(program, uid, command_line);
}

/* A worker that asks NVML about links. */
static pid_t start_probe(void)
{
	_cleanup_free_ char *sysfs = strf(SYSFS_OPTION "%s", bad_worker_mode("slow-60000"));
	char *const command_line[] = { (char[]){ BAD_WORKER }, sysfs, (char[]){ "probe" },
				       (char[]){ DISPLAY }, NULL };

	return start_as(BAD_WORKER, geteuid(), command_line);
}

static void end(pid_t pid)
{
	int status = 0;

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status)); /* it was there until now */
}

TEST(who_runs_the_program_is_a_worker)
{
	WorkerConfig config = bad_worker("slow-60000"), other = bad_worker("slow-60001");
	Bdf display = tree_bdf(DISPLAY), audio = tree_bdf(AUDIO);
	pid_t pid = start(BAD_WORKER, geteuid());

	assert_int_equal(worker_find(&config, LOCK_FUNCTION, &display), pid);
	assert_int_equal(worker_find(&config, LOCK_FUNCTION, &audio), 0);
	assert_int_equal(worker_find(&other, LOCK_FUNCTION, &display), 0);
	end(pid);
	assert_int_equal(worker_find(&config, LOCK_FUNCTION, &display), 0);
}

/* promise U9 */
TEST(who_only_says_so_is_none)
{
	WorkerConfig config = bad_worker("slow-60000");
	Bdf display = tree_bdf(DISPLAY);
	/* This program again, which stays when it is called so. */
	pid_t pid = start("/proc/self/exe", geteuid());

	assert_int_equal(worker_find(&config, LOCK_FUNCTION, &display), 0);
	end(pid);
}

WITH_DIR(a_copy_of_the_program_is_another)
{
	const TempDir *dir = *state;
	_cleanup_free_ char *copy = strf("%s/copy", dir->path);
	_cleanup_free_ char *command = strf("cp %s %s", BAD_WORKER, copy);
	WorkerConfig config = bad_worker("slow-60000");
	Bdf display = tree_bdf(DISPLAY);
	pid_t pid;

	assert_int_equal(system(command), 0);
	pid = start(copy, geteuid());
	assert_int_equal(worker_find(&config, LOCK_FUNCTION, &display), 0);
	end(pid);
}

TEST(the_program_of_another_user_is_no_worker)
{
	WorkerConfig config = bad_worker("slow-60000");
	Bdf display = tree_bdf(DISPLAY);
	pid_t pid;

	if (geteuid() != 0)
		skip();
	pid = start(BAD_WORKER, NOBODY);
	assert_int_equal(worker_find(&config, LOCK_FUNCTION, &display), 0);
	end(pid);
}

/* fault 49 */
TEST(a_probe_of_the_daemon_before_is_found_until_it_ends)
{
	WorkerConfig config = bad_worker("slow-60000");
	WorkerChildren children = { 0 };
	pid_t pid = start_probe();

	config.children = &children;
	assert_int_equal(worker_find(&config, LOCK_PROBE, NULL), pid);
	assert_int_equal(worker_find(&config, LOCK_PROBE, NULL), pid);
	end(pid);
	assert_int_equal(worker_find(&config, LOCK_PROBE, NULL), 0);
}

/* Where none was, and none was started since, thousands of processes are not looked at. */
TEST(a_probe_is_looked_for_again_once_one_was_started)
{
	WorkerConfig config = bad_worker("slow-60000");
	WorkerChildren children = { 0 };
	pid_t pid;

	config.children = &children;
	assert_int_equal(worker_find(&config, LOCK_PROBE, NULL), 0);
	pid = start_probe(); /* by nobody who counts */
	assert_int_equal(worker_find(&config, LOCK_PROBE, NULL), 0);
	worker_question_begins(&config, LOCK_PROBE);
	assert_int_equal(worker_find(&config, LOCK_PROBE, NULL), pid);
	worker_question_ends(&config, LOCK_PROBE, true);
	assert_int_equal(worker_find(&config, LOCK_PROBE, NULL), pid);
	end(pid);
	assert_int_equal(worker_find(&config, LOCK_PROBE, NULL), 0);
}

/* Before its exec a child cannot be told from the daemon itself. */
TEST(none_found_while_one_starts_is_looked_for_again)
{
	WorkerConfig config = bad_worker("slow-60000");
	WorkerChildren children = { 0 };
	pid_t pid;

	config.children = &children;
	worker_question_begins(&config, LOCK_PROBE);
	assert_int_equal(worker_find(&config, LOCK_PROBE, NULL), 0);
	pid = start_probe();
	worker_question_ends(&config, LOCK_PROBE, true);
	assert_int_equal(worker_find(&config, LOCK_PROBE, NULL), pid);
	end(pid);
}

/* Its lock says it: nothing is to be looked for after it. */
TEST(a_part_leaves_nothing_to_look_for)
{
	WorkerConfig config = bad_worker("slow-60000");
	WorkerChildren children = { 0 };
	pid_t pid;

	config.children = &children;
	assert_int_equal(worker_find(&config, LOCK_PROBE, NULL), 0);
	worker_question_begins(&config, LOCK_PROBE);
	worker_question_ends(&config, LOCK_PROBE, false);
	pid = start_probe();
	assert_int_equal(worker_find(&config, LOCK_PROBE, NULL), 0);
	assert_int_equal(worker_find(&config, LOCK_PERSISTENCE, NULL), 0);
	end(pid);
}

TEST(uids_and_control_group_are_read_from_the_kernels_words)
{
	static const struct {
		const char *status, *cgroup, *path;
		int uids;
	} rows[] = {
		{ "Name:\ta\nUid:\t0\t1\t2\t3\nGid:\t9\t9\t9\t9\n", "0::/a.service\n", "/a.service",
		  0 },
		/* The name is the process's own; the kernel writes its newlines so. */
		{ "Name:\tx\\nUid:\t9\t9\t9\t9\nUid:\t0\t1\t2\t3\n",
		  "12:pids:/x\n1:name=systemd:/b.service\n0::/\n", "/b.service", 0 },
		{ "Name:\ta\n", "4:devices:/c.service\n", NULL, -ENOENT },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
		_cleanup_free_ char *path = NULL;
		uid_t uids[PROCESS_UIDS] = { 7, 7, 7, 7 };

		tree_write(tree, "proc/status", rows[i].status);
		tree_write(tree, "proc/cgroup", rows[i].cgroup);
		assert_int_equal(process_uids(tree->roots.proc_fd, uids), rows[i].uids);
		for (unsigned k = 0; k < PROCESS_UIDS; k++)
			assert_int_equal(uids[k], rows[i].uids == 0 ? k : 7);
		assert_int_equal(process_cgroup(tree->roots.proc_fd, &path),
				 rows[i].path ? 0 : -ENOENT);
		assert_true(str_equal(path, rows[i].path));
	}
}

int main(int argc, char **argv)
{
	if (argc > 1 && str_starts_with(argv[1], SYSFS_OPTION))
		return (int)sleep(60);
	return tests_run();
}
