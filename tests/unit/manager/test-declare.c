/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declaring and forgetting groups: what is refused leaves file and picture as they were. */
#include "rig/test.h"

#include <semaphore.h>
#include <string.h>
#include <unistd.h>

#include "manager/manager-rig.h"
#include "util/text.h"

#define A (char *)"0000:41:00.0"
#define B (char *)"0000:61:00.0"
#define C (char *)"0000:a1:00.0"
#define D (char *)"0000:c1:00.0"

/* What `call` was answered, which must come. */
static void declare_seen(ManagerRig *rig, const char *name, char *const *members,
			 bool no_bridge_seen, Caller *caller)
{
	manager_declare(rig->manager, name, members, no_bridge_seen, caller_declared, caller);
	rig_wait_for(rig->mailbox, &caller->was_told);
	assert_int_equal(caller->told, 1);
}

static void declare(ManagerRig *rig, const char *name, char *const *members, Caller *caller)
{
	declare_seen(rig, name, members, false, caller);
}

static void forget(ManagerRig *rig, const char *name, Caller *caller)
{
	manager_forget(rig->manager, name, caller_declared, caller);
	rig_wait_for(rig->mailbox, &caller->was_told);
	assert_int_equal(caller->told, 1);
}

/* Names and states of all groups in the picture. */
static char *groups_text(const ManagerRig *rig)
{
	_cleanup_strv_ char **lines = NULL;
	const GroupSet *groups = manager_inventory(rig->manager)->groups;

	for (size_t i = 0; i < groups->n_items; i++)
		strv_appendf(&lines, "%s %s", groups->items[i].name,
			     group_state_to_string(groups->items[i].state));
	return strv_join(lines, "\n");
}

static void check_refused(ManagerRig *rig, Caller *caller, const char *error, const char *words,
			  const char *before)
{
	_cleanup_free_ char *name = strf("org.gpupass1.Error.%s", error), *after = NULL;

	assert_non_null(caller->error_name);
	assert_string_equal(caller->error_name, name);
	if (!strstr(caller->message, words))
		fail_msg("not \"%s\", but: %s", words, caller->message);
	manager_rig_look(rig);
	after = groups_text(rig);
	assert_string_equal(after, before);
	caller_clear(caller);
}

#define ON_A_BARE_MANAGER(test) TEST_WITH(test, manager_rig_setup_bare, manager_rig_teardown)

ON_A_BARE_MANAGER(a_declared_group_is_in_the_picture_when_the_caller_hears_of_it)
{
	ManagerRig *rig = *state;
	char *members[] = { A, B, NULL };
	_cleanup_free_ char *text = NULL;
	Caller caller = { 0 };

	manager_rig_connect(rig);
	declare(rig, "left", members, &caller);
	assert_null(caller.error_name);
	assert_int_equal(manager_rig_group(rig, "left")->n_gpus, 2);
	text = manager_rig_read_group(rig, "left");
	assert_non_null(strstr(text, "Name=left"));
	assert_non_null(strstr(text, "0000:61:00.0"));
}

ON_A_MANAGER(a_declaration_that_contradicts_another_is_refused)
{
	char *members[] = { B, C, NULL };
	_cleanup_free_ char *before = NULL, *text = NULL;
	Caller caller = { 0 };

	manager_rig_connect(rig);
	before = groups_text(rig);
	declare(rig, "other", members, &caller);
	check_refused(rig, &caller, "InvalidConfig", "0000:61:00.0", before);
	text = manager_rig_read_group(rig, "other");
	assert_null(text);
}

ON_A_MANAGER(a_name_that_is_taken_is_refused)
{
	char *members[] = { A, B, NULL };
	_cleanup_free_ char *before = NULL, *file = NULL, *after = NULL;
	Caller caller = { 0 };

	manager_rig_connect(rig);
	before = groups_text(rig);
	file = manager_rig_read_group(rig, "pair0");
	declare(rig, "pair0", members, &caller);
	check_refused(rig, &caller, "InvalidConfig", "pair0", before);
	after = manager_rig_read_group(rig, "pair0");
	assert_string_equal(after, file);
}

ON_A_BARE_MANAGER(what_names_no_gpu_or_no_group_is_refused)
{
	static const struct {
		const char *name;
		char *members[3];
		const char *error, *words;
	} rows[] = {
		{ "a/b", { A, B }, "InvalidArgument", "\"a/b\" is no group name" },
		{ "left", { A, (char *)"41" }, "InvalidArgument", "\"41\" names no GPU" },
		{ "left",
		  { A, (char *)"0000:99:00.0" },
		  "NotBridged",
		  "these GPUs cannot be a group on this host" },
	};
	ManagerRig *rig = *state;
	_cleanup_free_ char *before = NULL, *text = NULL;

	manager_rig_connect(rig);
	before = groups_text(rig);
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		Caller caller = { 0 };

		declare(rig, rows[i].name, rows[i].members, &caller);
		check_refused(rig, &caller, rows[i].error, rows[i].words, before);
	}
	text = manager_rig_read_group(rig, "left");
	assert_null(text);
}

/* field: guest/40 */
/* Half of a bridged pair would reach the memory of the other half's domain. */
ON_A_MANAGER(a_board_that_may_have_a_bridge_is_declared_alone_by_who_looked)
{
	char *members[] = { A, NULL };
	_cleanup_free_ char *before = NULL;
	Caller forgotten = { 0 }, refused = { 0 }, looked = { 0 };

	manager_rig_connect(rig);
	forget(rig, "pair0", &forgotten);
	before = groups_text(rig);
	declare(rig, "solo0", members, &refused);
	check_refused(rig, &refused, "LinksUnknown",
		      "gpupass declare solo0 0000:41:00.0 --no-bridge-seen", before);
	declare_seen(rig, "solo0", members, true, &looked);
	assert_null(looked.error_name);
	assert_int_equal(manager_rig_group(rig, "solo0")->n_gpus, 1);
}

ON_A_MANAGER(a_group_under_a_domain_keeps_its_name)
{
	char *members[] = { A, B, NULL };
	_cleanup_free_ char *before = NULL, *world = NULL;
	Caller declared = { 0 }, forgotten = { 0 };

	rig_assigned(rig->rig);
	world = rig_world(rig->rig);
	manager_rig_connect(rig);
	before = groups_text(rig);
	forget(rig, "pair0", &forgotten);
	check_refused(rig, &forgotten, "GroupBusy", "it is assigned to vm42", before);
	manager_rig_write_group(rig, "pair0", "");
	declare(rig, "left", members, &declared);
	assert_non_null(declared.error_name);
	assert_string_equal(declared.error_name, "org.gpupass1.Error.GroupBusy");
	assert_non_null(strstr(declared.message, "is assigned to vm42 as pair0"));
	caller_clear(&declared);
	rig_check_world(rig->rig, world, "refused");
}

ON_A_MANAGER(only_what_declare_wrote_is_forgotten)
{
	_cleanup_free_ char *before = NULL, *pair0 = NULL, *hand = NULL;
	Caller unknown = { 0 }, known = { 0 }, by_hand = { 0 };

	manager_rig_connect(rig);
	before = groups_text(rig);
	forget(rig, "left", &unknown);
	check_refused(rig, &unknown, "NoSuchGroup", "no declaration names \"left\"", before);
	forget(rig, "pair0", &known);
	assert_null(known.error_name);
	pair0 = manager_rig_read_group(rig, "pair0");
	assert_null(pair0);
	/* pair0 again, in a file of another name. */
	manager_rig_write_group(rig, "hand",
				"[Group]\nName=pair0\nGpu=0000:41:00.0\n"
				"Gpu=0000:61:00.0\n");
	forget(rig, "pair0", &by_hand);
	assert_non_null(by_hand.message);
	assert_non_null(strstr(by_hand.message, "was not made by gpupass declare"));
	hand = manager_rig_read_group(rig, "hand");
	assert_non_null(hand);
	caller_clear(&by_hand);
}

ON_A_MANAGER(a_reload_reads_the_files_as_they_are)
{
	manager_rig_connect(rig);
	manager_rig_write_group(rig, "pair0",
				"[Group]\nName=left\nGpu=0000:41:00.0\n"
				"Gpu=0000:61:00.0\n");
	manager_reload(rig->manager);
	manager_rig_settle(rig);
	assert_int_equal(manager_rig_group(rig, "left")->n_gpus, 2);
	assert_null(manager_find_group(rig->manager, "pair0"));
	/* One that is wrong is left out, and the others stay. */
	manager_rig_write_group(rig, "pair0", "[Group]\nNonsense=left\n");
	manager_reload(rig->manager);
	manager_rig_settle(rig);
	assert_null(manager_find_group(rig->manager, "left"));
	assert_int_equal(manager_rig_group(rig, "pair1")->n_gpus, 2);
	assert_true(manager_rig_notes(rig, "groups.d/pair0.conf"));
}

ON_A_BARE_MANAGER(when_the_machine_cannot_be_looked_at_nothing_is_declared)
{
	static const FakeFault fault = { .op = FAKE_SCAN, .nth = 1, .error = -EIO };
	ManagerRig *rig = *state;
	char *members[] = { A, B, NULL };
	_cleanup_free_ char *before = NULL, *text = NULL;
	Caller caller = { 0 };

	manager_rig_connect(rig);
	before = groups_text(rig);
	fake_watch(&rig->rig->fake);
	fake_fail(&rig->rig->fake, &fault);
	declare(rig, "left", members, &caller);
	check_refused(rig, &caller, "Internal", "cannot declare left: Input/output error", before);
	text = manager_rig_read_group(rig, "left");
	assert_null(text);
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

static void begin_assign(ManagerRig *rig)
{
	const JobRequest assign = assign_request("vm42", "pair0");
	_cleanup_(problem_freep) Problem *problem = NULL;
	uint32_t job;

	assert_int_equal(manager_start_job(rig->manager, &assign, &job, &problem), 0);
}

/* promise O3 */
ON_A_MANAGER(a_group_is_not_changed_under_a_job_that_has_it_and_others_are)
{
	char *pair1[] = { C, D, NULL };
	_cleanup_free_ char *file = NULL;
	Caller refused = { 0 }, forgotten = { 0 }, declared = { 0 };

	rig_shut_off(rig->rig);
	manager_rig_connect(rig);
	sem_init(&gate.reached, 0, 0);
	sem_init(&gate.open, 0, 0);
	rig->rig->fake.hook = wait_at_the_first_move;
	begin_assign(rig);
	sem_wait(&gate.reached);
	forget(rig, "pair0", &refused);
	assert_string_equal(refused.error_name, "org.gpupass1.Error.GroupBusy");
	assert_non_null(strstr(refused.message, "cannot forget pair0: job 1 has pair0 in hand"));
	caller_clear(&refused);
	file = manager_rig_read_group(rig, "pair0");
	assert_non_null(file);
	forget(rig, "pair1", &forgotten);
	assert_null(forgotten.error_name);
	declare(rig, "other", pair1, &declared);
	assert_null(declared.error_name);
	sem_post(&gate.open);
	rig_wait_for(rig->mailbox, &rig->has_ended);
	assert_true(manager_rig_was_told(rig, "ended 1 done"));
	sem_destroy(&gate.reached);
	sem_destroy(&gate.open);
}

/* promise O3 */
ON_A_MANAGER(of_a_job_and_a_withdrawal_of_its_group_one_goes_on)
{
	_cleanup_free_ char *file = NULL;
	_cleanup_(caller_clear) Caller caller = { 0 };

	rig_shut_off(rig->rig);
	manager_rig_connect(rig);
	/* The job's thread may be anywhere. */
	begin_assign(rig);
	forget(rig, "pair0", &caller);
	rig_wait_for(rig->mailbox, &rig->has_ended);
	assert_true(manager_rig_was_told(rig, "ended 1 done") == (caller.error_name != NULL));
	if (caller.error_name)
		assert_string_equal(caller.error_name, "org.gpupass1.Error.GroupBusy");
	file = manager_rig_read_group(rig, "pair0");
	assert_true((file != NULL) == (caller.error_name != NULL));
}
