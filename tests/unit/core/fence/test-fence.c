/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon writes into the fence of each group, and which domains have what they should not.
 * How the hook judges by it is tests/bus/test-hook's.
 */
#include "rig/test.h"

#include "core/fence/make.h"
#include "core/fence/report.h"
#include "rig/host-model.h"

#define X "00000000-0000-0000-0000-000000000001"
#define Y "00000000-0000-0000-0000-000000000002"
#define A "0000:41:00"
#define B "0000:61:00"
#define C "0000:a1:00"
#define D "0000:c1:00"
#define SINGLE "0000:e1:00"
#define FUNCTIONS(slot) slot ".0", slot ".1"

static const char *const pair0[] = { FUNCTIONS(A), FUNCTIONS(B), NULL };
static const char *const half[] = { FUNCTIONS(A), NULL };
static const char *const display[] = { A ".0", B ".0", NULL };

/* pair0 of A and B is declared, C and D are candidates, and the board at SINGLE has no NVLink. */
typedef struct Scene {
	HostModel host;
	const char *quarantined; /* a function that a quarantine names; NULL: none */
	bool all_quarantined;
	GpuHealth health;
} Scene;

static Scene scene_new(const char *more)
{
	_cleanup_free_ char *text = strf("[Group]\nName=pair0\nGpu=" A ".0\nGpu=" B ".0\n%s", more);
	Scene s = { 0 };

	s.host = host_new();
	host_gpu(&s.host, A, 0x2230, "nvidia");
	host_gpu(&s.host, B, 0x2230, "nvidia");
	host_gpu(&s.host, C, 0x2204, "nvidia");
	host_gpu(&s.host, D, 0x2204, "nvidia");
	host_gpu(&s.host, "0000:d1:00", 0x2204, "nvidia");
	host_gpu(&s.host, SINGLE, 0x2684, "nvidia");
	host_declare(&s.host, text);
	host_seal(&s.host);
	return s;
}

static void scene_done(Scene *s)
{
	host_done(&s->host);
}

static char *quarantine(const Bdf *function, bool *ret_itself, void *userdata)
{
	const Scene *s = userdata;
	Bdf named = { 0 };

	*ret_itself = s->quarantined && bdf_parse(s->quarantined, &named) == 0 &&
		      bdf_equal(&named, function);
	return *ret_itself || s->all_quarantined ? strdup("its reset failed") : NULL;
}

static Fence *make(Scene *s)
{
	if (!s->host.groups)
		host_resolve(&s->host);
	return fence_make(&(FenceFacts){ .groups = s->host.groups,
					 .gpus = s->host.set,
					 .assignments = s->host.assignments,
					 .declarations = s->host.declarations,
					 .uses = s->host.uses,
					 .health = &s->health,
					 .n_health = s->health.bdf.bus > 0,
					 .boot_id = "boot",
					 .quarantine = quarantine,
					 .userdata = s });
}

static const FenceGroup *group_of(const Fence *fence, const char *address)
{
	const Bdf bdf = bdf_of(address);

	return fence_find(fence, &bdf, NULL);
}

static bool is_other(const Fence *fence, const char *address)
{
	const Bdf bdf = bdf_of(address);

	return fence_find_other(fence, &bdf) != NULL;
}

TEST(groups_have_all_functions_and_the_rest_is_listed)
{
	_cleanup_(fence_freep) Fence *fence = NULL;
	const FenceGroup *group;
	_cleanup_(scene_done) Scene s = scene_new("");

	fence = make(&s);
	group = group_of(fence, B ".1");
	assert_non_null(group);
	assert_string_equal(group->name, "pair0");
	assert_int_equal(group->state, FENCE_OPEN);
	assert_int_equal(group->n_functions, 4);
	assert_int_equal(group->n_boards, 2);
	assert_null(group->domain_uuid);
	assert_false(group->foreign_use);
	/* Candidates are no group. */
	assert_null(group_of(fence, C ".0"));
	assert_true(is_other(fence, C ".1") && is_other(fence, SINGLE ".0"));
	assert_false(is_other(fence, A ".0"));
}

TEST(an_assigned_group_names_its_domain)
{
	_cleanup_(fence_freep) Fence *fence = NULL;
	_cleanup_(scene_done) Scene s = scene_new("ForeignUse=yes\n");

	host_assignment(&s.host, "pair0", "vm1", 1, pair0);
	fence = make(&s);
	assert_string_equal(group_of(fence, A ".0")->domain_uuid, X);
	assert_string_equal(group_of(fence, A ".0")->domain_name, "vm1");
	assert_int_equal(group_of(fence, A ".0")->state, FENCE_OPEN);
	assert_true(group_of(fence, A ".0")->foreign_use);
}

typedef struct ClosedCase {
	const char *name;
	void (*prepare)(Scene *s);
	const char *address;
	FenceState state;
	const char *reason;
} ClosedCase;

static void quarantined(Scene *s)
{
	s->quarantined = B ".0";
}

static void all_quarantined(Scene *s)
{
	s->all_quarantined = true;
}

static void single_quarantined(Scene *s)
{
	s->quarantined = SINGLE ".0";
}

static void lost(Scene *s)
{
	s->health =
		(GpuHealth){ .bdf = bdf_of(B ".0"), .config = { .read = true, .all_ones = true } };
}

static void other_board(Scene *s)
{
	host_assignment(&s->host, "pair0", "vm1", 1, pair0)->functions[0].device = 0x2231;
}

static void part_assigned(Scene *s)
{
	host_assignment(&s->host, "pair0", "vm1", 1, half);
}

static void unread_about_it(Scene *s)
{
	static const char text[] = "{ \"functions\": [ \"0000:41:00.0\", torn";

	record_faults_add(&s->host.assignments->faults, &assignment_kind, Y ".json", -EBADMSG,
			  "torn", text, strlen(text));
}

static void unread_about_any(Scene *s)
{
	record_faults_add(&s->host.assignments->faults, &assignment_kind, Y ".json", -EBADMSG,
			  "torn", "{", 1);
}

static void record_of_missing_boards(Scene *s)
{
	static const char *const gone[] = { "0000:f1:00.0", NULL };

	host_assignment(&s->host, "pair9", "vm1", 1, gone);
}

static const ClosedCase closed[] = {
	{ "a quarantine", quarantined, A ".0", FENCE_QUARANTINED, "its reset failed" },
	{ "a quarantine of everything", all_quarantined, A ".0", FENCE_QUARANTINED, "its reset" },
	{ "of everything, a candidate", all_quarantined, C ".0", FENCE_QUARANTINED, "its reset" },
	{ "a quarantine of a single GPU", single_quarantined, SINGLE ".1", FENCE_QUARANTINED,
	  "its reset" },
	{ "a lost board", lost, A ".0", FENCE_UNSAFE, "0000:61:00.0 is lost" },
	{ "another board", other_board, A ".0", FENCE_UNSAFE, "is another board now" },
	{ "a part in a record", part_assigned, B ".0", FENCE_UNSAFE, "was not assigned with it" },
	{ "an unread record of it", unread_about_it, A ".0", FENCE_UNREAD, "cannot be understood" },
	{ "an unread record", unread_about_any, A ".0", FENCE_UNREAD, "cannot be understood" },
	{ "an unread record, a candidate", unread_about_any, C ".0", FENCE_UNREAD, "cannot be" },
	{ "a record of boards that are missing", record_of_missing_boards, "0000:f1:00.0",
	  FENCE_UNSAFE, "was not there" },
};

/* promise T7 */
TEST(what_must_not_be_used_is_closed_and_says_why)
{
	for (size_t i = 0; i < ELEMENTS(closed); i++) {
		_cleanup_(fence_freep) Fence *fence = NULL;
		const FenceGroup *group;
		_cleanup_(scene_done) Scene s = scene_new("");

		closed[i].prepare(&s);
		fence = make(&s);
		group = group_of(fence, closed[i].address);
		if (!group || group->state != closed[i].state ||
		    !strstr(str_or_empty(group->reason), closed[i].reason))
			fail_msg("%s: %s, %s", closed[i].name,
				 group ? fence_state_to_string(group->state) : "no group",
				 group ? str_or_empty(group->reason) : "");
		if (is_other(fence, closed[i].address))
			fail_msg("%s: it is in both lists", closed[i].name);
	}
}

TEST(what_has_a_readable_record_is_not_closed_by_an_unread_one)
{
	_cleanup_(fence_freep) Fence *fence = NULL;
	_cleanup_(scene_done) Scene s = scene_new("");

	host_assignment(&s.host, "pair0", "vm1", 1, pair0);
	unread_about_any(&s);
	fence = make(&s);
	assert_int_equal(group_of(fence, A ".0")->state, FENCE_OPEN);
}

TEST(a_board_shows_the_domain_that_has_it)
{
	_cleanup_(fence_freep) Fence *fence = NULL;
	_cleanup_(scene_done) Scene s = scene_new("");

	host_domain(&s.host, "vm1", true, half);
	fence = make(&s);
	assert_int_equal(group_of(fence, A ".0")->boards[0].tenant, TENANT_DIRTY);
	assert_string_equal(group_of(fence, A ".0")->boards[0].domain_uuid, X);
	assert_int_equal(group_of(fence, A ".0")->boards[1].tenant, TENANT_NONE);
}

/* ---- what is written again ---- */

static void later(Fence *fence)
{
	fence->generation++;
	fence->written_usec++;
}

/* As it is read back: what is no plain text was written as one. */
static void read_back(Fence *fence)
{
	_cleanup_free_ char *text = fence_to_json(fence);
	_cleanup_(fence_freep) Fence *back = NULL;

	assert_int_equal(fence_from_json(text, strlen(text), &back, NULL), 0);
	free(fence->groups[0].domain_name);
	fence->groups[0].domain_name = strdup(back->groups[0].domain_name);
	assert_string_equal(fence->groups[0].domain_name, "vm?1");
}

static void other_boot(Fence *fence)
{
	free(fence->boot_id);
	fence->boot_id = strdup("another");
}

static void other_name(Fence *fence)
{
	fence->groups[0].domain_name[0] = 'w';
}

static void no_name(Fence *fence)
{
	free(fence->groups[0].domain_name);
	fence->groups[0].domain_name = NULL;
}

static void other_uuid(Fence *fence)
{
	fence->groups[0].domain_uuid[0] = 'f';
}

static void made_busy(Fence *fence)
{
	fence->groups[0].state = FENCE_BUSY;
}

static void opened(Fence *fence)
{
	fence->groups[0].state = FENCE_OPEN;
}

static void foreign(Fence *fence)
{
	fence->groups[0].foreign_use = true;
}

static void other_id(Fence *fence)
{
	fence->groups[0].functions[3].subsystem_device ^= 1;
}

static void other_address(Fence *fence)
{
	fence->groups[0].functions[3].bdf.function ^= 4;
}

static void other_tenant(Fence *fence)
{
	fence->groups[0].boards[1].tenant = TENANT_CLEAN;
}

static void fewer_others(Fence *fence)
{
	assert_true(fence->n_others > 0);
	fence->n_others--;
}

static const struct {
	const char *name;
	void (*edit)(Fence *fence);
	bool same;
	bool busy; /* pair0 is, in both */
} edits[] = {
	{ "nothing", NULL, true, false },
	{ "when it was written", later, true, false },
	{ "a name that is not plain", read_back, true, false },
	{ "the boot", other_boot, false, false },
	{ "a domain's name", other_name, false, false },
	{ "its absence", no_name, false, false },
	{ "a domain's UUID", other_uuid, false, false },
	{ "a state", made_busy, false, false },
	{ "foreign use", foreign, false, false },
	{ "an id", other_id, false, false },
	{ "an address", other_address, false, false },
	{ "a tenant", other_tenant, false, false },
	{ "a GPU in no group", fewer_others, false, false },
	{ "a domain, of a busy group", no_name, true, true },
	{ "a tenant, of a busy group", other_tenant, true, true },
	{ "an address, of a busy group", other_address, false, true },
	{ "the end of a job", opened, false, true },
};

TEST(a_fence_is_written_again_when_it_says_something_else)
{
	for (size_t i = 0; i < ELEMENTS(edits); i++) {
		_cleanup_(fence_freep) Fence *fence = NULL, *other = NULL;
		_cleanup_(scene_done) Scene s = scene_new("");

		host_assignment(&s.host, "pair0", "vm\t1", 1, pair0);
		fence = make(&s);
		if (edits[i].busy)
			fence->groups[0].state = FENCE_BUSY;
		other = fence_copy(fence);
		if (edits[i].edit)
			edits[i].edit(other);
		if (fence_equal(fence, other) != edits[i].same)
			fail_msg("%s", edits[i].name);
		other->n_others = fence->n_others;
	}
}

/* ---- the report ---- */

typedef struct ReportCase {
	const char *name;
	const char *const *functions; /* of vm1 */
	bool active, assigned, foreign_use;
	const char *what; /* NULL: nothing is found */
} ReportCase;

static const ReportCase reports[] = {
	{ "its own", pair0, true, true, false, NULL },
	{ "half, defined", half, false, false, false,
	  "SplitGroup: domain vm1 (" X ") is defined "
	  "with 0000:41:00.0 of pair0 and not with "
	  "0000:61:00.0" },
	{ "half, running", half, true, false, false, "runs with 0000:41:00.0 of pair0" },
	{ "half of its own", half, false, true, false, "SplitGroup" },
	{ "without the audio functions", display, false, false, false, "not with 0000:41:00.1" },
	{ "another's", pair0, true, false, false, "runs with pair0, which is not assigned" },
	{ "for foreign use", pair0, true, false, true, NULL },
	{ "half, for foreign use", half, true, false, true, "SplitGroup" },
};

TEST(each_domain_that_has_what_it_should_not_is_reported)
{
	for (size_t i = 0; i < ELEMENTS(reports); i++) {
		const ReportCase *c = &reports[i];
		_cleanup_(fence_report_freep) FenceReport *report = NULL;
		_cleanup_(scene_done) Scene s = scene_new(c->foreign_use ? "ForeignUse=yes\n" : "");

		host_domain(&s.host, "vm1", c->active, c->functions);
		if (c->assigned)
			host_assignment(&s.host, "pair0", "vm1", 1, pair0);
		host_resolve(&s.host);
		report = fence_report(s.host.groups, s.host.uses, s.host.assignments,
				      s.host.declarations);
		if (report->n_items != (c->what ? 1 : 0))
			fail_msg("%s: %zu findings", c->name, report->n_items);
		if (c->what && !strstr(report->items[0].what, c->what))
			fail_msg("%s: %s", c->name, report->items[0].what);
		if (c->what)
			assert_true(fence_report_has(report, &report->items[0]));
	}
}

TEST(every_domain_with_a_part_is_named)
{
	_cleanup_(fence_report_freep) FenceReport *report = NULL;
	static const char *const other[] = { FUNCTIONS(B), NULL };
	_cleanup_(scene_done) Scene s = scene_new("");

	host_domain(&s.host, "vm1", false, half);
	host_domain(&s.host, "vm2", false, other)->hostdevs[0].argument = true;
	host_domain(&s.host, "vm3", true, half);
	host_resolve(&s.host);
	report = fence_report(s.host.groups, s.host.uses, s.host.assignments, s.host.declarations);
	assert_int_equal(report->n_items, 3);
	for (size_t i = 0; i < 3; i++)
		assert_true(report->items[i].split);
	assert_string_equal(report->items[1].domain_name, "vm2");
	assert_string_equal(report->items[1].functions, "0000:61:00.0,0000:61:00.1");
	assert_string_equal(report->items[0].remedy,
			    "take the hostdevs out of that domain: virsh edit vm1");
	assert_string_equal(report->items[1].remedy,
			    "take the QEMU arguments out of that domain: virsh edit vm2");
}

/* fault 18 */
TEST(a_vgpu_of_a_board_of_a_group_is_reported)
{
	_cleanup_(fence_report_freep) FenceReport *report = NULL;
	static const char *const none[] = { NULL };
	PciMdev *mdev;
	_cleanup_(scene_done) Scene s = scene_new("");

	mdev = GROW(s.host.snapshot->mdevs, s.host.snapshot->n_mdevs);
	mdev->uuid = strdup("4b20d080-1b54-4048-85b3-a6a62d165c01");
	mdev->parent = bdf_of(B ".0");
	domain_use_add_mdev(host_domain(&s.host, "vm1", false, none), mdev->uuid, false, true);
	host_domain(&s.host, "vm2", false, none);
	host_resolve(&s.host);
	report = fence_report(s.host.groups, s.host.uses, s.host.assignments, s.host.declarations);
	assert_int_equal(report->n_items, 1);
	assert_string_equal(
		report->items[0].what,
		"domain vm1 (" X ") is defined with vGPU "
		"4b20d080-1b54-4048-85b3-a6a62d165c01 of 0000:61:00.0, a board of pair0");
	assert_string_equal(report->items[0].functions, "0000:61:00.0");
	assert_false(report->items[0].split || report->items[0].running);
}
