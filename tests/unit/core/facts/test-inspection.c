/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "core/facts/inspection.h"
#include "rig/garbage.h"
#include "rig/host-model.h"
#include "util/json.h"

static Inspection *example(void)
{
	Inspection *i = calloc(1, sizeof(*i));

	assert_non_null(i);
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
	_cleanup_json_ json_t *json = inspection_to_json(inspection);
	Inspection *back = NULL;

	assert_non_null(json);
	assert_int_equal(inspection_from_json(json, &back, NULL), 0);
	return back;
}

static void an_inspection_round_trips(_unused_ void **state)
{
	_cleanup_(inspection_freep) Inspection *a = example(), *b = through_json(a);
	const FunctionFacts *f = &b->functions[0];

	assert_true(b->vfio_pci && b->unsafe_interrupts);
	assert_false(b->vfio_loadable || b->noiommu);
	assert_true(b->nvidia_modeset);
	assert_string_equal(b->nvidia_version, "550.54.15");
	assert_int_equal(b->n_functions, 2);
	assert_int_equal(b->n_holders, 1);
	assert_string_equal(f->driver, "nvidia");
	assert_string_equal(f->driver_override, "vfio-pci");
	assert_int_equal(f->num_vfs, 4);
	assert_int_equal(f->vgpus, 2);
	assert_int_equal(f->vgpu_type, 558);
	assert_int_equal(f->vgpu_vf.function, 5);
	assert_string_equal(f->uuid, "GPU-1");
	assert_int_equal(f->device_minor, 0);
	assert_string_equal(f->serial_number, "00-04");
	assert_string_equal(f->link_speed, "16 GT/s");
	assert_string_equal(f->link_speed_max, "32 GT/s");
	assert_int_equal(f->link_width, 8);
	assert_int_equal(f->link_width_max, 16);
	assert_true(f->config_all_ones);
	assert_int_equal(b->functions[1].device_minor, -1);
	assert_null(b->functions[1].driver);
	assert_false(b->functions[1].config_all_ones);
	assert_true(b->functions[1].left_asleep && !f->left_asleep);
	assert_int_equal(b->holders[0].pid, 4711);
	assert_string_equal(b->holders[0].command, "qemu");
	assert_string_equal(b->holders[0].unit, "machine.slice");
	assert_string_equal(b->holders[0].container, "abc");
	assert_string_equal(b->holders[0].path, "/dev/vfio/33");
	assert_true(b->holders[0].vfio);
	assert_int_equal(b->n_unseen, 1);
	assert_int_equal(b->all_unseen, 77);
	assert_int_equal(b->unseen[0].pid, 4712);
	assert_int_equal(b->unseen[0].uid, 1000);
	assert_string_equal(b->unseen[0].command, "a?b");
	assert_int_equal(b->unseen[0].reason, UNSEEN_MOVING);
}

static void a_process_cannot_hide_behind_its_name(_unused_ void **state)
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

static bool parser(const char *text, size_t size)
{
	_cleanup_json_ json_t *json = json_loadb(text, size, 0, NULL);
	_cleanup_(inspection_freep) Inspection *inspection = NULL;
	_cleanup_free_ char *message = NULL;

	return json && inspection_from_json(json, &inspection, &message) == 0;
}

static void every_fact_of_the_host_must_be_there(_unused_ void **state)
{
	static const char *const keys[] = {
		"schema",  "vfio_pci",		"vfio_loadable", "noiommu",    "functions",
		"holders", "unsafe_interrupts", "unseen",	 "all_unseen", "nvidia_modeset"
	};
	_cleanup_(inspection_freep) Inspection *a = example();

	for (size_t i = 0; i < ELEMENTS(keys); i++) {
		_cleanup_json_ json_t *json = inspection_to_json(a);
		_cleanup_free_ char *message = NULL;
		Inspection *back = NULL;

		assert_int_equal(json_object_del(json, keys[i]), 0);
		if (inspection_from_json(json, &back, &message) >= 0 || back || !message)
			fail_msg("an inspection without %s is taken", keys[i]);
	}
}

static void bad_members_are_refused_with_the_place(_unused_ void **state)
{
	static const struct {
		const char *list, *key;
		const char *value, *message;
	} rows[] = {
		{ "functions", "bdf", "\"x\"", "functions[0].bdf" },
		{ "functions", "num_vfs", "-1", "functions[0].num_vfs" },
		{ "functions", "device_minor", "-1", "functions[0].device_minor" },
		{ "functions", "link_width", "\"8\"", "functions[0].link_width" },
		{ "functions", "surprise", "1", "functions[0].surprise" },
		{ "functions", "config_all_ones", "0", "functions[0].config_all_ones" },
		{ "holders", "pid", "4294967296", "holders[0].pid" },
		{ "holders", "pid", "null", "holders[0].pid" },
		{ "holders", "vfio", "\"yes\"", "holders[0].vfio" },
		{ "holders", "bdf", "null", "holders[0].bdf" },
	};
	_cleanup_(inspection_freep) Inspection *a = example();

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_json_ json_t *json = inspection_to_json(a);
		_cleanup_free_ char *message = NULL;
		Inspection *back = NULL;
		int r;

		json_object_set_new(json_array_get(json_object_get(json, rows[i].list), 0),
				    rows[i].key, json_loads(rows[i].value, JSON_DECODE_ANY, NULL));
		r = inspection_from_json(json, &back, &message);
		if (r != -EBADMSG || back || !message || !strstr(message, rows[i].message))
			fail_msg("row %zu: %d, %s", i, r, str_or_empty(message));
	}
}

static void another_version_is_refused_as_such(_unused_ void **state)
{
	_cleanup_json_ json_t *json = json_pack("{s:s}", "schema", "org.gpupass1.inspection/2");
	_cleanup_free_ char *message = NULL;
	Inspection *back = NULL;

	assert_int_equal(inspection_from_json(json, &back, &message), -EPROTO);
	assert_non_null(strstr(message, "inspection/2"));
	assert_int_equal(inspection_from_json(NULL, &back, NULL), -EPROTO);
}

static void torn_and_flipped_answers_never_crash(_unused_ void **state)
{
	_cleanup_(inspection_freep) Inspection *a = example();
	_cleanup_json_ json_t *json = inspection_to_json(a);
	_cleanup_free_ char *text = json_dumps(json, 0);

	garbage_truncations_are_refused(text, parser);
	garbage_changed_bytes_are_survived(text, parser);
}

static void facts_are_found_by_address(_unused_ void **state)
{
	_cleanup_(inspection_freep) Inspection *a = example();
	Bdf audio = bdf_of("0000:41:00.1"), absent = bdf_of("0000:42:00.0");

	assert_ptr_equal(inspection_find(a, &audio), &a->functions[1]);
	assert_null(inspection_find(a, &absent));
}

/* fault P10 */
/* By the process and the function alike; and who cannot be looked into may hold it. */
static void who_is_to_let_go_is_excused_of_what_it_holds(_unused_ void **state)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_inspection_round_trips),
		cmocka_unit_test(a_process_cannot_hide_behind_its_name),
		cmocka_unit_test(every_fact_of_the_host_must_be_there),
		cmocka_unit_test(bad_members_are_refused_with_the_place),
		cmocka_unit_test(another_version_is_refused_as_such),
		cmocka_unit_test(torn_and_flipped_answers_never_crash),
		cmocka_unit_test(facts_are_found_by_address),
		cmocka_unit_test(who_is_to_let_go_is_excused_of_what_it_holds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
