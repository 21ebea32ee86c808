/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/recover.h"

#include <fcntl.h>

#include "job/recover.h"
#include "manager/audit.h"
#include "manager/look.h"
#include "manager/state.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/grow.h"
#include "util/log.h"
#include "util/xalloc.h"

/* How long a worker of the previous daemon may take to end by itself. After that the group is
 * quarantined, and `clear` finds out later what the worker did. */
#define WORKER_WAIT_USEC (10 * USEC_PER_SEC)

static void take_notes(Manager *m, char *const *notes)
{
	for (char *const *note = notes; note && *note; note++) {
		log_as(LOG_WARNING, LOG_ID_NOT_READ, "%s", *note);
		strv_append(&m->state_notes, *note);
	}
}

/* ---- numbers of jobs ---- */

void manager_note_numbers(int error)
{
	if (error < 0)
		log_as(LOG_ERR, LOG_ID_NOT_WRITTEN,
		       "numbers of jobs could not be reserved (%s): a later start may give some of "
		       "them again",
		       strerror(-error));
}

void manager_give_numbers_back(Manager *m)
{
	number_store_give_back(m->place.job.numbers, m->last_job);
}

static void keep_highest(Manager *m, uint32_t job)
{
	if (job > m->last_job)
		m->last_job = job;
}

/* They go on behind all that is known. */
static void load_numbers(Manager *m, const JournalFound *found)
{
	_cleanup_(record_faults_clear) RecordFaults faults = { 0 };
	_cleanup_strv_ char **notes = NULL;
	const TrailJobs *jobs = trail_jobs(m->place.job.trail);

	m->last_job = found->last;
	if (jobs)
		keep_highest(m, jobs->last);
	if (m->place.job.numbers)
		keep_highest(m, number_store_load(m->place.job.numbers, &faults));
	for (size_t i = 0; i < faults.n_items; i++)
		strv_append_take(&notes, record_fault_note(&faults.items[i]));
	take_notes(m, notes);
	manager_note_numbers(number_store_reserve(m->place.job.numbers, m->last_job));
}

/* Logs them once. The picture has a note for each while the claim lasts. */
static void log_unread(const Manager *m)
{
	_cleanup_strv_ char **lines = NULL;

	claims_note_files(m->place.job.claims, &lines);
	for (char **line = lines; line && *line; line++)
		log_as(LOG_ERR, LOG_ID_QUARANTINED, "%s", *line);
}

/* It is on disk and on record, as of any job that nobody can bring to its end. */
static void keep_lost_apart(Manager *m, const AuditRecord *begun)
{
	size_t n = strv_length(begun->functions);
	_cleanup_free_ Bdf *functions = xcalloc(n + 1, sizeof(Bdf));
	_cleanup_free_ char *reason =
		strf("job %u (%s) was begun, as the audit trail has it, and its journal is cut "
		     "off: what it did is not known",
		     begun->job, str_or_empty(begun->verb));

	for (size_t i = 0; i < n; i++)
		if (bdf_parse(begun->functions[i], &functions[i]) < 0)
			return;
	if (n == 0 || !begun->group)
		return;
	claims_add_quarantine(m->place.job.claims, begun->group, functions, n, NULL, reason);
	(void)quarantine_store_save(m->place.job.quarantine,
				    &(Quarantine){ .group = begun->group,
						   .functions = functions,
						   .n_functions = n,
						   .reason = reason,
						   .job = begun->job,
						   .since_usec = now_realtime() });
	log_line(LOG_ERR,
		 &(LogFields){ .message_id = LOG_ID_QUARANTINED,
			       .group = begun->group,
			       .job = begun->job },
		 "%s is quarantined: %s", begun->group, reason);
	audit_end_unknown(m, begun, reason);
}

/*
 * The trail has a job once its journal is on disk, and before its first effect. So one that the
 * trail has begun, and of which a journal that is cut off knows nothing, was there. What is cut off
 * without that was never more than about to begin. A job that the journal has ended lost its end on
 * record in a power cut.
 */
static void compare_with_trail(Manager *m, const JournalFound *found)
{
	const TrailJobs *jobs = trail_jobs(m->place.job.trail);

	EACH_IN (const AuditRecord, begun, jobs, open) {
		if (SOME_OF(found->jobs, found->n_jobs, it->id == begun->job))
			continue; /* recovery puts its end on record */
		if (found->torn && !SOME_OF(found->ended, found->n_ended, it == begun->job))
			keep_lost_apart(m, begun);
		else
			audit_end_unknown(m, begun, "how it ended was not put on record");
	}
}

/* It may have open jobs, about anything. */
static void keep_all_apart(Manager *m, int error)
{
	_cleanup_(record_faults_clear) RecordFaults faults = { 0 };

	record_faults_add(&faults, &journal_kind, "", error, NULL, NULL, 0);
	claims_add_fault(m->place.job.claims, &faults.items[0]);
}

void manager_load_state(Manager *m)
{
	const JobPlace place = manager_job_place(m);
	_cleanup_(journal_found_clear) JournalFound found = { 0 };
	int r;

	quarantine_store_load(m->place.job.quarantine, m->place.job.claims);
	topology_store_load(m->place.job.topology);
	r = journal_load(m->place.job.journal, m->place.job.claims, &found);
	if (r < 0)
		keep_all_apart(m, r);
	compare_with_trail(m, &found);
	take_notes(m, found.notes);
	take_notes(m, trail_faults(m->place.job.trail));
	load_numbers(m, &found);
	m->open_jobs = TAKE_PTR(found.jobs);
	m->n_open_jobs = found.n_jobs;
	found.n_jobs = 0;
	for (size_t i = 0; i < m->n_open_jobs; i++)
		recover_claim(&place, m->open_jobs[i],
			      "a job was interrupted and is being recovered");
	log_unread(m);
}

/* ---- the report of gpupass-bind ---- */

#define BOOT_REPORT_MAX (4 * 1024 * 1024)

static void log_boot_faults(Manager *m, const BootFaults *faults)
{
	for (size_t i = 0; i < faults->n_items; i++) {
		_cleanup_free_ char *text = boot_fault_text(&faults->items[i]);

		log_line(LOG_WARNING,
			 &(LogFields){ .message_id = LOG_ID_NOT_BOUND,
				       .functions = BDF_TEXT(&faults->items[i].bdf) },
			 "at boot %s was not bound to vfio-pci: %s",
			 BDF_TEXT(&faults->items[i].bdf), text);
		audit_boot_fault(m, &faults->items[i]);
	}
}

void manager_load_boot(Manager *m, const char *runtime_directory)
{
	_cleanup_free_ char *path = strf("%s/boot.json", runtime_directory);
	_cleanup_free_ char *text = NULL, *message = NULL;
	size_t size = 0;
	int r = file_read_state_at(AT_FDCWD, path, BOOT_REPORT_MAX, &text, &size);

	if (r == -ENOENT)
		return; /* nothing was assigned, or gpupass-bind did not run */
	if (r >= 0)
		r = boot_faults_parse(text, size, &m->boot, &message);
	if (r < 0) {
		log_as(LOG_WARNING, LOG_ID_NOT_READ, "%s cannot be understood: %s", path,
		       message ? message : file_state_error(r));
		strv_appendf(&m->state_notes,
			     "%s cannot be understood (%s), so what happened at boot is "
			     "not known; see: journalctl -u gpupass-bind",
			     path, message ? message : file_state_error(r));
		return;
	}
	log_boot_faults(m, m->boot);
}

/* ---- recovery ---- */

typedef struct RecoverTask {
	Manager *manager;
	JobPlace place;
	OpenJob **jobs; /* moved here from the manager while this runs */
	size_t n;
	uint64_t recovered[RECOVERED_WAITING + 1]; /* counted on the thread, for the loop */
	ManagerDone done;
	void *userdata;
} RecoverTask;

static void log_recovery(Manager *m, const OpenJob *job, const Recovery *recovery)
{
	static const struct {
		const char *words, *id;
		AuditVerdict verdict;
	} outcomes[] = {
		[RECOVERED_DONE] = { "had done all of it", LOG_ID_RECOVERED, AUDIT_DONE },
		[RECOVERED_UNDONE] = { "was undone", LOG_ID_RECOVERED, AUDIT_UNDONE },
		[RECOVERED_QUARANTINED] = { "could not be recovered, and the group is quarantined: ",
					    LOG_ID_QUARANTINED, AUDIT_INCOMPLETE },
		[RECOVERED_WAITING] = { "waits: ", LOG_ID_NOT_RECOVERED, AUDIT_NO_VERDICT },
	};
	bool quarantined = recovery->outcome == RECOVERED_QUARANTINED;
	const LogFields fields = {
		.message_id = outcomes[recovery->outcome].id,
		.group = job->plan->group,
		.domain = job->plan->domain_name,
		.job = job->id,
	};

	log_line(quarantined ? LOG_ERR : LOG_NOTICE, &fields,
		 "job %u (%s %s), which was interrupted, %s%s", job->id,
		 operation_to_string(job->plan->operation), job->plan->group,
		 outcomes[recovery->outcome].words, str_or_empty(recovery->reason));
	for (char *const *left = recovery->left; left && *left; left++)
		log_line(LOG_WARNING, &fields, "job %u, which was interrupted: %s", job->id, *left);
	audit_recovered(m, job, recovery, outcomes[recovery->outcome].verdict);
}

/* Jobs that wait for libvirt stay in the list. */
static void recover_work(void *data)
{
	RecoverTask *task = data;
	size_t kept = 0;

	EACH_OF (OpenJob, job, task->jobs, task->n) {
		Recovery recovery = { .outcome = RECOVERED_WAITING };
		int r = recover_job(&task->place, job, WORKER_WAIT_USEC, &recovery);

		if (r < 0)
			log_line(LOG_ERR,
				 &(LogFields){ .message_id = LOG_ID_NOT_RECOVERED,
					       .group = job->plan->group,
					       .job = job->id },
				 "job %u, which was interrupted, cannot be recovered now: %s",
				 job->id, strerror(-r));
		else
			log_recovery(task->manager, job, &recovery);
		task->recovered[recovery.outcome] += r >= 0;
		if (r >= 0 && recovery.outcome == RECOVERED_WAITING)
			recover_claim(&task->place, job, recovery.reason);
		if (r < 0 || recovery.outcome == RECOVERED_WAITING)
			task->jobs[kept++] = job;
		else
			open_job_free(job);
		recovery_clear(&recovery);
	}
	task->n = kept;
}

/* Adds the jobs to those that came meanwhile. */
static void keep_open(Manager *m, OpenJob *const *jobs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		*GROW(m->open_jobs, m->n_open_jobs) = jobs[i];
}

static void forget_numbers(Manager *m)
{
	free(m->recovered);
	m->recovered = NULL;
	m->n_recovered = 0;
}

static void recovered_late(_unused_ void *userdata)
{
}

/* What came under it waits for no other event. */
static void recover_what_came(Manager *m)
{
	if (m->connected && m->n_open_jobs > 0)
		(void)manager_recover(m, recovered_late, NULL);
}

static void recover_done(void *data)
{
	RecoverTask *task = data;
	Manager *m = task->manager;
	bool again = m->recover_again;

	_Static_assert((int)RECOVERY_COUNT_MAX_ == (int)RECOVERED_WAITING,
		       "one order, and what waits is recovered later");
	m->recovering = m->recover_again = false;
	for (size_t i = 0; i < RECOVERY_COUNT_MAX_; i++)
		m->metrics.recovered[i] += task->recovered[i];
	m->metrics.quarantines += task->recovered[RECOVERY_COUNT_QUARANTINED];
	forget_numbers(m);
	keep_open(m, task->jobs, task->n);
	free(task->jobs);
	rules_unref(task->place.rules);
	manager_rescan(m, NULL, NULL);
	task->done(task->userdata);
	free(task);
	if (again)
		recover_what_came(m);
}

/* The thread has the jobs themselves. */
static void keep_numbers(Manager *m)
{
	m->recovered = xcalloc(m->n_open_jobs, sizeof(uint32_t));
	m->n_recovered = m->n_open_jobs;
	for (size_t i = 0; i < m->n_recovered; i++)
		m->recovered[i] = m->open_jobs[i]->id;
}

int manager_recover(Manager *m, ManagerDone done, void *userdata)
{
	RecoverTask *task;

	if (m->recovering) {
		m->recover_again = true;
		return -EBUSY;
	}
	if (m->n_open_jobs == 0) {
		done(userdata);
		return 0;
	}
	task = xmalloc(sizeof(RecoverTask));
	*task = (RecoverTask){
		.manager = m,
		.place = manager_job_place(m),
		.jobs = m->open_jobs,
		.n = m->n_open_jobs,
		.done = done,
		.userdata = userdata,
	};
	task->place.known = NULL; /* the loop may replace it; recovery needs none */
	task->place.rules = rules_ref(task->place.rules);
	keep_numbers(m);
	m->open_jobs = NULL;
	m->n_open_jobs = 0;
	m->recovering = true;
	mailbox_run(m->place.mailbox, recover_work, recover_done, task);
	return 0;
}

void manager_take_open_job(Manager *m, OpenJob *job)
{
	keep_open(m, &job, 1);
	/* libvirt may be back by now. Otherwise recovery begins when it comes back. */
	recover_what_came(m);
}

bool manager_has_open_jobs(const Manager *m)
{
	return m->n_open_jobs > 0 || m->recovering;
}

bool manager_is_recovering(const Manager *m, const char *group)
{
	return SOME_OF(m->open_jobs, m->n_open_jobs, str_equal(it->plan->group, group)) ||
	       m->recovering;
}

bool manager_recovers_job(const Manager *m, uint32_t id)
{
	return SOME_OF(m->open_jobs, m->n_open_jobs, it->id == id) ||
	       SOME_OF(m->recovered, m->n_recovered, it == id);
}
