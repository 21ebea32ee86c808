/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "core/facts/inspection.h"
#include "rig/host-model.h"
#include "rig/rows.h"
#include "util/json.h"

static Inspection *example(void)
{
	Inspection *i = xcalloc(1, sizeof(*i));

	*GROW(i->functions, i->n_functions) = (FunctionFacts){ .bdf = bdf_of("0000:41:00.0") };
	*GROW(i->functions, i->n_functions) = (FunctionFacts){ .bdf = bdf_of("0000:41:00.1") };
	*GROW(i->holders, i->n_holders) = (Holder){
		.bdf = bdf_of("0000:41:00.0"),
		.pid = 4711,
		.command = strdup("qemu"),
		.path = strdup("/dev/vfio/33"),
		.vfio = true,
	};
	*GROW(i->unseen, i->n_unseen) = (Unseen){ .pid = 4712, .command = strdup("a") };
	return i;
}

static char *shown_command(const char *command)
{
	_cleanup_(inspection_freep) Inspection *a = example(), *b = NULL;
	_cleanup_json_ json_t *json = NULL;

	free(a->holders[0].command);
	a->holders[0].command = xstrdup(command);
	json = json_struct_write(inspection_members, a);
	assert_int_equal(inspection_from_json(json, &b, NULL), 0);
	return xstrdup(b->holders[0].command);
}

TEST(a_process_cannot_hide_behind_its_name)
{
	static const TextRow rows[] = {
		{ "\xff\xfe x", "?? x" },	  /* not UTF-8 */
		{ "\x1b[2J\n", "?[2J?" },	  /* moves the cursor */
		{ "caf\xc3\xa9", "caf\xc3\xa9" }, /* is UTF-8 */
		{ "caf\xc3\xa9\xff", "caf???" },  { "", "" },
	};

	EXPECT_TEXTS(rows, shown_command);
}

TEST(another_version_is_refused_as_such)
{
	_cleanup_json_ json_t *json = json_pack("{s:s}", "schema", "org.gpupass1.inspection/2");
	_cleanup_free_ char *message = NULL;
	Inspection *back = NULL;

	assert_int_equal(inspection_from_json(json, &back, &message), -EPROTO);
	assert_non_null(strstr(message, "inspection/2"));
	assert_int_equal(inspection_from_json(NULL, &back, NULL), -EPROTO);
}

TEST(facts_are_found_by_address)
{
	_cleanup_(inspection_freep) Inspection *a = example();
	Bdf audio = bdf_of("0000:41:00.1"), absent = bdf_of("0000:42:00.0");

	assert_ptr_equal(inspection_find(a, &audio), &a->functions[1]);
	assert_null(inspection_find(a, &absent));
}

/* fault P10 */
/* By the process and the function alike; and who cannot be looked into may hold it. */
TEST(who_is_to_let_go_is_excused_of_what_it_holds)
{
	_cleanup_(inspection_freep) Inspection *a = example();
	Bdf display = bdf_of("0000:41:00.0"), audio = bdf_of("0000:41:00.1");

	a->holders[0].vfio = false;
	assert_false(inspection_excuse(a, &display, 0));
	assert_false(inspection_excuse(a, &display, 4713));
	assert_false(inspection_excuse(a, &audio, 4711));
	assert_false(a->holders[0].lets_go);
	assert_true(inspection_excuse(a, &display, 4711));
	assert_true(a->holders[0].lets_go);
	assert_true(inspection_excuse(a, &audio, 4712));
	a->holders[0].vfio = true;
	assert_false(inspection_excuse(a, &display, 4711));
}
