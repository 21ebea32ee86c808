/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A person's word for a domain is a UUID or a name. */
#include "rig/test.h"

#include <string.h>

#include "core/domain/ref.h"
#include "util/text.h"

#define VM42 "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242"

TEST(whatever_libvirt_takes_for_a_uuid_is_one)
{
	static const char *const rows[] = {
		VM42,
		"3F0C9A52-6C2B-4A62-9A0E-0C1D5B8F4242",
		"3f0c9a526c2b4a629a0e0c1d5b8f4242",
		"3F0c9A526c2B4a629a0E0c1D5b8F4242",
		"3f-0c-9a-52-6c-2b-4a-62-9a-0e-0c-1d-5b-8f-42-42",
		"3f0c9a526c2b4a629a0e-0c1d5b8f4242",
		"--3f0c9a52--6c2b-4a62-9a0e-0c1d5b8f4242",
		"-3f0c9a526c2b4a629a0e0c1d5b8f4242",
		"3f0c9a52 6c2b 4a62 9a0e 0c1d5b8f4242",
		"  3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242",
		"3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242 \t\r\n\v\f",
		"\t3f0c9a526c2b4a629a0e0c1d5b8f4242\n",
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		char uuid[DOMAIN_UUID_SIZE] = "";

		if (!domain_uuid_parse(rows[i], uuid))
			fail_msg("'%s' is taken for a name", rows[i]);
		if (strcmp(uuid, VM42) != 0)
			fail_msg("'%s' gave %s", rows[i], uuid);
	}
}

TEST(what_only_looks_like_a_uuid_is_a_name)
{
	static const char *const rows[] = {
		"",
		" ",
		"-",
		"vm42",
		"pair0",
		"5",
		"0",
		"99999999999999999999",
		"3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f424",	 /* a digit too few */
		"3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f42421", /* one too many */
		"3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242-", /* libvirt takes no dash at the end */
		"3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242x",
		"3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f424g",
		"3-f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242", /* a dash within a byte */
		"3f0c9a52_6c2b_4a62_9a0e_0c1d5b8f4242",
		"{3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242}",
		"0x3f0c9a526c2b4a629a0e0c1d5b8f4242",
		"urn:uuid:3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242",
		"3f0c9a52\n6c2b-4a62-9a0e-0c1d5b8f4242", /* white space within, other than blanks */
		"3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242 a",
		"\xef\xbc\x93"
		"f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242", /* a fullwidth 3 */
		"\xa0"
		"3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242",
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		char uuid[DOMAIN_UUID_SIZE];

		if (domain_uuid_parse(rows[i], uuid))
			fail_msg("'%s' is taken for the UUID %s", rows[i], uuid);
	}
}

TEST(a_missing_domain_is_named_with_what_may_have_been_meant)
{
	static const struct {
		const char *text, *cause, *remedy; /* NULL cause: none */
	} rows[] = {
		{ "nosuch", NULL, "virsh list --all" },
		{ "VM42", "there is 'vm42'", "virsh list --all" },
		/* field: newcomer/8 */
		{ "vm4", "there is 'vm42'", "virsh list --all" },
		{ "vm421", "there is 'vm42'", "virsh list --all" },
		{ "vx42", "there is 'vm42'", "virsh list --all" },
		{ "mv42", NULL, "virsh list --all" },
		{ "vm", "there is 'vm42'", "virsh list --all" },
		{ "v", NULL, "virsh list --all" },
		{ "vm4242", NULL, "virsh list --all" },
		{ "7", "a number is taken for a name", "virsh list --all" },
		{ VM42, "is only ever taken for a UUID", "55555555-5555-4555-8555-555555555555" },
		{ "3f0c9a526c2b4a629a0e0c1d5b8f4242", NULL, "virsh list --all" },
		{ "99999999-9999-4999-8999-999999999999", NULL, "virsh list --all" },
	};
	DomainUse items[] = {
		{ .name = (char *)"vm42", .uuid = (char *)"11111111-1111-4111-8111-111111111111" },
		{ .name = (char *)VM42, .uuid = (char *)"55555555-5555-4555-8555-555555555555" },
		{ .name = NULL },
	};
	const DomainUses uses = { .items = items, .n_items = ELEMENTS(items) };

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(problem_freep) Problem *problem = NULL, *blind = NULL;

		assert_int_equal(domain_ref_missing(rows[i].text, &uses, &problem), PROBLEM);
		assert_int_equal(problem->error, GPUPASS_ERROR_NO_SUCH_DOMAIN);
		assert_non_null(strstr(problem->reason, rows[i].text));
		if ((problem->cause != NULL) != (rows[i].cause != NULL) ||
		    (rows[i].cause && !strstr(problem->cause, rows[i].cause)))
			fail_msg("'%s': %s", rows[i].text, str_or_empty(problem->cause));
		assert_non_null(strstr(problem->remedy, rows[i].remedy));
		assert_int_equal(domain_ref_missing(rows[i].text, NULL, &blind), PROBLEM);
		assert_string_equal(blind->reason, problem->reason);
	}
}

TEST(a_command_calls_a_domain_by_what_is_one_word_and_no_other_thing)
{
	static const char *const plain[] = { "vm42", "pair0", "a", "web-1.example_x", "7a", "." };
	static const char *const odd[] = { "",
					   "-H",
					   "--help",
					   "7",
					   "0042",
					   VM42,
					   "3f0c9a526c2b4a629a0e0c1d5b8f4242",
					   "vm 42",
					   "$(reboot)",
					   "a;b",
					   "a|b",
					   "a&b",
					   "`a`",
					   "a'b",
					   "a\"b",
					   "a\\b",
					   "a*",
					   "~a",
					   "a>b",
					   "#a",
					   "a\tb",
					   "a\xc2\x9b",
					   "vm\xc3\xa4",
					   "{a,b}",
					   "a!b",
					   "a=b" };

	for (size_t i = 0; i < ELEMENTS(plain); i++)
		assert_string_equal(domain_ref_word(plain[i], "uuid"), plain[i]);
	for (size_t i = 0; i < ELEMENTS(odd); i++)
		assert_string_equal(domain_ref_word(odd[i], "uuid"), "uuid");
	assert_string_equal(domain_ref_word("vm 42", NULL), "vm 42");
}

TEST(a_domain_is_written_with_both)
{
	_cleanup_free_ char *both = domain_ref_text("vm42", VM42);
	_cleanup_free_ char *name = domain_ref_text("vm42", NULL);

	assert_string_equal(both, "vm42 (" VM42 ")");
	assert_string_equal(name, "vm42");
}
