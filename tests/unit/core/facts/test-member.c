/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <errno.h>

#include "core/facts/member.h"

TEST(a_companion_is_written_as_kind_and_address)
{
	static const struct {
		const char *text, *expected; /* NULL: none */
	} cases[] = {
		{ "nic:0000:42:00.0", "nic:0000:42:00.0" },
		{ "nic:42:00.1", "nic:0000:42:00.1" },
		{ "vf:pci_0000_42_01_7", "vf:0000:42:01.7" },
		{ "nvme:10000:01:00.0", "nvme:10000:01:00.0" },
		{ "nic:", NULL },
		{ "nic", NULL },
		{ "42:00.0", NULL },
		{ "ni:42:00.0", NULL },
		{ "nics:42:00.0", NULL },
		{ "NIC:42:00.0", NULL },
		{ "gpu:42:00.0", NULL },
		{ "nic:nearest", NULL },
		{ "nic: 42:00.0", NULL },
		{ "", NULL },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		Member member = { .kind = MEMBER_KIND_MAX_ };
		int r = member_parse(cases[i].text, &member);

		if (cases[i].expected) {
			assert_int_equal(r, 0);
			assert_string_equal(MEMBER_TEXT(&member), cases[i].expected);
		} else {
			assert_int_equal(r, -EINVAL);
			assert_int_equal(member.kind, MEMBER_KIND_MAX_);
		}
	}
}

TEST(class_and_virtual_function_say_what_a_companion_can_be)
{
	static const struct {
		uint32_t class_code;
		bool virtual_function;
		int kind; /* -1: none */
	} cases[] = {
		{ 0x020000, false, MEMBER_NIC }, { 0x020700, false, MEMBER_NIC },
		{ 0x020000, true, MEMBER_VF },	 { 0x010802, false, MEMBER_NVME },
		{ 0x010802, true, -1 },		 { 0x010803, false, -1 }, /* administrative */
		{ 0x010601, false, -1 },	 { 0x030200, false, -1 },
		{ 0x060400, false, -1 },	 { 0x0c0300, false, -1 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		PciFunction function = { .class_code = cases[i].class_code,
					 .virtual_function = cases[i].virtual_function };

		for (size_t k = 0; k < MEMBER_KIND_MAX_; k++)
			assert_int_equal(member_kind_is((MemberKind)k, &function),
					 (int)k == cases[i].kind);
	}
}
