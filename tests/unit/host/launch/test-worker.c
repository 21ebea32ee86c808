/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/launch/worker-examine.h"
#include "host/scan/scan.h"
#include "host/wire/document.h"
#include "rig/worker-model.h"
#include "util/text.h"

static WorkerConfig real(const SysfsTree *tree)
{
	return (WorkerConfig){ .program = WORKER,
			       .initramfs = INITRAMFS,
			       .sysfs_dir = tree->sysfs,
			       .proc_dir = tree->proc };
}

static bool gone(pid_t pid)
{
	return kill(pid, 0) < 0 && errno == ESRCH;
}

static void assert_goes(pid_t pid)
{
	uint64_t start = now_monotonic();

	while (!gone(pid) && now_monotonic() - start < 20 * USEC_PER_SEC)
		usleep(5000);
	if (!gone(pid))
		fail_msg("worker %d is still there, or a zombie", pid);
}

TEST(the_real_worker_says_that_nothing_was_to_be_done)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	WorkerConfig config = real(tree);
	DriverTarget target = { .bdf = tree_bdf(DISPLAY), .driver = "nvidia" };
	MoveOutcome outcome;

	tree_add_gpu(tree, DISPLAY, 0x2230, "nvidia", 33, NULL);
	assert_int_equal(worker_move(&config, &target, 1, LONG, &outcome), 0);
	assert_false(outcome.result.changed);
	assert_false(outcome.still_running);
	assert_string_equal(outcome.result.driver, "nvidia");
	assert_null(outcome.result.driver_override);
	move_outcome_clear(&outcome);
}

TEST(the_real_worker_resets)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	const WorkerConfig config = real(tree);
	const Bdf bdf = tree_bdf(DISPLAY);
	ResetOutcome outcome;

	tree_add_gpu(tree, DISPLAY, 0x2230, "vfio-pci", 33, NULL);
	tree_write_attribute(tree, DISPLAY, "reset", "");
	assert_int_equal(worker_reset(&config, &(ResetTarget){ .bdf = bdf }, 1, LONG, &outcome), 0);
	assert_int_equal(outcome.report.result, RESET_DONE);
	assert_string_equal(outcome.report.method, "flr");
	reset_outcome_clear(&outcome);
	/* Another tree's functions are not those of this machine's /dev/vfio. */
	tree_remove_function(tree, "0000:41:00.1");
	assert_int_equal(worker_reset(&config, &(ResetTarget){ .bdf = bdf, .slot = true }, 1, LONG,
				      &outcome),
			 0);
	assert_int_equal(outcome.report.result, RESET_NO_METHOD);
	assert_null(outcome.report.method);
	reset_outcome_clear(&outcome);
}

/* Two children then, each with one half of the question, as there would be two parts. */
TEST(without_parts_children_look_just_as_closely)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(inspection_freep) Inspection *halves = NULL, *whole = NULL;
	_cleanup_(examination_freep) Examination *e = NULL;
	const Bdf bdf = tree_bdf(DISPLAY);
	WorkerConfig config = real(tree);
	json_t *a, *b;

	tree_add_gpu(tree, DISPLAY, 0x2230, "nvidia", 33, NULL);
	assert_int_equal(worker_inspect(&config, &bdf, 1, INSPECT_CONFIG_ALL, LONG, &whole), 0);
	config.parts_dir = "/nonexistent";
	assert_int_equal(worker_inspect(&config, &bdf, 1, INSPECT_CONFIG_ALL, LONG, &halves), 0);
	a = inspection_to_json(whole);
	b = inspection_to_json(halves);
	assert_true(json_equal(a, b));
	json_decref(a);
	json_decref(b);
	tree_write(tree, "proc/sys/kernel/osrelease", "0-none\n");
	assert_int_equal(worker_examine_host(&config, NULL, LONG, &e), 0);
	assert_non_null(e->image);
}

/* Where there is no answer nobody knows whether it was reset, and none counts as good. */
TEST(a_reset_without_an_answer_is_not_known)
{
	static const struct {
		const char *mode;
		int error;
		bool running;
	} rows[] = {
		{ "garbage", -EBADMSG, false },
		{ "crash", -EPROTO, false },
		{ "slow-1000", -ETIMEDOUT, true },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		const WorkerConfig config = bad_worker(rows[i].mode);
		const Bdf bdf = tree_bdf(DISPLAY);
		ResetOutcome o;

		if (worker_reset(&config, &(ResetTarget){ .bdf = bdf }, 1, USEC_PER_SEC / 2, &o) !=
			    rows[i].error ||
		    o.report.result != RESET_UNKNOWN || o.report.error != rows[i].error ||
		    o.still_running != rows[i].running || !bdf_equal(&o.report.bdf, &bdf))
			fail_msg("%s: error %d", rows[i].mode, o.report.error);
		assert_false(reset_result_is_good(o.report.result));
		reset_outcome_clear(&o);
	}
}

TEST(the_real_worker_reports_an_error_with_its_phase)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	WorkerConfig config = real(tree);
	MoveOutcome outcome;

	tree_add_gpu(tree, DISPLAY, 0x2230, "nvidia", 33, NULL);
	outcome = move_one(&config, LONG);
	assert_int_equal(outcome.result.error, -ENODEV);
	assert_int_equal(outcome.result.phase, DRIVER_PHASE_READ);
	assert_false(outcome.result.changed);
	assert_string_equal(outcome.result.driver, "nvidia");
	move_outcome_clear(&outcome);
	config.sysfs_dir = "/nonexistent";
	outcome = move_one(&config, LONG);
	assert_int_equal(outcome.result.error, -ENOENT);
	assert_false(outcome.result.changed);
	move_outcome_clear(&outcome);
}

TEST(the_real_worker_inspects)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(inspection_freep) Inspection *in = NULL, *host = NULL;
	Bdf functions[] = { tree_bdf(DISPLAY), tree_bdf(AUDIO) };
	WorkerConfig config = real(tree);

	tree_add_gpu(tree, DISPLAY, 0x2230, "nvidia", 33, NULL);
	tree_add_driver(tree, "vfio-pci");
	tree_add_process(tree, 42, "qemu\377\001", "0::/a.scope\n");
	tree_write(tree, "sys/class/vfio/33/dev", NUMBER_OF_FULL);
	tree_process_opens(tree, 42, 3, "/dev/full");
	assert_int_equal(worker_inspect(&config, functions, 2, INSPECT_CONFIG_ALL, LONG, &in), 0);
	assert_int_equal(in->n_functions, 2);
	assert_string_equal(in->functions[1].driver, "snd_hda_intel");
	assert_true(in->vfio_pci);
	assert_int_equal(in->n_holders, 2);
	assert_true(in->holders[0].vfio);
	assert_string_equal(in->holders[0].unit, "a.scope");
	assert_int_equal(worker_inspect(&config, NULL, 0, INSPECT_CONFIG_NOT, LONG, &host), 0);
	assert_int_equal(host->n_functions, 0);
}

/* fault 4 */
/* Whoever started it has given up, or is not there any more: its log tells what it did late. */
TEST(the_real_worker_tells_its_log_what_came_too_late)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_free_ char *sysfs = strf("--sysfs=%s", tree->sysfs);
	char *argv[] = { (char[]){ WORKER },
			 sysfs,
			 (char[]){ "move" },
			 (char[]){ DISPLAY },
			 (char[]){ "nvidia" },
			 (char[]){ "-" },
			 NULL };
	posix_spawn_file_actions_t files;
	char text[512] = "";
	int out[2], err[2], status;
	pid_t pid;

	tree_add_gpu(tree, DISPLAY, 0x2230, "nvidia", 33, NULL);
	assert_int_equal(pipe2(out, O_CLOEXEC), 0);
	assert_int_equal(pipe2(err, O_CLOEXEC), 0);
	close(out[0]);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
	posix_spawn_file_actions_adddup2(&files, err[1], STDERR_FILENO);
	assert_int_equal(posix_spawn(&pid, WORKER, &files, NULL, argv, environ), 0);
	posix_spawn_file_actions_destroy(&files);
	close(out[1]);
	close(err[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_true(read(err[0], text, sizeof(text) - 1) > 0);
	close(err[0]);
	assert_non_null(strstr(text, "nobody waits"));
	assert_non_null(strstr(text, "\"driver\":\"nvidia\""));
}

TEST(the_real_worker_reports_a_function_that_is_not_there)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	Bdf function = tree_bdf(DISPLAY);
	WorkerConfig config = real(tree);
	Inspection *in = NULL;

	assert_int_equal(worker_inspect(&config, &function, 1, INSPECT_CONFIG_NOT, LONG, &in),
			 -ENOENT);
	assert_null(in);
}

TEST(a_worker_that_cannot_be_started_is_an_error)
{
	WorkerConfig config = {
		.program = "/nonexistent/worker",
		.sysfs_dir = "/sys",
		.proc_dir = "/proc",
	};
	DriverTarget targets[] = { to_vfio(DISPLAY), to_vfio(AUDIO) };
	MoveOutcome outcomes[2];
	Bdf function = tree_bdf(DISPLAY);
	Inspection *in = NULL;

	assert_int_equal(worker_move(&config, targets, 2, LONG, outcomes), -ENOENT);
	assert_int_equal(outcomes[0].result.error, -ENOENT);
	assert_int_equal(outcomes[1].result.error, -ECANCELED);
	assert_false(outcomes[0].result.changed);
	assert_int_equal(worker_inspect(&config, &function, 1, INSPECT_CONFIG_NOT, LONG, &in),
			 -ENOENT);
}

TEST(a_target_that_is_no_driver_starts_nothing)
{
	WorkerConfig config = bad_worker("tidy");
	DriverTarget targets[] = { to_vfio(DISPLAY), to_vfio(AUDIO) };
	MoveOutcome outcomes[2];

	targets[0].driver = "../x";
	assert_int_equal(worker_move(&config, targets, 2, LONG, outcomes), -EINVAL);
	assert_int_equal(outcomes[1].result.error, -ECANCELED);
}

/* promise C3 */
TEST(answers_that_make_no_sense_are_refused)
{
	static const struct {
		const char *mode;
		int error;
		int signal;
	} rows[] = {
		{ "garbage", -EBADMSG, 0 },	   { "trailing", -EBADMSG, 0 },
		{ "other-function", -EBADMSG, 0 }, { "other-schema", -EBADMSG, 0 },
		{ "nothing", -EBADMSG, 0 },	   { "huge", -EBADMSG, 0 },
		{ "crash", -EPROTO, SIGKILL },	   { "crash-late", -EPROTO, SIGKILL },
		{ "status", -EPROTO, 0 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		WorkerConfig config = bad_worker(rows[i].mode);
		Bdf function = tree_bdf(DISPLAY);
		Inspection *in = NULL;
		MoveOutcome o = move_one(&config, LONG);

		/* Nobody knows how far it got. */
		if (o.result.error != rows[i].error || o.signal != rows[i].signal ||
		    !o.result.changed || o.still_running || o.pid <= 0)
			fail_msg("%s: error %d, signal %d", rows[i].mode, o.result.error, o.signal);
		if (worker_inspect(&config, &function, 1, INSPECT_CONFIG_NOT, LONG, &in) !=
			    rows[i].error ||
		    in)
			fail_msg("%s is taken for an inspection", rows[i].mode);
		move_outcome_clear(&o);
	}
}

/* What this program itself was started with is not what is tested. */
static void close_on_exec_inherited_files(void)
{
	for (int fd = 3; fd < 256; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
}

TEST(a_worker_starts_with_nothing_of_the_callers)
{
	WorkerConfig config = bad_worker("tidy");
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	sigset_t block, unblocked;
	MoveOutcome outcome;

	close_on_exec_inherited_files();
	sigemptyset(&block);
	sigaddset(&block, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &block, &unblocked);
	sigaction(SIGUSR2, &ignore, &before);
	outcome = move_one(&config, LONG);
	sigaction(SIGUSR2, &before, NULL);
	pthread_sigmask(SIG_SETMASK, &unblocked, NULL);
	assert_int_equal(outcome.result.error, 0);
	move_outcome_clear(&outcome);
}

TEST(workers_run_side_by_side)
{
	WorkerConfig config = bad_worker("slow-1000");
	DriverTarget targets[8];
	MoveOutcome outcomes[8];
	uint64_t start = now_monotonic();

	many_to_vfio(targets, ELEMENTS(targets));
	assert_int_equal(worker_move(&config, targets, ELEMENTS(targets), LONG, outcomes), 0);
	if (now_monotonic() - start > 7 * USEC_PER_SEC)
		fail_msg("8 workers of 1 s took %llu ms",
			 (unsigned long long)(now_monotonic() - start) / 1000);
	for (size_t i = 0; i < ELEMENTS(outcomes); i++)
		move_outcome_clear(&outcomes[i]);
}

TEST(a_worker_that_outlives_its_deadline_is_left_alone_and_reaped)
{
	static const char *const modes[] = { "slow-60000", "silent-60000" };

	for (size_t i = 0; i < ELEMENTS(modes); i++) {
		WorkerConfig config = bad_worker(modes[i]);
		uint64_t start = now_monotonic();
		MoveOutcome o = move_one(&config, USEC_PER_SEC / 5);

		if (now_monotonic() - start > 30 * USEC_PER_SEC)
			fail_msg("%s: waited beyond the deadline", modes[i]);
		assert_int_equal(o.result.error, -ETIMEDOUT);
		assert_true(o.still_running);
		assert_true(o.result.changed);
		assert_true(o.pid > 0);
		assert_true(worker_running(o.pid));
		assert_int_equal(kill(o.pid, SIGKILL), 0); /* it would wait for a minute */
		assert_goes(o.pid);
		assert_false(worker_running(o.pid));
		move_outcome_clear(&o);
	}
}

TEST(one_slow_worker_does_not_spoil_the_others_answers)
{
	/* The second cannot be slow in a mode of its own: both wait, the deadline is between. */
	WorkerConfig slow = bad_worker("slow-800"), quick = bad_worker("slow-1");
	DriverTarget target = to_vfio(DISPLAY);
	MoveOutcome late, early;

	assert_int_equal(worker_move(&slow, &target, 1, USEC_PER_SEC / 10, &late), -ETIMEDOUT);
	assert_int_equal(worker_move(&quick, &target, 1, LONG, &early), 0);
	assert_string_equal(early.result.driver, "vfio-pci");
	assert_goes(late.pid);
	move_outcome_clear(&late);
	move_outcome_clear(&early);
}

TEST(an_inspection_that_takes_too_long_is_given_up)
{
	WorkerConfig config = bad_worker("slow-500");
	Bdf function = tree_bdf(DISPLAY);
	Inspection *in = NULL;

	assert_int_equal(
		worker_inspect(&config, &function, 1, INSPECT_CONFIG_NOT, USEC_PER_SEC / 10, &in),
		-ETIMEDOUT);
	assert_null(in);
}

/* Reading config space wakes a device; where it does not wake, the read does not return. */
TEST(a_device_that_does_not_wake_is_given_up_and_scans_go_on)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(inspection_freep) Inspection *close_look = NULL, *glance = NULL, *awake = NULL;
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;
	_cleanup_free_ char *config_path = NULL;
	Bdf function = tree_bdf(DISPLAY);
	WorkerConfig config = real(tree);
	int fd;

	tree_add_gpu(tree, DISPLAY, 0x2230, "vfio-pci", 33, NULL);
	tree_write_attribute(tree, DISPLAY, "power_state", "D3cold\n");
	config_path = strf("%s/bus/pci/devices/" DISPLAY "/config", tree->sysfs);
	assert_int_equal(mkfifo(config_path, 0600), 0);
	assert_int_equal(worker_inspect(&config, &function, 1, INSPECT_CONFIG_ALL, USEC_PER_SEC,
					&close_look),
			 -ETIMEDOUT);
	/* Who may only read does not wake it, and so does not wait for it. */
	assert_int_equal(worker_inspect(&config, &function, 1, INSPECT_CONFIG_AWAKE, LONG, &awake),
			 0);
	assert_true(awake->functions[0].left_asleep);
	/* What a job looks at, and a scan, leave config space alone. */
	assert_int_equal(worker_inspect(&config, &function, 1, INSPECT_CONFIG_NOT, LONG, &glance),
			 0);
	fd = open(tree->sysfs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(scan_pci(fd, &snapshot), 0);
	assert_int_equal(snapshot->n_functions, 2);
	close(fd);
	/* It wakes after all: the worker, which nobody killed, ends. */
	fd = open(config_path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(fd >= 0);
	close(fd);
}

TEST(a_deadline_of_zero_only_looks_once)
{
	WorkerConfig config = bad_worker("slow-300");
	MoveOutcome o = move_one(&config, 0);

	assert_int_equal(o.result.error, -ETIMEDOUT);
	assert_goes(o.pid);
	move_outcome_clear(&o);
}

TEST(a_deadline_without_end_does_not_overflow)
{
	WorkerConfig config = bad_worker("slow-50");
	MoveOutcome o = move_one(&config, UINT64_MAX);

	assert_int_equal(o.result.error, 0);
	move_outcome_clear(&o);
}

TEST(no_targets_are_moved_at_once)
{
	WorkerConfig config = bad_worker("crash");

	assert_int_equal(worker_move(&config, NULL, 0, LONG, NULL), 0);
}

static void *move_some(void *failures)
{
	WorkerConfig config = bad_worker("slow-20");

	for (int round = 0; round < 5; round++) {
		DriverTarget targets[4];
		MoveOutcome outcomes[4];

		many_to_vfio(targets, ELEMENTS(targets));
		if (worker_move(&config, targets, 4, LONG, outcomes) != 0)
			__atomic_add_fetch((int *)failures, 1, __ATOMIC_SEQ_CST);
		for (size_t i = 0; i < ELEMENTS(outcomes); i++)
			move_outcome_clear(&outcomes[i]);
	}
	return NULL;
}

/* A pipe end that leaks into another thread's worker would keep the first from ending. */
TEST(threads_can_move_at_the_same_time)
{
	pthread_t threads[4];
	int failures = 0;

	for (size_t i = 0; i < ELEMENTS(threads); i++)
		assert_int_equal(pthread_create(&threads[i], NULL, move_some, &failures), 0);
	for (size_t i = 0; i < ELEMENTS(threads); i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(failures, 0);
}

TEST(a_move_survives_its_document)
{
	const DriverResult results[] = {
		{ 0 },
		{ .error = -ENXIO, .phase = DRIVER_PHASE_VERIFY, .changed = true },
		{ .changed = true,
		  .driver = (char[]){ "vfio-pci" },
		  .driver_override = (char[]){ "a \"b\"" } },
	};
	Bdf bdf = tree_bdf("10000:e1:00.0");

	for (size_t i = 0; i < ELEMENTS(results); i++) {
		_cleanup_free_ char *text = worker_move_document(&bdf, &results[i]);
		_cleanup_(driver_result_clear) DriverResult found = { 0 };

		assert_int_equal(worker_move_document_parse(text, strlen(text), &bdf, &found), 0);
		if (found.error != results[i].error || found.phase != results[i].phase ||
		    found.changed != results[i].changed ||
		    !str_equal(found.driver, results[i].driver) ||
		    !str_equal(found.driver_override, results[i].driver_override))
			fail_msg("row %zu: %s", i, text);
	}
}

TEST(a_foreign_override_of_odd_bytes_is_told_all_the_same)
{
	DriverResult result = { .driver_override = (char[]){ "\377\376" } };
	_cleanup_(driver_result_clear) DriverResult found = { 0 };
	_cleanup_free_ char *text = NULL;
	Bdf bdf = tree_bdf(DISPLAY);

	text = worker_move_document(&bdf, &result);
	assert_non_null(text);
	assert_int_equal(worker_move_document_parse(text, strlen(text), &bdf, &found), 0);
	assert_string_equal(found.driver_override, "?");
}

TEST(an_inspection_that_leaves_a_function_out_is_refused)
{
	FunctionFacts facts = { .bdf = tree_bdf(DISPLAY), .device_minor = -1 };
	Inspection in = { .functions = &facts, .n_functions = 1 };
	Bdf functions[] = { tree_bdf(DISPLAY), tree_bdf(AUDIO) };
	_cleanup_free_ char *text = worker_inspect_document(0, &in);
	_cleanup_(inspection_freep) Inspection *found = NULL;

	assert_int_equal(worker_inspect_document_parse(text, strlen(text), functions, 2, &found),
			 -EBADMSG);
	assert_null(found);
	assert_int_equal(worker_inspect_document_parse(text, strlen(text), functions, 1, &found),
			 0);
	assert_int_equal(found->n_functions, 1);
}
