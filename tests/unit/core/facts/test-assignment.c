/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "core/facts/assignment.h"
#include "rig/host-model.h"

#define UUID "0e1c2d3a-4b5c-6d7e-8f90-a1b2c3d4e5f6"
#define HEAD(schema, uuid)                                                                         \
	"{\"schema\":\"org.gpupass1.assignment/" schema "\",\"domain_uuid\":\"" uuid               \
	"\",\"domain_name\":\"vm42\",\"group\":\"pair0\",\"created_usec\":1,\"created_by\":0,"
#define IDS                                                                                        \
	"\"vendor\":\"10de\",\"device\":\"2204\",\"subsystem_vendor\":\"1458\","                   \
	"\"subsystem_device\":\"403b\""
#define FUNCTION "{\"bdf\":\"0000:41:00.0\"," IDS "}"

static Assignment *example(void)
{
	Assignment *a = calloc(1, sizeof(*a));
	AssignedFunction *f;

	assert_non_null(a);
	a->domain_uuid = strdup(UUID);
	a->domain_name = strdup("vm42 \"über\"");
	a->group_name = strdup("pair0");
	a->created_usec = 1700000000000000;
	a->created_by = UINT32_MAX;
	f = GROW(a->functions, a->n_functions);
	*f = (AssignedFunction){ .bdf = bdf_of("10000:41:00.0"),
				 .vendor = 0x10de,
				 .device = 0x2204,
				 .subsystem_vendor = 0x1458,
				 .subsystem_device = 0x403b,
				 .original_driver = strdup("nvidia"),
				 .original_override = strdup("nvidia"),
				 .uuid = strdup("GPU-1b5c"),
				 .serial_number = strdup("00-04") };
	f = GROW(a->functions, a->n_functions);
	f->bdf = bdf_of("10000:41:00.1");
	return a;
}

static void assert_same(const Assignment *a, const Assignment *b)
{
	assert_string_equal(a->domain_uuid, b->domain_uuid);
	assert_string_equal(a->domain_name, b->domain_name);
	assert_string_equal(a->group_name, b->group_name);
	assert_int_equal(a->created_usec, b->created_usec);
	assert_int_equal(a->created_by, b->created_by);
	assert_int_equal(a->apply_fit, b->apply_fit);
	assert_int_equal(a->apply_numa, b->apply_numa);
	assert_int_equal(a->n_functions, b->n_functions);
	for (size_t i = 0; i < a->n_functions; i++) {
		const AssignedFunction *f = &a->functions[i], *g = &b->functions[i];

		assert_true(bdf_equal(&f->bdf, &g->bdf));
		assert_int_equal(f->vendor, g->vendor);
		assert_int_equal(f->device, g->device);
		assert_int_equal(f->subsystem_vendor, g->subsystem_vendor);
		assert_int_equal(f->subsystem_device, g->subsystem_device);
		assert_true(str_equal(f->original_driver, g->original_driver));
		assert_true(str_equal(f->original_override, g->original_override));
		assert_true(str_equal(f->uuid, g->uuid));
		assert_true(str_equal(f->serial_number, g->serial_number));
		assert_int_equal(f->original_persistence, g->original_persistence);
	}
}

static bool parser(const char *text, size_t size)
{
	_cleanup_(assignment_freep) Assignment *assignment = NULL;
	_cleanup_free_ char *message = NULL;

	return assignment_from_json(text, size, &assignment, &message) == 0;
}

TEST(what_is_written_reads_as_the_same)
{
	for (unsigned i = 0; i < 8; i++) {
		_cleanup_(assignment_freep) Assignment *a = example(), *b = NULL;
		_cleanup_free_ char *text = NULL;

		a->apply_fit = i & 1;
		a->apply_numa = i & 2;
		a->functions[0].original_persistence = i & 4 ? PERSISTENCE_ON : PERSISTENCE_UNKNOWN;
		text = assignment_to_json(a);
		assert_int_equal(strstr(text, "apply_fit") != NULL, a->apply_fit);
		assert_int_equal(strstr(text, "apply_numa") != NULL, a->apply_numa);
		assert_int_equal(assignment_from_json(text, strlen(text), &b, NULL), 0);
		assert_same(a, b);
	}
}

TEST(a_copy_is_the_same_and_stands_alone)
{
	_cleanup_(assignment_freep) Assignment *a = example(), *copy = NULL, *again = example();

	copy = assignment_copy(a);
	a = assignment_free(a);
	assert_same(copy, again);
}

TEST(bad_assignments_are_refused_with_the_place)
{
	static const struct {
		const char *text;
		int error;
		const char *message;
	} rows[] = {
		{ HEAD("5", UUID) "\"functions\":[" FUNCTION "]}", -EPROTO,
		  "it is of version 5, and versions 1 to 4 are read" },
		{ HEAD("4", UUID) "\"functions\":[" FUNCTION "]}", -EBADMSG, "no checksum" },
		{ HEAD("2", UUID) "\"functions\":[{\"bdf\":\"0000:41:00.0\"," IDS
				  ",\"original_persistence\":\"unknown\"}]}",
		  -EBADMSG, "functions[0].original_persistence is neither on nor off" },
		{ HEAD("2", UUID) "\"functions\":[{\"bdf\":\"0000:41:00.0\"," IDS
				  ",\"original_persistence\":1}]}",
		  -EBADMSG, "functions[0].original_persistence" },
		{ HEAD("1", UUID) "\"functions\":[]}", -EBADMSG, "functions is empty" },
		{ HEAD("1", "../../../etc/passwd") "\"functions\":[" FUNCTION "]}", -EBADMSG,
		  "domain_uuid is not a UUID" },
		{ HEAD("1", "0E1C2D3A-4B5C-6D7E-8F90-A1B2C3D4E5F6") "\"functions\":[" FUNCTION "]}",
		  -EBADMSG, "domain_uuid is not a UUID" },
		{ HEAD("1", UUID "0") "\"functions\":[" FUNCTION "]}", -EBADMSG,
		  "domain_uuid is not a UUID" },
		{ HEAD("1", "") "\"functions\":[" FUNCTION "]}", -EBADMSG, "domain_uuid" },
		{ HEAD("1", UUID) "\"functions\":[" FUNCTION "," FUNCTION "]}", -EBADMSG,
		  "functions[1].bdf is there twice" },
		{ "null", -EBADMSG, "line" },
		{ "\xff\xfe", -EBADMSG, "line" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *message = NULL;
		Assignment *a = NULL;
		int r = assignment_from_json(rows[i].text, strlen(rows[i].text), &a, &message);

		if (r != rows[i].error || a || !message || !strstr(message, rows[i].message))
			fail_msg("row %zu: %d, %s", i, r, str_or_empty(message));
	}
}

TEST(more_functions_than_a_group_can_have_are_refused)
{
	_cleanup_(assignment_freep) Assignment *a = example();
	_cleanup_free_ char *text = NULL;

	for (unsigned i = 0; i < GROUP_FUNCTIONS_MAX; i++)
		GROW(a->functions, a->n_functions)->bdf.bus = (uint8_t)i;
	text = assignment_to_json(a);
	assert_non_null(text);
	assert_false(parser(text, strlen(text)));
}

TEST(assignments_are_found_by_domain_group_and_function)
{
	static const char *const functions[] = { "0000:41:00.0", "0000:41:00.1", NULL };
	static const char *const others[] = { "0000:61:00.0", NULL };
	Bdf absent = bdf_of("0000:99:00.0"), audio = bdf_of("0000:41:00.1");
	Assignment *first, *second;
	HostModel h = host_new();

	assert_null(assignments_find_group(h.assignments, "pair0"));
	first = host_assignment(&h, "pair0", "vm1", 1, functions);
	second = host_assignment(&h, "pair1", "vm2", 2, others);
	assert_ptr_equal(assignments_find_group(h.assignments, "pair1"), second);
	assert_null(assignments_find_group(h.assignments, "pair2"));
	assert_ptr_equal(assignments_of_domain(h.assignments, first->domain_uuid, &(size_t){ 0 }),
			 first);
	assert_null(assignments_of_domain(h.assignments, UUID, &(size_t){ 0 }));
	assert_ptr_equal(assignments_find_function(h.assignments, &audio), first);
	assert_null(assignments_find_function(h.assignments, &absent));
	assert_ptr_equal(assignment_function(first, &audio), &first->functions[1]);
	assert_null(assignment_function(second, &audio));
	host_done(&h);
}
