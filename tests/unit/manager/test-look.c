/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks that cannot be begun, because threads or memory have run out: whoever was told so keeps what
 * he handed in, and whoever waits is told. Linked with --wrap=pthread_create, which fails on request.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <string.h>

#include "manager/manager.h"
#include "rig/job-rig.h"
#include "util/text.h"

/* Threads that may still be begun; < 0: any number. */
static int threads_left = -1;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*work)(void *), void *userdata);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*work)(void *), void *userdata);

/* As the kernel's, when the control group's pids.max is reached. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
			  void *(*work)(void *), void *userdata)
{
	if (threads_left == 0)
		return EAGAIN;
	if (threads_left > 0)
		threads_left--;
	return __real_pthread_create(thread, attributes, work, userdata);
}

typedef struct Place {
	Rig *rig;
	Mailbox *mailbox;
	TopologyStore topology;
	char config[64];
	HostOps ops;
	Manager *manager;
	/* what the listener was told */
	unsigned ended;
	bool has_ended;
} Place;

static void on_objects(_unused_ void *userdata)
{
}

static void on_job(_unused_ const JobRecord *job, _unused_ void *userdata)
{
}

static void on_job_ended(_unused_ const JobRecord *job, void *userdata)
{
	Place *place = userdata;

	place->ended++;
	place->has_ended = true;
}

/* Health is not what this is about. */
static int examine_nothing(_unused_ Host *host, _unused_ const PciFunction *const *leads,
			   _unused_ size_t n, _unused_ GpuHealth *ret)
{
	return -EIO;
}

static int setup(void **state)
{
	Place *place = calloc(1, sizeof(*place));
	Rig *rig = rig_new();

	assert_non_null(place);
	threads_left = -1;
	place->rig = rig;
	place->ops = *rig->fake.host.ops;
	place->ops.examine_gpus = examine_nothing;
	rig->fake.host.ops = &place->ops;
	rig_make_directory(place->config, "config");
	assert_int_equal(mailbox_new(&place->mailbox), 0);
	assert_int_equal(topology_store_open(rig->state_directory, &place->topology), 0);
	assert_int_equal(manager_new(&(ManagerPlace){ .mailbox = place->mailbox,
						      .host = &rig->fake.host,
						      .store = &rig->store,
						      .receipts = &rig->receipts,
						      .tenants = &rig->tenants,
						      .journal = &rig->journal,
						      .quarantine = &rig->quarantine,
						      .topology = &place->topology,
						      .config_directory = place->config,
						      .policy = POLICY_DEFAULT },
				     &place->manager),
			 0);
	manager_set_listener(place->manager, &(ManagerListener){ .objects_changed = on_objects,
								 .job_new = on_job,
								 .job_changed = on_job,
								 .job_ended = on_job_ended,
								 .job_forgotten = on_job,
								 .userdata = place });
	*state = place;
	return 0;
}

/* Until nothing comes any more: a look begins that of the GPUs' health, whose end nobody tells. */
static void settle(Place *place)
{
	struct pollfd pollfd = { .fd = mailbox_fd(place->mailbox), .events = POLLIN };

	while (poll(&pollfd, 1, 300) == 1)
		mailbox_dispatch(place->mailbox);
}

static int teardown(void **state)
{
	Place *place = *state;

	threads_left = -1;
	settle(place);
	manager_free(place->manager);
	mailbox_free(place->mailbox);
	topology_store_close(&place->topology);
	rmdir(place->config);
	rig_free(place->rig);
	free(place);
	return 0;
}

/* Somebody who waits. He keeps it, as those who free it at a failure do. */
typedef struct Caller {
	unsigned told;
	bool was_told;
} Caller;

static void tell(void *userdata)
{
	Caller *caller = userdata;

	caller->told++;
	caller->was_told = true;
}

static void look(Place *place)
{
	Caller caller = { 0 };

	assert_int_equal(manager_rescan(place->manager, tell, &caller), 0);
	rig_wait_for(place->mailbox, &caller.was_told);
	assert_int_equal(caller.told, 1);
}

static void who_was_refused_a_look_is_not_told_by_the_next_one(void **state)
{
	Place *place = *state;
	Caller refused = { 0 };

	threads_left = 0;
	assert_int_equal(manager_rescan(place->manager, tell, &refused), -EAGAIN);
	assert_int_equal(manager_refresh(place->manager, tell, &refused), -EAGAIN);
	threads_left = -1;
	look(place);
	assert_int_equal(refused.told, 0);
}

static void a_later_half_that_cannot_be_begun_is_told_once(void **state)
{
	Place *place = *state;
	Caller caller = { 0 };

	manager_libvirt_changed(place->manager, true);
	settle(place);
	assert_int_equal(manager_refresh(place->manager, tell, &caller), 0);
	threads_left = 0;
	rig_wait_for(place->mailbox, &caller.was_told);
	threads_left = -1;
	manager_libvirt_changed(place->manager, true);
	settle(place);
	assert_int_equal(caller.told, 1);
}

static void who_waits_for_a_look_that_cannot_be_made_is_told_all_the_same(void **state)
{
	Place *place = *state;
	Caller first = { 0 }, second = { 0 };

	assert_int_equal(manager_rescan(place->manager, tell, &first), 0);
	assert_int_equal(manager_rescan(place->manager, tell, &second), 0);
	threads_left = 0;
	rig_wait_for(place->mailbox, &first.was_told);
	assert_int_equal(second.told, 1);
	threads_left = -1;
	look(place);
	assert_int_equal(first.told, 1);
	assert_int_equal(second.told, 1);
}

static void a_job_that_ends_when_no_look_can_be_begun_ends_once(void **state)
{
	Place *place = *state;
	JobRequest request = bind_request("nothing-of-that-name");
	_cleanup_(problem_freep) Problem *problem = NULL;
	uint32_t id = 0;

	look(place);
	settle(place);
	assert_int_equal(manager_start_job(place->manager, &request, &id, &problem), 0);
	threads_left = 0;
	rig_wait_for(place->mailbox, &place->has_ended);
	threads_left = -1;
	look(place);
	settle(place);
	assert_int_equal(place->ended, 1);
}

/* Answers, as the bus's are. */
typedef struct Answer {
	unsigned told;
	bool was_told;
} Answer;

static void answer(_unused_ const char *error_name, _unused_ const char *message, void *userdata)
{
	Answer *a = userdata;

	a->told++;
	a->was_told = true;
}

static void an_answer_that_waits_for_a_look_that_cannot_be_begun_is_given_once(void **state)
{
	char *members[] = { (char *)"0000:41:00.0", (char *)"0000:61:00.0", NULL };
	_cleanup_free_ char *file = NULL, *directory = NULL;
	Place *place = *state;
	Answer declared = { 0 }, cleared = { 0 };
	_cleanup_(problem_freep) Problem *problem = NULL;

	assert_int_equal(manager_declare(place->manager, "pair0", members, answer, &declared), 0);
	assert_int_equal(manager_clear(place->manager, "pair0", answer, &cleared, &problem), 0);
	threads_left = 0;
	rig_wait_for(place->mailbox, &declared.was_told);
	rig_wait_for(place->mailbox, &cleared.was_told);
	threads_left = -1;
	look(place);
	settle(place);
	assert_int_equal(declared.told, 1);
	assert_int_equal(cleared.told, 1);
	file = strf("%s/groups.d/pair0.conf", place->config);
	directory = strf("%s/groups.d", place->config);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(rmdir(directory), 0);
}

#define ON_A_PLACE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		ON_A_PLACE(who_was_refused_a_look_is_not_told_by_the_next_one),
		ON_A_PLACE(a_later_half_that_cannot_be_begun_is_told_once),
		ON_A_PLACE(who_waits_for_a_look_that_cannot_be_made_is_told_all_the_same),
		ON_A_PLACE(a_job_that_ends_when_no_look_can_be_begun_ends_once),
		ON_A_PLACE(an_answer_that_waits_for_a_look_that_cannot_be_begun_is_given_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
