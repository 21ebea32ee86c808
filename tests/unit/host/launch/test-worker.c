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

#include "host/launch/child.h"
#include "host/scan/scan.h"
#include "host/wire/answer.h"
#include "rig/expect-json.h"
#include "rig/worker-model.h"
#include "util/text.h"

/* A GPU on nvidia, and the real worker for it. */
typedef struct GpuRig {
	SysfsTree *tree;
	WorkerConfig config;
} GpuRig;

static int setup(void **state)
{
	GpuRig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	rig->tree = sysfs_tree_new(NULL);
	tree_add_gpu(rig->tree, DISPLAY, 0x2230, "nvidia", 33, NULL);
	rig->config = (WorkerConfig){ .program = WORKER,
				      .initramfs = INITRAMFS,
				      .eraser = ERASER,
				      .sysfs_dir = rig->tree->sysfs,
				      .proc_dir = rig->tree->proc };
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	GpuRig *rig = *state;

	sysfs_tree_free(rig->tree);
	free(rig);
	return 0;
}

#define WITH_GPU(name) TEST_ON(name, GpuRig, setup, teardown)

/* Of DISPLAY; NULL: the error is as expected. */
static Inspection *inspect(const WorkerConfig *config, uint64_t timeout_usec, InspectConfig how,
			   int error)
{
	const Bdf bdf = tree_bdf(DISPLAY);
	Inspection *in = NULL;

	assert_int_equal(host_inspect(WORKERS_UNTIL(config, timeout_usec), &bdf, 1, how, &in, NULL),
			 error);
	assert_int_equal(in != NULL, error == 0);
	return in;
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

static void expect_move(const WorkerConfig *config, const char *driver, const char *wanted)
{
	const DriverTarget target = { .bdf = tree_bdf(DISPLAY), .driver = driver };
	_cleanup_free_ char *text = NULL;
	MoveOutcome outcome;
	int r = host_move(WORKERS(config), &target, 1, LONG, &outcome);

	assert_int_equal(r, outcome.result.error);
	assert_false(outcome.still_running);
	text = worker_move_document(&target.bdf, &outcome.result);
	expect_json(driver, json_loads(text, 0, NULL), wanted);
	move_outcome_clear(&outcome);
}

WITH_GPU(the_real_worker_moves_or_says_why_not)
{
	expect_move(&rig->config, "nvidia",
		    "{'error': 0, 'changed': false, 'driver': 'nvidia', 'driver_override': null}");
	expect_move(&rig->config, "vfio-pci",
		    "{'error': 19, 'phase': 'read', 'changed': false, 'driver': 'nvidia'}");
	rig->config.sysfs_dir = "/nonexistent";
	expect_move(&rig->config, "vfio-pci", "{'error': 2, 'changed': false}");
}

WITH_GPU(the_real_worker_resets)
{
	static const struct {
		bool slot;
		ResetResult result;
		const char *method;
	} rows[] = {
		{ false, RESET_DONE, "flr" },
		/* Another tree's functions are not those of this machine's /dev/vfio. */
		{ true, RESET_NO_METHOD, NULL },
	};
	ResetTarget target = { .bdf = tree_bdf(DISPLAY) };

	tree_remove_function(rig->tree, AUDIO);
	tree_remove_function(rig->tree, DISPLAY);
	tree_add_gpu(rig->tree, DISPLAY, 0x2230, "vfio-pci", 33, NULL);
	tree_remove_function(rig->tree, AUDIO);
	tree_write_attribute(rig->tree, DISPLAY, "reset", "");
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		ResetOutcome outcome;

		target.slot = rows[i].slot;
		assert_int_equal(
			host_reset(WORKERS_UNTIL(&rig->config, LONG), &target, 1, &outcome), 0);
		assert_int_equal(outcome.report.result, rows[i].result);
		assert_true(str_equal(outcome.report.method, rows[i].method));
		reset_outcome_clear(&outcome);
	}
}

/* Two children then, each with one half of the question, as there would be two parts. */
WITH_GPU(without_parts_children_look_just_as_closely)
{
	_cleanup_(inspection_freep) Inspection *halves = NULL, *whole = NULL;
	_cleanup_(examination_freep) Examination *e = NULL;
	_cleanup_free_ char *a = NULL, *b = NULL;

	whole = inspect(&rig->config, LONG, INSPECT_CONFIG_ALL, 0);
	rig->config.parts_dir = "/nonexistent";
	halves = inspect(&rig->config, LONG, INSPECT_CONFIG_ALL, 0);
	a = json_struct_text(inspection_members, whole);
	b = json_struct_text(inspection_members, halves);
	assert_string_equal(a, b);
	tree_write(rig->tree, "proc/sys/kernel/osrelease", "0-none\n");
	assert_int_equal(host_examine(WORKERS_UNTIL(&rig->config, LONG), &e, NULL), 0);
	assert_non_null(e->image);
}

WITH_GPU(the_real_worker_inspects)
{
	_cleanup_(inspection_freep) Inspection *in = NULL, *host = NULL;
	Bdf functions[] = { tree_bdf(DISPLAY), tree_bdf(AUDIO) };

	tree_add_driver(rig->tree, "vfio-pci");
	tree_add_process(rig->tree, 42, "qemu\377\001", "0::/a.scope\n");
	tree_write(rig->tree, "sys/class/vfio/33/dev", NUMBER_OF_FULL);
	tree_process_opens(rig->tree, 42, 3, "/dev/full");
	assert_int_equal(host_inspect(WORKERS_UNTIL(&rig->config, LONG), functions, 2,
				      INSPECT_CONFIG_ALL, &in, NULL),
			 0);
	expect_json("both", json_struct_write(inspection_members, in),
		    "{'functions': [{}, {'driver': 'snd_hda_intel'}], 'vfio_pci': true, "
		    "'holders': [{'vfio': true, 'unit': 'a.scope'}, {}]}");
	assert_int_equal(host_inspect(WORKERS_UNTIL(&rig->config, LONG), NULL, 0,
				      INSPECT_CONFIG_NOT, &host, NULL),
			 0);
	assert_int_equal(host->n_functions, 0);
	tree_remove_function(rig->tree, DISPLAY);
	inspect(&rig->config, LONG, INSPECT_CONFIG_NOT, -ENOENT);
}

/* fault 4 */
/* Whoever started it has given up, or is not there any more: its log tells what it did late. */
WITH_GPU(the_real_worker_tells_its_log_what_came_too_late)
{
	_cleanup_free_ char *sysfs = strf("--sysfs=%s", rig->tree->sysfs);
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

TEST(what_cannot_be_started_is_an_error_and_starts_no_other)
{
	static const struct {
		const char *program, *driver;
		int error;
	} rows[] = {
		{ "/nonexistent/worker", "vfio-pci", -ENOENT },
		{ BAD_WORKER, "../x", -EINVAL },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		WorkerConfig config = bad_worker("tidy");
		DriverTarget targets[] = { to_vfio(DISPLAY), to_vfio(AUDIO) };
		MoveOutcome outcomes[2];

		config.program = rows[i].program;
		targets[0].driver = rows[i].driver;
		assert_int_equal(host_move(WORKERS(&config), targets, 2, LONG, outcomes),
				 rows[i].error);
		assert_int_equal(outcomes[0].result.error, rows[i].error);
		assert_int_equal(outcomes[1].result.error, -ECANCELED);
		assert_false(outcomes[0].result.changed);
		if (i == 0)
			inspect(&config, LONG, INSPECT_CONFIG_NOT, -ENOENT);
		move_outcome_clear(&outcomes[0]);
		move_outcome_clear(&outcomes[1]);
	}
}

/* ---- no answer ---- */

static const struct Bad {
	const char *way;
	int error;
	const char *told;
} bad[] = {
	{ "nothing", -EPROTO, " ended before it answered" },
	{ "half", -EBADMSG, " gave an answer that makes no sense" },
	{ "twice", -EBADMSG, " gave an answer that makes no sense" },
	{ "garbage", -EBADMSG, " gave an answer that makes no sense" },
	{ "other-version", -EBADMSG,
	  " answers as another version of gpupass does: its schema is " },
	{ "huge", -EBADMSG, " KiB, which no answer has" },
	{ "crash", -EPROTO, " was ended by signal 9 (Killed) before it answered" },
	{ "status", -EPROTO, " ended with exit status 7, and without an answer" },
	{ "slow-60000", -ETIMEDOUT, " did not answer within " },
};

/* One of each question, about DISPLAY where it is about functions. */
static void ask_once(const WorkerConfig *config, QuestionId id, bool slow, Ask *ret)
{
	static _Thread_local char answer[1024] __attribute__((aligned(16)));
	static Bdf display;

	display = tree_bdf(DISPLAY);
	memset(answer, 0, sizeof(answer));
	*ret = (Ask){
		.id = id, .functions = &display, .n = question(id)->most > 0, .answer = answer
	};
	if (id == ASK_MOVE)
		ret->after[0] = ret->after[1] = "-";
	if (id == ASK_SET_PERSISTENCE)
		ret->before = "--set=on";
	ask_parts(config, ret, 1, slow ? USEC_PER_SEC / 4 : LONG, 0);
	for (size_t i = 0; i < question(id)->size; i++)
		assert_int_equal(answer[i], 0);
}

/* Which program, for which function, what it did, and what to do; and nothing is taken from it. */
static void expect_told(const Ask *ask, const struct Bad *row)
{
	const char *about = question(ask->id)->most > 0 ? DISPLAY : question(ask->id)->subject;
	const Problem *p = ask->problem;

	if (ask->error != row->error || !p || !strstr(p->cause, row->told) ||
	    !strstr(p->cause, "bad-worker") || !str_starts_with(p->reason, about) || !p->remedy ||
	    p->error == GPUPASS_ERROR_INTERNAL || strstr(p->cause, strerror(-row->error)))
		fail_msg("%s, %s: error %d, %s: %s", question(ask->id)->verb, row->way, ask->error,
			 p ? p->reason : "", p ? p->cause : "");
	assert_int_equal(ask->still_running, row->error == -ETIMEDOUT);
}

/* promise C3 */
TEST(each_bad_answer_to_each_question_is_told_in_words)
{
	for (QuestionId id = 0; id < ASK_UEVENTS; id++)
		for (size_t i = 0; i < ELEMENTS(bad); i++) {
			WorkerConfig config = bad_worker(bad[i].way);
			Ask ask;

			ask_once(&config, id, bad[i].error == -ETIMEDOUT, &ask);
			expect_told(&ask, &bad[i]);
			if (ask.still_running)
				assert_int_equal(kill(ask.pid, SIGKILL), 0);
			ask_clear(&ask);
		}
}

/* Nobody knows how far it got, and no reset without an answer counts as good. */
TEST(a_move_or_reset_without_an_answer_is_not_known)
{
	static const char *const ways[] = { "garbage", "crash", "crash-late", "trailing",
					    "other-function" };

	for (size_t i = 0; i < ELEMENTS(ways); i++) {
		WorkerConfig config = bad_worker(ways[i]);
		const ResetTarget target = { .bdf = tree_bdf(DISPLAY) };
		_cleanup_(move_outcome_clear) MoveOutcome o = move_one(&config, LONG);
		ResetOutcome reset;

		if (o.result.error >= 0 || !o.problem || !o.result.changed || o.still_running ||
		    o.pid <= 0)
			fail_msg("%s: error %d", ways[i], o.result.error);
		assert_true(host_reset(WORKERS(&config), &target, 1, &reset) < 0);
		assert_int_equal(reset.report.result, RESET_UNKNOWN);
		assert_true(reset.report.error < 0 && reset.problem);
		assert_true(bdf_equal(&reset.report.bdf, &target.bdf));
		reset_outcome_clear(&reset);
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
	assert_int_equal(host_move(WORKERS(&config), targets, ELEMENTS(targets), LONG, outcomes),
			 0);
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
		_cleanup_(move_outcome_clear) MoveOutcome o = move_one(&config, USEC_PER_SEC / 5);

		if (now_monotonic() - start > 30 * USEC_PER_SEC)
			fail_msg("%s: waited beyond the deadline", modes[i]);
		assert_int_equal(o.result.error, -ETIMEDOUT);
		assert_true(o.still_running);
		assert_true(o.result.changed);
		assert_true(o.pid > 0);
		assert_true(child_runs(o.pid));
		assert_int_equal(kill(o.pid, SIGKILL), 0); /* it would wait for a minute */
		assert_goes(o.pid);
		assert_false(child_runs(o.pid));
	}
}

/* Reading config space wakes a device; where it does not wake, the read does not return. */
WITH_GPU(a_device_that_does_not_wake_is_given_up_and_scans_go_on)
{
	_cleanup_(inspection_freep) Inspection *glance = NULL, *awake = NULL;
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;
	_cleanup_free_ char *config_path =
		strf("%s/bus/pci/devices/" DISPLAY "/config", rig->tree->sysfs);
	int fd;

	tree_write_attribute(rig->tree, DISPLAY, "power_state", "D3cold\n");
	assert_int_equal(mkfifo(config_path, 0600), 0);
	inspect(&rig->config, USEC_PER_SEC, INSPECT_CONFIG_ALL, -ETIMEDOUT);
	/* Who may only read does not wake it, and so does not wait for it. */
	awake = inspect(&rig->config, LONG, INSPECT_CONFIG_AWAKE, 0);
	assert_true(awake->functions[0].left_asleep);
	/* What a job looks at, and a scan, leave config space alone. */
	glance = inspect(&rig->config, LONG, INSPECT_CONFIG_NOT, 0);
	assert_int_equal(scan_pci(rig->tree->roots.sysfs_fd, &snapshot), 0);
	assert_int_equal(snapshot->n_functions, 2);
	/* It wakes after all: the worker, which nobody killed, ends. */
	fd = open(config_path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(fd >= 0);
	close(fd);
}

TEST(a_deadline_of_zero_looks_once_and_one_without_end_does_not_overflow)
{
	WorkerConfig slow = bad_worker("slow-300"), quick = bad_worker("slow-50");
	_cleanup_(move_outcome_clear) MoveOutcome once = move_one(&slow, 0);
	_cleanup_(move_outcome_clear) MoveOutcome endless = move_one(&quick, UINT64_MAX);

	assert_int_equal(once.result.error, -ETIMEDOUT);
	assert_goes(once.pid);
	assert_int_equal(endless.result.error, 0);
	/* No targets are moved at once. */
	assert_int_equal(host_move(WORKERS(&slow), NULL, 0, LONG, NULL), 0);
}

static void *move_some(void *failures)
{
	WorkerConfig config = bad_worker("slow-20");

	for (int round = 0; round < 5; round++) {
		DriverTarget targets[4];
		MoveOutcome outcomes[4];

		many_to_vfio(targets, ELEMENTS(targets));
		if (host_move(WORKERS(&config), targets, 4, LONG, outcomes) != 0)
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
