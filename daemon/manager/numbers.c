/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/numbers.h"

#include <string.h>

#include "manager/state.h"
#include "store/numbers.h"
#include "util/log.h"
#include "util/text.h"
#include "util/xalloc.h"

/* So many are left when more are reserved: more jobs cannot begin while a thread writes a file. */
#define FEW (NUMBERS_AT_ONCE / 2)

typedef struct NumberTask {
	Manager *manager;
	uint32_t upto;
	int result;
} NumberTask;

static void not_reserved(int error)
{
	log_as(LOG_ERR, LOG_ID_NOT_WRITTEN,
	       "numbers of jobs could not be reserved (%s): a later start may give some of them again",
	       strerror(-error));
}

void manager_load_numbers(Manager *m)
{
	const TrailJobs *jobs = trail_jobs(m->place.trail);
	_cleanup_free_ char *why = NULL;
	uint32_t next = 1;
	int r;

	if (jobs && jobs->last > m->last_job)
		m->last_job = jobs->last;
	if (!m->place.numbers)
		return;
	if (number_store_read(m->place.numbers, &next, &why) < 0) {
		char *note = strf("%s: job numbers go on behind those that the journal and the "
				  "audit trail have",
				  why);

		log_as(LOG_WARNING, LOG_ID_NOT_READ, "%s", note);
		strv_append(&m->state_notes, note);
		free(note);
	}
	if (next - 1 > m->last_job)
		m->last_job = next - 1;
	m->reserved = m->last_job + NUMBERS_AT_ONCE;
	r = number_store_write(m->place.numbers, m->reserved + 1);
	if (r < 0)
		not_reserved(r);
}

static void reserve_work(void *data)
{
	NumberTask *task = data;

	task->result = number_store_write(task->manager->place.numbers, task->upto + 1);
}

static void reserve_done(void *data)
{
	NumberTask *task = data;
	Manager *m = task->manager;

	m->reserving = false;
	if (task->result < 0)
		not_reserved(task->result);
	/* Also then: the next write comes a thousand numbers later. */
	m->reserved = task->upto;
	free(task);
}

void manager_reserve_numbers(Manager *m)
{
	NumberTask *task;

	if (!m->place.numbers || m->reserving || m->last_job + FEW < m->reserved)
		return;
	task = xcalloc(1, sizeof(NumberTask));
	*task = (NumberTask){ .manager = m, .upto = m->reserved + NUMBERS_AT_ONCE };
	m->reserving = mailbox_run(m->place.mailbox, reserve_work, reserve_done, task) >= 0;
	if (!m->reserving)
		free(task);
}

void manager_give_numbers_back(Manager *m)
{
	/* A thread that still writes may come later, with a higher one. */
	if (m->place.numbers && m->reserved > m->last_job)
		(void)number_store_write(m->place.numbers, m->last_job + 1);
}
