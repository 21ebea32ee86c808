/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Declaring and forgetting groups: what is refused leaves file and picture as they were. */
#include "rig/test.h"

#include <string.h>

#include "manager/manager-rig.h"
#include "manager/state.h"
#include "rig/bdf.h"
#include "util/text.h"

#define A "0000:41:00.0"
#define B "0000:61:00.0"
#define C "0000:a1:00.0"
#define D "0000:c1:00.0"

typedef struct Words {
	const char *name, *first, *second,
		*with; /* second NULL: a group of one; first NULL: forget it */
	bool no_bridge_seen;
	const char *error, *words; /* of the answer; error NULL: it is done */
} Words;

#define DECLARE(group, one, other, ...)                                                            \
	{                                                                                          \
		.name = (group), .first = (one), .second = (other), __VA_ARGS__                    \
	}
#define FORGET(group, ...)                                                                         \
	{                                                                                          \
		.name = (group), __VA_ARGS__                                                       \
	}

/* Names and states of all groups in the picture, and what stands in the file of this one. */
static char *groups_text(const ManagerRig *rig, const char *name)
{
	_cleanup_free_ char *file = manager_rig_read_group(rig, name);
	const GroupSet *groups = manager_inventory(rig->manager)->groups;
	_cleanup_strv_ char **lines = NULL;

	for (size_t i = 0; i < groups->n_items; i++)
		strv_appendf(&lines, "%s %s", groups->items[i].name,
			     group_state_to_string(groups->items[i].state));
	strv_append(&lines, file ? file : "no file");
	return strv_join(lines, "\n");
}

static void ask(ManagerRig *rig, const Words *words, Caller *caller)
{
	/* What is given with them stands among them. */
	char *with = (char *)words->with, *second = (char *)words->second;
	char *members[] = { (char *)words->first, second ? second : with, second ? with : NULL,
			    NULL };

	if (words->first)
		manager_declare(rig->manager,
				&(DeclareWish){ .name = (char *)words->name, .members = members },
				words->no_bridge_seen, caller_declared, caller);
	else
		manager_forget(rig->manager, words->name, caller_declared, caller);
	caller_wait(rig, caller);
}

static void expect(ManagerRig *rig, const Words *words)
{
	_cleanup_free_ char *before = groups_text(rig, words->name), *after = NULL, *error = NULL;
	_cleanup_(caller_clear) Caller caller = { 0 };

	ask(rig, words, &caller);
	if (!words->error) {
		_cleanup_free_ char *file = manager_rig_read_group(rig, words->name);

		assert_null(caller.error_name);
		assert_true((file != NULL) == (words->first != NULL));
		return;
	}
	error = strf("org.gpupass1.Error.%s", words->error);
	if (!str_equal(caller.error_name, error) || !strstr(caller.message, words->words))
		fail_msg("%s: %s, %s", words->name, str_or_empty(caller.error_name),
			 str_or_empty(caller.message));
	manager_rig_look(rig);
	after = groups_text(rig, words->name);
	assert_string_equal(after, before);
}

ON_A_BARE_MANAGER(a_declared_group_is_in_the_picture_when_the_caller_hears_of_it)
{
	_cleanup_free_ char *text = NULL;

	manager_rig_connect(rig);
	expect(rig, &(Words)DECLARE("left", A, B, ));
	assert_int_equal(manager_rig_group(rig, "left")->n_gpus, 2);
	text = manager_rig_read_group(rig, "left");
	assert_non_null(strstr(text, "Name=left"));
	assert_non_null(strstr(text, B));
}

/* field: guest/40 */
ON_A_READY_MANAGER(what_cannot_be_a_group_is_refused_and_changes_nothing)
{
	static const Words rows[] = {
		FORGET("pair0", ),
		DECLARE("other", B, C, .error = "InvalidConfig", .words = C),
		DECLARE("pair1", A, B, .error = "InvalidConfig", .words = "pair1"),
		DECLARE("a/b", A, B, .error = "InvalidArgument",
			.words = "\"a/b\" is no group name"),
		DECLARE("left", A, "41", .error = "InvalidArgument",
			.words = "\"41\" names no GPU"),
		DECLARE("left", A, "0000:99:00.0", .error = "NotBridged",
			.words = "these GPUs cannot be a group on this host"),
		DECLARE("left", A, B, .with = "nic:0000:99:00.0", .error = "NotBridged",
			.words = "see where the NICs and NVMes of this host are: gpupass topology"),
		/* Half of a bridged pair would reach the memory of the other half's domain. */
		DECLARE("solo0", A, NULL, .error = "LinksUnknown",
			.words = "gpupass declare solo0 0000:41:00.0 --no-bridge-seen"),
		DECLARE("solo0", A, NULL, .no_bridge_seen = true), /* by who looked */
		FORGET("left", .error = "NoSuchGroup", .words = "no declaration names \"left\""),
	};
	_cleanup_free_ char *hand = NULL;

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		expect(rig, &rows[i]);
	assert_int_equal(manager_rig_group(rig, "solo0")->n_gpus, 1);
	/* A file of another name is a person's. */
	manager_rig_write_group(rig, "hand", "[Group]\nName=mine\nGpu=" B "\n");
	expect(rig, &(Words)FORGET("mine", .error = "InvalidArgument",
				   .words = "was not made by gpupass declare"));
	hand = manager_rig_read_group(rig, "hand");
	assert_non_null(hand);
}

ON_A_BARE_MANAGER(when_the_machine_cannot_be_looked_at_nothing_is_declared)
{
	static const FakeFault fault = { .op = FAKE_SCAN, .nth = 1, .error = -EIO };

	manager_rig_connect(rig);
	fake_watch(&rig->rig->fake);
	fake_fail(&rig->rig->fake, &fault);
	expect(rig,
	       &(Words)DECLARE(
		       "left", A, B, .error = "Internal",
		       .words = "cannot declare left: this machine failed: Input/output error"));
}

ON_A_MANAGER(a_group_under_a_domain_keeps_its_name)
{
	_cleanup_(caller_clear) Caller declared = { 0 };
	_cleanup_free_ char *world = NULL;

	rig_assigned(rig->rig);
	world = rig_world(rig->rig);
	manager_rig_connect(rig);
	expect(rig,
	       &(Words)FORGET("pair0", .error = "GroupBusy", .words = "it is assigned to vm42"));
	manager_rig_write_group(rig, "pair0", "");
	ask(rig, &(Words)DECLARE("left", A, B, ), &declared);
	assert_string_equal(declared.error_name, "org.gpupass1.Error.GroupBusy");
	assert_non_null(strstr(declared.message, "is assigned to vm42 as pair0"));
	rig_check_world(rig->rig, world, "refused");
}

ON_A_MANAGER(a_reload_reads_the_files_as_they_are)
{
	manager_rig_connect(rig);
	manager_rig_write_group(rig, "pair0", "[Group]\nName=left\nGpu=" A "\nGpu=" B "\n");
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

static const JobRequest assign = RIG_ASSIGN;

/* pair0 is quarantined, and no group any more. */
static void quarantine_and_forget(ManagerRig *rig)
{
	const Bdf functions[] = { bdf_of(A), bdf_of(B) };

	claims_add_quarantine(rig->manager->place.job.claims, "pair0", functions, 2, NULL, "stuck");
	expect(rig, &(Words)FORGET("pair0", ));
	expect(rig, &(Words)FORGET("pair1", ));
}

/* What is done with that group would be the end of the other one's quarantine. */
ON_A_READY_MANAGER(while_a_name_is_quarantined_other_gpus_do_not_get_it)
{
	quarantine_and_forget(rig);
	expect(rig, &(Words)DECLARE("pair0", C, D, .error = "Quarantined",
				    .words = "is quarantined, and was another one: it had " A));
	expect(rig, &(Words)DECLARE("other", C, D, ));
}

ON_A_READY_MANAGER(where_groups_d_gives_a_quarantined_name_to_others_no_job_begins_on_them)
{
	static const char text[] = "[Group]\nName=pair0\nGpu=" C "\nGpu=" D "\n";

	quarantine_and_forget(rig);
	manager_rig_write_group(rig, "pair0", text);
	manager_reload(rig->manager);
	manager_rig_settle(rig);
	fake_watch(&rig->rig->fake);
	assert_int_equal(manager_rig_run(rig, &assign), JOB_FAILED);
	assert_string_equal(manager_job(rig->manager, 1)->error_name,
			    "org.gpupass1.Error.Quarantined");
	assert_non_null(strstr(manager_job(rig->manager, 1)->message, "gpupass clear pair0"));
	assert_int_equal(fake_write_calls(&rig->rig->fake), 0);
}

/* promise O3 */
ON_A_READY_MANAGER(a_group_is_not_changed_under_a_job_that_has_it_and_others_are)
{
	_cleanup_(caller_clear) Caller refused = { 0 };
	_cleanup_free_ char *file = NULL;

	manager_rig_begin_and_hold(rig, &assign);
	ask(rig, &(Words)FORGET("pair0", ), &refused);
	assert_string_equal(refused.error_name, "org.gpupass1.Error.GroupBusy");
	assert_non_null(strstr(refused.message, "cannot forget pair0: job 1 has pair0 in hand"));
	file = manager_rig_read_group(rig, "pair0");
	assert_non_null(file);
	expect(rig, &(Words)FORGET("pair1", ));
	expect(rig, &(Words)DECLARE("other", C, D, ));
	manager_rig_let_go();
	rig_wait_for(rig->mailbox, &rig->has_ended);
	assert_true(manager_rig_was_told(rig, "ended 1 done"));
}

/* promise O3 */
ON_A_READY_MANAGER(of_a_job_and_a_withdrawal_of_its_group_one_goes_on)
{
	_cleanup_(caller_clear) Caller caller = { 0 };
	_cleanup_free_ char *file = NULL;

	/* The job's thread may be anywhere. */
	manager_rig_begin(rig, &assign);
	ask(rig, &(Words)FORGET("pair0", ), &caller);
	rig_wait_for(rig->mailbox, &rig->has_ended);
	assert_true(manager_rig_was_told(rig, "ended 1 done") == (caller.error_name != NULL));
	if (caller.error_name)
		assert_string_equal(caller.error_name, "org.gpupass1.Error.GroupBusy");
	file = manager_rig_read_group(rig, "pair0");
	assert_true((file != NULL) == (caller.error_name != NULL));
}
