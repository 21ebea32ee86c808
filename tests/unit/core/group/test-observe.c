/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a group follows from drivers, domains and records. */
#include "rig/test.h"

#include "rig/host-text.h"

#define HOST "41 61"
#define VFIO ":vfio-pci 41 61"
#define MIXED ":vfio-pci 41 :nvidia 61"
/* A vendor's variant of vfio-pci, which a plan leaves as it is. */
#define VARIANT "nvgrace_gpu_vfio_pci"
#define A0 "0000:41:00.0"
#define A1 "0000:41:00.1"
#define B0 "0000:61:00.0"
#define B1 "0000:61:00.1"
#define RECORD "pair0 vm1 41 61"

/* A pair at 41 and 61 that is declared, and vm1 and vm2 are there. */
typedef struct Case {
	const char *what, *boards, *domains, *records;
	const char *state;  /* as in a Scenario */
	const char *reason; /* begins so; NULL: none */
} Case;

static const Case cases[] = {
	{ "on nvidia, nobody has it", HOST, "", "", "free", NULL },
	{ "without a driver", ":none 41 61", "", "", "free", NULL },
	{ "on vfio-pci, nobody has it", VFIO, "", "", "bound", NULL },
	{ "on a variant of vfio-pci, nobody has it", ":" VARIANT " 41 61", "", "", "bound", NULL },
	{ "half on a variant of vfio-pci", ":" VARIANT " 41 :nvidia 61", "", "", "degraded",
	  A0 " is on " VARIANT ", but " B0 " on nvidia" },
	{ "assigned, on a variant of vfio-pci", ":" VARIANT " 41 61", "vm1 41 61", RECORD,
	  "assigned:vm1", NULL },
	{ "half on vfio-pci", MIXED, "", "", "degraded",
	  A0 " is on vfio-pci, but " B0 " on nvidia" },
	{ "half on vfio-pci, half on nothing", ":none 41 :vfio-pci 61", "", "", "degraded",
	  B0 " is on vfio-pci, but " A0 " on no driver" },
	{ "assigned and running", VFIO, "vm1 41 61 running", RECORD, "assigned:vm1", NULL },
	{ "assigned and shut off", VFIO, "vm1 41 61 mark=pair0", RECORD, "assigned:vm1", NULL },
	{ "assigned, the record lost", VFIO, "vm1 41 61 running mark=pair0", "", "assigned:vm1",
	  "by the domain's own mark" },
	{ "a stranger's whole group", VFIO, "vm1 41 61 running", "", "foreign:vm1",
	  "domain vm1 has it, without gpupass" },
	{ "a stranger's definition, on the host's driver", HOST, "vm1 41 61", "", "foreign:vm1",
	  "domain vm1 has it" },
	{ "marked as another group's", VFIO, "vm1 41 61 running mark=pair7", "", "foreign:vm1",
	  "domain vm1 has it" },
	{ "a stranger's GPUs without their audio", VFIO, "vm1 41.0 61.0 running", "", "foreign:vm1",
	  "domain vm1 has it" },
	{ "a stranger has one GPU", MIXED, "vm1 41 running", "", "foreign:vm1",
	  "split: domain vm1 has " A0 " and not " B0 },
	{ "a stranger has one audio function", HOST, "vm1 61.1", "", "foreign:vm1",
	  "split: domain vm1 has " B1 " and not " A0 },
	{ "split over two strangers", VFIO, "vm1 41 running; vm2 61", "", "foreign:vm1",
	  "split: " A0 " is in domain vm1, " B0 " in domain vm2" },
	{ "in two strangers' definitions", VFIO, "vm1 41 61; vm2 41 61", "", "foreign:vm1",
	  A0 " is in two domains, vm1 and vm2" },
	{ "assigned, and a stranger has a part", VFIO, "vm1 41 61 running; vm2 61.1", RECORD,
	  "degraded:vm1", B1 " is in two domains, vm1 and vm2" },
	{ "assigned, one GPU taken over", VFIO, "vm1 41 running; vm2 61", RECORD, "degraded:vm1",
	  "split: " A0 " is in domain vm1" },
	{ "assigned, one function gone from the XML", VFIO, "vm1 41 61.0 running", RECORD,
	  "degraded:vm1", "assigned to vm1, but that domain's XML lacks " B1 },
	{ "marked, one function gone from the XML", VFIO, "vm1 41 61.0 running mark=pair0", "",
	  "degraded:vm1", "domain vm1 is marked as having it, but" },
	{ "assigned, all gone from the XML", VFIO, "vm1", RECORD, "degraded:vm1",
	  "assigned to vm1 by record, but that domain's XML lacks " A0 },
	{ "assigned to a domain that is gone", VFIO, "", "pair0 vm9 41 61", "degraded:vm9",
	  "assigned to vm9 (" },
	{ "recorded for another domain", VFIO, "vm1 41 61 running", "pair0 vm2 41 61",
	  "degraded:vm2", "assigned to vm2 by record, but domain vm1 has " A0 },
	{ "assigned, taken back by nvidia", MIXED, "vm1 41 61", RECORD, "degraded:vm1",
	  "assigned to vm1, but " B0 " is on nvidia, not vfio-pci" },
	{ "assigned, without a driver", ":none 41 61", "vm1 41 61", RECORD, "degraded:vm1",
	  "assigned to vm1, but " A0 " is on no driver, not vfio-pci" },
	{ "a renamed domain is shown by its new name", VFIO, "vm1 41 61 name=web1", RECORD,
	  "assigned:web1", NULL },
	{ "a managed hostdev needs no vfio-pci while it is shut off", HOST, "vm1 41 61 managed",
	  RECORD, "assigned:vm1", NULL },
	{ "a managed hostdev needs vfio-pci while it runs", HOST, "vm1 41 61 managed running",
	  RECORD, "degraded:vm1", "assigned to vm1, but " A0 " is on nvidia" },
	{ "a record of functions that are not here is drift", VFIO, "", "pair0 vm1 81.0",
	  "degraded:vm1", "the record of vm1 names 0000:81:00.0, which is not in this group" },
	{ "two records of one group", VFIO, "", "pair0 vm1 41; pair1 vm2 61", "degraded:vm1",
	  "two records name it, of vm1 and vm2" },
	/* A domain that is not read is neither gone nor without hostdevs. */
	{ "a domain is not read", HOST, "vm2 unread", "", "free?", "whether domain vm2" },
	{ "a domain is not read, on vfio-pci", VFIO, "vm2 unread", "", "bound?",
	  "whether domain vm2" },
	{ "the domain of the record is not read", VFIO, "vm1 unread", RECORD, "assigned:vm1",
	  "by the record" },
	{ "the domain of the record is not read, on nvidia", HOST, "vm1 unread", RECORD,
	  "degraded:vm1", "assigned to vm1, but " A0 " is on nvidia" },
	{ "libvirt does not answer", HOST, NULL, "", "free?", "libvirt" },
	{ "libvirt does not answer, on vfio-pci", VFIO, NULL, "", "bound?", "libvirt" },
	{ "libvirt does not answer, and it is assigned", VFIO, NULL, RECORD, "assigned:vm1",
	  "by the record; libvirt" },
	{ "libvirt does not answer, and it is assigned, on nvidia", HOST, NULL, RECORD,
	  "degraded:vm1", "assigned to vm1, but " A0 " is on nvidia" },
};

TEST(state_follows_from_drivers_domains_and_records)
{
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		const Case *c = &cases[i];
		_cleanup_free_ char *groups = strf("pair0 %s declared NV4? 41,61", c->state);
		const Scenario scenario = { .name = c->what,
					    .boards = c->boards,
					    .declared = "pair0=41,61",
					    .domains = c->domains,
					    .records = c->records,
					    .groups = groups };
		_cleanup_(host_done) HostModel h = host_of(&scenario);
		const char *reason;

		if (!c->domains)
			h.uses = domain_uses_free(h.uses);
		expect_groups(&h, &scenario);
		reason = host_group(&h, "pair0")->reason;
		if (c->reason ? !str_starts_with(str_or_empty(reason), c->reason) : reason != NULL)
			fail_msg("%s: %s", c->what, str_or_empty(reason));
	}
}

TEST(other_groups_have_states_too)
{
	static const Scenario others[] = {
		/* Undeclared pairs are numbered, and the numbers shift when boards come and go. */
		ROW("a record stays with its boards, not with the name",
		    "41 61 =2204 :vfio-pci a1 c1", "pair0=41,61", .domains = "vm1 a1 c1",
		    .records = "pair0 vm1 a1 c1",
		    .groups = "pair0 free declared NV4? 41,61; "
			      "pair1 assigned:vm1 inferred NV4? a1,c1"),
		ROW("what is assigned stays so when inferred groups are not accepted any more",
		    VFIO, .domains = "vm1 41 61 running", .records = RECORD,
		    .groups = "pair0 assigned:vm1 inferred NV4? 41,61"),
		ROW("candidates are never assignable", ":vfio-pci 41 61 81", .inferred = true,
		    .groups = "unknown0 unknown none ? 41,61,81"),
		ROW("candidates are never assignable, whoever has them", ":vfio-pci 41 61 81",
		    .domains = "vm1 41.0 running", .inferred = true,
		    .groups = "unknown0 unknown none ? 41,61,81",
		    .tells = { A0 " is in domain vm1\n" }),
		ROW("a faulty group tells its fault and who has it", ":vfio-pci 41",
		    "half=41,99:00.0", .domains = "vm1 41.0 running",
		    .groups = "half degraded:vm1 declared NV4? 41",
		    .tells = { "there is no NVIDIA GPU at 0000:99:00.0; " A0
			       " is in domain vm1\n" },
		    .note = "there is no NVIDIA GPU"),
	};

	expect_scenarios(others, ELEMENTS(others));
}

TEST(a_state_that_is_over_leaves_nothing_behind)
{
	static const Scenario scenario = { .name = "over",
					   .boards = VFIO,
					   .declared = "pair0=41,61",
					   .domains = "vm3 41 61 running",
					   .groups = "pair0 bound declared NV4? 41,61" };
	_cleanup_(host_done) HostModel h = host_of(&scenario);

	host_observe(&h, false);
	assert_int_equal(host_group(&h, "pair0")->state, GROUP_FOREIGN);
	domain_use_clear(&h.uses->items[--h.uses->n_items]);
	expect_groups(&h, &scenario);
	assert_null(host_group(&h, "pair0")->reason);
}

TEST(a_driver_with_a_device_of_vfio_counts_whatever_its_name)
{
	_cleanup_(host_done) HostModel h =
		host_of(&(Scenario){ .boards = ":acme_gpu 41 61", .declared = "pair0=41,61" });

	for (size_t i = 0; i < h.snapshot->n_functions; i++)
		h.snapshot->functions[i]->vfio_dev = true;
	host_observe(&h, false);
	assert_int_equal(host_group(&h, "pair0")->state, GROUP_BOUND);
}

TEST(another_board_at_a_recorded_address_is_noticed)
{
	_cleanup_(host_done) HostModel h = host_of(&(Scenario){ .boards = VFIO,
								.declared = "pair0=41,61",
								.domains = "vm1 41 61",
								.records = RECORD });

	h.assignments->items[0]->functions[2].device = 0x2204;
	host_observe(&h, false);
	assert_int_equal(host_group(&h, "pair0")->state, GROUP_DEGRADED);
	assert_string_equal(
		host_group(&h, "pair0")->reason,
		B0 " is another board than was assigned to vm1: it is 10de:2230 (subsystem "
		   "10de:1459) now and was 10de:2204 (subsystem 10de:1459) when it was "
		   "recorded");
}

/* fault 18 */
TEST(a_group_with_a_vgpu_is_somebody_elses)
{
#define MDEV "4b20d080-1b54-4048-85b3-a6a62d165c01"
	for (int named = 0; named < 2; named++) {
		const Group *group;
		PciMdev *mdev;
		_cleanup_(host_done) HostModel h =
			host_of(&(Scenario){ .boards = HOST, .domains = named ? "desk7" : NULL });

		mdev = GROW(h.snapshot->mdevs, h.snapshot->n_mdevs);
		mdev->uuid = strdup(MDEV);
		mdev->parent = bdf_of(B0);
		if (named)
			domain_use_add_mdev(&h.uses->items[0], MDEV, false, true);
		host_observe(&h, true);
		group = &h.groups->items[0];
		assert_int_equal(group->state, GROUP_FOREIGN);
		assert_false(group->assignable);
		assert_string_equal(group->reason, named ? "domain desk7 has vGPU " MDEV " of " B0
							 : "vGPU " MDEV " of " B0
							   " is there, in no domain");
	}
}
