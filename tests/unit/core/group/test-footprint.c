/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "core/group/footprint.h"
#include "rig/host-text.h"
#include "util/text.h"

static HostModel four_boards(const char *declared)
{
	HostModel h = host_new();

	host_function(&h, "0000:40:01.0", 0x060400, 0x1483, "pcieport");
	host_boards(&h, "41 61 a1 c1");
	host_declared(&h, declared);
	host_resolve(&h);
	return h;
}

static char *text_of(const Footprint *footprint, size_t from, size_t to)
{
	_cleanup_strv_ char **list = NULL;

	assert_true(footprint->n_own <= footprint->n_functions);
	for (size_t i = from; i < to; i++)
		strv_append(&list, BDF_TEXT(&footprint->functions[i]));
	return strv_join(list, " ");
}

static void set_iommu_group(HostModel *h, const char *bdf, int iommu_group)
{
	const Bdf address = bdf_of(bdf);
	PciFunction *f = (PciFunction *)pci_snapshot_find(h->snapshot, &address);

	assert_non_null(f);
	f->iommu_group = iommu_group;
}

TEST(a_group_reaches_what_shares_an_iommu_group_with_it)
{
	static const struct {
		const char *name, *others[3], *reached;
	} rows[] = {
		{ "nothing", {}, "" },
		{ "its port", { "0000:40:01.0" }, "0000:40:01.0" },
		{ "another board's function", { "0000:a1:00.1" }, "0000:a1:00.1" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(footprint_clear) Footprint footprint = { 0 };
		_cleanup_free_ char *own = NULL, *reached = NULL;
		_cleanup_(host_done) HostModel h = four_boards("left=41,61");

		for (size_t k = 0; k < h.snapshot->n_functions; k++)
			h.snapshot->functions[k]->iommu_group = IOMMU_GROUP_NONE;
		set_iommu_group(&h, "0000:61:00.0", 7);
		for (const char *const *other = rows[i].others; *other; other++)
			set_iommu_group(&h, *other, 7);
		footprint = footprint_of_group(h.snapshot, host_group(&h, "left"));
		own = text_of(&footprint, 0, footprint.n_own);
		assert_string_equal(own, "0000:41:00.0 0000:41:00.1 0000:61:00.0 0000:61:00.1");
		reached = text_of(&footprint, footprint.n_own, footprint.n_functions);
		if (strcmp(reached, rows[i].reached) != 0)
			fail_msg("%s: %s", rows[i].name, reached);
	}
}

/* A VF that is made makes all others of its NIC anew. An erase of hours keeps no other group waiting. */
TEST(who_makes_a_vf_meets_all_that_have_one_of_its_nic_and_no_others_meet_there)
{
	static const struct {
		const char *left, *right;
		bool meet;
		const char *there[3];
	} rows[] = {
		{ "vf:42:00.2", "vf:42:00.3", true, {} },
		{ "vf:42:00.3", "vf:42:00.4", true, {} },
		{ "vf:42:00.2", "vf:43:00.2", false, {} },
		{ "vf:42:00.2", "vf:42:00.3", true, { "0000:42:00.2" } },
		{ "vf:42:00.2", "vf:42:00.3", false, { "0000:42:00.2", "0000:42:00.3" } },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(footprint_clear) Footprint left = { 0 }, right = { 0 };
		_cleanup_free_ char *declared =
			strf("[Group]\nName=left\nGpu=41:00.0\nGpu=61:00.0\nWith=%s\n"
			     "[Group]\nName=right\nGpu=a1:00.0\nGpu=c1:00.0\nWith=%s\n",
			     rows[i].left, rows[i].right);
		_cleanup_(host_done) HostModel h = host_new();

		host_boards(&h, "41 61 a1 c1");
		for (unsigned bus = 0x42; bus <= 0x43; bus++) {
			_cleanup_free_ char *nic = strf("0000:%02x:00.0", bus);
			PciFunction *f = host_function(&h, nic, 0x020000, 0x101d, "mlx5_core");

			f->vfs_max = 8;
			f->vf_offset = 2;
			f->vf_stride = 1;
		}
		for (const char *const *vf = rows[i].there; *vf; vf++) {
			PciFunction *f = host_function(&h, *vf, 0x020000, 0x101e, NULL);

			f->virtual_function = true;
			f->physical = bdf_of("0000:42:00.0");
		}
		assert_int_equal(pci_snapshot_seal(h.snapshot), 0);
		host_declare(&h, declared);
		host_resolve(&h);
		left = footprint_of_group(h.snapshot, host_group(&h, "left"));
		right = footprint_of_group(h.snapshot, host_group(&h, "right"));
		if (footprints_meet(&left, &right) != rows[i].meet)
			fail_msg("%s and %s", rows[i].left, rows[i].right);
	}
}

/* Leads alone, since all functions of a board come and go together. */
TEST(a_change_of_rules_concerns_the_groups_that_are_others_by_it)
{
	static const struct {
		const char *before, *after, *changed;
	} rows[] = {
		{ "", "", "" },
		{ "left=41,61", "left=41,61", "" },
		{ "left=41,61", "other=41,61", "41 61" },
		/* Without it no two of the four are known to be bridged, nor that the others are. */
		{ "left=41,61", "", "41 61 a1 c1" },
		{ "left=41,61", "left=41,a1", "41 61 a1 c1" },
		/* The same GPUs by the same name, and inferred now. */
		{ "left=41,61 pair0=a1,c1", "left=41,61", "a1 c1" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(footprint_clear) Footprint changes = { 0 };
		_cleanup_strv_ char **leads = NULL;
		_cleanup_free_ char *text = NULL;
		_cleanup_(host_done) HostModel before = four_boards(rows[i].before);
		_cleanup_(host_done) HostModel after = four_boards(rows[i].after);

		changes = footprint_of_change(before.groups, after.groups);
		assert_int_equal(changes.n_own, changes.n_functions);
		for (size_t k = 0; k < before.set->n_gpus; k++) {
			const Bdf *lead = &before.set->gpus[k].lead->bdf;

			if (bdf_in(lead, changes.functions, changes.n_functions))
				strv_appendf(&leads, "%02x", lead->bus);
		}
		text = strv_join(leads, " ");
		if (strcmp(text, rows[i].changed) != 0)
			fail_msg("row %zu: %s", i, text);
	}
}
