/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "rig/bdf.h"
#include "store/vf-watch.h"

#define VF "0000:42:00.1"

/* One VF of one group, and what the watch says of it. */
typedef struct Scene {
	VfWatch *watch;
	PciFunction function;
	Companion companion;
	Group group;
	GroupSet groups;
} Scene;

static void open_scene(Scene *s)
{
	*s = (Scene){ .watch = vf_watch_new(), .function = { .bdf = bdf_of(VF) } };
	s->companion = (Companion){ .member = { .kind = MEMBER_VF, .bdf = bdf_of(VF) },
				    .function = &s->function };
	s->group = (Group){ .companions = &s->companion, .n_companions = 1 };
	s->groups = (GroupSet){ .items = &s->group, .n_items = 1 };
}

static void add(Scene *s)
{
	vf_watch_add(s->watch, &s->function.bdf, 1);
}

static void add_twice(Scene *s)
{
	add(s);
	add(s);
}

static void note(Scene *s, bool spoof_check, bool trusted)
{
	const NicUse use = { .bdf = s->function.bdf,
			     .vf_read = true,
			     .spoof_check = spoof_check,
			     .trusted = trusted };

	vf_watch_note(s->watch, &use, 1);
}

static void seen_ruled(Scene *s)
{
	note(s, true, false);
}

static void seen_unruled(Scene *s)
{
	add_twice(s);
	note(s, false, false);
}

static void seen_trusted(Scene *s)
{
	add(s);
	note(s, true, true);
}

static void seen_by_nobody(Scene *s)
{
	const NicUse use = { .bdf = s->function.bdf, .vf_why = (char *)"its NIC does not answer" };

	add(s);
	vf_watch_note(s->watch, &use, 1);
}

static void forgotten(Scene *s)
{
	add(s);
	vf_watch_forget(s->watch, NULL, NULL);
}

static void forgotten_of(Scene *s, const char *nic)
{
	PciFunction *functions[] = { &s->function };
	const Bdf physical = bdf_of(nic);
	const PciSnapshot snapshot = { .functions = functions, .n_functions = 1 };

	add(s);
	s->function.virtual_function = true;
	s->function.physical = bdf_of("0000:42:00.0");
	vf_watch_forget(s->watch, &snapshot, &physical);
}

static void of_its_nic(Scene *s)
{
	forgotten_of(s, "0000:42:00.0");
}

static void of_another_nic(Scene *s)
{
	forgotten_of(s, "0000:43:00.0");
}

/* For a moment, which this saw. */
static void away(Scene *s, bool scanned)
{
	add(s);
	s->companion.function = NULL;
	vf_watch_settle(s->watch, &s->groups, scanned);
	assert_false(s->companion.unruled);
	s->companion.function = &s->function;
}

static void away_in_a_scan(Scene *s)
{
	away(s, true);
}

static void away_in_an_old_scan(Scene *s)
{
	away(s, false);
}

static void on_vfio(Scene *s)
{
	s->function.driver = (char *)"vfio-pci";
}

static void of_the_host(Scene *s)
{
	s->function.driver = (char *)"iavf";
}

static void whole_nic(Scene *s)
{
	s->companion.member.kind = MEMBER_NIC;
}

static void another(Scene *s)
{
	vf_watch_add(s->watch, (Bdf[]){ bdf_of("0000:42:00.2") }, 1);
}

static void nothing(_unused_ Scene *s)
{
}

/* promises M3 */
TEST(a_vf_is_unruled_until_it_was_seen_ruled_since_it_appeared)
{
	static const struct {
		const char *name;
		void (*arrange)(Scene *s);
		bool unruled;
	} rows[] = {
		{ "nobody has looked", nothing, true },
		{ "another was ruled", another, true },
		{ "this daemon ruled it", add, false },
		{ "it was seen ruled", seen_ruled, false },
		{ "and then unruled", seen_unruled, true },
		{ "and then trusted", seen_trusted, true },
		{ "and then nobody could say", seen_by_nobody, true },
		{ "VFs were made", forgotten, true },
		{ "VFs of its NIC were made", of_its_nic, true },
		{ "VFs of another NIC were made", of_another_nic, false },
		{ "it was away", away_in_a_scan, true },
		{ "it was not there yet", away_in_an_old_scan, false },
		{ "something else may have bound it", on_vfio, true },
		{ "the host has it", of_the_host, true },
		{ "it is no VF", whole_nic, false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		Scene s;

		open_scene(&s);
		rows[i].arrange(&s);
		vf_watch_settle(s.watch, &s.groups, true);
		if (s.companion.unruled != rows[i].unruled)
			fail_msg("%s", rows[i].name);
		vf_watch_free(s.watch);
	}
}

TEST(without_a_watch_no_vf_is_unruled)
{
	Scene s;

	open_scene(&s);
	vf_watch_free(s.watch);
	vf_watch_add(NULL, &s.function.bdf, 1);
	vf_watch_note(NULL, NULL, 0);
	vf_watch_forget(NULL, NULL, NULL);
	vf_watch_settle(NULL, &s.groups, true);
	assert_false(s.companion.unruled);
}
