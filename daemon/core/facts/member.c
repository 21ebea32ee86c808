/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/facts/member.h"

/* What a companion of this kind is on the PCI bus. */
static const struct {
	const char *noun;
	uint32_t class_code; /* the first bits of it, */
	unsigned shift;	     /* which this leaves */
	bool virtual_function;
} kinds[] = {
	[MEMBER_NIC] = { "NIC", PCI_BASE_CLASS_NETWORK, 16, false },
	[MEMBER_VF] = { "VF", PCI_BASE_CLASS_NETWORK, 16, true },
	[MEMBER_NVME] = { "NVMe", PCI_CLASS_NVME, 0, false },
};
_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == MEMBER_KIND_MAX_, "each kind has its row");

#include "member.inc"

int member_parse(const char *text, Member *ret)
{
	const char *colon = strchr(text, ':');

	for (size_t i = 0; colon && i < MEMBER_KIND_MAX_; i++) {
		Member member = { .kind = (MemberKind)i };
		const char *word = member_kind_to_string(member.kind);

		if (strlen(word) != (size_t)(colon - text) ||
		    strncmp(text, word, strlen(word)) != 0)
			continue;
		if (bdf_parse(colon + 1, &member.bdf) < 0)
			return -EINVAL;
		*ret = member;
		return 0;
	}
	return -EINVAL;
}

const char *member_format(const Member *member, char buffer[MEMBER_TEXT_MAX])
{
	snprintf(buffer, MEMBER_TEXT_MAX, "%s:%s", member_kind_to_string(member->kind),
		 BDF_TEXT(&member->bdf));
	return buffer;
}

const char *member_kind_noun(MemberKind kind)
{
	return kinds[kind].noun;
}

bool member_kind_is(MemberKind kind, const PciFunction *function)
{
	return function->class_code >> kinds[kind].shift == kinds[kind].class_code &&
	       function->virtual_function == kinds[kind].virtual_function;
}

bool member_kind_of(const PciFunction *function, MemberKind *ret)
{
	for (size_t i = 0; i < MEMBER_KIND_MAX_; i++)
		if (member_kind_is((MemberKind)i, function)) {
			*ret = (MemberKind)i;
			return true;
		}
	return false;
}
