/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is declared with GPUs is a part of their group. */
#include "rig/test.h"

#include "core/group/companion.h"
#include "core/group/footprint.h"
#include "core/group/nearest.h"
#include "rig/host-model.h"

#define PAIR "[Group]\nName=pair0\nGpu=41:00.0\nGpu=61:00.0\n"
#define WITH PAIR "With=nic:42:00.0\nWith=nvme:43:00.0\nWholeNic=yes\n"

static HostModel with_devices(const char *declaration, const char *driver)
{
	HostModel h = host_new();
	PciFunction *vf;

	host_gpu(&h, "0000:41:00", 0x2230, driver);
	host_gpu(&h, "0000:61:00", 0x2230, driver);
	host_function(&h, "0000:42:00.0", 0x020000, 0x101d,
		      driver_is_vfio(driver) ? driver : "mlx5_core")
		->vfs_max = 8;
	vf = host_function(&h, "0000:42:00.2", 0x020000, 0x101e, NULL);
	vf->virtual_function = true;
	vf->physical = bdf_of("0000:42:00.0");
	host_function(&h, "0000:43:00.0", 0x010802, 0xa80a,
		      driver_is_vfio(driver) ? driver : "nvme");
	host_function(&h, "0000:44:00.0", 0x010601, 0x1234, "ahci");
	host_declare(&h, declaration);
	return h;
}

static void expect_tells(const char *text, const char *part)
{
	if (!strstr(str_or_empty(text), part))
		fail_msg("\"%s\" does not tell \"%s\"", str_or_empty(text), part);
}

TEST(functions_of_gpus_come_first_then_the_companions)
{
	static const char *const expected[] = {
		"0000:41:00.0", "0000:41:00.1", "0000:61:00.0",
		"0000:61:00.1", "0000:42:00.0", "0000:43:00.0",
	};
	_cleanup_(host_done) HostModel h = with_devices(WITH, "nvidia");
	_cleanup_free_ const PciFunction **leads = NULL;
	_cleanup_free_ Bdf *addresses = NULL;
	Bdf nic = bdf_of("0000:42:00.0");
	const Group *group;
	size_t n;

	host_resolve(&h);
	host_observe(&h, false);
	group = host_group(&h, "pair0");
	addresses = group_addresses(group, &n);
	assert_int_equal(n, ELEMENTS(expected));
	for (size_t i = 0; i < n; i++)
		assert_string_equal(BDF_TEXT(&addresses[i]), expected[i]);
	leads = group_leads(group, &n);
	assert_int_equal(n, 4);
	assert_int_equal(group->state, GROUP_FREE);
	assert_true(group->assignable);
	assert_ptr_equal(group_set_find_gpu(h.groups, &nic), group);
}

/* promise M2 */
TEST(what_cannot_be_given_makes_the_group_unusable_and_is_named)
{
	static const struct {
		const char *with, *tells;
	} rows[] = {
		{ "With=nic:42:00.0\n",
		  "0000:42:00.0 is a whole NIC, which a tenant can re-flash" },
		{ "With=nic:99:00.0\nWholeNic=yes\n",
		  "there is nothing at 0000:99:00.0, where its NIC should be" },
		{ "With=nvme:99:00.0\n", "where its NVMe should be" },
		{ "With=nic:43:00.0\nWholeNic=yes\n",
		  "0000:43:00.0 is no NIC: declare it as nvme:0000:43:00.0" },
		{ "With=nic:42:00.2\nWholeNic=yes\n", "is no NIC: declare it as vf:0000:42:00.2" },
		{ "With=vf:42:00.0\n", "0000:42:00.0 is no VF: declare it as nic:0000:42:00.0" },
		{ "With=nvme:44:00.0\n", "0000:44:00.0 is no NVMe: its PCI class is 010601" },
		{ "With=nvme:41:00.0\n", "0000:41:00.0 is no NVMe: its PCI class is 030000" },
		{ "With=nvme:43:00.0\nForeignUse=yes\n",
		  "0000:43:00.0 is an NVMe, which cannot be in a group with ForeignUse=yes" },
		{ "With=nic:42:00.0\nWith=vf:42:00.2\nWholeNic=yes\n",
		  "0000:42:00.2 is a VF of 0000:42:00.0, which is whole in group pair0" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *text = strf("%s%s", PAIR, rows[i].with);
		_cleanup_(host_done) HostModel h = with_devices(text, "nvidia");
		const Group *group;

		host_resolve(&h);
		host_observe(&h, false);
		group = host_group(&h, "pair0");
		assert_int_equal(group->state, GROUP_DEGRADED);
		assert_true(group->companion_fault && !group->assignable);
		expect_tells(group->reason, rows[i].tells);
	}
}

/* promise M6 */
TEST(an_nvme_is_given_only_where_libvirt_tells_who_has_it)
{
	static const struct {
		DomainSource domains;
		const char *with, *tells;
	} rows[] = {
		{ DOMAINS_PROXMOX, "With=nvme:43:00.0\n", "in a group without libvirt (Uri=none)" },
		{ DOMAINS_NONE, "With=nvme:43:00.0\n", "in a group without libvirt (Uri=none)" },
		{ DOMAINS_PROXMOX, "With=vf:42:00.2\n", "" },
		{ DOMAINS_LIBVIRT, "With=vf:42:00.2\nForeignUse=yes\n", "" },
		{ DOMAINS_LIBVIRT, "With=nvme:43:00.0\nForeignUse=no\n", "" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *text = strf("%s%s", PAIR, rows[i].with);
		_cleanup_(host_done) HostModel h = with_devices(text, "nvidia");

		h.policy.domains = rows[i].domains;
		host_resolve(&h);
		expect_tells(host_group(&h, "pair0")->fault, rows[i].tells);
		assert_int_equal(!host_group(&h, "pair0")->fault, rows[i].tells[0] == '\0');
	}
}

/* The NIC's driver goes with it, and so would the other group's VF. */
TEST(a_nic_is_not_whole_where_another_group_has_a_vf_of_it)
{
	_cleanup_(host_done) HostModel h =
		with_devices("[Group]\nName=one\nGpu=41:00.0\nWith=vf:42:00.2\n"
			     "[Group]\nName=two\nGpu=61:00.0\nWith=nic:42:00.0\nWholeNic=yes\n",
			     "nvidia");

	host_resolve(&h);
	host_observe(&h, false);
	expect_tells(host_group(&h, "two")->reason,
		     "0000:42:00.0 has the VF 0000:42:00.2, which is in group one");
	expect_tells(host_group(&h, "one")->reason, "which is whole in group two");
}

static char *choose(HostModel *h, const Bdf *nic, char *const *more)
{
	Assignments none = { 0 };
	Bdf vf;

	return companions_choose_vf(pci_snapshot_find(h->snapshot, nic), h->declarations, &none,
				    more, &vf)
		       ? xstrdup(BDF_TEXT(&vf))
		       : xstrdup("none");
}

/* What the NIC says of itself counts: its VFs need not be there. */
TEST(the_next_vf_of_a_nic_is_one_that_no_group_has)
{
	static const struct {
		unsigned max, offset, stride;
		char *more[3];
		const char *is;
	} rows[] = {
		{ 4, 1, 1, { NULL }, "0000:42:00.1" },
		{ 4, 2, 1, { NULL }, "0000:42:00.3" }, /* the first is declared */
		{ 4, 2, 1, { (char *)"vf:0000:42:00.3", NULL }, "0000:42:00.4" },
		{ 63, 128, 2, { (char *)"vf:0000:42:10.0", NULL }, "0000:42:10.2" },
		{ 1, 256, 0, { NULL }, "0000:43:00.0" },
		{ 4,
		  256,
		  0,
		  { (char *)"vf:0000:43:00.0", NULL },
		  "none" }, /* it does not say where */
		{ 2, 2, 1, { (char *)"vf:0000:42:00.3", NULL }, "none" },
		{ 4, 0, 1, { NULL }, "none" },
		{ 0, 2, 1, { NULL }, "none" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(host_done) HostModel h = with_devices(PAIR "With=vf:42:00.2\n", "nvidia");
		const Bdf nic = bdf_of("0000:42:00.0");
		_cleanup_free_ char *is = NULL;
		PciFunction *function;

		host_resolve(&h);
		function = (PciFunction *)pci_snapshot_find(h.snapshot, &nic);
		function->vfs_max = rows[i].max;
		function->vf_offset = rows[i].offset;
		function->vf_stride = rows[i].stride;
		is = choose(&h, &nic, rows[i].more);
		if (strcmp(is, rows[i].is) != 0)
			fail_msg("row %zu: %s", i, is);
	}
}

/* promise M10 */
TEST(half_of_gpus_and_companions_is_no_group)
{
	static const char *const gpus[] = { "0000:41:00.0", "0000:41:00.1", "0000:61:00.0",
					    "0000:61:00.1", NULL };
	static const char *const nic[] = { "0000:42:00.0", NULL };
	static const struct {
		const char *const *has;
		const char *tells;
	} rows[] = {
		{ gpus, "split: domain vm1 has 0000:41:00.0 and not 0000:42:00.0" },
		{ nic, "split: domain vm1 has 0000:42:00.0 and not 0000:41:00.0" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(host_done) HostModel h = with_devices(WITH, "vfio-pci");

		host_domain(&h, "vm1", false, rows[i].has);
		host_resolve(&h);
		host_observe(&h, false);
		assert_int_equal(host_group(&h, "pair0")->state, GROUP_FOREIGN);
		expect_tells(host_group(&h, "pair0")->reason, rows[i].tells);
	}
}

static void machine(HostModel *h)
{
	static const char *const pair[] = { "0000:41:00.0", "0000:41:00.1", "0000:61:00.0",
					    "0000:61:00.1", "0000:42:00.2", NULL };

	host_domain(h, "101", false, pair)->vmid = 101;
}

/* promise M3 */
TEST(a_machine_of_proxmox_ve_waits_for_its_vf_too)
{
	static const struct {
		const char *vf, *lack;
	} rows[] = {
		{ "42:00.2", "VF 0000:42:00.2 is yet to be kept to its own address" },
		{ "42:00.3", "VF 0000:42:00.3 is yet to be made" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *text = strf(PAIR "With=vf:%s\n", rows[i].vf), *lack = NULL;
		_cleanup_(host_done) HostModel h = with_devices(text, "nvidia");
		const Bdf bdf = bdf_of("0000:42:00.0");
		PciFunction *nic;
		Group *group;

		machine(&h);
		host_seal(&h);
		nic = (PciFunction *)pci_snapshot_find(h.snapshot, &bdf);
		nic->vf_offset = 2;
		nic->vf_stride = 1;
		host_resolve(&h);
		group = host_group(&h, "pair0");
		group->companions[0].unruled = true;
		host_observe(&h, false);
		lack = companions_lack(group);
		assert_true(str_equal(lack, rows[i].lack));
	}
}

/* promise M10 */
TEST(members_on_different_drivers_are_neither_free_nor_bound)
{
	_cleanup_(host_done) HostModel h = with_devices(WITH, "vfio-pci");
	const Bdf nic = bdf_of("0000:42:00.0");

	host_resolve(&h);
	for (size_t i = 0; i < h.snapshot->n_functions; i++)
		if (bdf_equal(&h.snapshot->functions[i]->bdf, &nic)) {
			free(h.snapshot->functions[i]->driver);
			h.snapshot->functions[i]->driver = xstrdup("mlx5_core");
		}
	host_observe(&h, false);
	assert_int_equal(host_group(&h, "pair0")->state, GROUP_DEGRADED);
	expect_tells(host_group(&h, "pair0")->reason, "0000:42:00.0 on mlx5_core");
}

/* They are released with it. */
TEST(an_assigned_group_keeps_its_companions_whatever_is_declared)
{
	static const char *const all[] = { "0000:41:00.0",
					   "0000:41:00.1",
					   "0000:61:00.0",
					   "0000:61:00.1",
					   "0000:42:00.0",
					   "0000:43:00.0",
					   NULL };
	static const struct {
		const char *declared;
		GroupState state;
		const char *tells;
	} rows[] = {
		{ "", GROUP_ASSIGNED, "" },
		{ WITH, GROUP_ASSIGNED, "" },
		{ PAIR, GROUP_DEGRADED,
		  "0000:42:00.0 was assigned to vm1 with it, and is not declared any more" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(host_done) HostModel h = with_devices(rows[i].declared, "vfio-pci");
		const Group *group;

		host_domain(&h, "vm1", false, all);
		host_seal(&h);
		host_assignment(&h, "pair0", "vm1", 1, all);
		host_resolve(&h);
		host_observe(&h, false);
		group = host_group(&h, "pair0");
		assert_int_equal(group->n_gpus, 2);
		assert_int_equal(group->n_companions, 2);
		assert_int_equal(group->state, rows[i].state);
		expect_tells(group->fault, rows[i].tells);
	}
}

/* Its VLAN is not known. */
TEST(an_assigned_group_with_a_vf_is_closed_while_nobody_declares_it)
{
	static const char *const all[] = { "0000:41:00.0", "0000:41:00.1", "0000:61:00.0",
					   "0000:61:00.1", "0000:42:00.0", NULL };
	_cleanup_(host_done) HostModel h = with_devices("", "vfio-pci");

	for (size_t i = 0; i < h.snapshot->n_functions; i++)
		h.snapshot->functions[i]->virtual_function =
			h.snapshot->functions[i]->bdf.bus == 0x42;
	host_seal(&h);
	host_assignment(&h, "pair0", "vm1", 1, all);
	host_resolve(&h);
	expect_tells(host_group(&h, "pair0")->fault,
		     "0000:42:00.0 was assigned to vm1 with it, and is not declared any more");
}

TEST(a_companion_that_a_record_and_a_declaration_name_is_in_neither)
{
	static const char *const all[] = { "0000:41:00.0", "0000:41:00.1", "0000:61:00.0",
					   "0000:61:00.1", "0000:42:00.0", NULL };
	_cleanup_(host_done) HostModel h = with_devices(
		"[Group]\nName=other\nGpu=81:00.0\nWith=nic:42:00.0\nWholeNic=yes\n", "vfio-pci");

	host_gpu(&h, "0000:81:00", 0x2230, "vfio-pci");
	host_domain(&h, "vm1", false, all);
	host_seal(&h);
	host_assignment(&h, "pair0", "vm1", 1, all);
	host_resolve(&h);
	expect_tells(host_group(&h, "other")->fault, "0000:42:00.0 is in group pair0, too");
	expect_tells(host_group(&h, "pair0")->fault, "0000:42:00.0 is in group other, too");
}

TEST(a_declaration_with_another_companion_changes_the_group)
{
	_cleanup_(host_done) HostModel a = with_devices(WITH, "nvidia"),
				       b = with_devices(PAIR, "nvidia");
	_cleanup_(footprint_clear) Footprint same = { 0 }, other = { 0 };

	host_resolve(&a);
	host_resolve(&b);
	same = footprint_of_change(a.groups, a.groups);
	other = footprint_of_change(a.groups, b.groups);
	assert_int_equal(same.n_functions, 0);
	assert_int_equal(other.n_functions, 6);
}

TEST(a_companion_is_declared_once)
{
	static const struct {
		const char *text, *tells;
	} rows[] = {
		{ PAIR "With=nic:42:00.0\nWith=nic:0000:42:00.0\n",
		  "is a member of this group already" },
		{ PAIR "With=nic:42:00.0\n[Group]\nName=b\nGpu=81:00.0\nWith=vf:42:00.0\n",
		  "is a member of another group already, declared in a.conf:1" },
		{ PAIR "With=42:00.0\n", "With=42:00.0 is no kind with a PCI address" },
		{ PAIR "With=nic:nearest\n", "is no kind with a PCI address" },
		{ PAIR "WholeNic=maybe\n", "WholeNic=maybe is neither yes nor no" },
		{ PAIR "Erase=yes\nErase=no\n", "Erase= is here for the second time" },
		{ "[Group]\nName=x\nWith=nic:42:00.0\n", "group x has 0 members" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(declarations_freep) Declarations *d = xcalloc(1, sizeof(*d));
		_cleanup_(problem_freep) Problem *problem = NULL;

		assert_int_equal(declarations_parse(d, "a.conf", rows[i].text, &problem), PROBLEM);
		expect_tells(problem->reason, rows[i].tells);
		assert_int_equal(d->n_items, 0);
	}
}

/* ---- the nearest ---- */

TEST(the_nearest_is_one_that_neither_a_group_nor_the_caller_has)
{
	static const struct {
		const char *declared, *kind, *members[4];
		const char *found; /* NULL: refused */
		const char *tells;
	} rows[] = {
		{ "", "nic", { "41:00.0", "61:00.0" }, "nic:0000:42:00.0", "next is 0000:82:00.0" },
		{ "",
		  "nic",
		  { "41:00.0", "nic:42:00.0" },
		  "nic:0000:82:00.0",
		  "there is no other" },
		{ "",
		  "nic",
		  { "41:00.0", "nic:42:00.0", "nic:0000:82:00.0" },
		  NULL,
		  "there is no nic" },
		{ "", "nvme", { "41:00.0" }, "nvme:0000:43:00.0", "there is no other" },
		{ WITH, "nvme", { "41:00.0" }, NULL, "there is no nvme" },
		{ WITH, "nic", { "41:00.0" }, "nic:0000:82:00.0", "there is no other" },
		/* Of the one with VFs; and it is not whole any more once one of them is given. */
		{ "", "vf", { "41:00.0" }, "vf:0000:42:00.0", "there is no other" },
		{ WITH, "vf", { "41:00.0" }, NULL, "there is no vf" },
		{ PAIR "With=vf:42:00.2\n", "nic", { "41:00.0" }, "nic:0000:82:00.0", "no other" },
		{ "", "disk", { "41:00.0" }, NULL, "\"disk\" is neither nic, vf nor nvme" },
		{ "", "nic", { "nic:42:00.0" }, NULL, "there is no GPU" },
		{ "", "nic", { "99:00.0" }, NULL, "there is no NVIDIA GPU at 0000:99:00.0" },
		{ "", "nic", { "41" }, NULL, "\"41\" names no GPU" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(host_done) HostModel h = with_devices(rows[i].declared, "nvidia");
		_cleanup_(problem_freep) Problem *problem = NULL;
		_cleanup_free_ char *reason = NULL;
		char *members[5] = { 0 };
		Member found;
		int r;

		/* The only one that is known to be elsewhere. */
		host_function(&h, "0000:82:00.0", 0x020000, 0x101d, "mlx5_core")->numa_node = 1;
		host_function(&h, "10000:01:00.0", 0x010802, 0xa80a, "nvme"); /* behind VMD */
		host_resolve(&h);
		for (size_t k = 0; k < 4 && rows[i].members[k]; k++)
			members[k] = (char *)rows[i].members[k];
		r = companion_nearest(rows[i].kind, members, h.groups, h.set, 0, &found, &reason,
				      &problem);
		if (r != (rows[i].found ? 0 : PROBLEM))
			fail_msg("row %zu: %s", i, problem ? problem->reason : reason);
		if (r == 0)
			assert_string_equal(MEMBER_TEXT(&found), rows[i].found);
		expect_tells(r == 0 ? reason : problem->reason, rows[i].tells);
	}
}
