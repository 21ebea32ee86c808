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

#include "core/drift/drift.h"
#include "job/drift-look.h"
#include "job/executor.h"
#include "job/prepare.h"
#include "rig/bdf.h"
#include "rig/temp-dir.h"
#include "rig/text-diff.h"
#include "util/file.h"
#include "util/log.h"
#include "util/text.h"
#include "util/xalloc.h"

#define TIMEOUT_USEC (30 * 1000000ULL)
#define PATIENCE_MSEC 30000

#define PAIR0 "[Group]\nName=pair0\nGpu=0000:41:00.0\nGpu=0000:61:00.0\n"
#define PAIR1 "[Group]\nName=pair1\nGpu=0000:a1:00.0\nGpu=0000:c1:00.0\n"

const char *const pair0_bdfs[4] = { PAIR0_FUNCTIONS };

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

void rig_remove_directory(const char *path)
{
	nftw(path, temp_dir_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

void rig_declare(Rig *rig, const char *text)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	Declarations *declarations = xcalloc(1, sizeof(*declarations));

	assert_int_equal(declarations_parse(declarations, "groups.d/test.conf", text, &problem), 0);
	rules_unref(rig->rules);
	rig->rules = rules_new(&POLICY_DEFAULT, declarations);
	rig->place.rules = rig->rules;
}

void rig_with_nics(Rig *rig)
{
	fake_add_nics(&rig->fake);
	rig_declare(rig, RIG_WITH_NICS PAIR1);
}

Rig *rig_new(void)
{
	Rig *rig = xcalloc(1, sizeof(*rig));

	fake_init(&rig->fake, "four-a6000");
	log_open(false, LOG_CRIT); /* what is expected here is not for a reader of the tests */
	rig_make_directory(rig->directory, "test");
	records_open(&rig->store.records, &assignment_kind, rig->directory);
	open_state(rig);
	rig->claims = claims_new();
	rig->vfs = vf_watch_new();
	rig->place = (JobPlace){
		.host = &rig->fake.host,
		.store = &rig->store,
		.receipts = &rig->receipts,
		.tenants = &rig->tenants,
		.journal = &rig->journal,
		.quarantine = &rig->quarantine,
		.claims = rig->claims,
		.vfs = rig->vfs,
	};
	rig_declare(rig, PAIR0 PAIR1);
	return rig;
}

static void outcome_clear(Outcome *outcome)
{
	free(outcome->message);
	free(outcome->remedy);
	strv_free(outcome->steps);
	strv_free(outcome->left);
	strv_free(outcome->progress);
	free(outcome->note.text);
	*outcome = (Outcome){ 0 };
}

void rig_free(Rig *rig)
{
	RecordStore *const stores[] = { &rig->store.records, &rig->kept, &rig->receipts,
					&rig->tenants, &rig->quarantine };

	rig_remove_directory(rig->directory);
	rig_remove_directory(rig->state_directory);
	for (size_t i = 0; i < ELEMENTS(stores); i++)
		records_close(stores[i]);
	journal_close(&rig->journal);
	outcome_clear(&rig->last);
	prepared_free(rig->planned);
	free(rig->prefix);
	free(rig->noted);
	claims_free(rig->claims);
	vf_watch_free(rig->vfs);
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

static void take_problem(Rig *rig, int r, const Problem *problem)
{
	Outcome *last = &rig->last;

	last->error = r == PROBLEM ? problem->error : GPUPASS_ERROR_MAX_;
	last->message = r == PROBLEM ? problem_message(problem, rig->prefix) : strdup(strerror(-r));
	if (r == PROBLEM && problem->remedy)
		last->remedy = strdup(problem->remedy);
}

static void fail_row(const Rig *rig, const char *found)
{
	fail_msg("%s%s%s", str_or_empty(rig->row), rig->row ? ": " : "", found);
}

/* false: rig->last says why there is no plan. */
static bool make_plan(Rig *rig, const JobRequest *request)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	int r;

	outcome_clear(&rig->last);
	rig->planned = prepared_free(rig->planned);
	free(rig->prefix);
	rig->prefix = NULL;
	if (rig->cancel_at > 0 && !rig->place.cancel)
		cancellation_new(&rig->place.cancel);
	r = prepare(&rig->place, request, ++rig->last_job, &rig->planned, &problem, &rig->prefix);
	if (r == 0)
		return true;
	rig->last.state = cancellation_state(problem);
	take_problem(rig, r, problem);
	claims_release(rig->claims, rig->last_job);
	return false;
}

const Plan *rig_plan(Rig *rig, const JobRequest *request)
{
	if (!make_plan(rig, request))
		fail_row(rig, rig->last.message);
	return rig->planned->plan;
}

static void on_step(Rig *rig, const JobEvent *event)
{
	const Plan *plan = rig->planned->plan;
	StepKind kind = plan->steps[event->step];
	_cleanup_free_ char *expected = plan_step_detail(plan, kind);
	StepState now = event->step_state;

	/* Also while it is undone, it is that step's detail; what is not done says so instead. */
	if (kind == STEP_ERASE && now == STEP_RUNNING)
		strv_appendf(&rig->last.progress, "%s", event->detail);
	else if ((now == STEP_NOT_DONE) == str_equal(event->detail, expected))
		fail_msg("%s: %s", step_state_to_string(now), str_or_empty(event->detail));
	if (now == STEP_RUNNING && event->step + 1 == rig->cancel_at &&
	    strv_length(rig->last.progress) < 2)
		assert_int_equal(cancellation_ask(rig->place.cancel, RIG_CANCELLER), 1);
	if (now != STEP_RUNNING)
		strv_appendf(&rig->last.steps, "%s: %s", step_kind_to_string(kind),
			     step_state_to_string(now));
}

static void take_note(JobNote *to, JobEvent *from)
{
	free(to->text);
	*to = from->note;
	from->note.text = NULL;
}

static void on_executed(JobEvent *event, void *userdata)
{
	Rig *rig = userdata;

	if (event->kind == JOB_EVENT_STEP)
		on_step(rig, event);
	rig->last.rolled_back |= event->kind == JOB_EVENT_ROLLING_BACK;
	if (event->kind == JOB_EVENT_NOTE)
		take_note(&rig->last.note, event);
	job_event_clear(event);
}

const Outcome *rig_go(Rig *rig)
{
	Outcome *last = &rig->last;
	_cleanup_(executor_result_clear) ExecutorResult result =
		execute(&rig->place, rig->last_job, rig->planned,
			rig->timeout_usec ? rig->timeout_usec : TIMEOUT_USEC, on_executed, rig);

	last->changed = rig->planned->plan->changed;
	last->state = result.state;
	last->left = TAKE_PTR(result.left);
	if (result.state != JOB_DONE)
		take_problem(rig, PROBLEM, result.problem);
	if (result.state == JOB_INCOMPLETE)
		claims_quarantine(rig->claims, rig->last_job, result.quarantine);
	claims_release(rig->claims, rig->last_job);
	return last;
}

const Outcome *rig_try(Rig *rig, const JobRequest *request)
{
	return make_plan(rig, request) ? rig_go(rig) : &rig->last;
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

void rig_wait_for(Mailbox *mailbox, const bool *done)
{
	while (!*done) {
		struct pollfd pollfd = { .fd = mailbox_fd(mailbox), .events = POLLIN };

		if (poll(&pollfd, 1, PATIENCE_MSEC) != 1)
			fail_msg("nothing came within %d s", PATIENCE_MSEC / 1000);
		mailbox_dispatch(mailbox);
	}
}

/* ---- on a thread ---- */

static void take_event(JobEvent *to, JobEvent *from)
{
	assert_int_equal(to->kind, 0);
	assert_null(to->group);
	*to = *from;
	*from = (JobEvent){ 0 };
}

static void on_event(_unused_ uint32_t id, JobEvent *event, void *userdata)
{
	Told *told = userdata;

	assert_false(told->done);
	switch (event->kind) {
	case JOB_EVENT_PLANNED:
		strv_appendf(&told->lines, "planned %s for %s, %zu steps", event->group,
			     event->domain_name, event->n_steps);
		take_event(&told->planned, event);
		break;
	case JOB_EVENT_STEP:
		assert_non_null(told->planned.group);
		strv_appendf(&told->lines, "%zu %s", event->step,
			     step_state_to_string(event->step_state));
		break;
	case JOB_EVENT_ROLLING_BACK:
		strv_append(&told->lines, "rolling back");
		break;
	case JOB_EVENT_NOTE:
		take_note(&told->note, event);
		break;
	case JOB_EVENT_ENDED:
		told->done = true;
		take_event(&told->ended, event);
		break;
	}
}

void rig_start(Rig *rig, Mailbox *mailbox, uint32_t id, const JobRequest *request, Told *told)
{
	*told = (Told){ 0 };
	job_start(id, mailbox, &rig->place, request, on_event, told);
}

void rig_tell(Rig *rig, uint32_t id, const JobRequest *request, Told *ret)
{
	_cleanup_(mailbox_freep) Mailbox *mailbox = NULL;

	assert_int_equal(mailbox_new(&mailbox), 0);
	rig_start(rig, mailbox, id, request, ret);
	rig_wait_for(mailbox, &ret->done);
}

void told_expect(const Told *told, JobState state, const char *error, const char *words)
{
	const char *name = told->ended.error_name;

	if (told->ended.state != state || !name != !error ||
	    (error && (!str_ends_with(name, error) || !strstr(told->ended.message, words))))
		fail_msg("%s: %s", job_state_to_string(told->ended.state),
			 str_or_empty(told->ended.message));
}

void told_clear(Told *told)
{
	strv_free(told->lines);
	job_event_clear(&told->planned);
	job_event_clear(&told->ended);
	free(told->note.text);
	*told = (Told){ 0 };
}

/* ---- and how they end ---- */

void rig_expect(const Rig *rig, JobState state, GpupassError error, const char *words)
{
	const Outcome *last = &rig->last;
	_cleanup_free_ char *found =
		strf("%s: %s", job_state_to_string(last->state), str_or_empty(last->message));

	if (last->state != state ||
	    (state != JOB_DONE && (last->error != error || !strstr(last->message, words))))
		fail_row(rig, found);
}

void rig_must(Rig *rig, const JobRequest *request)
{
	rig_try(rig, request);
	rig_expect(rig, JOB_DONE, 0, NULL);
}

void rig_fails(Rig *rig, const JobRequest *request, GpupassError error, const char *words)
{
	rig_note_world(rig);
	rig_try(rig, request);
	rig_expect(rig, JOB_FAILED, error, words);
	rig_check_noted(rig);
}

void rig_sticks(Rig *rig, const JobRequest *request, GpupassError error, const char *reason)
{
	_cleanup_free_ char *why = NULL, *state = strf("State:  pair0 is quarantined: %s", reason);

	rig_try(rig, request);
	rig_expect(rig, JOB_INCOMPLETE, error, state);
	assert_false(str_is_empty(rig->last.remedy));
	why = rig_quarantined(rig);
	assert_true(why && str_starts_with(why, reason));
	rig_check_guests(rig, str_or_empty(rig->row));
}

void rig_expect_steps(const Rig *rig, const char *steps)
{
	_cleanup_free_ char *found = rig->last.steps ? strv_join(rig->last.steps, ", ") : NULL;

	assert_string_equal(str_or_empty(found), steps);
}

static void on_call(FakeHost *fake, FakeOp op, unsigned nth)
{
	Rig *rig = (Rig *)fake; /* its first member */

	if (op == rig->at_op && nth == rig->at_nth)
		rig->event(rig);
}

void rig_at(Rig *rig, FakeOp op, unsigned nth, void (*event)(Rig *rig))
{
	rig->at_op = op;
	rig->at_nth = nth;
	rig->event = event;
	rig->fake.hook = on_call;
}

void rig_let_cancel(Rig *rig)
{
	cancellation_unref(rig->place.cancel);
	cancellation_new(&rig->place.cancel);
}

void rig_new_claims(Rig *rig)
{
	claims_free(rig->claims);
	rig->place.claims = rig->claims = claims_new();
}

void rig_leave_open(Rig *rig, StepKind before, Prepared **ret)
{
	const Plan *plan = rig_plan(rig, &ASSIGN);
	_cleanup_(journal_job_freep) JournalJob *log = NULL;

	assert_int_equal(journal_begin(&rig->journal, 7, plan, NULL, NULL, 0, &log), 0);
	for (size_t i = 0; plan->steps[i] != before; i++)
		journal_note(log, "intent", i);
	assert_int_equal(journal_flush(log), 0);
	for (size_t i = 0; i < ELEMENTS(pair0_bdfs); i++)
		fake_set_driver(&rig->fake, pair0_bdfs[i], "vfio-pci", "vfio-pci");
	claims_release(rig->claims, rig->last_job);
	if (ret)
		*ret = TAKE_PTR(rig->planned);
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

char *rig_quarantined(const Rig *rig)
{
	return claims_quarantine_reason(rig->claims, &(Bdf){ .bus = 0x41 }, NULL);
}

void rig_check_nothing_open(const Rig *rig)
{
	_cleanup_free_ char *reason = rig_quarantined(rig);
	_cleanup_strv_ char **files = NULL;

	assert_int_equal(dir_list(rig->quarantine.dir_fd, "", &files), 0);
	if (reason || files || rig_count_open(rig) > 0)
		fail_row(rig, reason ? reason : files ? files[0] : "its journal is open");
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

static void then(Rig *rig, const JobRequest *request)
{
	rig_must(rig, request);
	fake_watch(&rig->fake);
}

void rig_assigned(Rig *rig)
{
	rig_shut_off(rig);
	then(rig, &ASSIGN);
}

void rig_assigned_live(Rig *rig)
{
	rig_running(rig);
	then(rig, &ASSIGN);
}

void rig_bound(Rig *rig)
{
	then(rig, &BIND);
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
	then(rig, &KEEP);
}

void rig_kept_and_assigned(Rig *rig)
{
	rig_kept(rig);
	rig_assigned(rig);
}

void rig_persistence_mode(Rig *rig)
{
	rig_shut_off(rig);
	fake_set_persistence_mode(&rig->fake, "0000:61:00.0", true);
}

void rig_assigned_with_persistence_mode(Rig *rig)
{
	rig_persistence_mode(rig);
	then(rig, &ASSIGN);
}

void rig_two_domains(Rig *rig)
{
	rig_shut_off(rig);
	fake_add_domain(&rig->fake, "vm77", "q35", NULL);
}

void rig_definition_lost(Rig *rig)
{
	rig_assigned(rig);
	for (size_t i = 0; i < ELEMENTS(pair0_bdfs); i++)
		fake_unplug(&rig->fake, "vm42", pair0_bdfs[i]);
}

void rig_renamed(Rig *rig)
{
	rig->fake.two_nodes = true;
	rig_shut_off(rig);
	then(rig, &assign_request("vm42", "pair0", .plan.numa = FIT_APPLY));
	rig_declare(rig, RIG_GOLD "[Group]\nName=pair1\nGpu=0000:a1:00.0\nGpu=0000:c1:00.0\n");
}

#define AN_NVME_AT(address, iommu_group)                                                           \
	"{\"bdf\": \"" address "\", \"class\": \"010802\", \"vendor\": \"144d\", "                 \
	"\"device\": \"a80a\", \"subsystem_vendor\": \"144d\", "                                   \
	"\"subsystem_device\": \"a801\", \"driver\": \"nvme\", "                                   \
	"\"reset_methods\": \"flr\", \"iommu_group\": " iommu_group ", \"numa_node\": 1}"
#define AN_NVME AN_NVME_AT(NVME, "199")

void rig_lacks_vf(Rig *rig)
{
	fake_done(&rig->fake);
	fake_init_with(&rig->fake, "h100-nvl-nics", AN_NVME);
	rig->fake.hides_vfs = true;
	rig_declare(rig, "[Group]\nName=pair0\nGpu=18:00.0\nGpu=19:00.0\nWith=vf:" RIG_VF "\n"
			 "Vlan=42\n");
	rig_shut_off(rig);
}

void rig_declare_nvme(Rig *rig, bool erase)
{
	_cleanup_free_ char *text =
		strf("%sWith=nvme:" NVME "\n%s" PAIR1, PAIR0, erase ? "Erase=yes\n" : "");

	rig_declare(rig, text);
}

void rig_unready(Rig *rig)
{
	fake_done(&rig->fake);
	fake_init_with(&rig->fake, "four-a6000", AN_NVME);
	rig_declare_nvme(rig, true);
}

void rig_unready_both(Rig *rig)
{
	fake_done(&rig->fake);
	fake_init_with(&rig->fake, "four-a6000", AN_NVME ", " AN_NVME_AT(SECOND_NVME, "200"));
	rig_declare(rig, PAIR0 "With=nvme:" NVME "\nWith=nvme:" SECOND_NVME "\nErase=yes\n" PAIR1);
}

static void devices_edited(Rig *rig)
{
	rig_assigned(rig);
	fake_edit_hostdevs(&rig->fake, "vm42");
}

const Scenario scenarios[N_SCENARIOS] = {
	{ "assign cold", rig_shut_off, ASSIGN, 5, 2 },	 /* move, define */
	{ "assign live", rig_running, ASSIGN, 6, 6 },	 /* move, four attaches, define */
	{ "release cold", rig_assigned, RELEASE, 6, 3 }, /* define, reset, move */
	/* four detaches, define, reset, move */
	{ "release live", rig_assigned_live, RELEASE, 7, 7 },
	{ "bind", rig_shut_off, BIND, 3, 1 },
	{ "reconcile", devices_edited, RECONCILE, 3, 1 },
	{ "assign what is bound", rig_shut_off_bound, ASSIGN, 4, 1 },
	{ "assign what drifted", rig_drifted, ASSIGN, 4, 1 },
	{ "assign anew", rig_definition_lost, ASSIGN, 4, 1 },
	{ "assign with persistence mode", rig_persistence_mode, ASSIGN, 6, 3 },
	{ "release to persistence mode", rig_assigned_with_persistence_mode, RELEASE, 7, 4 },
	{ "release of a kept group", rig_kept_and_assigned, RELEASE, 5, 2 },
	{ "bind that lasts", rig_shut_off, KEEP, 4, 1 },
	{ "unbind", rig_shut_off_bound, UNBIND, 3, 1 },
	{ "unbind of a kept group", rig_kept, UNBIND, 4, 1 },
	{ "prepare", rig_unready, PREPARE, 3, 3 }, /* move, erase, move */
	{ "reconcile of a renamed group", rig_renamed, group_request(OPERATION_RECONCILE, "gold"),
	  4, 1 },
	{ "prepare of VFs", rig_lacks_vf, PREPARE, 3, 2 },
};

Rig *rig_for(const Scenario *scenario)
{
	Rig *rig = rig_new();

	rig->row = scenario->name;
	scenario->arrange(rig);
	fake_watch(&rig->fake);
	return rig;
}

void rig_run_undisturbed(const Scenario *scenario, Undisturbed *ret)
{
	_cleanup_(rig_freep) Rig *rig = rig_for(scenario);

	if (rig_plan(rig, &scenario->request)->n_steps != scenario->n_steps)
		fail_msg("%s: %zu steps", scenario->name, rig->planned->plan->n_steps);
	memcpy(ret->planned, rig->fake.calls, sizeof(ret->planned));
	rig_go(rig);
	rig_expect(rig, JOB_DONE, 0, NULL);
	memcpy(ret->calls, rig->fake.calls, sizeof(ret->calls));
	if (fake_write_calls(&rig->fake) != scenario->n_writes)
		fail_msg("%s: %u calls that write", scenario->name, fake_write_calls(&rig->fake));
	ret->world = rig_timeless_world(rig);
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

void rig_note_world(Rig *rig)
{
	free(rig->noted);
	rig->noted = rig_world(rig);
}

void rig_check_noted(const Rig *rig)
{
	rig_check_world(rig, rig->noted, str_or_empty(rig->row));
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

bool rig_is_bound(const Rig *rig)
{
	bool all = true;

	for (size_t i = 0; i < ELEMENTS(pair0_bdfs); i++)
		all &= rig_is_on(rig, pair0_bdfs[i], "vfio-pci", "vfio-pci");
	return all;
}

bool rig_is_home(const Rig *rig)
{
	bool all = true;

	for (size_t i = 0; i < ELEMENTS(pair0_bdfs); i++)
		all &= rig_is_on(rig, pair0_bdfs[i], i % 2 ? "snd_hda_intel" : "nvidia", "");
	return all;
}

static size_t count_devices(const char *xml)
{
	size_t n = 0;

	for (size_t i = 0; i < ELEMENTS(pair0_bdfs); i++)
		n += fake_xml_has(xml, &(Bdf){ 0, i < 2 ? 0x41 : 0x61, 0, (uint8_t)(i % 2) });
	return n;
}

void rig_expect_devices(const Rig *rig, const char *domain, size_t config, size_t live)
{
	const FakeDomain *d = fake_domain((FakeHost *)&rig->fake, domain);

	assert_int_equal(count_devices(d->config_xml), config);
	assert_int_equal(count_devices(d->live_xml), live);
}

bool rig_is_recorded(const Rig *rig)
{
	return faccessat(rig->store.records.dir_fd, VM42 ".json", F_OK, 0) == 0;
}

void rig_expect_drift(const Rig *rig, const char *expected)
{
	_cleanup_(drift_freep) Drift *drift = NULL;
	_cleanup_strv_ char **words = NULL;
	_cleanup_free_ char *found = NULL;

	assert_int_equal(drift_look(&rig->place, NULL, &drift), 0);
	for (size_t i = 0; i < drift->n_items; i++)
		strv_appendf(&words, "%s/%s", drift_kind_to_string(drift->items[i].kind),
			     drift_repair_to_string(drift->items[i].repair));
	found = words ? strv_join(words, " ") : NULL;
	assert_string_equal(str_or_empty(found), expected);
}
