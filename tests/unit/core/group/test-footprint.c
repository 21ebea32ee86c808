/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "core/group/footprint.h"
#include "rig/host-model.h"

static const char *const slots[] = { "0000:41:00", "0000:61:00", "0000:a1:00", "0000:c1:00" };

static HostModel four_boards(void)
{
	HostModel h = host_new();

	for (size_t i = 0; i < ELEMENTS(slots); i++)
		host_gpu(&h, slots[i], 0x2204, "nvidia");
	host_function(&h, "0000:40:01.0", 0x060400, 0x1483, "pcieport");
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
		_cleanup_(host_done) HostModel h = four_boards();

		host_declare(&h, "[Group]\nName=left\nGpu=41:00.0\nGpu=61:00.0\n");
		host_resolve(&h);
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

/* Leads alone, since all functions of a board come and go together. */
TEST(a_change_of_rules_concerns_the_groups_that_are_others_by_it)
{
	static const struct {
		const char *before, *after, *changed;
	} rows[] = {
		{ "", "", "" },
		{ "Name=left\nGpu=41:00.0\nGpu=61:00.0\n", "Name=left\nGpu=41:00.0\nGpu=61:00.0\n",
		  "" },
		{ "Name=left\nGpu=41:00.0\nGpu=61:00.0\n", "Name=other\nGpu=41:00.0\nGpu=61:00.0\n",
		  "0000:41:00.0 0000:61:00.0" },
		/* Without it no two of the four are known to be bridged, nor that the others are. */
		{ "Name=left\nGpu=41:00.0\nGpu=61:00.0\n", "",
		  "0000:41:00.0 0000:61:00.0 0000:a1:00.0 0000:c1:00.0" },
		{ "Name=left\nGpu=41:00.0\nGpu=61:00.0\n", "Name=left\nGpu=41:00.0\nGpu=a1:00.0\n",
		  "0000:41:00.0 0000:61:00.0 0000:a1:00.0 0000:c1:00.0" },
		/* The same GPUs by the same name, and inferred now. */
		{ "Name=left\nGpu=41:00.0\nGpu=61:00.0\n"
		  "[Group]\nName=pair0\nGpu=a1:00.0\nGpu=c1:00.0\n",
		  "Name=left\nGpu=41:00.0\nGpu=61:00.0\n", "0000:a1:00.0 0000:c1:00.0" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(footprint_clear) Footprint changes = { 0 };
		_cleanup_strv_ char **leads = NULL;
		_cleanup_free_ char *text = NULL;
		HostModel before, after;

		before = four_boards();
		after = four_boards();
		for (unsigned k = 0; k < 2; k++) {
			_cleanup_free_ char *file =
				strf("[Group]\n%s", k ? rows[i].after : rows[i].before);

			if (k ? *rows[i].after : *rows[i].before)
				host_declare(k ? &after : &before, file);
		}
		host_resolve(&before);
		host_resolve(&after);
		changes = footprint_of_change(before.groups, after.groups);
		assert_int_equal(changes.n_own, changes.n_functions);
		for (size_t b = 0; b < ELEMENTS(slots); b++) {
			_cleanup_free_ char *name = strf("%s.0", slots[b]);
			const Bdf lead = bdf_of(name);

			if (bdf_in(&lead, changes.functions, changes.n_functions))
				strv_append(&leads, BDF_TEXT(&lead));
		}
		text = strv_join(leads, " ");
		if (strcmp(text, rows[i].changed) != 0)
			fail_msg("row %zu: %s", i, text);
		host_done(&before);
		host_done(&after);
	}
}
