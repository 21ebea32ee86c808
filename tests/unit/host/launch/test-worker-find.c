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

/* promise U9 */
WITH_DIR(who_runs_the_program_is_a_worker_and_who_only_says_so_is_none)
{
	_cleanup_free_ char *copy = strf("%s/copy", dir->path);
	_cleanup_free_ char *command = strf("cp %s %s", BAD_WORKER, copy);
	WorkerConfig config = bad_worker("slow-60000"), other = bad_worker("slow-60001");
	Bdf display = tree_bdf(DISPLAY), audio = tree_bdf(AUDIO);
	const struct {
		const char *program;
		uid_t uid;
		bool is_worker;
	} rows[] = {
		{ BAD_WORKER, geteuid(), true },
		{ "/proc/self/exe", geteuid(), false }, /* this one, which stays when called so */
		{ copy, geteuid(), false },
		{ BAD_WORKER, NOBODY, false },
	};

	assert_int_equal(system(command), 0);
	for (size_t i = 0; i < ELEMENTS(rows) - (geteuid() != 0); i++) {
		pid_t pid = start(rows[i].program, rows[i].uid);

		assert_int_equal(worker_find(&config, LOCK_FUNCTION, &display),
				 rows[i].is_worker ? pid : 0);
		assert_int_equal(worker_find(&config, LOCK_FUNCTION, &audio), 0);
		assert_int_equal(worker_find(&other, LOCK_FUNCTION, &display), 0);
		end(pid);
		assert_int_equal(worker_find(&config, LOCK_FUNCTION, &display), 0);
	}
}

TEST(whatever_works_on_a_function_is_found_in_either_program)
{
	_cleanup_free_ char *sysfs = strf(SYSFS_OPTION "%s", bad_worker_mode("slow-60000"));
	static const struct {
		const char *verb, *option;
		bool eraser, works;
	} rows[] = {
		{ "erase", "--way=format", true, true },
		{ "nvme-state", NULL, true, false },
		{ "reset", NULL, false, true },
		{ "vfs", NULL, false, true },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		WorkerConfig config = bad_worker("slow-60000");
		Bdf display = tree_bdf(DISPLAY), audio = tree_bdf(AUDIO);
		const char *first = rows[i].option ? rows[i].option : DISPLAY;
		char *const command_line[] = { (char[]){ BAD_WORKER },
					       sysfs,
					       (char *)rows[i].verb,
					       (char *)first,
					       rows[i].option ? (char[]){ DISPLAY } : NULL,
					       NULL };
		pid_t pid = start_as(BAD_WORKER, geteuid(), command_line);

		*(rows[i].eraser ? &config.program : &config.eraser) = "/no/other";
		assert_int_equal(worker_find(&config, LOCK_FUNCTION, &display),
				 rows[i].works ? pid : 0);
		assert_int_equal(worker_find(&config, LOCK_FUNCTION, &audio), 0);
		end(pid);
	}
}

/* ---- probes, which are looked for only where one may be ---- */

typedef struct Probes {
	WorkerConfig config;
	WorkerChildren children;
	pid_t pid;
} Probes;

static int setup(void **state)
{
	Probes *probes = calloc(1, sizeof(*probes));

	assert_non_null(probes);
	probes->config = bad_worker("slow-60000");
	probes->config.children = &probes->children;
	*state = probes;
	return 0;
}

static int teardown(void **state)
{
	Probes *probes = *state;

	if (probes->pid > 0)
		end(probes->pid);
	free(probes);
	return 0;
}

#define WITH_PROBES(name) TEST_ON(name, Probes, setup, teardown)

static pid_t find_probe(const Probes *probes)
{
	return worker_find(&probes->config, LOCK_PROBE, NULL);
}

/* fault 49 */
WITH_PROBES(a_probe_of_the_daemon_before_is_found_until_it_ends)
{
	rig->pid = start_probe();
	assert_int_equal(find_probe(rig), rig->pid);
	assert_int_equal(find_probe(rig), rig->pid);
	end(rig->pid);
	rig->pid = 0;
	assert_int_equal(find_probe(rig), 0);
}

/* Where none was, and none was started since, thousands of processes are not looked at. */
WITH_PROBES(a_probe_is_looked_for_again_once_one_was_started)
{
	assert_int_equal(find_probe(rig), 0);
	rig->pid = start_probe(); /* by nobody who counts */
	assert_int_equal(find_probe(rig), 0);
	worker_question_begins(&rig->config, LOCK_PROBE);
	assert_int_equal(find_probe(rig), rig->pid);
	worker_question_ends(&rig->config, LOCK_PROBE, true);
	assert_int_equal(find_probe(rig), rig->pid);
}

/* Before its exec a child cannot be told from the daemon itself. */
WITH_PROBES(none_found_while_one_starts_is_looked_for_again)
{
	worker_question_begins(&rig->config, LOCK_PROBE);
	assert_int_equal(find_probe(rig), 0);
	rig->pid = start_probe();
	worker_question_ends(&rig->config, LOCK_PROBE, true);
	assert_int_equal(find_probe(rig), rig->pid);
}

/* Its lock says it: nothing is to be looked for after it. */
WITH_PROBES(a_part_leaves_nothing_to_look_for)
{
	assert_int_equal(find_probe(rig), 0);
	worker_question_begins(&rig->config, LOCK_PROBE);
	worker_question_ends(&rig->config, LOCK_PROBE, false);
	rig->pid = start_probe();
	assert_int_equal(find_probe(rig), 0);
	assert_int_equal(worker_find(&rig->config, LOCK_PERSISTENCE, NULL), 0);
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
