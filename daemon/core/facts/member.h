/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a group has besides its GPUs: companions, which a domain gets with them or not at all. A
 * companion is written KIND:ADDRESS, "nic:0000:42:00.0", in groups.d, on the bus and by people.
 *
 * A NIC is one function, because its ports may serve two tenants. A VF is one of a NIC's virtual
 * functions. An NVMe is one controller.
 */
#pragma once

#include "core/base/json-struct.h"
#include "core/pci/pci-snapshot.h"
#include "gpupass/string-table.h"
#include "util/bdf.h"

/* Also the word that stands before the address, and in every document. */
#define MEMBER_KINDS(X)                                                                            \
	X(MEMBER_NIC, "nic")                                                                       \
	X(MEMBER_VF, "vf")                                                                         \
	X(MEMBER_NVME, "nvme")

DECLARE_ENUM(member_kind, MemberKind, MEMBER_KINDS, MEMBER_KIND_MAX_);

/* "nic:0000:42:00.0" */
#define MEMBER_TEXT_MAX (BDF_TEXT_MAX + 8)

typedef struct Member {
	Bdf bdf _json_(as "address");
	MemberKind kind _json_(wrong "is neither nic, vf nor nvme");
} Member;
DECLARE_JSON(Member, member_members)

/* The address in any form of bdf_parse(). -EINVAL leaves *ret alone. */
int member_parse(const char *text, Member *ret);
/* Returns `buffer`. */
const char *member_format(const Member *member, char buffer[MEMBER_TEXT_MAX]);
#define MEMBER_TEXT(member) member_format((member), (char[MEMBER_TEXT_MAX]){ 0 })

/* "NIC", "VF", "NVMe": in a sentence. */
const char *member_kind_noun(MemberKind kind);

/* By class and by whether it is a virtual function: an Ethernet VF is a vf, and no nic. */
bool member_kind_is(MemberKind kind, const PciFunction *function);
/* What it can be; false: nothing. */
bool member_kind_of(const PciFunction *function, MemberKind *ret);
