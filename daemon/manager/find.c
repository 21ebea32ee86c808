/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/find.h"

#include <string.h>

#include "manager/state.h"
#include "util/xalloc.h"

typedef struct FindTask {
	Host *host;
	char *word;
	DomainId id;
	ManagerFound done;
	void *userdata;
} FindTask;

static void find_task_clear(FindTask *task)
{
	free(task->word);
	domain_id_clear(&task->id);
}

DEFINE_LOCAL_FREE(FindTask, find_task_free, find_task_clear)

static void find_work(void *data)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	FindTask *task = data;

	/* The problem is not needed: the job meets it again, and reports it. */
	(void)task->host->ops->domain_find(task->host, task->word, &task->id, &problem);
}

static void find_done(void *data)
{
	_cleanup_(find_task_freep) FindTask *task = data;

	task->done(*task->id.uuid ? &task->id : NULL, task->userdata);
}

int manager_find_domain(Manager *m, const char *word, ManagerFound done, void *userdata)
{
	_cleanup_(find_task_freep) FindTask *task = xmalloc(sizeof(FindTask));
	int r;

	*task = (FindTask){
		.host = m->place.host,
		.word = xstrdup(word),
		.done = done,
		.userdata = userdata,
	};
	r = mailbox_run(m->place.mailbox, find_work, find_done, task);
	if (r >= 0)
		TAKE_PTR(task);
	return r;
}
