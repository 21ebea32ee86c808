/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon ends before and after every write of its journal and every call to the machine, and
 * the one after it recovers. A child process runs the job; at the chosen point it goes no further,
 * and becomes the next daemon: what is in its memory of the machine, and on disk, is all there is.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>

#include "core/text-diff.h"
#include "job-rig.h"
#include "job/recover.h"
#include "util/file.h"
#include "util/text.h"

#define EXIT_RECOVERED 0
#define EXIT_WRONG 1
#define EXIT_NO_SUCH_POINT 2

typedef struct Crash Crash;
struct Crash {
	Rig *rig;
	const char *name;
	const char *before, *after;
	unsigned at;  /* the point to end at; 0: never */
	unsigned now; /* points passed */
	JournalIo io; /* the real one */
};

/* When a record was written differs from run to run. */
static char *timeless_world(const Rig *rig)
{
	static const char key[] = "\"created_usec\": ";
	char *world = rig_world(rig);

	for (char *at = world; (at = strstr(at, key));) {
		at += strlen(key);
		memset(at, '0', strspn(at, "0123456789"));
	}
	return world;
}

/* The hooks have no userdata; a child process has one crash. */
static Crash *crash;

static void die(const Crash *c, const char *what, const char *more)
{
	fprintf(stderr, "%s, point %u: %s%s%s\n", c->name, c->at, what, more ? ":\n" : "",
		str_or_empty(more));
	_exit(EXIT_WRONG);
}

static void must_recover(Crash *c, const JobPlace *place, OpenJob *job)
{
	_cleanup_(recovery_clear) Recovery recovery = { 0 };

	if (recover_claim(place, job, "it is being recovered") < 0 ||
	    recover_job(place, job, 0, &recovery) < 0)
		die(c, "recovery failed", NULL);
	if (recovery.outcome != RECOVERED_DONE && recovery.outcome != RECOVERED_UNDONE)
		die(c, "it was not recovered", recovery.reason);
}

static bool was_reset(const Crash *c)
{
	for (char *const *line = c->rig->fake.log; line && *line; line++)
		if (str_starts_with(*line, "reset "))
			return true;
	return false;
}

static void become_the_next_daemon(Crash *c)
{
	_cleanup_strv_ char **notes = NULL, **left = NULL;
	_cleanup_free_ char *world = NULL, *diff = NULL, *reason = NULL;
	JobPlace place = c->rig->place;
	OpenJob **jobs = NULL;
	uint32_t last = 0;
	size_t n = 0;

	c->rig->fake.point = NULL;
	c->rig->journal.io = c->io;
	if (claims_new(&place.claims) < 0 ||
	    journal_load(&c->rig->journal, &jobs, &n, &last, &notes) < 0)
		die(c, "the journal cannot be read", NULL);
	if (notes)
		die(c, "the journal was not understood", notes[0]);
	for (size_t i = 0; i < n; i++)
		must_recover(c, &place, jobs[i]);
	world = timeless_world(c->rig);
	if (!str_equal(world, c->before) && !str_equal(world, c->after)) {
		diff = text_diff(c->before, world);
		die(c, "the world is neither as before nor as after", diff);
	}
	if (str_starts_with(c->name, "release") && str_equal(world, c->after) && !was_reset(c))
		die(c, "a group was released that nobody had reset", NULL);
	reason = claims_quarantine_reason(place.claims, &c->rig->fake.snapshot->functions[0].bdf);
	if (reason)
		die(c, "something is quarantined", reason);
	if (c->rig->fake.violations)
		die(c, "the machine was mistreated", c->rig->fake.violations[0]);
	if (dir_list(c->rig->journal.dir_fd, "", &left) < 0 || left)
		die(c, "the journal is not empty", left ? left[0] : NULL);
	_exit(EXIT_RECOVERED);
}

static void pass(Crash *c)
{
	if (++c->now == c->at)
		become_the_next_daemon(c);
}

static void on_point(_unused_ FakeHost *fake)
{
	pass(crash);
}

static int append_and_pass(_unused_ void *userdata, int fd, const char *text, size_t size)
{
	int r;

	pass(crash);
	r = crash->io.append(crash->io.userdata, fd, text, size);
	pass(crash);
	return r;
}

static int remove_and_pass(_unused_ void *userdata, int dir_fd, const char *name)
{
	int r;

	pass(crash);
	r = crash->io.remove(crash->io.userdata, dir_fd, name);
	pass(crash);
	return r;
}

/* ---- the operations ---- */

typedef struct Operating {
	const char *name;
	void (*arrange)(Rig *rig);
	JobRequest request;
	bool fails; /* libvirt refuses a late step, so that it is rolled back */
} Operating;

static void nothing(_unused_ Rig *rig)
{
}

static void shut_off_domain(Rig *rig)
{
	fake_add_domain(&rig->fake, "vm42", "q35", NULL);
}

static void running_domain(Rig *rig)
{
	fake_add_domain(&rig->fake, "vm42", "q35-eight-ports", "q35-eight-ports-live");
}

static void assigned_cold(Rig *rig)
{
	JobRequest request = assign_request("vm42", "pair0");

	shut_off_domain(rig);
	rig_must(rig, &request);
}

static void assigned_live(Rig *rig)
{
	JobRequest request = assign_request("vm42", "pair0");

	running_domain(rig);
	rig_must(rig, &request);
}

static void bound(Rig *rig)
{
	JobRequest request = bind_request("pair0");

	rig_must(rig, &request);
}

/* Its definition edited, a driver and the name changed: everything that reconcile mends. */
static void drifted(Rig *rig)
{
	assigned_cold(rig);
	fake_edit_hostdevs(&rig->fake, "vm42");
	fake_rename(&rig->fake, "vm42", "vm99");
	fake_set_driver(&rig->fake, "0000:61:00.0", "nvidia", NULL);
}

static void drifted_running(Rig *rig)
{
	assigned_live(rig);
	fake_edit_hostdevs(&rig->fake, "vm42");
	fake_rename(&rig->fake, "vm42", "vm99");
}

static void devices_lost(Rig *rig)
{
	static const char *const functions[] = { PAIR0_FUNCTIONS };

	assigned_cold(rig);
	for (size_t i = 0; i < ELEMENTS(functions); i++)
		fake_unplug(&rig->fake, "vm42", functions[i]);
}

static void record_lost(Rig *rig)
{
	assigned_live(rig);
	assert_int_equal(
		assignment_store_remove(&rig->store, fake_domain(&rig->fake, "vm42")->uuid), 0);
}

static void break_late(Rig *rig)
{
	FakeFault fault = {
		.op = FAKE_DEFINE, .nth = 1, .late = true, .problem = GPUPASS_ERROR_DEFINE_FAILED
	};

	fake_fail(&rig->fake, &fault);
}

static Rig *rig_for(const Operating *o)
{
	Rig *rig = rig_new();

	o->arrange(rig);
	fake_watch(&rig->fake);
	if (o->fails)
		break_late(rig);
	return rig;
}

static void child(const Operating *o, Crash *c)
{
	Outcome outcome;

	crash = c;
	c->io = c->rig->journal.io;
	c->rig->journal.io = (JournalIo){ append_and_pass, remove_and_pass, NULL };
	c->rig->fake.point = on_point;
	outcome = rig_run(c->rig, &o->request);
	if (outcome.state != (o->fails ? JOB_FAILED : JOB_DONE))
		die(c, "the job did not end as it should", outcome.message);
	_exit(EXIT_NO_SUCH_POINT);
}

/* The world after the operation, undisturbed. */
static char *world_after(const Operating *o)
{
	Operating undisturbed = *o;
	Outcome outcome;
	char *world;
	Rig *rig;

	undisturbed.fails = false;
	rig = rig_for(&undisturbed);
	outcome = rig_run(rig, &o->request);
	world = timeless_world(rig);

	outcome_clear(&outcome);
	rig_free(rig);
	return world;
}

static int run_point(const Operating *o, unsigned at, const char *after)
{
	Rig *rig = rig_for(o);
	_cleanup_free_ char *before = timeless_world(rig);
	Crash c = {
		.rig = rig,
		.name = o->name,
		.before = before,
		.after = after,
		.at = at,
	};
	int status = 0;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		child(o, &c);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	/* What the child left on disk goes with the rig. */
	rig_free(rig);
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_WRONG;
}

static unsigned run_all(const Operating *o)
{
	_cleanup_free_ char *after = world_after(o);

	for (unsigned at = 1;; at++) {
		int code = run_point(o, at, after);

		if (code == EXIT_NO_SUCH_POINT)
			return at - 1;
		if (code != EXIT_RECOVERED)
			fail_msg("%s: the daemon ended at point %u", o->name, at);
	}
}

static const Operating operations[] = {
	{ "assign, shut off",
	  shut_off_domain,
	  { .operation = OPERATION_ASSIGN, .domain = (char *)"vm42", .group = (char *)"pair0" },
	  false },
	{ "assign, running",
	  running_domain,
	  { .operation = OPERATION_ASSIGN, .domain = (char *)"vm42", .group = (char *)"pair0" },
	  false },
	{ "assign that fails",
	  shut_off_domain,
	  { .operation = OPERATION_ASSIGN, .domain = (char *)"vm42", .group = (char *)"pair0" },
	  true },
	{ "assign, running, that fails",
	  running_domain,
	  { .operation = OPERATION_ASSIGN, .domain = (char *)"vm42", .group = (char *)"pair0" },
	  true },
	{ "release, shut off",
	  assigned_cold,
	  { .operation = OPERATION_RELEASE, .target = (char *)"vm42" },
	  false },
	{ "release, running",
	  assigned_live,
	  { .operation = OPERATION_RELEASE, .target = (char *)"vm42" },
	  false },
	{ "release, kept on vfio-pci",
	  assigned_cold,
	  { .operation = OPERATION_RELEASE, .target = (char *)"vm42", .keep_vfio = true },
	  false },
	{ "release that fails",
	  assigned_cold,
	  { .operation = OPERATION_RELEASE, .target = (char *)"vm42" },
	  true },
	{ "release, running, that fails",
	  assigned_live,
	  { .operation = OPERATION_RELEASE, .target = (char *)"vm42" },
	  true },
	{ "bind", nothing, { .operation = OPERATION_BIND, .group = (char *)"pair0" }, false },
	{ "unbind", bound, { .operation = OPERATION_UNBIND, .group = (char *)"pair0" }, false },
	{ "reconcile",
	  drifted,
	  { .operation = OPERATION_RECONCILE, .group = (char *)"pair0" },
	  false },
	{ "reconcile that fails",
	  drifted,
	  { .operation = OPERATION_RECONCILE, .group = (char *)"pair0" },
	  true },
	{ "reconcile, running",
	  drifted_running,
	  { .operation = OPERATION_RECONCILE, .group = (char *)"pair0" },
	  false },
	{ "reconcile of a definition without devices",
	  devices_lost,
	  { .operation = OPERATION_RECONCILE, .group = (char *)"pair0" },
	  false },
	{ "reconcile of a lost record",
	  record_lost,
	  { .operation = OPERATION_RECONCILE, .group = (char *)"pair0" },
	  false },
};

static void a_daemon_that_ends_anywhere_leaves_before_or_after(_unused_ void **state)
{
	for (size_t i = 0; i < ELEMENTS(operations); i++) {
		unsigned n = run_all(&operations[i]);

		print_message("%s: %u points\n", operations[i].name, n);
		/* Before and after begin, end, and an intent and outcome a step at the least. */
		assert_true(n >= 12);
	}
}

/* ---- torn tails ---- */

typedef struct Recorded {
	char *text;
	size_t size;
	JournalIo io;
} Recorded;

static int append_and_keep(void *userdata, int fd, const char *text, size_t size)
{
	Recorded *recorded = userdata;

	recorded->text = realloc(recorded->text, recorded->size + size + 1);
	assert_non_null(recorded->text);
	memcpy(recorded->text + recorded->size, text, size + 1);
	recorded->size += size;
	return recorded->io.append(recorded->io.userdata, fd, text, size);
}

static void put_journal(const Rig *rig, const char *text, size_t size)
{
	_cleanup_close_ int fd = openat(rig->journal.dir_fd, "7.journal",
					O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), (ssize_t)size);
}

/* "begun 2, rolling back 0"; "none" without a job. Its tail is then gone. */
static char *load_text(const Rig *rig, size_t *ret_size)
{
	_cleanup_strv_ char **notes = NULL;
	OpenJob **jobs = NULL;
	uint32_t last = 0;
	size_t n = 0;
	char *text;

	assert_int_equal(journal_load(&rig->journal, &jobs, &n, &last, &notes), 0);
	assert_null(notes);
	text = n == 0 ? strdup("none")
		      : strf("begun %zu, rolling back %d, damage %s", jobs[0]->begun,
			     jobs[0]->rolling_back, str_or_empty(jobs[0]->damage));
	*ret_size = n == 0 ? 0 : (size_t)jobs[0]->log->size;
	open_jobs_free(jobs, n);
	return text;
}

static void a_record_cut_off_at_any_byte_never_happened(_unused_ void **state)
{
	Rig *rig = rig_for(&operations[2]); /* one that is rolled back */
	Recorded recorded = { .io = rig->journal.io };
	_cleanup_free_ char *whole = NULL;
	size_t end = 0, whole_end = 0;
	Outcome outcome;

	rig->journal.io.append = append_and_keep;
	rig->journal.io.userdata = &recorded;
	outcome = rig_run(rig, &operations[2].request);
	rig->journal.io = recorded.io;
	whole = strdup("none");
	for (size_t size = 1; size < recorded.size; size++) {
		_cleanup_free_ char *now = NULL;

		put_journal(rig, recorded.text, size);
		now = load_text(rig, &end);
		if (recorded.text[size - 1] == '\n') {
			free(whole);
			whole = TAKE_PTR(now);
			whole_end = size;
			assert_null(strstr(whole, "none"));
			assert_null(strstr(whole, "journal"));
		} else if (!str_equal(whole, now) || end != whole_end) {
			fail_msg("cut after %zu bytes: \"%s\" instead of \"%s\"", size, now, whole);
		}
	}
	assert_string_equal(whole, "begun 3, rolling back 1, damage ");
	free(recorded.text);
	outcome_clear(&outcome);
	rig_free(rig);
}

static void a_line_that_is_not_the_last_must_be_whole(_unused_ void **state)
{
	Rig *rig = rig_for(&operations[2]);
	Recorded recorded = { .io = rig->journal.io };
	_cleanup_free_ char *now = NULL;
	size_t size;
	Outcome outcome;

	rig->journal.io.append = append_and_keep;
	rig->journal.io.userdata = &recorded;
	outcome = rig_run(rig, &operations[2].request);
	rig->journal.io = recorded.io;
	strchr(recorded.text, '\n')[20] ^= 1;
	put_journal(rig, recorded.text, recorded.size);
	now = load_text(rig, &size);
	assert_non_null(strstr(now, "line 2 of its journal: its checksum is wrong"));
	free(recorded.text);
	outcome_clear(&outcome);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_daemon_that_ends_anywhere_leaves_before_or_after),
		cmocka_unit_test(a_record_cut_off_at_any_byte_never_happened),
		cmocka_unit_test(a_line_that_is_not_the_last_must_be_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
