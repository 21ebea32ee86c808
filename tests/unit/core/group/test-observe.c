/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "rig/host-model.h"

#define VFIO "vfio-pci"
/* A vendor's variant of vfio-pci, which a plan leaves as it is. */
#define VARIANT "nvgrace_gpu_vfio_pci"

/* What one row of the table puts on the host: a pair at 41 and 61, its drivers and users. */
typedef struct Case {
	const char *what;
	const char *drivers[2]; /* of both GPUs, audio functions included if vfio-pci */
	const char *in_vm1[5];
	const char *in_vm2[5];
	bool running;	      /* vm1 */
	const char *metadata; /* vm1's mark */
	unsigned record;      /* for vm1: 1, vm2: 2, an unknown domain: 9; 0: none */
	GroupState state;
	bool assignable;
	const char *domain; /* NULL: none */
	const char *reason; /* begins so; NULL: none */
} Case;

#define A0 "0000:41:00.0"
#define A1 "0000:41:00.1"
#define B0 "0000:61:00.0"
#define B1 "0000:61:00.1"
#define ALL                                                                                        \
	{                                                                                          \
		A0, A1, B0, B1                                                                     \
	}

static const Case cases[] = {
	ROW("on nvidia, nobody has it", { "nvidia", "nvidia" }, {}, {}, false, NULL, 0, GROUP_FREE,
	    true, NULL, NULL),
	ROW("without a driver", { NULL, NULL }, {}, {}, false, NULL, 0, GROUP_FREE, true, NULL,
	    NULL),
	ROW("on vfio-pci, nobody has it", { VFIO, VFIO }, {}, {}, false, NULL, 0, GROUP_BOUND, true,
	    NULL, NULL),
	ROW("on a variant of vfio-pci, nobody has it", { VARIANT, VARIANT }, {}, {}, false, NULL, 0,
	    GROUP_BOUND, true, NULL, NULL),
	ROW("half on a variant of vfio-pci", { VARIANT, "nvidia" }, {}, {}, false, NULL, 0,
	    GROUP_DEGRADED, false, NULL, A0 " is on " VARIANT ", but " B0 " on nvidia"),
	ROW("assigned, on a variant of vfio-pci", { VARIANT, VARIANT }, ALL, {}, false, NULL, 1,
	    GROUP_ASSIGNED, false, "vm1", NULL),
	ROW("half on vfio-pci", { VFIO, "nvidia" }, {}, {}, false, NULL, 0, GROUP_DEGRADED, false,
	    NULL, A0 " is on vfio-pci, but " B0 " on nvidia"),
	ROW("half on vfio-pci, half on nothing", { NULL, VFIO }, {}, {}, false, NULL, 0,
	    GROUP_DEGRADED, false, NULL, B0 " is on vfio-pci, but " A0 " on no driver"),
	ROW("assigned and running", { VFIO, VFIO }, ALL, {}, true, NULL, 1, GROUP_ASSIGNED, false,
	    "vm1", NULL),
	ROW("assigned and shut off", { VFIO, VFIO }, ALL, {}, false, "pair0", 1, GROUP_ASSIGNED,
	    false, "vm1", NULL),
	ROW("assigned, the record lost", { VFIO, VFIO }, ALL, {}, true, "pair0", 0, GROUP_ASSIGNED,
	    false, "vm1", "by the domain's own mark"),
	ROW("a stranger's whole group", { VFIO, VFIO }, ALL, {}, true, NULL, 0, GROUP_FOREIGN,
	    false, "vm1", "domain vm1 has it, without gpupass"),
	ROW("a stranger's definition, on the host's driver", { "nvidia", "nvidia" }, ALL, {}, false,
	    NULL, 0, GROUP_FOREIGN, false, "vm1", "domain vm1 has it"),
	ROW("marked as another group's", { VFIO, VFIO }, ALL, {}, true, "pair7", 0, GROUP_FOREIGN,
	    false, "vm1", "domain vm1 has it"),
	ROW("a stranger's GPUs without their audio", { VFIO, VFIO }, { A0, B0 }, {}, true, NULL, 0,
	    GROUP_FOREIGN, false, "vm1", "domain vm1 has it"),
	ROW("a stranger has one GPU", { VFIO, "nvidia" }, { A0, A1 }, {}, true, NULL, 0,
	    GROUP_FOREIGN, false, "vm1", "split: domain vm1 has " A0 " and not " B0),
	ROW("a stranger has one audio function", { "nvidia", "nvidia" }, { B1 }, {}, false, NULL, 0,
	    GROUP_FOREIGN, false, "vm1", "split: domain vm1 has " B1 " and not " A0),
	ROW("split over two strangers", { VFIO, VFIO }, { A0, A1 }, { B0, B1 }, true, NULL, 0,
	    GROUP_FOREIGN, false, "vm1", "split: " A0 " is in domain vm1, " B0 " in domain vm2"),
	ROW("in two strangers' definitions", { VFIO, VFIO }, ALL, ALL, false, NULL, 0,
	    GROUP_FOREIGN, false, "vm1", A0 " is in two domains, vm1 and vm2"),
	ROW("assigned, and a stranger has a part", { VFIO, VFIO }, ALL, { B1 }, true, NULL, 1,
	    GROUP_DEGRADED, false, "vm1", B1 " is in two domains, vm1 and vm2"),
	ROW("assigned, one GPU taken over", { VFIO, VFIO }, { A0, A1 }, { B0, B1 }, true, NULL, 1,
	    GROUP_DEGRADED, false, "vm1", "split: " A0 " is in domain vm1"),
	ROW("assigned, one function gone from the XML", { VFIO, VFIO }, { A0, A1, B0 }, {}, true,
	    NULL, 1, GROUP_DEGRADED, false, "vm1",
	    "assigned to vm1, but that domain's XML lacks " B1),
	ROW("marked, one function gone from the XML", { VFIO, VFIO }, { A0, A1, B0 }, {}, true,
	    "pair0", 0, GROUP_DEGRADED, false, "vm1", "domain vm1 is marked as having it, but"),
	ROW("assigned, all gone from the XML", { VFIO, VFIO }, {}, {}, false, NULL, 1,
	    GROUP_DEGRADED, false, "vm1",
	    "assigned to vm1 by record, but that domain's XML lacks " A0),
	ROW("assigned to a domain that is gone", { VFIO, VFIO }, {}, {}, false, NULL, 9,
	    GROUP_DEGRADED, false, "vm9", "assigned to vm9 ("),
	ROW("recorded for another domain", { VFIO, VFIO }, ALL, {}, true, NULL, 2, GROUP_DEGRADED,
	    false, "vm2", "assigned to vm2 by record, but domain vm1 has " A0),
	ROW("assigned, taken back by nvidia", { VFIO, "nvidia" }, ALL, {}, false, NULL, 1,
	    GROUP_DEGRADED, false, "vm1", "assigned to vm1, but " B0 " is on nvidia, not vfio-pci"),
	ROW("assigned, without a driver", { NULL, NULL }, ALL, {}, false, NULL, 1, GROUP_DEGRADED,
	    false, "vm1", "assigned to vm1, but " A0 " is on no driver, not vfio-pci"),
};

static HostModel build(const Case *c)
{
	HostModel h = host_new();

	host_gpu(&h, "0000:41:00", 0x2204, c->drivers[0]);
	host_gpu(&h, "0000:61:00", 0x2204, c->drivers[1]);
	host_declare(&h, "[Group]\nName=pair0\nGpu=41:00.0\nGpu=61:00.0\n");
	host_resolve(&h);
	host_domain(&h, "vm1", c->running, c->in_vm1);
	if (c->metadata)
		strv_append(&h.uses->items[0].gpupass_groups, c->metadata);
	host_domain(&h, "vm2", false, c->in_vm2);
	if (c->record) {
		static const char *const all[] = { A0, A1, B0, B1, NULL };
		_cleanup_free_ char *name = strf("vm%u", c->record);

		host_assignment(&h, "pair0", name, c->record, all);
	}
	return h;
}

static bool as_expected(const Group *g, const Case *c)
{
	return g->state == c->state && g->assignable == c->assignable &&
	       str_equal(g->domain_name, c->domain) &&
	       (g->domain_uuid != NULL) == (c->domain != NULL) &&
	       (c->reason ? g->reason && str_starts_with(g->reason, c->reason) : !g->reason);
}

TEST(state_follows_from_drivers_domains_and_records)
{
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		const Group *group;
		_cleanup_(host_done) HostModel h = build(&cases[i]);

		/* Twice: what the first left behind must not show in the second. */
		host_observe(&h, false);
		host_observe(&h, false);
		group = host_group(&h, "pair0");
		if (!as_expected(group, &cases[i]))
			fail_msg("row %zu, %s: %s%s, domain %s, %s", i, cases[i].what,
				 group_state_to_string(group->state),
				 group->assignable ? ", assignable" : "",
				 str_or_empty(group->domain_name), str_or_empty(group->reason));
	}
}

TEST(a_state_that_is_over_leaves_nothing_behind)
{
	static const char *const all[] = { A0, A1, B0, B1, NULL };
	const Group *group;
	_cleanup_(host_done) HostModel h = build(&(Case){ .drivers = { VFIO, VFIO } });

	host_domain(&h, "vm3", true, all);
	host_observe(&h, false);
	group = host_group(&h, "pair0");
	assert_int_equal(group->state, GROUP_FOREIGN);
	domain_use_clear(&h.uses->items[--h.uses->n_items]);
	host_observe(&h, false);
	assert_int_equal(group->state, GROUP_BOUND);
	assert_true(group->assignable);
	assert_null(group->reason);
	assert_null(group->domain_name);
	assert_null(group->domain_uuid);
}

TEST(a_driver_with_a_device_of_vfio_counts_whatever_its_name)
{
	_cleanup_(host_done) HostModel h = build(&(Case){ .drivers = { "acme_gpu", "acme_gpu" } });

	for (size_t i = 0; i < h.snapshot->n_functions; i++)
		h.snapshot->functions[i]->vfio_dev = true;
	host_observe(&h, false);
	assert_int_equal(host_group(&h, "pair0")->state, GROUP_BOUND);
}

TEST(a_renamed_domain_is_shown_by_its_new_name)
{
	_cleanup_(host_done) HostModel h =
		build(&(Case){ .drivers = { VFIO, VFIO }, .in_vm1 = ALL, .record = 1 });

	free(h.uses->items[0].name);
	h.uses->items[0].name = strdup("web1");
	host_observe(&h, false);
	assert_int_equal(host_group(&h, "pair0")->state, GROUP_ASSIGNED);
	assert_string_equal(host_group(&h, "pair0")->domain_name, "web1");
}

TEST(a_managed_hostdev_needs_vfio_only_while_it_runs)
{
	for (int running = 0; running < 2; running++) {
		_cleanup_(host_done) HostModel h = build(&(Case){ .drivers = { "nvidia", "nvidia" },
								  .in_vm1 = ALL,
								  .running = running,
								  .record = 1 });

		for (size_t i = 0; i < h.uses->items[0].n_hostdevs; i++)
			h.uses->items[0].hostdevs[i].managed = true;
		host_observe(&h, false);
		assert_int_equal(host_group(&h, "pair0")->state,
				 running ? GROUP_DEGRADED : GROUP_ASSIGNED);
	}
}

TEST(another_board_at_a_recorded_address_is_noticed)
{
	_cleanup_(host_done) HostModel h =
		build(&(Case){ .drivers = { VFIO, VFIO }, .in_vm1 = ALL, .record = 1 });

	h.assignments->items[0]->functions[2].device = 0x2230;
	host_observe(&h, false);
	assert_int_equal(host_group(&h, "pair0")->state, GROUP_DEGRADED);
	assert_string_equal(host_group(&h, "pair0")->reason,
			    B0 " is another board than was assigned to vm1: 10de:2204 (subsystem "
			       "10de:1459), recorded as 10de:2230 (10de:1459)");
}

TEST(a_record_of_functions_that_are_not_here_is_drift)
{
	static const char *const moved[] = { "0000:81:00.0", NULL };
	_cleanup_(host_done) HostModel h = build(&(Case){ .drivers = { VFIO, VFIO } });

	host_assignment(&h, "pair0", "vm1", 1, moved);
	host_observe(&h, false);
	assert_int_equal(host_group(&h, "pair0")->state, GROUP_DEGRADED);
	assert_string_equal(host_group(&h, "pair0")->reason,
			    "the record of vm1 names 0000:81:00.0, which is not in this group");
}

TEST(two_records_of_one_group_are_noticed)
{
	static const char *const second[] = { B0, B1, NULL };
	_cleanup_(host_done) HostModel h = build(&(Case){ .drivers = { VFIO, VFIO } });

	host_assignment(&h, "pair0", "vm1", 1, (const char *const[]){ A0, A1, NULL });
	host_assignment(&h, "pair1", "vm2", 2, second);
	host_observe(&h, false);
	assert_int_equal(host_group(&h, "pair0")->state, GROUP_DEGRADED);
	assert_string_equal(host_group(&h, "pair0")->reason, "two records name it, of vm1 and vm2");
}

/* Undeclared pairs are numbered, and the numbers shift when boards come and go. */
TEST(a_record_stays_with_its_boards_not_with_the_name)
{
	static const char *const all[] = { "0000:a1:00.0", "0000:a1:00.1", NULL };
	_cleanup_(host_done) HostModel h = host_new();

	host_gpu(&h, "0000:41:00", 0x2204, "nvidia");
	host_gpu(&h, "0000:61:00", 0x2204, "nvidia");
	host_gpu(&h, "0000:a1:00", 0x2230, VFIO);
	host_gpu(&h, "0000:c1:00", 0x2230, VFIO);
	host_resolve(&h);
	host_assignment(&h, "pair0", "vm1", 1, all);
	host_observe(&h, true);
	assert_int_equal(host_group(&h, "pair0")->state, GROUP_FREE);
	assert_int_equal(host_group(&h, "pair1")->state, GROUP_DEGRADED);
}

TEST(inferred_groups_wait_for_the_operator_or_the_settings)
{
	static const char *const all[] = { A0, A1, B0, B1, NULL };
	const Group *pair;
	_cleanup_(host_done) HostModel h = host_new();

	host_gpu(&h, "0000:41:00", 0x2204, VFIO);
	host_gpu(&h, "0000:61:00", 0x2204, VFIO);
	host_resolve(&h);
	pair = host_group(&h, "pair0");
	host_observe(&h, false);
	assert_int_equal(pair->state, GROUP_INFERRED);
	assert_false(pair->assignable);
	assert_string_equal(pair->reason, "the pairing is likely, not certain; declare it: gpupass "
					  "declare pair0 " A0 " " B0);
	host_observe(&h, true);
	assert_int_equal(pair->state, GROUP_BOUND);
	assert_true(pair->assignable);
	/* What is assigned stays so when the setting goes. */
	host_domain(&h, "vm1", true, all);
	host_assignment(&h, "pair0", "vm1", 1, all);
	host_observe(&h, false);
	assert_int_equal(pair->state, GROUP_ASSIGNED);
}

TEST(candidates_are_never_assignable_whoever_has_them)
{
	static const char *const one[] = { A0, NULL };
	const Group *unknown;
	_cleanup_(host_done) HostModel h = host_new();

	host_gpu(&h, "0000:41:00", 0x2204, VFIO);
	host_gpu(&h, "0000:61:00", 0x2204, VFIO);
	host_gpu(&h, "0000:81:00", 0x2204, VFIO);
	host_resolve(&h);
	unknown = host_group(&h, "unknown0");
	host_observe(&h, true);
	assert_int_equal(unknown->state, GROUP_UNKNOWN);
	assert_false(unknown->assignable);
	assert_null(unknown->reason);
	host_domain(&h, "vm1", true, one);
	host_observe(&h, true);
	assert_int_equal(unknown->state, GROUP_UNKNOWN);
	assert_null(unknown->domain_name);
	assert_string_equal(unknown->reason, A0 " is in domain vm1");
}

TEST(a_faulty_group_tells_its_fault_and_who_has_it)
{
	static const char *const one[] = { A0, NULL };
	const Group *group;
	_cleanup_(host_done) HostModel h = host_new();

	host_gpu(&h, "0000:41:00", 0x2204, VFIO);
	host_declare(&h, "[Group]\nName=half\nGpu=41:00.0\nGpu=99:00.0\n");
	host_resolve(&h);
	host_domain(&h, "vm1", true, one);
	host_observe(&h, true);
	group = host_group(&h, "half");
	assert_int_equal(group->state, GROUP_DEGRADED);
	assert_string_equal(group->domain_name, "vm1");
	assert_string_equal(group->reason,
			    "there is no NVIDIA GPU at 0000:99:00.0; " A0 " is in domain vm1");
}

/* fault 18 */
TEST(a_group_with_a_vgpu_is_somebody_elses)
{
	static const char *const none[] = { NULL };

	for (int named = 0; named < 2; named++) {
		Group *group;
		PciMdev *mdev;
		_cleanup_(host_done) HostModel h = host_new();

		host_gpu(&h, "0000:41:00", 0x2230, "nvidia");
		host_gpu(&h, "0000:61:00", 0x2230, "nvidia");
		mdev = GROW(h.snapshot->mdevs, h.snapshot->n_mdevs);
		mdev->uuid = strdup("4b20d080-1b54-4048-85b3-a6a62d165c01");
		mdev->parent = bdf_of("0000:61:00.0");
		if (named)
			domain_use_add_mdev(host_domain(&h, "desk7", false, none), mdev->uuid,
					    false, true);
		host_resolve(&h);
		host_observe(&h, true);
		group = &h.groups->items[0];
		assert_int_equal(group->state, GROUP_FOREIGN);
		assert_false(group->assignable);
		assert_string_equal(group->reason,
				    named ? "domain desk7 has vGPU "
					    "4b20d080-1b54-4048-85b3-a6a62d165c01 of 0000:61:00.0"
					  : "vGPU 4b20d080-1b54-4048-85b3-a6a62d165c01 of "
					    "0000:61:00.0 is there, in no domain");
	}
}

/* A domain that is not read is neither gone nor without hostdevs. */
TEST(what_is_not_known_of_domains_gives_nothing_away)
{
	enum { NO_LIBVIRT = 7 };
	static const struct {
		const char *driver;
		unsigned record, unread; /* which domain is not read; or all of them */
		GroupState state;
	} rows[] = {
		{ "nvidia", 0, NO_LIBVIRT, GROUP_FREE },
		{ VFIO, 0, NO_LIBVIRT, GROUP_BOUND },
		{ VFIO, 1, NO_LIBVIRT, GROUP_ASSIGNED },
		{ "nvidia", 1, NO_LIBVIRT, GROUP_DEGRADED },
		{ "nvidia", 0, 1, GROUP_FREE },
		{ VFIO, 0, 1, GROUP_BOUND },
		{ VFIO, 1, 0, GROUP_ASSIGNED },
		{ "nvidia", 1, 0, GROUP_DEGRADED },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		const Group *group;
		_cleanup_(host_done) HostModel h = build(&(Case){
			.drivers = { rows[i].driver, rows[i].driver }, .record = rows[i].record });

		if (rows[i].unread == NO_LIBVIRT)
			h.uses = domain_uses_free(h.uses);
		else
			h.uses->items[rows[i].unread].unread = strdup("too long");
		host_observe(&h, true);
		group = host_group(&h, "pair0");
		if (group->state != rows[i].state || group->assignable || !group->reason ||
		    strstr(group->reason, "no longer has"))
			fail_msg("row %zu: %s", i, group_state_to_string(group->state));
	}
}
