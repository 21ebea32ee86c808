/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Groups of one GPU: declared, or with SingleGpus=yes. */
#include "rig/test.h"

#include "rig/host-model.h"

static const char *const slots[] = { "0000:41:00", "0000:61:00", "0000:a1:00", "0000:c1:00" };

#define ALONE "[Group]\nName=solo7\nGpu=41:00.0\n"
#define L40S 0x26b9
#define RTX_3090 0x2204
#define H100_NVL 0x2321
#define H200_NVL 0x233b
#define H100_SXM 0x2330
#define UNKNOWN 0xfff0

typedef struct Row {
	uint16_t devices[4];
	const char *declared;
	const char *linked[2]; /* a look saw these two linked */
	bool singles;	       /* SingleGpus= */
	const char *groups;    /* "NAME PROVENANCE GPUS STATE", each */
} Row;

static char *groups_text(const GroupSet *groups)
{
	_cleanup_strv_ char **lines = NULL;

	for (size_t i = 0; i < groups->n_items; i++) {
		const Group *group = &groups->items[i];

		strv_appendf(&lines, "%s %s %zu %s", group->name,
			     provenance_to_string(group->provenance), group->n_gpus,
			     group_state_to_string(group->state));
	}
	return strv_join(lines, ", ");
}

static void check(const Row *row, size_t number)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_(host_done) HostModel h = host_new();

	h.policy.single_gpus = row->singles;
	for (size_t i = 0; i < ELEMENTS(slots) && row->devices[i]; i++)
		host_gpu(&h, slots[i], row->devices[i], "nvidia");
	host_declare(&h, str_or_empty(row->declared));
	if (row->linked[0])
		host_link(&h, row->linked[0], row->linked[1], PROVENANCE_PROBED,
			  row->devices[0] == H100_NVL ? 12 : 4);
	host_resolve(&h);
	host_observe(&h, false);
	text = groups_text(h.groups);
	if (!str_equal(text, row->groups))
		fail_msg("row %zu: %s", number, text);
	for (size_t i = 0; i < h.groups->n_items; i++)
		if (h.groups->items[i].n_gpus == 1 && h.groups->items[i].assignable) {
			_cleanup_free_ char *link = group_link_text(&h.groups->items[i]);

			assert_string_equal(link, "-");
			assert_int_equal(h.groups->items[i].links_expected, 0);
		}
}

TEST(one_gpu_can_be_declared_a_group)
{
	static const Row rows[] = {
		{ { L40S }, ALONE, { NULL }, false, "solo7 declared 1 free" },
		{ { RTX_3090 }, ALONE, { NULL }, false, "solo7 declared 1 free" },
		{ { UNKNOWN }, ALONE, { NULL }, false, "solo7 declared 1 free" },
		/* Fabric Manager's boards are not for us, alone neither. */
		{ { H100_SXM }, ALONE, { NULL }, false, "solo7 declared 1 degraded" },
		{ { 0 }, ALONE, { NULL }, false, "solo7 declared 0 degraded" },
		/* Its like are not paired with it: one pairing is left. */
		ROW({ RTX_3090, RTX_3090, RTX_3090 }, ALONE, { NULL }, false,
		    "pair0 inferred 2 inferred, solo7 declared 1 free"),
		ROW({ RTX_3090, RTX_3090 }, ALONE, { NULL }, false,
		    "solo7 declared 1 free, unknown0 none 1 unknown"),
		/* A group is never split, whatever was declared. */
		ROW({ RTX_3090, RTX_3090 }, ALONE, { "0000:41:00.0", "0000:61:00.0" }, false,
		    "solo7 declared 1 degraded, unknown0 none 1 unknown"),
		ROW({ RTX_3090, RTX_3090 },
		    "[Group]\nName=a\nGpu=41:00.0\n[Group]\nName=b\nGpu=61:00.0\n", { NULL }, false,
		    "a declared 1 free, b declared 1 free"),
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		check(&rows[i], i);
}

TEST(a_gpu_without_a_partner_is_a_group_where_that_is_set)
{
	static const Row rows[] = {
		ROW({ L40S, L40S }, NULL, { NULL }, true,
		    "solo0 single 1 free, solo1 single 1 free"),
		{ { L40S, L40S }, NULL, { NULL }, false, "" },
		{ { RTX_3090 }, NULL, { NULL }, true, "solo0 single 1 free" },
		{ { RTX_3090 }, NULL, { NULL }, false, "unknown0 none 1 unknown" },
		/* Two of a kind may be bridged; the mixed host of two pairs' board and a single. */
		{ { RTX_3090, RTX_3090 }, NULL, { NULL }, true, "pair0 inferred 2 inferred" },
		ROW({ L40S, RTX_3090, RTX_3090 }, NULL, { NULL }, true,
		    "pair0 inferred 2 inferred, solo0 single 1 free"),
		/* Three, of which a look saw two linked: their bridge is full. */
		ROW({ H100_NVL, H100_NVL, H100_NVL }, NULL, { "0000:41:00.0", "0000:61:00.0" },
		    true, "pair0 probed 2 free, solo0 single 1 free"),
		ROW({ H100_NVL, H100_NVL, H100_NVL }, NULL, { NULL }, true,
		    "unknown0 none 3 unknown"),
		/* A bridge for four, of which two are known: the third may be on it. */
		ROW({ H200_NVL, H200_NVL, H200_NVL }, "[Group]\nName=p\nGpu=41:00.0\nGpu=61:00.0\n",
		    { NULL }, true, "p declared 2 free, unknown0 none 1 unknown"),
		{ { UNKNOWN }, NULL, { NULL }, true, "" },
		{ { H100_SXM }, NULL, { NULL }, true, "" },
		/* A declaration that does not hold may mean this board. */
		ROW({ RTX_3090 }, "[Group]\nName=p\nGpu=61:00.0\nGpu=a1:00.0\n", { NULL }, true,
		    "p declared 0 degraded, unknown0 none 1 unknown"),
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		check(&rows[i], i);
}

/* Whatever the setting is by then. */
TEST(an_assigned_single_stays_a_group)
{
	static const char *const functions[] = { "0000:41:00.0", "0000:41:00.1", NULL };
	HostModel h = host_new();

	host_gpu(&h, "0000:41:00", L40S, "vfio-pci");
	host_assignment(&h, "solo3", "vm1", 1, functions);
	host_resolve(&h);
	assert_int_equal(h.groups->n_items, 1);
	assert_int_equal(host_group(&h, "solo3")->provenance, PROVENANCE_SINGLE);
	assert_null(host_group(&h, "solo3")->fault);
	host_done(&h);

	/* But a board beside it may be bridged to it now. */
	h = host_new();
	host_gpu(&h, "0000:41:00", RTX_3090, "vfio-pci");
	host_gpu(&h, "0000:61:00", RTX_3090, "nvidia");
	host_assignment(&h, "solo3", "vm1", 1, functions);
	host_resolve(&h);
	assert_int_equal(host_group(&h, "solo3")->provenance, PROVENANCE_NONE);
	assert_non_null(host_group(&h, "solo3")->fault);
	host_done(&h);
}
