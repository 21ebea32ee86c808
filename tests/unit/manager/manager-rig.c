/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/manager-rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

#define PATIENCE_MSEC 60000

/* What the manager has on threads, whose end nobody tells. */
typedef struct ThreadRun {
	MailboxCallback work, done;
	void *data;
} ThreadRun;

static size_t n_thread_runs; /* begun, and not delivered yet */

void __real_mailbox_run(Mailbox *mailbox, MailboxCallback work, MailboxCallback done, void *data);
void __wrap_mailbox_run(Mailbox *mailbox, MailboxCallback work, MailboxCallback done, void *data);

static void run_work(void *data)
{
	const ThreadRun *run = data;

	run->work(run->data);
}

static void run_done(void *data)
{
	const ThreadRun run = *(ThreadRun *)data;

	free(data);
	n_thread_runs--;
	run.done(run.data);
}

void __wrap_mailbox_run(Mailbox *mailbox, MailboxCallback work, MailboxCallback done, void *data)
{
	ThreadRun *run = xmalloc(sizeof(*run));

	*run = (ThreadRun){ .work = work, .done = done, .data = data };
	n_thread_runs++;
	__real_mailbox_run(mailbox, run_work, run_done, run);
}

static const char pair0[] = "[Group]\nName=pair0\nGpu=0000:41:00.0\nGpu=0000:61:00.0\n";
static const char pair1[] = "[Group]\nName=pair1\nGpu=0000:a1:00.0\nGpu=0000:c1:00.0\n";

static void on_objects(void *userdata)
{
	ManagerRig *rig = userdata;

	strv_append(&rig->told, "objects");
}

static void on_new(const JobRecord *job, void *userdata)
{
	ManagerRig *rig = userdata;

	strv_appendf(&rig->told, "new %u", job->id);
}

static void on_changed(const JobRecord *job, void *userdata)
{
	ManagerRig *rig = userdata;

	strv_appendf(&rig->told, "changed %u", job->id);
}

static void on_ended(const JobRecord *job, void *userdata)
{
	ManagerRig *rig = userdata;

	rig->has_ended = true;
	strv_appendf(&rig->told, "ended %u %s", job->id, job_state_to_string(job->state));
}

static void on_audit(_unused_ void *userdata)
{
}

static void start(ManagerRig *rig)
{
	ManagerPlace place = {
		.mailbox = rig->mailbox,
		.job = rig->rig->place,
		.config_directory = rig->config,
		.policy = POLICY_DEFAULT,
	};

	place.job.topology = &rig->topology;
	place.job.fence = &rig->fence;
	assert_int_equal(manager_new(&place, &rig->manager), 0);
	manager_set_listener(rig->manager, &(ManagerListener){ .objects_changed = on_objects,
							       .job_new = on_new,
							       .job_changed = on_changed,
							       .job_ended = on_ended,
							       .audit_written = on_audit,
							       .userdata = rig });
}

static int set_up(void **state, bool declared)
{
	ManagerRig *rig = xcalloc(1, sizeof(*rig));
	_cleanup_free_ char *groups = NULL;

	*state = rig;
	rig->rig = rig_new();
	rig->ops = *rig->rig->fake.host.ops;
	rig->rig->fake.host.ops = &rig->ops;
	rig_make_directory(rig->config, "config");
	groups = strf("%s/groups.d", rig->config);
	assert_int_equal(mkdir(groups, 0755), 0);
	if (declared) {
		manager_rig_write_group(rig, "pair0", pair0);
		manager_rig_write_group(rig, "pair1", pair1);
	}
	assert_int_equal(mailbox_new(&rig->mailbox), 0);
	topology_store_open(rig->rig->state_directory, &rig->topology);
	assert_int_equal(fence_store_open(rig->rig->state_directory, &rig->fence), 0);
	start(rig);
	return 0;
}

int manager_rig_setup_bare(void **state)
{
	return set_up(state, false);
}

int manager_rig_setup(void **state)
{
	return set_up(state, true);
}

int manager_rig_setup_ready(void **state)
{
	manager_rig_setup(state);
	manager_rig_make_ready(*state);
	return 0;
}

void manager_rig_make_ready(ManagerRig *rig)
{
	rig_shut_off(rig->rig);
	manager_rig_connect(rig);
	manager_rig_settle(rig);
}

void manager_rig_restart(ManagerRig *rig)
{
	manager_rig_settle(rig);
	manager_free(rig->manager);
	manager_rig_forget_told(rig);
	start(rig);
}

static void remove_config(const ManagerRig *rig)
{
	_cleanup_free_ char *groups = strf("%s/groups.d", rig->config);
	_cleanup_close_ int fd = open(groups, O_RDONLY | O_DIRECTORY);
	_cleanup_strv_ char **names = NULL;

	assert_int_equal(dir_list(fd, "", &names), 0);
	for (char **name = names; name && *name; name++)
		unlinkat(fd, *name, 0);
	rmdir(groups);
	rmdir(rig->config);
}

int manager_rig_teardown(void **state)
{
	ManagerRig *rig = *state;

	manager_rig_settle(rig);
	manager_free(rig->manager);
	mailbox_free(rig->mailbox);
	topology_store_close(&rig->topology);
	fence_store_close(&rig->fence);
	remove_config(rig);
	strv_free(rig->told);
	rig_free(rig->rig);
	free(rig);
	return 0;
}

void manager_rig_settle(ManagerRig *rig)
{
	struct pollfd pollfd = { .fd = mailbox_fd(rig->mailbox), .events = POLLIN };

	while (poll(&pollfd, 1, n_thread_runs > 0 ? PATIENCE_MSEC : 0) == 1)
		mailbox_dispatch(rig->mailbox);
	if (n_thread_runs > 0)
		fail_msg("%zu threads do not end", n_thread_runs);
}

void manager_rig_look(ManagerRig *rig)
{
	Caller caller = { 0 };

	manager_refresh(rig->manager, caller_done, &caller);
	caller_wait(rig, &caller);
}

void manager_rig_connect(ManagerRig *rig)
{
	manager_libvirt_changed(rig->manager, true);
	manager_rig_look(rig);
}

uint32_t manager_rig_begin(ManagerRig *rig, const JobRequest *request)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	uint32_t id = 0;

	rig->has_ended = false;
	if (manager_start_job(rig->manager, request, &id, &problem) != 0)
		fail_msg("no job: %s", problem ? problem->reason : "no memory");
	return id;
}

JobState manager_rig_run(ManagerRig *rig, const JobRequest *request)
{
	uint32_t id = manager_rig_begin(rig, request);

	rig_wait_for(rig->mailbox, &rig->has_ended);
	return manager_job(rig->manager, id)->state;
}

static struct {
	sem_t reached, open;
} gate; /* a hook has no userdata */

static void wait_at_the_first_move(FakeHost *fake, FakeOp op, unsigned nth)
{
	if (op != FAKE_MOVE || nth != 1)
		return;
	sem_post(&gate.reached);
	pthread_mutex_unlock(&fake->lock);
	sem_wait(&gate.open);
	pthread_mutex_lock(&fake->lock);
}

uint32_t manager_rig_begin_and_hold(ManagerRig *rig, const JobRequest *request)
{
	struct pollfd pollfd = { .fd = mailbox_fd(rig->mailbox), .events = POLLIN };
	uint32_t id;

	assert_int_equal(sem_init(&gate.reached, 0, 0), 0);
	assert_int_equal(sem_init(&gate.open, 0, 0), 0);
	fake_watch(&rig->rig->fake);
	rig->rig->fake.hook = wait_at_the_first_move;
	id = manager_rig_begin(rig, request);
	sem_wait(&gate.reached);
	while (poll(&pollfd, 1, 0) == 1)
		mailbox_dispatch(rig->mailbox);
	return id;
}

void manager_rig_let_go(void)
{
	sem_post(&gate.open);
}

const Group *manager_rig_group(const ManagerRig *rig, const char *name)
{
	const Group *group = manager_find_group(rig->manager, name);

	if (!group)
		fail_msg("no group %s is in the picture", name);
	return group;
}

bool manager_rig_notes(const ManagerRig *rig, const char *words)
{
	for (char *const *note = manager_notes(rig->manager); note && *note; note++)
		if (strstr(*note, words))
			return true;
	return false;
}

bool manager_rig_was_told(const ManagerRig *rig, const char *line)
{
	return strv_contains(rig->told, line);
}

void manager_rig_forget_told(ManagerRig *rig)
{
	strv_free(rig->told);
	rig->told = NULL;
}

void manager_rig_write_group(ManagerRig *rig, const char *name, const char *text)
{
	_cleanup_free_ char *path = strf("%s/groups.d/%s.conf", rig->config, name);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);

	assert_true(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text));
}

char *manager_rig_read_group(const ManagerRig *rig, const char *name)
{
	_cleanup_free_ char *path = strf("%s/groups.d/%s.conf", rig->config, name);
	char *text = NULL;

	(void)file_read_at(AT_FDCWD, path, 65536, &text, NULL);
	return text;
}

void caller_wait(ManagerRig *rig, const Caller *caller)
{
	rig_wait_for(rig->mailbox, &caller->was_told);
	assert_int_equal(caller->told, 1);
}

void caller_done(void *userdata)
{
	Caller *caller = userdata;

	caller->told++;
	caller->was_told = true;
}

void caller_declared(_unused_ const char *text, const char *error_name, const char *message,
		     void *userdata)
{
	Caller *caller = userdata;

	caller_clear(caller);
	caller->error_name = error_name ? strdup(error_name) : NULL;
	caller->message = message ? strdup(message) : NULL;
	caller_done(caller);
}

void caller_clear(Caller *caller)
{
	free(caller->error_name);
	free(caller->message);
	caller->error_name = caller->message = NULL;
}
