/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the daemon writes into the fence of each group, and which domains have what they should not.
 * How the hook judges by it is tests/bus/test-hook's.
 */
#include "rig/test.h"

#include "core/fence/judge.h"
#include "core/fence/make.h"
#include "core/fence/report.h"
#include "rig/host-model.h"
#include "util/json.h"

#define X "00000000-0000-0000-0000-000000000001"
#define Y "00000000-0000-0000-0000-000000000002"
#define A "0000:41:00"
#define B "0000:61:00"
#define C "0000:a1:00"
#define D "0000:c1:00"
#define SINGLE "0000:e1:00"
#define NIC "0000:42:00.0"
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
	TenantMark mark;
	TenantFile file;
	Tenants tenants; /* that one, or none */
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
					 .uses = s->host.uses,
					 .tenants = &s->tenants,
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

/* How a group is not as it should be, and what the fence says of this address. */
typedef struct ClosedCase {
	const char *name;
	const char *quarantined;
	bool all_quarantined;
	const char *lost;	     /* a board of which all reads are ones */
	const char *const *assigned; /* NULL: nothing */
	bool another_board;	     /* than the one that was assigned */
	bool unready;
	bool dirty;	    /* the NIC is, in no group */
	const char *unread; /* what a record that cannot be read says; NULL: there is none */
	const char *address;
	FenceState state;
	const char *reason;
} ClosedCase;

static const char *const pair0_and_nic[] = { FUNCTIONS(A), FUNCTIONS(B), NIC, NULL };
static const char *const gone[] = { "0000:f1:00.0", NULL };

#define ABOUT_PAIR0 .unread = "{ \"functions\": [ \"0000:41:00.0\", torn"
#define ABOUT_ANY .unread = "{"
#define CLOSED(where, what, why) .address = where, .state = what, .reason = why

static const ClosedCase closed[] = {
	ROW("a quarantine", .quarantined = B ".0",
	    CLOSED(A ".0", FENCE_QUARANTINED, "its reset failed")),
	ROW("a quarantine of everything", .all_quarantined = true,
	    CLOSED(A ".0", FENCE_QUARANTINED, "its reset")),
	ROW("of everything, a candidate", .all_quarantined = true,
	    CLOSED(C ".0", FENCE_QUARANTINED, "its reset")),
	ROW("a quarantine of a single GPU", .quarantined = SINGLE ".0",
	    CLOSED(SINGLE ".1", FENCE_QUARANTINED, "its reset")),
	ROW("a lost board", .lost = B ".0", CLOSED(A ".0", FENCE_UNSAFE, "0000:61:00.0 is lost")),
	ROW("another board", .assigned = pair0, .another_board = true,
	    CLOSED(A ".0", FENCE_UNSAFE, "is another board now")),
	ROW("a part in a record", .assigned = half,
	    CLOSED(B ".0", FENCE_UNSAFE, "was not assigned with it")),
	ROW("an unread record of it", ABOUT_PAIR0,
	    CLOSED(A ".0", FENCE_UNREAD, "cannot be understood")),
	ROW("an unread record", ABOUT_ANY, CLOSED(A ".0", FENCE_UNREAD, "cannot be understood")),
	ROW("an unread record, a candidate", ABOUT_ANY, CLOSED(C ".0", FENCE_UNREAD, "cannot be")),
	ROW("an unread record, and a readable one", ABOUT_ANY, .assigned = pair0,
	    CLOSED(A ".0", FENCE_OPEN, "")),
	ROW("a quarantine of a NIC that is in no group", .quarantined = NIC,
	    CLOSED(NIC, FENCE_QUARANTINED, "its reset failed")),
	ROW("an unread record of such a NIC", .unread = "{ \"functions\": [ \"" NIC "\", torn",
	    CLOSED(NIC, FENCE_UNREAD, "cannot be understood")),
	ROW("an NVMe that is yet to be erased", .unready = true,
	    CLOSED(B ".0", FENCE_UNSAFE, "yet to be erased")),
	ROW("a NIC that is no longer declared", .assigned = pair0_and_nic,
	    CLOSED(NIC, FENCE_UNSAFE, "is not declared any more")),
	ROW("a record of boards that are missing", .assigned = gone,
	    CLOSED("0000:f1:00.0", FENCE_UNSAFE, "was not there")),
};

static void add_nic(Scene *s, bool vf)
{
	PciFunction *nic = host_function(&s->host, NIC, 0x020000, 0x101d, "mlx5_core");

	nic->virtual_function = vf;
	nic->vendor = 0x15b3;
	gpu_set_free(s->host.set);
	host_seal(&s->host);
}

static void prepare(Scene *s, const ClosedCase *c)
{
	Group *group;

	s->quarantined = c->quarantined;
	s->all_quarantined = c->all_quarantined;
	if (c->lost)
		s->health = (GpuHealth){ .bdf = bdf_of(c->lost),
					 .config = { .read = true, .all_ones = true } };
	if (c->assigned)
		host_assignment(&s->host, c->assigned == gone ? "pair9" : "pair0", "vm1", 1,
				c->assigned);
	if (c->another_board)
		s->host.assignments->items[0]->functions[0].device = 0x2231;
	if (c->unready) {
		host_resolve(&s->host);
		group = host_group(&s->host, "pair0");
		/* One GPU is on another driver besides. */
		group->state = GROUP_DEGRADED;
		group->reason = strdup("it is yet to be erased");
		GROW(group->companions, group->n_companions)->need = COMPANION_TO_ERASE;
	}
	if (c->unread)
		record_faults_add(&s->host.assignments->faults, &assignment_kind, Y ".json",
				  -EBADMSG, "torn", c->unread, strlen(c->unread));
}

/* promise T7 */
TEST(what_must_not_be_used_is_closed_and_says_why)
{
	for (size_t i = 0; i < ELEMENTS(closed); i++) {
		_cleanup_(fence_freep) Fence *fence = NULL;
		const FenceGroup *group;
		_cleanup_(scene_done) Scene s = scene_new("");

		add_nic(&s, false);
		prepare(&s, &closed[i]);
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

/* A change of pair0's fence at this place of its JSON; value NULL: the member goes. */
static const struct {
	const char *name, *place, *value;
	bool same;
	bool busy; /* pair0 is, in both */
} edits[] = {
	/* What is no plain text is written as one. */
	{ "nothing", NULL, NULL, true, false },
	{ "when it was written", "written_usec", "1", true, false },
	{ "how many were written", "generation", "9", true, false },
	{ "the boot", "boot_id", "\"another\"", false, false },
	{ "a domain's name", "groups/0/domain_name", "\"wm?1\"", false, false },
	{ "its absence", "groups/0/domain_name", NULL, false, false },
	{ "a domain's UUID", "groups/0/domain_uuid", "\"" Y "\"", false, false },
	{ "a state", "groups/0/state", "\"busy\"", false, false },
	{ "foreign use", "groups/0/foreign_use", "true", false, false },
	{ "an id", "groups/0/functions/3/subsystem_device", "\"1458\"", false, false },
	{ "an address", "groups/0/functions/3/address", "\"" B ".5\"", false, false },
	{ "a tenant", "groups/0/boards/1/tenant", "\"clean\"", false, false },
	{ "a GPU in no group", "others", "[]", false, false },
	{ "a domain, of a busy group", "groups/0/domain_name", NULL, true, true },
	{ "a tenant, of a busy group", "groups/0/boards/1/tenant", "\"clean\"", true, true },
	{ "an address, of a busy group", "groups/0/functions/3/address", "\"" B ".5\"", false,
	  true },
	{ "the end of a job", "groups/0/state", "\"open\"", false, true },
};

static void set_at(json_t *o, const char *place, const char *value)
{
	_cleanup_strv_ char **keys = NULL;
	size_t last;

	strv_split(place, "/", &keys);
	last = strv_length(keys) - 1;
	for (size_t i = 0; i < last; i++)
		o = json_is_array(o) ? json_array_get(o, (size_t)atoi(keys[i]))
				     : json_object_get(o, keys[i]);
	if (value)
		json_object_set_new(o, keys[last], json_loads(value, JSON_DECODE_ANY, NULL));
	else
		assert_int_equal(json_object_del(o, keys[last]), 0);
}

TEST(a_fence_is_written_again_when_it_says_something_else)
{
	for (size_t i = 0; i < ELEMENTS(edits); i++) {
		_cleanup_(fence_freep) Fence *fence = NULL, *other = NULL;
		_cleanup_(scene_done) Scene s = scene_new("");
		_cleanup_free_ char *text = NULL, *edited = NULL;
		_cleanup_json_ json_t *o = NULL;

		host_assignment(&s.host, "pair0", "vm\t1", 1, pair0);
		fence = make(&s);
		if (edits[i].busy)
			fence->groups[0].state = FENCE_BUSY;
		text = fence_to_json(fence);
		o = json_loads(text, 0, NULL);
		if (edits[i].place)
			set_at(o, edits[i].place, edits[i].value);
		edited = json_dumps(o, 0);
		assert_int_equal(fence_from_json(edited, strlen(edited), &other, NULL), 0);
		if (fence_equal_but(fence, other, NULL) != edits[i].same)
			fail_msg("%s", edits[i].name);
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
		report = fence_report(s.host.groups, s.host.uses, s.host.assignments);
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
	report = fence_report(s.host.groups, s.host.uses, s.host.assignments);
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
	report = fence_report(s.host.groups, s.host.uses, s.host.assignments);
	assert_int_equal(report->n_items, 1);
	assert_string_equal(
		report->items[0].what,
		"domain vm1 (" X ") is defined with vGPU "
		"4b20d080-1b54-4048-85b3-a6a62d165c01 of 0000:61:00.0, a board of pair0");
	assert_string_equal(report->items[0].functions, "0000:61:00.0");
	assert_false(report->items[0].split || report->items[0].running);
}

/* Whoever has a NIC has its VFs: they leave with its driver. */
TEST(a_vf_of_a_nic_of_a_group_is_reported)
{
	static const char *const vf[] = { "0000:42:00.2", NULL };
	_cleanup_(fence_report_freep) FenceReport *report = NULL;
	_cleanup_(scene_done) Scene s = scene_new("With=nic:42:00.0\nWholeNic=yes\n");
	PciFunction *virtual;

	add_nic(&s, false);
	virtual = host_function(&s.host, vf[0], 0x020000, 0x101e, NULL);
	virtual->virtual_function = true;
	virtual->physical = bdf_of(NIC);
	gpu_set_free(s.host.set);
	host_seal(&s.host);
	host_domain(&s.host, "vm1", true, vf);
	host_resolve(&s.host);
	report = fence_report(s.host.groups, s.host.uses, s.host.assignments);
	assert_int_equal(report->n_items, 1);
	assert_string_equal(report->items[0].what,
			    "domain vm1 (" X ") runs with virtual function 0000:42:00.2 of " NIC
			    ", a board of pair0");
	assert_string_equal(report->items[0].remedy,
			    "shut it down and take the VF out of that domain: virsh edit vm1; "
			    "then: echo 0 > /sys/bus/pci/devices/" NIC "/sriov_numvfs");
}

/* What the hook says of a domain with these functions of the host, as they are there. */
static int judge(Scene *s, const char *const *functions, uint16_t device, bool vf,
		 Problem **ret_problem)
{
	_cleanup_(fence_freep) Fence *fence = make(s);
	FenceHostdev hostdevs[8] = { 0 };
	FenceRequest q = { .uuid = Y, .name = "vm1", .hostdevs = hostdevs, .fence = fence };

	for (; functions[q.n_hostdevs]; q.n_hostdevs++) {
		FenceHostdev *h = &hostdevs[q.n_hostdevs];
		Bdf bdf = bdf_of(functions[q.n_hostdevs]);
		const PciFunction *f = pci_snapshot_find(s->host.snapshot, &bdf);

		*h = (FenceHostdev){ .bdf = bdf, .present = true, PCI_IDS_OF(f) };
		h->gpu = gpu_set_find(s->host.set, &bdf) != NULL;
		h->vgpu = h->interface = vf && !h->gpu;
		if (!h->gpu && device > 0)
			h->device = device;
	}
	return fence_judge(&q, ret_problem);
}

/* promise M10 */
TEST(a_domain_starts_with_the_pair_and_its_nic_or_not_at_all)
{
	static const char *const whole[] = { FUNCTIONS(A), FUNCTIONS(B), NIC, NULL };
	static const char *const without[] = { FUNCTIONS(A), FUNCTIONS(B), NULL };
	static const char *const alone[] = { NIC, NULL };
	static const struct {
		const char *const *has;
		uint16_t device;   /* the NIC's now; 0: as it was */
		bool vf;	   /* it is a virtual function */
		const char *tells; /* NULL: it may start */
	} rows[] = {
		{ whole, 0, false, NULL },
		{ whole, 0, true, NULL },
		{ without, 0, false, "it has only a part of group pair0" },
		{ alone, 0, false, "it has only a part of group pair0" },
		{ alone, 0, true, "it has only a part of group pair0" },
		{ alone, 0x1234, false, "whether it may have " NIC " is not known" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *with = strf("With=%s:42:00.0\nWholeNic=yes\nForeignUse=yes\n",
						 rows[i].vf ? "vf" : "nic");
		_cleanup_(scene_done) Scene s = scene_new(with);
		_cleanup_(problem_freep) Problem *problem = NULL;
		int r;

		add_nic(&s, rows[i].vf);
		r = judge(&s, rows[i].has, rows[i].device, rows[i].vf, &problem);
		assert_int_equal(r, rows[i].tells ? PROBLEM : 0);
		if (rows[i].tells)
			assert_string_equal(problem->reason, rows[i].tells);
	}
}

/* Whoever made it anew. */
/* fault E4 */
TEST(a_group_with_a_vf_that_is_not_kept_to_its_address_is_closed)
{
	static const char *const whole[] = { FUNCTIONS(A), FUNCTIONS(B), NIC, NULL };
	_cleanup_(fence_freep) Fence *fence = NULL;
	_cleanup_(scene_done) Scene s = scene_new("With=vf:42:00.0\nVlan=42\n");
	const FenceFunction *vf;
	const Bdf bdf = bdf_of(NIC);

	add_nic(&s, true);
	host_assignment(&s.host, "pair0", "vm1", 1, whole);
	host_resolve(&s.host);
	host_group(&s.host, "pair0")->companions[0].unruled = true;
	host_observe(&s.host, false);
	fence = make(&s);
	assert_int_equal(fence->groups[0].state, FENCE_UNSAFE);
	assert_string_equal(fence->groups[0].reason,
			    "VF " NIC " is yet to be kept to its own address");
	/* By which the hook judges how a domain has it. */
	fence_find(fence, &bdf, &vf);
	assert_true(vf->vf && vf->vlan == 42);
}

/* As an NVMe whose group was forgotten before it was erased. */
TEST(what_a_tenant_had_is_given_to_no_other_when_no_group_has_it)
{
	static const char *const alone[] = { NIC, NULL };

	for (int other = 0; other < 2; other++) {
		_cleanup_(scene_done) Scene s = scene_new("");
		_cleanup_(problem_freep) Problem *problem = NULL;
		const Bdf nic = bdf_of(NIC);

		add_nic(&s, false);
		s.mark = (TenantMark){ .bdf = nic,
				       PCI_IDS_OF(pci_snapshot_find(s.host.snapshot, &nic)),
				       .domain_uuid = (char *)(other ? X : Y) };
		s.mark.state = TENANT_DIRTY;
		s.file = (TenantFile){ nic, &s.mark, 0 };
		s.tenants = (Tenants){ .items = &s.file, .n_items = 1 };
		assert_int_equal(judge(&s, alone, 0, false, &problem), other ? PROBLEM : 0);
		if (other)
			assert_string_equal(problem->remedy,
					    "take it out of that domain (virsh edit vm1), "
					    "and declare it with its pair again");
	}
}
