/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <string.h>

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
	static AssignedFunction functions[GROUP_FUNCTIONS_MAX + 1];
	const Assignment one = { .domain_uuid = (char *)UUID,
				 .domain_name = (char *)"vm42",
				 .group_name = (char *)"pair0",
				 .functions = functions,
				 .n_functions = ELEMENTS(functions) };
	_cleanup_free_ char *text = NULL, *message = NULL;
	Assignment *read = NULL;

	for (unsigned i = 0; i < ELEMENTS(functions); i++)
		functions[i].bdf.bus = (uint8_t)i;
	text = assignment_to_json(&one);
	assert_int_equal(assignment_from_json(text, strlen(text), &read, &message), -EBADMSG);
	assert_non_null(strstr(message, "functions"));
}

TEST(assignments_are_found_by_domain_group_and_function)
{
	static const char *const functions[] = { "0000:41:00.0", "0000:41:00.1", NULL };
	static const char *const others[] = { "0000:61:00.0", NULL };
	Bdf absent = bdf_of("0000:99:00.0"), audio = bdf_of("0000:41:00.1");
	_cleanup_(host_done) HostModel h = host_new();
	Assignment *first = host_assignment(&h, "pair0", "vm1", 1, functions);
	Assignment *second = host_assignment(&h, "pair1", "vm2", 2, others);

	assert_ptr_equal(assignments_find_group(h.assignments, "pair1"), second);
	assert_null(assignments_find_group(h.assignments, "pair2"));
	assert_ptr_equal(assignments_of_domain(h.assignments, first->domain_uuid, &(size_t){ 0 }),
			 first);
	assert_null(assignments_of_domain(h.assignments, UUID, &(size_t){ 0 }));
	assert_ptr_equal(assignments_find_function(h.assignments, &audio), first);
	assert_null(assignments_find_function(h.assignments, &absent));
	assert_ptr_equal(assignment_function(first, &audio), &first->functions[1]);
	assert_null(assignment_function(second, &audio));
}
