/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job-rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <linux/capability.h>
#include <poll.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "job/executor.h"
#include "job/prepare.h"
#include "rig/text-diff.h"
#include "util/file.h"
#include "util/log.h"
#include "util/text.h"
#include "util/xalloc.h"

#define TIMEOUT_USEC (30 * 1000000ULL)
#define PATIENCE_MSEC 30000

static const char groups[] = "[Group]\nName=pair0\nGpu=0000:41:00.0\nGpu=0000:61:00.0\n"
			     "[Group]\nName=pair1\nGpu=0000:a1:00.0\nGpu=0000:c1:00.0\n";

/* In memory where there is such a place: these tests sync thousands of times, and none of them can
 * see a difference. */
void rig_make_directory(char path[64], const char *what)
{
	snprintf(path, 64, "%s/gpupass-%s-XXXXXX",
		 access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp", what);
	assert_non_null(mkdtemp(path));
}

static void open_state(Rig *rig)
{
	_cleanup_free_ char *journal = NULL;

	rig_make_directory(rig->state_directory, "state");
	journal = strf("%s/journal", rig->state_directory);
	assert_int_equal(journal_open(journal, &rig->journal), 0);
	rig->journal.boot_id = xstrdup("this boot");
	records_open_in(&rig->quarantine, &quarantine_kind, rig->state_directory);
	records_open_in(&rig->receipts, &receipt_kind, rig->state_directory);
	records_open_in(&rig->tenants, &tenant_kind, rig->state_directory);
	records_open_in(&rig->kept, &kept_kind, rig->state_directory);
	rig->store.kept = &rig->kept;
}

static void empty(int dir_fd, const char *directory)
{
	_cleanup_closedir_ DIR *dir = opendir(directory);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		unlinkat(dir_fd, entry->d_name, 0);
	rmdir(directory);
}

static void remove_state(Rig *rig)
{
	_cleanup_free_ char *journal = strf("%s/journal", rig->state_directory);
	_cleanup_free_ char *quarantine = strf("%s/quarantine", rig->state_directory);
	_cleanup_free_ char *receipts = strf("%s/receipts", rig->state_directory);
	_cleanup_free_ char *tenants = strf("%s/tenants", rig->state_directory);
	_cleanup_free_ char *fence = strf("%s/fence.json", rig->state_directory);
	_cleanup_free_ char *kept = strf("%s/kept.d", rig->state_directory);

	unlink(fence);
	empty(rig->kept.dir_fd, kept);
	records_close(&rig->kept);
	empty(rig->receipts.dir_fd, receipts);
	records_close(&rig->receipts);
	empty(rig->tenants.dir_fd, tenants);
	records_close(&rig->tenants);
	empty(rig->journal.dir_fd, journal);
	empty(rig->quarantine.dir_fd, quarantine);
	rmdir(rig->state_directory);
	journal_close(&rig->journal);
	records_close(&rig->quarantine);
}

Rig *rig_new(void)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	Rig *rig = xcalloc(1, sizeof(*rig));
	Declarations *declarations = xcalloc(1, sizeof(*declarations));

	assert_int_equal(declarations_parse(declarations, "groups.d/test.conf", groups, &problem),
			 0);
	rig->rules = rules_new(&POLICY_DEFAULT, declarations);
	fake_init(&rig->fake, "four-a6000");
	log_open(false, LOG_CRIT); /* what is expected here is not for a reader of the tests */
	rig_make_directory(rig->directory, "test");
	records_open(&rig->store.records, &assignment_kind, rig->directory);
	open_state(rig);
	rig->claims = claims_new();
	rig->place = (JobPlace){
		.host = &rig->fake.host,
		.store = &rig->store,
		.receipts = &rig->receipts,
		.tenants = &rig->tenants,
		.journal = &rig->journal,
		.quarantine = &rig->quarantine,
		.claims = rig->claims,
		.rules = rig->rules,
	};
	return rig;
}

void rig_free(Rig *rig)
{
	empty(rig->store.records.dir_fd, rig->directory);
	remove_state(rig);
	records_close(&rig->store.records);
	claims_free(rig->claims);
	rules_unref(rig->rules);
	cancellation_unref(rig->place.cancel);
	fake_done(&rig->fake);
	free(rig);
}

int rig_setup(void **state)
{
	*state = rig_new();
	return 0;
}

int rig_teardown(void **state)
{
	rig_free(*state);
	return 0;
}

/* ---- runs ---- */

void outcome_clear(Outcome *outcome)
{
	free(outcome->message);
	free(outcome->remedy);
	strv_free(outcome->steps);
	strv_free(outcome->left);
	free(outcome->note.text);
	*outcome = (Outcome){ 0 };
}

static void take_problem(Outcome *outcome, int r, const Problem *problem, const char *prefix)
{
	outcome->error = r == PROBLEM ? problem->error : GPUPASS_ERROR_MAX_;
	outcome->message = r == PROBLEM ? problem_message(problem, prefix) : strdup(strerror(-r));
	if (r == PROBLEM && problem->remedy)
		outcome->remedy = strdup(problem->remedy);
}

Outcome rig_prepare(Rig *rig, const JobRequest *request, Prepared **ret, char **ret_prefix)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	Outcome outcome = { .state = JOB_RUNNING };
	int r;

	if (rig->cancel_at > 0 && !rig->place.cancel)
		cancellation_new(&rig->place.cancel);
	r = prepare(&rig->place, request, ++rig->last_job, ret, &problem, ret_prefix);
	if (r == 0) {
		outcome.changed = (*ret)->plan->changed;
		return outcome;
	}
	outcome.state = cancellation_state(problem);
	take_problem(&outcome, r, problem, *ret_prefix);
	claims_release(rig->claims, rig->last_job);
	return outcome;
}

typedef struct Listening {
	const Rig *rig;
	const Plan *plan;
	Outcome *outcome;
} Listening;

static void on_step(size_t step, StepState step_state, const char *detail, uint64_t duration_usec,
		    void *userdata)
{
	Listening *listening = userdata;
	_cleanup_free_ char *expected = NULL;

	/* Also while it is undone, it is that step's detail; what is not done says so instead. */
	expected = plan_step_detail(listening->plan, listening->plan->steps[step]);
	if ((step_state == STEP_NOT_DONE) == str_equal(detail, expected))
		fail_msg("%s: %s", step_state_to_string(step_state), str_or_empty(detail));
	if (step_state == STEP_RUNNING && step + 1 == listening->rig->cancel_at)
		assert_int_equal(cancellation_ask(listening->rig->place.cancel, RIG_CANCELLER), 1);
	if (step_state == STEP_RUNNING)
		return;
	strv_appendf(&listening->outcome->steps, "%s: %s",
		     step_kind_to_string(listening->plan->steps[step]),
		     step_state_to_string(step_state));
}

static void on_rolling_back(void *userdata)
{
	Listening *listening = userdata;

	listening->outcome->rolled_back = true;
}

static void on_note(JobNote *note, void *userdata)
{
	Listening *listening = userdata;

	free(listening->outcome->note.text);
	listening->outcome->note = *note;
	note->text = NULL;
}

Outcome rig_execute(Rig *rig, const Prepared *prepared, const char *prefix)
{
	Outcome outcome = { .changed = prepared->plan->changed };
	Listening listening = { .rig = rig, .plan = prepared->plan, .outcome = &outcome };
	const ExecutorListener listener = {
		.step = on_step,
		.rolling_back = on_rolling_back,
		.note = on_note,
		.userdata = &listening,
	};
	_cleanup_(executor_result_clear) ExecutorResult result =
		execute(&rig->place, rig->last_job, prepared, TIMEOUT_USEC, &listener);

	outcome.state = result.state;
	outcome.left = TAKE_PTR(result.left);
	if (result.state != JOB_DONE)
		take_problem(&outcome, PROBLEM, result.problem, prefix);
	if (result.state == JOB_INCOMPLETE)
		claims_quarantine(rig->claims, rig->last_job, result.quarantine);
	claims_release(rig->claims, rig->last_job);
	return outcome;
}

void rig_claim(Claims *claims, uint32_t job, const char *group, const Bdf *functions, size_t n)
{
	const ClaimRequest request = {
		.job = job,
		.group = group,
		.footprint = &(Footprint){ (Bdf *)functions, n, n },
		.looked = claims_now(claims),
	};

	assert_int_equal(claims_take(claims, &request, NULL), 0);
}

Outcome rig_run(Rig *rig, const JobRequest *request)
{
	_cleanup_(prepared_freep) Prepared *prepared = NULL;
	_cleanup_free_ char *prefix = NULL;
	Outcome outcome = rig_prepare(rig, request, &prepared, &prefix);

	return outcome.state == JOB_RUNNING ? rig_execute(rig, prepared, prefix) : outcome;
}

void rig_wait_for(Mailbox *mailbox, const bool *done)
{
	while (!*done) {
		struct pollfd pollfd = { .fd = mailbox_fd(mailbox), .events = POLLIN };

		if (poll(&pollfd, 1, PATIENCE_MSEC) != 1)
			fail_msg("nothing came within %d s", PATIENCE_MSEC / 1000);
		mailbox_dispatch(mailbox);
	}
}

void rig_must(Rig *rig, const JobRequest *request)
{
	_cleanup_(outcome_clear) Outcome outcome = rig_run(rig, request);

	if (outcome.state != JOB_DONE)
		fail_msg("%s: %s", operation_to_string(request->operation), outcome.message);
}

void rig_leave_open(Rig *rig, StepKind before, Prepared **ret)
{
	static const char *const functions[] = { PAIR0_FUNCTIONS };
	const JobRequest request = assign_request("vm42", "pair0");
	_cleanup_(prepared_freep) Prepared *prepared = NULL;
	_cleanup_(journal_job_freep) JournalJob *log = NULL;
	_cleanup_free_ char *prefix = NULL;

	assert_int_equal(rig_prepare(rig, &request, &prepared, &prefix).state, JOB_RUNNING);
	assert_int_equal(journal_begin(&rig->journal, 7, prepared->plan, NULL, NULL, 0, &log), 0);
	for (size_t i = 0; prepared->plan->steps[i] != before; i++)
		journal_note(log, "intent", i);
	assert_int_equal(journal_flush(log), 0);
	for (size_t i = 0; i < ELEMENTS(functions); i++)
		fake_set_driver(&rig->fake, functions[i], "vfio-pci", "vfio-pci");
	claims_release(rig->claims, rig->last_job);
	if (ret)
		*ret = TAKE_PTR(prepared);
}

void rig_recover(Rig *rig, RecoveryOutcome expected, char ***ret_left)
{
	_cleanup_(recovery_clear) Recovery recovery = { 0 };
	_cleanup_(journal_found_clear) JournalFound found = { 0 };

	assert_int_equal(journal_load(&rig->journal, rig->claims, &found), 0);
	assert_int_equal(found.n_jobs, 1);
	recover_claim(&rig->place, found.jobs[0], "it is being recovered");
	assert_int_equal(recover_job(&rig->place, found.jobs[0], 0, &recovery), 0);
	assert_int_equal(recovery.outcome, expected);
	if (ret_left)
		*ret_left = TAKE_PTR(recovery.left);
}

size_t rig_count_open(const Rig *rig)
{
	_cleanup_(journal_found_clear) JournalFound found = { 0 };
	_cleanup_(claims_freep) Claims *claims = claims_new();
	Journal *next = xcalloc(1, sizeof(*next));
	size_t n_quarantines = 0, n_jobs = 0;

	*next = (Journal){ .dir_fd = rig->journal.dir_fd, .io = ledger_io };
	pthread_mutex_init(&next->lock, NULL);
	assert_int_equal(journal_load(next, claims, &found), 0);
	claims_count(claims, &n_jobs, &n_quarantines);
	n_jobs = found.n_jobs;
	journal_found_clear(&found);
	pthread_mutex_destroy(&next->lock);
	free(next);
	return n_jobs + n_quarantines;
}

void rig_lose_record(Rig *rig)
{
	_cleanup_(assignments_freep) Assignments *all = NULL;
	const char *uuid = fake_domain(&rig->fake, "vm42")->uuid;
	const Assignment *record;
	size_t position = 0;

	all = assignment_store_load(&rig->store);
	while ((record = assignments_of_domain(all, uuid, &position)))
		assert_int_equal(assignment_store_remove(&rig->store, record), 0);
	assert_int_not_equal(position, 0);
}

void rig_expect_failure(Outcome *outcome, GpupassError error, const char *words)
{
	if (outcome->state != JOB_FAILED || outcome->error != error ||
	    !strstr(outcome->message, words))
		fail_msg("state %s: %s", job_state_to_string(outcome->state),
			 str_or_empty(outcome->message));
	outcome_clear(outcome);
}

/* Whether root may write in spite of modes; of this thread, and of those that it starts. */
static void override_modes(bool on)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2];

	assert_int_equal(syscall(SYS_capget, &header, data), 0);
	data[0].effective &= ~(1U << CAP_DAC_OVERRIDE);
	data[0].effective |= on ? data[0].permitted & 1U << CAP_DAC_OVERRIDE : 0;
	assert_int_equal(syscall(SYS_capset, &header, data), 0);
}

void rig_store_read_only(Rig *rig, bool read_only)
{
	rig->read_only = read_only;
	assert_int_equal(fchmod(rig->store.records.dir_fd, read_only ? 0500 : 0700), 0);
	override_modes(!read_only);
}

/* ---- arrangements ---- */

void rig_shut_off(Rig *rig)
{
	fake_add_domain(&rig->fake, "vm42", "q35", NULL);
}

void rig_running(Rig *rig)
{
	fake_add_domain(&rig->fake, "vm42", "q35-eight-ports", "q35-eight-ports-live");
}

void rig_running_with_room(Rig *rig)
{
	fake_add_domain(&rig->fake, "vm42", "q35-twelve-ports", "q35-twelve-ports-live");
}

void rig_assigned(Rig *rig)
{
	JobRequest request = assign_request("vm42", "pair0");

	rig_shut_off(rig);
	rig_must(rig, &request);
}

void rig_assigned_live(Rig *rig)
{
	JobRequest request = assign_request("vm42", "pair0");

	rig_running(rig);
	rig_must(rig, &request);
}

void rig_bound(Rig *rig)
{
	JobRequest request = bind_request("pair0");

	rig_must(rig, &request);
}

void rig_shut_off_bound(Rig *rig)
{
	rig_shut_off(rig);
	rig_bound(rig);
}

void rig_drifted(Rig *rig)
{
	rig_assigned(rig);
	fake_set_driver(&rig->fake, "0000:61:00.1", "snd_hda_intel", NULL);
}

void rig_kept(Rig *rig)
{
	const JobRequest request = keep_request("pair0");

	rig_must(rig, &request);
}

void rig_kept_and_assigned(Rig *rig)
{
	rig_kept(rig);
	rig_assigned(rig);
}

/* ---- the world ---- */

char *rig_receipt(const Rig *rig, size_t *ret_n)
{
	_cleanup_strv_ char **names = NULL;
	char *text = NULL;

	assert_int_equal(dir_list(rig->receipts.dir_fd, ".json", &names), 0);
	*ret_n = strv_length(names);
	if (*ret_n > 0)
		assert_int_equal(
			file_read_at(rig->receipts.dir_fd, names[*ret_n - 1], 65536, &text, NULL),
			0);
	return text;
}

static char *kept_files(const Rig *rig)
{
	_cleanup_strv_ char **names = NULL, **texts = NULL;

	assert_int_equal(dir_list(rig->kept.dir_fd, "", &names), 0);
	for (char **name = names; name && *name; name++) {
		_cleanup_free_ char *text = NULL;

		assert_int_equal(file_read_at(rig->kept.dir_fd, *name, 1 << 20, &text, NULL), 0);
		strv_appendf(&texts, "kept %s %s", *name, text);
	}
	return strv_join(texts, "");
}

char *rig_world(const Rig *rig)
{
	_cleanup_free_ char *world = fake_world(&rig->fake, rig->store.records.dir_fd);
	_cleanup_free_ char *kept = kept_files(rig);

	return strf("%s%s", world, kept);
}

char *rig_timeless_world(const Rig *rig)
{
	/* And the checksums over it. */
	static const char *const keys[] = { "\"created_usec\": ", "\"crc32\": \"" };
	char *world = rig_world(rig);

	for (size_t i = 0; i < ELEMENTS(keys); i++)
		for (char *at = world; (at = strstr(at, keys[i]));) {
			at += strlen(keys[i]);
			memset(at, '0', strspn(at, "0123456789abcdef"));
		}
	return world;
}

void rig_check_world(const Rig *rig, const char *before, const char *what)
{
	_cleanup_free_ char *now = rig_world(rig), *diff = text_diff(before, now);

	if (!str_equal(before, now))
		fail_msg("%s: the world is not as before:\n%s", what, diff);
	if (rig->fake.violations)
		fail_msg("%s: %s", what, rig->fake.violations[0]);
}

void rig_check_guests(const Rig *rig, const char *what)
{
	const PciSnapshot *snapshot = rig->fake.snapshot;

	if (rig->fake.violations)
		fail_msg("%s: %s", what, rig->fake.violations[0]);
	for (size_t i = 0; i < snapshot->n_functions; i++)
		for (size_t k = 0; k < rig->fake.n_domains; k++)
			if (fake_xml_has(rig->fake.domains[k].live_xml,
					 &snapshot->functions[i]->bdf) &&
			    !str_equal(snapshot->functions[i]->driver, "vfio-pci"))
				fail_msg("%s: a guest has %s, which is on %s", what,
					 BDF_TEXT(&snapshot->functions[i]->bdf),
					 str_or_empty(snapshot->functions[i]->driver));
}

bool rig_is_on(const Rig *rig, const char *bdf, const char *driver, const char *override)
{
	_cleanup_free_ char *world = rig_world(rig);
	_cleanup_free_ char *line =
		strf("function %s driver %s override %s\n", bdf, driver, override);

	return strstr(world, line);
}

/* ---- requests ---- */

JobRequest assign_request(const char *domain, const char *group)
{
	return (JobRequest){
		.operation = OPERATION_ASSIGN,
		.domain = (char *)domain,
		.group = (char *)group,
	};
}

JobRequest release_request(const char *target)
{
	return (JobRequest){ .operation = OPERATION_RELEASE, .target = (char *)target };
}

JobRequest bind_request(const char *group)
{
	return (JobRequest){ .operation = OPERATION_BIND, .group = (char *)group };
}

JobRequest keep_request(const char *group)
{
	return (JobRequest){ .operation = OPERATION_BIND, .group = (char *)group, .persist = true };
}

JobRequest unbind_request(const char *group)
{
	return (JobRequest){ .operation = OPERATION_UNBIND, .group = (char *)group };
}

JobRequest reconcile_request(const char *group)
{
	return (JobRequest){ .operation = OPERATION_RECONCILE, .group = (char *)group };
}

JobRequest verify_request(const char *domain)
{
	return (JobRequest){ .operation = OPERATION_VERIFY, .domain = (char *)domain };
}
