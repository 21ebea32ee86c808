/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the guest sees of the host's distances stays as it was asked for, until it is released. */
#include "rig/test.h"

#include <string.h>

#include "core/drift/drift.h"
#include "job/drift-look.h"
#include "rig/job-rig.h"
#include "util/text.h"
#include "util/xalloc.h"

#define EXPANDER "model=\"pcie-expander-bus\""
#define MEMBER_0 "bus=\"0x08\" slot=\"0x00\" function=\"0x0\""
#define MEMBER_2 "bus=\"0x0a\" slot=\"0x00\" function=\"0x0\""
/* A port of the operator's, below an expander with the lowest number that there is. */
#define LOW_EXPANDER                                                                               \
	"<controller type='pci' index='30' model='pcie-expander-bus'><target busNr='1'/>"          \
	"<address type='pci' domain='0' bus='0' slot='0x11' function='0'/></controller></devices>"

#define CELLS                                                                                      \
	"<numa><cell id=\"0\" cpus=\"0\"/><cell id=\"1\" cpus=\"1\"/></numa></cpu>"                \
	"<numatune><memnode cellid=\"0\" mode=\"strict\" nodeset=\"0\"/></numatune>"

#define TO(which)                                                                                  \
	assign_request("vm42", "pair0", .plan.asks_topology = true, .plan.topology = which)
#define MIRRORED TO(TOPOLOGY_MIRROR)
#define FLAT TO(TOPOLOGY_FLAT)

static const char *definition(Rig *rig)
{
	return fake_domain(&rig->fake, "vm42")->config_xml;
}

static void edit(Rig *rig, const char *old, const char *new)
{
	const char *text = definition(rig), *at = strstr(text, old);
	_cleanup_free_ char *edited = NULL;

	if (!at)
		fail_msg("there is no %s in:\n%s", old, text);
	edited = strf("%.*s%s%s", (int)(at - text), text, new, at + strlen(old));
	fake_set_config(&rig->fake, "vm42", edited);
}

/* Its only finding has these words; NULL: there is none. */
static void expect_drift(Rig *rig, const char *words)
{
	_cleanup_(drift_freep) Drift *drift = NULL;

	assert_int_equal(drift_look(&rig->place, NULL, &drift), 0);
	if (drift->n_items != (words != NULL))
		fail_msg("%zu findings: %s", drift->n_items,
			 drift->n_items > 0 ? drift->items[0].what : "");
	if (words && !strstr(drift->items[0].what, words))
		fail_msg("%s", drift->items[0].what);
}

static void expect_recorded(Rig *rig, Topology topology)
{
	_cleanup_(assignments_freep) Assignments *all = assignment_store_load(&rig->store);

	assert_int_equal(all->n_items, 1);
	assert_int_equal(all->items[0]->topology, topology);
	assert_int_equal(strstr(definition(rig), EXPANDER) != NULL, topology == TOPOLOGY_MIRROR);
}

static void mirrored(Rig *rig)
{
	rig_shut_off(rig);
	rig_must(rig, &MIRRORED);
	fake_watch(&rig->fake);
	expect_recorded(rig, TOPOLOGY_MIRROR);
}

ON_A_RIG(it_stays_as_it_was_asked_for_and_a_release_takes_all_of_it_out)
{
	_cleanup_free_ char *before = NULL;

	rig_shut_off(rig);
	before = rig_world(rig);
	rig_must(rig, &MIRRORED);
	fake_watch(&rig->fake);
	expect_recorded(rig, TOPOLOGY_MIRROR);
	expect_drift(rig, NULL);
	rig_must(rig, &MIRRORED);
	assert_false(rig->last.changed);
	rig_must(rig, &ASSIGN);
	assert_false(rig->last.changed);
	rig_must(rig, &RELEASE);
	rig_check_world(rig, before, "released");
}

/* libvirt has the VF, an interface, before the hostdevs. */
TEST(a_group_with_a_vf_is_mirrored)
{
	_cleanup_(rig_freep) Rig *rig = rig_new();
	_cleanup_free_ char *before = NULL;

	rig_lacks_vf(rig);
	rig_must(rig, &PREPARE);
	before = xstrdup(definition(rig));
	rig_must(rig, &MIRRORED);
	expect_recorded(rig, TOPOLOGY_MIRROR);
	assert_true(strstr(definition(rig), "<interface") < strstr(definition(rig), "<hostdev"));
	expect_drift(rig, NULL);
	rig_must(rig, &RELEASE);
	assert_true(domain_xml_equivalent(before, definition(rig)));
}

ON_A_RIG(another_topology_is_defined_in_its_place)
{
	_cleanup_free_ char *before = NULL, *flat = NULL;

	rig_shut_off(rig);
	before = rig_world(rig);
	rig_must(rig, &ASSIGN);
	fake_watch(&rig->fake);
	expect_recorded(rig, TOPOLOGY_FLAT);
	flat = xstrdup(definition(rig));
	rig_must(rig, &MIRRORED);
	expect_recorded(rig, TOPOLOGY_MIRROR);
	expect_drift(rig, NULL);
	rig_must(rig, &FLAT);
	expect_recorded(rig, TOPOLOGY_FLAT);
	expect_drift(rig, NULL);
	assert_string_equal(flat, definition(rig));
	rig_must(rig, &FLAT);
	assert_false(rig->last.changed);
	rig_must(rig, &RELEASE);
	rig_check_world(rig, before, "released");
}

static void hang_elsewhere(Rig *rig)
{
	edit(rig, MEMBER_2, "bus=\"0x00\" slot=\"0x15\" function=\"0x0\"");
}

static void hang_beside(Rig *rig)
{
	edit(rig, MEMBER_2, "bus=\"0x08\" slot=\"0x01\" function=\"0x0\"");
}

static void lose_mark_of_controller(Rig *rig)
{
	edit(rig, "ua-gpupass-pair0-port0", "ua-mine");
}

static void lose_controller(Rig *rig)
{
	edit(rig, "index=\"9\" " EXPANDER, "index=\"9\" model=\"pcie-root-port\"");
}

TEST(a_tree_that_was_edited_is_defined_again)
{
	static const struct {
		void (*lose)(Rig *rig);
		const char *words;
	} rows[] = {
		{ hang_elsewhere, "0000:61:00.0 is not in a tree" },
		{ hang_beside, "are NODE on the host, and would be PIX in the guest" },
		{ lose_mark_of_controller, "0000:41:00.0 is not in a tree" },
		{ lose_controller, "0000:61:00.0 is not in a tree" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_freep) Rig *rig = rig_new();

		mirrored(rig);
		rows[i].lose(rig);
		expect_drift(rig, rows[i].words);
		rig_must(rig, &RECONCILE);
		rig_check_guests(rig, "reconcile");
		expect_drift(rig, NULL);
		rows[i].lose(rig);
		rig_must(rig, &ASSIGN);
		expect_recorded(rig, TOPOLOGY_MIRROR);
		expect_drift(rig, NULL);
	}
}

ON_A_RIG(a_tree_that_nobody_asked_for_is_told_and_taken_out)
{
	_cleanup_(assignments_freep) Assignments *all = NULL;

	mirrored(rig);
	all = assignment_store_load(&rig->store);
	all->items[0]->topology = TOPOLOGY_FLAT;
	assert_int_equal(assignment_store_save(&rig->store, all->items[0]), 0);
	expect_drift(rig, "with the topology flat: 0000:41:00.0 is in a tree");
	rig_must(rig, &RECONCILE);
	expect_recorded(rig, TOPOLOGY_FLAT);
	expect_drift(rig, NULL);
}

ON_A_RIG(a_lost_record_is_written_with_what_the_definition_has)
{
	mirrored(rig);
	rig_lose_record(rig);
	rig_must(rig, &RECONCILE);
	expect_recorded(rig, TOPOLOGY_MIRROR);
}

ON_A_RIG(a_group_that_the_definition_lost_comes_back_with_its_tree)
{
	mirrored(rig);
	rig_note_world(rig);
	for (size_t i = 0; i < ELEMENTS(pair0_bdfs); i++)
		fake_unplug(&rig->fake, "vm42", pair0_bdfs[i]);
	rig_must(rig, &RECONCILE);
	rig_check_noted(rig);
}

/* ---- a running guest ---- */

ON_A_RIG(a_running_guest_gets_none)
{
	rig_running_with_room(rig);
	rig_fails(rig, &MIRRORED, GPUPASS_ERROR_UNSUPPORTED_DOMAIN, "cannot be hotplugged");
}

ON_A_RIG(the_definition_of_a_running_guest_gets_it_for_the_next_start)
{
	rig_running_with_room(rig);
	rig_must(rig, &assign_request("vm42", "pair0", .plan.asks_topology = true,
				      .plan.topology = TOPOLOGY_MIRROR, .plan.config = true));
	expect_recorded(rig, TOPOLOGY_MIRROR);
	expect_drift(rig, NULL);
	/* Without a word of it, too, no guest gets it flat. */
	rig_fails(rig, &ASSIGN, GPUPASS_ERROR_UNSUPPORTED_DOMAIN, "cannot be hotplugged");
}

ON_A_RIG(a_running_guest_keeps_what_it_has)
{
	mirrored(rig);
	fake_start(&rig->fake, "vm42");
	rig_must(rig, &ASSIGN);
	assert_false(rig->last.changed);
	rig_must(rig, &FLAT);
	expect_recorded(rig, TOPOLOGY_FLAT);
	rig_check_guests(rig, "flat");
	rig_expect_devices(rig, "vm42", 4, 4);
	rig_fails(rig, &MIRRORED, GPUPASS_ERROR_UNSUPPORTED_DOMAIN, "cannot be hotplugged");
}

/* ---- undoing ---- */

static void retitle(Rig *rig)
{
	fake_retitle(&rig->fake, "vm42", "edited meanwhile");
}

static void take_the_room(Rig *rig)
{
	edit(rig, "</devices>", LOW_EXPANDER);
}

static void take_out_cells(Rig *rig)
{
	edit(rig, "<cell id=\"0\" cpus=\"0\"/>", "");
}

static void fail_to_release(Rig *rig, void (*meanwhile)(Rig *rig))
{
	rig_at(rig, FAKE_RESET, 1, meanwhile);
	rig->fake.reset_fault = (FakeResetFault){ .bdf = pair0_bdfs[0], .result = RESET_FAILED };
	assert_int_equal(rig_try(rig, &RELEASE)->state, JOB_FAILED);
}

ON_A_RIG(a_release_undone_beside_an_editor_gives_the_tree_back)
{
	mirrored(rig);
	fail_to_release(rig, retitle);
	assert_non_null(strstr(definition(rig), "edited meanwhile"));
	expect_recorded(rig, TOPOLOGY_MIRROR);
	expect_drift(rig, NULL);
}

/* The group is back, flat; drift tells, and nothing of it is mended before there is room. */
ON_A_RIG(a_tree_that_has_no_room_any_more_is_told)
{
	mirrored(rig);
	fail_to_release(rig, take_the_room);
	rig_expect_devices(rig, "vm42", 4, 0);
	expect_drift(rig, "0000:41:00.0 is not in a tree");
	rig_fails(rig, &RECONCILE, GPUPASS_ERROR_UNSUPPORTED_DOMAIN, "bus numbers");
}

/* libvirt takes no expander of a cell that there is not. */
ON_A_RIG(a_tree_whose_cells_are_gone_is_told)
{
	rig->fake.two_nodes = true;
	rig_shut_off(rig);
	edit(rig, "</cpu>", CELLS);
	rig_must(rig, &MIRRORED);
	fake_watch(&rig->fake);
	assert_non_null(strstr(definition(rig), "<node>0</node>"));
	expect_drift(rig, NULL);
	fail_to_release(rig, take_out_cells);
	rig_expect_devices(rig, "vm42", 4, 0);
	assert_null(strstr(definition(rig), "<node>"));
	expect_drift(rig, "0000:41:00.0 is not in a tree");
}

ON_A_RIG(a_tree_that_was_edited_is_given_back_by_nobody)
{
	mirrored(rig);
	hang_beside(rig);
	fail_to_release(rig, retitle);
	rig_expect_devices(rig, "vm42", 4, 0);
	expect_drift(rig, "0000:41:00.0 is not in a tree");
}

TEST(another_topology_is_undone_to_the_one_before)
{
	for (unsigned late = 0; late < 2; late++) {
		const FakeFault fault = { .op = FAKE_DEFINE,
					  .nth = 1,
					  .late = late,
					  .problem = GPUPASS_ERROR_DEFINE_FAILED };
		_cleanup_(rig_freep) Rig *rig = rig_new();

		mirrored(rig);
		fake_fail(&rig->fake, &fault);
		rig_fails(rig, &FLAT, GPUPASS_ERROR_DEFINE_FAILED, "");
	}
}

ON_A_RIG(another_topology_is_undone_beside_an_editor)
{
	const FakeFault fault = { .op = FAKE_GET, .nth = 4, .problem = GPUPASS_ERROR_INTERNAL };

	mirrored(rig);
	fake_fail(&rig->fake, &fault);
	rig_at(rig, FAKE_GET, 4, retitle);
	assert_int_equal(rig_try(rig, &FLAT)->state, JOB_FAILED);
	assert_non_null(strstr(definition(rig), "edited meanwhile"));
	expect_recorded(rig, TOPOLOGY_MIRROR);
	expect_drift(rig, NULL);
}

static void move_a_member(Rig *rig)
{
	edit(rig, MEMBER_0, "bus=\"0x0a\" slot=\"0x01\" function=\"0x0\"");
}

ON_A_RIG(a_definition_that_lacks_the_tree_is_no_success)
{
	rig_shut_off(rig);
	rig_at(rig, FAKE_GET, 4, move_a_member);
	rig_try(rig, &MIRRORED);
	assert_int_equal(rig->last.state, JOB_FAILED);
	assert_non_null(
		strstr(rig->last.message, "does not have 0000:41:00.0 where it was defined"));
}
