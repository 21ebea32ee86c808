/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "core/facts/inspection.h"
#include "rig/host-model.h"
#include "util/json.h"

static Inspection *example(void)
{
	Inspection *i = xcalloc(1, sizeof(*i));

	i->vfio_pci = i->unsafe_interrupts = i->nvidia_modeset = true;
	i->nvidia_version = strdup("550.54.15");
	*GROW(i->functions, i->n_functions) = (FunctionFacts){
		.bdf = bdf_of("0000:41:00.0"),
		.driver = strdup("nvidia"),
		.driver_override = strdup("vfio-pci"),
		.num_vfs = 4,
		.vgpus = 2,
		.vgpu_type = 558,
		.vgpu_vf = { .bus = 0x41, .function = 5 },
		.uuid = strdup("GPU-1"),
		.device_minor = 0,
		.serial_number = strdup("00-04"),
		.link_speed = strdup("16 GT/s"),
		.link_speed_max = strdup("32 GT/s"),
		.link_width = 8,
		.link_width_max = 16,
		.config_all_ones = true,
	};
	*GROW(i->functions, i->n_functions) = (FunctionFacts){ .bdf = bdf_of("0000:41:00.1"),
							       .device_minor = -1,
							       .left_asleep = true };
	*GROW(i->holders, i->n_holders) = (Holder){
		.bdf = bdf_of("0000:41:00.0"),
		.pid = 4711,
		.command = strdup("qemu"),
		.unit = strdup("machine.slice"),
		.container = strdup("abc"),
		.path = strdup("/dev/vfio/33"),
		.vfio = true,
	};
	*GROW(i->unseen, i->n_unseen) = (Unseen){
		.pid = 4712,
		.uid = 1000,
		.command = strdup("a\nb"),
		.reason = UNSEEN_MOVING,
	};
	i->all_unseen = 77;
	return i;
}

static Inspection *through_json(const Inspection *inspection)
{
	_cleanup_json_ json_t *json = json_struct_write(inspection_members, inspection);
	Inspection *back = NULL;

	assert_non_null(json);
	assert_int_equal(inspection_from_json(json, &back, NULL), 0);
	return back;
}

TEST(a_process_cannot_hide_behind_its_name)
{
	static const struct {
		const char *command, *shown;
	} rows[] = {
		{ "\xff\xfe x", "?? x" },	  /* not UTF-8 */
		{ "\x1b[2J\n", "?[2J?" },	  /* moves the cursor */
		{ "caf\xc3\xa9", "caf\xc3\xa9" }, /* is UTF-8 */
		{ "caf\xc3\xa9\xff", "caf???" },  { "", "" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(inspection_freep) Inspection *a = example(), *b = NULL;

		free(a->holders[0].command);
		a->holders[0].command = strdup(rows[i].command);
		b = through_json(a);
		if (strcmp(b->holders[0].command, rows[i].shown) != 0)
			fail_msg("row %zu: '%s'", i, b->holders[0].command);
	}
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
