/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "fake-systemd.h"
#include "host/launch/unit.h"
#include "host/launch/worker-find.h"
#include "rig/temp-dir.h"
#include "rig/worker-model.h"
#include "util/text.h"

/*
 * The real ones, with less patience: for the bus, or for a systemd that does not answer. Not for
 * calls that are answered, because a machine under load may take longer than this.
 */
#define BRIEFLY (USEC_PER_SEC / 5)

static int open_it(uint64_t timeout_usec, UnitManager **ret, char **ret_why)
{
	return systemd_units.open(timeout_usec, ret, ret_why);
}

static int open_briefly(uint64_t timeout_usec _unused_, UnitManager **ret, char **ret_why)
{
	return systemd_units.open(BRIEFLY, ret, ret_why);
}

static UnitManager *close_it(UnitManager *manager)
{
	return systemd_units.close(manager);
}

static int start_briefly(UnitManager *manager, const UnitSpec *spec, uint64_t timeout_usec _unused_,
			 char **ret_why)
{
	return systemd_units.start(manager, spec, BRIEFLY, ret_why);
}

static pid_t main_pid(UnitManager *manager, const char *name)
{
	return systemd_units.main_pid(manager, name);
}

static const UnitOps brief_with_the_bus = { open_briefly, close_it, start_briefly, main_pid };
static const UnitOps brief_with_systemd = { open_it, close_it, start_briefly, main_pid };

/* What was said when no unit was to be had. */
typedef struct FellBack {
	unsigned times;
	char why[256];
} FellBack;

static void note_fall(const char *why, void *userdata)
{
	FellBack *fell = userdata;

	fell->times++;
	snprintf(fell->why, sizeof(fell->why), "%s", why);
}

/* As a unit. */
static WorkerConfig bad(const char *mode, FellBack *fell)
{
	WorkerConfig config = bad_worker(mode);

	*fell = (FellBack){ 0 };
	config.units = &systemd_units;
	config.fell_back = note_fall;
	config.userdata = fell;
	return config;
}

static WorkerConfig with(const UnitOps *units, WorkerConfig config)
{
	config.units = units;
	return config;
}

static void assert_told(FakeSystemd *fake, const char *const *lines)
{
	for (; *lines; lines++)
		if (!fake_systemd_was_told(fake, *lines))
			fail_msg("systemd was not told %s", *lines);
}

static void a_move_runs_as_a_unit_and_answers_through_its_pipe(void **state _unused_)
{
	static const char *const told[] = {
		"name=gpupass-worker@" DISPLAY ".service",
		"mode=fail",
		"Description=Move " DISPLAY " to vfio-pci (gpupass)",
		"StandardInput=null",
		"StandardError=journal",
		NULL,
	};
	_cleanup_(fake_systemd_freep) FakeSystemd *fake _unused_ = fake_systemd_new(FAKE_ACCEPTS);
	FellBack fell;
	WorkerConfig config = bad("slow-50", &fell);
	MoveOutcome o = move_one(&config, LONG);

	assert_int_equal(o.result.error, 0);
	assert_string_equal(o.result.driver, "vfio-pci");
	assert_int_equal(fake_systemd_calls(fake), 1);
	assert_int_equal(fell.times, 0);
	assert_told(fake, told);
	move_outcome_clear(&o);
}

static void nothing_stops_a_unit_and_nobody_waits_for_it(void **state _unused_)
{
	static const char *const told[] = {
		"DefaultDependencies=no", "IgnoreOnIsolate=yes",
		"Slice=system.slice",	  "KillMode=process",
		"SendSIGKILL=no",	  "TimeoutStopUSec=1000000",
		"KillSignal=18",	  "CollectMode=inactive-or-failed",
		"argv[0]=@" BAD_WORKER,	  NULL,
	};
	_cleanup_(fake_systemd_freep) FakeSystemd *fake _unused_ = fake_systemd_new(FAKE_ACCEPTS);
	FellBack fell;
	WorkerConfig config = bad("slow-01", &fell);
	MoveOutcome o = move_one(&config, LONG);

	assert_int_equal(SIGCONT, 18);
	assert_told(fake, told);
	move_outcome_clear(&o);
}

/* systemd expands $NAME in the arguments of a unit, unless told otherwise. */
static void a_foreign_override_is_handed_on_as_it_is(void **state _unused_)
{
	_cleanup_(fake_systemd_freep) FakeSystemd *fake _unused_ = fake_systemd_new(FAKE_ACCEPTS);
	DriverTarget target = { .bdf = tree_bdf(DISPLAY), .driver_override = "$HOME" };
	FellBack fell;
	WorkerConfig config = bad("slow-01", &fell);
	MoveOutcome o;

	assert_int_equal(worker_move(&config, &target, 1, LONG, &o), 0);
	assert_true(fake_systemd_was_told(fake, "flag=no-env-expand"));
	move_outcome_clear(&o);
}

static void units_of_a_batch_run_side_by_side_over_one_connection(void **state _unused_)
{
	_cleanup_(fake_systemd_freep) FakeSystemd *fake _unused_ = fake_systemd_new(FAKE_ACCEPTS);
	FellBack fell;
	WorkerConfig config = bad("slow-400", &fell);
	DriverTarget targets[8];
	MoveOutcome outcomes[8];
	uint64_t start = now_monotonic();

	many_to_vfio(targets, ELEMENTS(targets));
	assert_int_equal(worker_move(&config, targets, ELEMENTS(targets), LONG, outcomes), 0);
	if (now_monotonic() - start > 2 * USEC_PER_SEC)
		fail_msg("8 workers of 0.4 s took %llu ms",
			 (unsigned long long)(now_monotonic() - start) / 1000);
	assert_int_equal(fake_systemd_calls(fake), ELEMENTS(targets));
	assert_int_equal(fake_systemd_connections(fake), 1);
	for (size_t i = 0; i < ELEMENTS(outcomes); i++)
		move_outcome_clear(&outcomes[i]);
}

static void a_reset_runs_as_a_unit_and_an_inspection_does_not(void **state _unused_)
{
	_cleanup_(fake_systemd_freep) FakeSystemd *fake _unused_ = fake_systemd_new(FAKE_ACCEPTS);
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = sysfs_tree_new(NULL);
	_cleanup_(inspection_freep) Inspection *in = NULL;
	const Bdf bdf = tree_bdf(DISPLAY);
	const ResetTarget target = { .bdf = bdf };
	FellBack fell;
	WorkerConfig config = bad("", &fell);
	ResetOutcome o;

	config.program = WORKER;
	config.sysfs_dir = tree->sysfs;
	config.proc_dir = tree->proc;
	tree_add_gpu(tree, DISPLAY, 0x2230, "vfio-pci", 33, NULL);
	tree_write_attribute(tree, DISPLAY, "reset", "");
	assert_int_equal(worker_reset(&config, &target, 1, LONG, &o), 0);
	assert_int_equal(o.report.result, RESET_DONE);
	assert_true(fake_systemd_was_told(fake, "Description=Reset " DISPLAY " (gpupass)"));
	assert_int_equal(worker_inspect(&config, &bdf, 1, INSPECT_CONFIG_NOT, LONG, &in), 0);
	assert_int_equal(fake_systemd_calls(fake), 1);
	reset_outcome_clear(&o);
}

/* Two targets: after the first refusal nobody is asked again. */
static void where_systemd_refuses_children_do_it_and_it_is_told_once(void **state _unused_)
{
	static const struct {
		FakeAnswer answer;
		const char *why;
	} rows[] = {
		{ FAKE_DENIES, "not you" },
		{ FAKE_KNOWS_NO_PROPERTY, "ExecStartEx" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(fake_systemd_freep) FakeSystemd *fake _unused_ =
			fake_systemd_new(rows[i].answer);
		DriverTarget targets[] = { to_vfio(DISPLAY), to_vfio(AUDIO) };
		FellBack fell;
		WorkerConfig config = bad("slow-01", &fell);
		MoveOutcome outcomes[2];

		assert_int_equal(worker_move(&config, targets, 2, LONG, outcomes), 0);
		assert_int_equal(fake_systemd_calls(fake), 1);
		assert_int_equal(fell.times, 1);
		if (!strstr(fell.why, rows[i].why))
			fail_msg("row %zu says: %s", i, fell.why);
		move_outcome_clear(&outcomes[0]);
		move_outcome_clear(&outcomes[1]);
	}
}

static void without_a_bus_children_do_it(void **state _unused_)
{
	FellBack fell;
	WorkerConfig config = bad("slow-01", &fell);
	MoveOutcome o;

	setenv("DBUS_SYSTEM_BUS_ADDRESS", "unix:path=/nonexistent/bus", 1);
	o = move_one(&config, LONG);
	assert_int_equal(o.result.error, 0);
	assert_int_equal(fell.times, 1);
	assert_non_null(strstr(fell.why, "bus cannot be reached"));
	move_outcome_clear(&o);
}

/* The bus takes the connection and says nothing: nobody was asked for a unit yet. */
static void behind_a_bus_that_hangs_children_do_it(void **state)
{
	const TempDir *dir = *state;
	_cleanup_free_ char *address = strf("unix:path=%s/bus", dir->path);
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint64_t start = now_monotonic();
	FellBack fell;
	WorkerConfig config = with(&brief_with_the_bus, bad("slow-01", &fell));
	MoveOutcome o;

	snprintf(name.sun_path, sizeof(name.sun_path), "%s/bus", dir->path);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, sizeof(name)), 0);
	assert_int_equal(listen(fd, 4), 0);
	setenv("DBUS_SYSTEM_BUS_ADDRESS", address, 1);
	o = move_one(&config, LONG);
	assert_int_equal(o.result.error, 0);
	assert_int_equal(fell.times, 1);
	assert_true(now_monotonic() - start < 2 * USEC_PER_SEC);
	move_outcome_clear(&o);
}

/* fault 49 */
static void beside_an_older_worker_none_is_started(void **state _unused_)
{
	_cleanup_(fake_systemd_freep) FakeSystemd *fake _unused_ =
		fake_systemd_new(FAKE_HAS_THE_UNIT);
	char *argv[] = { (char[]){ "@" BAD_WORKER },
			 (char[]){ "--sysfs=slow-60000" },
			 (char[]){ "move" },
			 (char[]){ "--" },
			 (char[]){ DISPLAY },
			 (char[]){ "-" },
			 (char[]){ "-" },
			 NULL };
	DriverTarget targets[] = { to_vfio(DISPLAY), to_vfio(AUDIO) };
	uint64_t start = now_monotonic();
	FellBack fell;
	WorkerConfig config = bad("slow-60000", &fell);
	MoveOutcome o[2];
	pid_t older;

	assert_int_equal(posix_spawn(&older, BAD_WORKER, NULL, NULL, argv, environ), 0);
	while (worker_find(&config, &targets[0].bdf) != older)
		usleep(1000);
	assert_int_equal(worker_move(&config, targets, 2, LONG, o), -EBUSY);
	assert_true(o[0].still_running);
	assert_int_equal(o[0].pid, older);
	assert_false(o[0].result.changed);
	assert_int_equal(o[1].result.error, -ECANCELED);
	assert_false(o[1].still_running);
	assert_int_equal(fell.times, 0);
	assert_true(now_monotonic() - start < 10 * USEC_PER_SEC);
	kill(older, SIGKILL);
	waitpid(older, NULL, 0);
}

/* fault 49 */
/* A unit that stays although no process is found: not believed to be gone. */
static void beside_an_older_unit_none_is_started_either(void **state _unused_)
{
	_cleanup_(fake_systemd_freep) FakeSystemd *fake _unused_ =
		fake_systemd_new(FAKE_HAS_THE_UNIT);
	const ResetTarget target = { .bdf = tree_bdf(DISPLAY) };
	FellBack fell;
	/* Written as no other test writes it: their workers, too, are found by their command
	 * line. */
	WorkerConfig config = bad("slow-001", &fell);
	ResetOutcome o;

	assert_int_equal(worker_reset(&config, &target, 1, LONG, &o), -EBUSY);
	assert_true(o.still_running);
	assert_int_equal(o.pid, 0);
	assert_int_equal(fell.times, 0);
	reset_outcome_clear(&o);
}

static void a_unit_that_systemd_is_about_to_forget_is_waited_for(void **state _unused_)
{
	_cleanup_(fake_systemd_freep) FakeSystemd *fake _unused_ =
		fake_systemd_new(FAKE_HAD_THE_UNIT);
	FellBack fell;
	WorkerConfig config = bad("slow-01", &fell);
	MoveOutcome o = move_one(&config, LONG);

	assert_int_equal(o.result.error, 0);
	assert_int_equal(fake_systemd_calls(fake), 4);
	move_outcome_clear(&o);
}

static void an_answer_counts_also_when_systemd_said_nothing(void **state _unused_)
{
	_cleanup_(fake_systemd_freep) FakeSystemd *fake _unused_ =
		fake_systemd_new(FAKE_STARTS_SILENTLY);
	FellBack fell;
	WorkerConfig config = with(&brief_with_systemd, bad("slow-0500", &fell));
	MoveOutcome o = move_one(&config, LONG);

	assert_int_equal(o.result.error, 0);
	assert_int_equal(fake_systemd_calls(fake), 1);
	assert_int_equal(fell.times, 0);
	move_outcome_clear(&o);
}

/* It may start it yet: so there is no child, and the function counts as stuck. */
static void where_systemd_says_nothing_no_second_worker_is_started(void **state _unused_)
{
	_cleanup_(fake_systemd_freep) FakeSystemd *fake _unused_ =
		fake_systemd_new(FAKE_SAYS_NOTHING);
	DriverTarget targets[] = { to_vfio(DISPLAY), to_vfio(AUDIO) };
	FellBack fell;
	WorkerConfig config = with(&brief_with_systemd, bad("slow-01", &fell));
	MoveOutcome o[2];

	assert_int_equal(worker_move(&config, targets, 2, USEC_PER_SEC / 2, o), -ETIMEDOUT);
	assert_true(o[0].still_running);
	assert_true(o[0].result.changed);
	assert_int_equal(o[0].pid, 0);
	assert_int_equal(o[1].result.error, -ECANCELED);
	assert_int_equal(fake_systemd_calls(fake), 1);
	assert_int_equal(fell.times, 0);
}

static void a_systemd_that_says_nothing_is_asked_once_a_batch(void **state _unused_)
{
	_cleanup_(fake_systemd_freep) FakeSystemd *fake = fake_systemd_new(FAKE_SAYS_NOTHING);
	const ResetTarget targets[] = { { .bdf = tree_bdf(DISPLAY) }, { .bdf = tree_bdf(AUDIO) } };
	FellBack fell;
	WorkerConfig config = with(&brief_with_systemd, bad("slow-01", &fell));
	ResetOutcome o[2];

	assert_int_equal(worker_reset(&config, targets, 2, USEC_PER_SEC / 2, o), -ETIMEDOUT);
	assert_true(o[0].still_running);
	assert_int_equal(o[1].report.error, -ECANCELED);
	assert_false(o[1].still_running);
	assert_int_equal(fake_systemd_calls(fake), 1);
}

/* The pipe then has no other end: nothing can be at work, and how far it got is unknown. */
static void a_start_that_came_to_nothing_is_not_waited_for(void **state _unused_)
{
	static const FakeAnswer answers[] = { FAKE_FORGETS, FAKE_BREAKS_OFF, FAKE_HAS_NOT_ENOUGH };

	for (size_t i = 0; i < ELEMENTS(answers); i++) {
		_cleanup_(fake_systemd_freep) FakeSystemd *fake _unused_ =
			fake_systemd_new(answers[i]);
		uint64_t start = now_monotonic();
		FellBack fell;
		WorkerConfig config = bad("slow-01", &fell);
		MoveOutcome o = move_one(&config, LONG);

		if (o.result.error != -EPROTO || o.still_running || !o.result.changed || fell.times)
			fail_msg("row %zu: error %d", i, o.result.error);
		assert_true(now_monotonic() - start < 10 * USEC_PER_SEC);
	}
}

/* fault 3 */
static void a_unit_that_outlives_its_deadline_is_named_and_left_alone(void **state _unused_)
{
	_cleanup_(fake_systemd_freep) FakeSystemd *fake _unused_ = fake_systemd_new(FAKE_ACCEPTS);
	FellBack fell;
	WorkerConfig config = bad("slow-60000", &fell);
	uint64_t start = now_monotonic();
	MoveOutcome o = move_one(&config, USEC_PER_SEC / 5);

	assert_int_equal(o.result.error, -ETIMEDOUT);
	assert_true(o.still_running);
	assert_true(o.pid > 0);
	assert_int_equal(o.pid, fake_systemd_main_pid(fake));
	assert_int_equal(kill(o.pid, 0), 0);
	assert_true(now_monotonic() - start < 5 * USEC_PER_SEC);
}

static void an_answer_is_one_before_systemd_has_seen_the_end(void **state _unused_)
{
	_cleanup_(fake_systemd_freep) FakeSystemd *fake _unused_ =
		fake_systemd_new(FAKE_KEEPS_THE_PIPE);
	FellBack fell;
	WorkerConfig config = bad("slow-01", &fell);
	MoveOutcome o = move_one(&config, USEC_PER_SEC);

	assert_int_equal(o.result.error, 0);
	assert_false(o.still_running);
	move_outcome_clear(&o);
}

static void a_worker_that_died_as_a_unit_has_not_answered(void **state _unused_)
{
	static const struct {
		const char *mode;
		int error;
	} rows[] = {
		{ "crash", -EPROTO },		{ "nothing", -EPROTO }, { "garbage", -EBADMSG },
		{ "other-function", -EBADMSG }, { "huge", -EBADMSG },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(fake_systemd_freep) FakeSystemd *fake _unused_ =
			fake_systemd_new(FAKE_ACCEPTS);
		FellBack fell;
		WorkerConfig config = bad(rows[i].mode, &fell);
		MoveOutcome o = move_one(&config, LONG);

		if (o.result.error != rows[i].error || o.still_running || !o.result.changed)
			fail_msg("%s: error %d", rows[i].mode, o.result.error);
	}
}

static void a_worker_that_is_not_there_is_no_units_business(void **state _unused_)
{
	_cleanup_(fake_systemd_freep) FakeSystemd *fake _unused_ = fake_systemd_new(FAKE_ACCEPTS);
	FellBack fell;
	WorkerConfig config = bad("slow-01", &fell);
	MoveOutcome o;

	config.program = "/nonexistent/worker";
	o = move_one(&config, LONG);
	assert_int_equal(o.result.error, -ENOENT);
	assert_false(o.result.changed);
	assert_int_equal(fake_systemd_calls(fake), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_move_runs_as_a_unit_and_answers_through_its_pipe),
		cmocka_unit_test(nothing_stops_a_unit_and_nobody_waits_for_it),
		cmocka_unit_test(a_foreign_override_is_handed_on_as_it_is),
		cmocka_unit_test(units_of_a_batch_run_side_by_side_over_one_connection),
		cmocka_unit_test(a_reset_runs_as_a_unit_and_an_inspection_does_not),
		cmocka_unit_test(where_systemd_refuses_children_do_it_and_it_is_told_once),
		cmocka_unit_test(without_a_bus_children_do_it),
		WITH_DIR(behind_a_bus_that_hangs_children_do_it),
		cmocka_unit_test(beside_an_older_worker_none_is_started),
		cmocka_unit_test(beside_an_older_unit_none_is_started_either),
		cmocka_unit_test(a_unit_that_systemd_is_about_to_forget_is_waited_for),
		cmocka_unit_test(an_answer_counts_also_when_systemd_said_nothing),
		cmocka_unit_test(where_systemd_says_nothing_no_second_worker_is_started),
		cmocka_unit_test(a_systemd_that_says_nothing_is_asked_once_a_batch),
		cmocka_unit_test(a_start_that_came_to_nothing_is_not_waited_for),
		cmocka_unit_test(a_unit_that_outlives_its_deadline_is_named_and_left_alone),
		cmocka_unit_test(an_answer_is_one_before_systemd_has_seen_the_end),
		cmocka_unit_test(a_worker_that_died_as_a_unit_has_not_answered),
		cmocka_unit_test(a_worker_that_is_not_there_is_no_units_business),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
