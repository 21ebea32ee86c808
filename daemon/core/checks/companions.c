/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of what a group has beside its GPUs. */
#include "core/checks/checks.h"

#define VENDOR_MELLANOX 0x15b3

/*
 * The management functions of NVSwitches look like ConnectX-7: gpu-driver-container tells them by
 * SW_MNG in their VPD. Whoever has one has the links of every tenant.
 */
static void check_switch_management(const Checks *c, const Companion *companion, Finding *f)
{
	const FunctionFacts *facts = checks_function(c, &companion->member.bdf);
	const char *bdf = BDF_TEXT(&companion->member.bdf);

	if (companion->member.kind != MEMBER_NIC || companion->function->vendor != VENDOR_MELLANOX)
		return;
	if (!facts || !facts->vpd_read) {
		finding_unknown(f, bdf,
				"whether %s manages NVSwitches is not known: its VPD was not read",
				bdf);
		finding_remedy(f, "see /sys/bus/pci/devices/%s/vpd; or give a VF of it", bdf);
	} else if (facts->sw_mng) {
		finding_fail(f, bdf,
			     "%s manages the NVSwitches of this host (SW_MNG in its VPD): it is "
			     "never given away",
			     bdf);
		finding_remedy(f, "take it out of the declaration");
	} else {
		return;
	}
	finding_bars(f, GPUPASS_ERROR_UNSUPPORTED_BOARD, NULL);
}

/*
 * What this version does not do yet for a kind, and without which none of it is given. A NIC's use
 * is a check of its own (nic.c).
 */
static const char *const lacking[MEMBER_KIND_MAX_] = {
	[MEMBER_VF] = "its MAC, VLAN and spoof check are not set",
};

static void check_lacking(const Companion *companion, Finding *f)
{
	const char *bdf = BDF_TEXT(&companion->member.bdf);
	MemberKind kind = companion->member.kind;

	if (!lacking[kind])
		return;
	finding_unknown(f, bdf, "no %s is given to a domain by this version (%s): %s",
			member_kind_noun(kind), bdf, lacking[kind]);
	finding_remedy(f, "declare the group without it");
	finding_bars(f, GPUPASS_ERROR_HOST_IN_USE, NULL);
}

static void check_companions(const Checks *c, Finding *f)
{
	for (size_t i = 0; i < c->n_companions; i++) {
		if (!c->companions[i].function)
			continue;
		check_lacking(&c->companions[i], f);
		check_switch_management(c, &c->companions[i], f);
	}
}

const Check checks_of_companions[] = {
	CHECK("companions", "NICs, VFs and NVMes of groups", 0, check_companions,
	      "no group has one that cannot be given", SEE_TABLE,
	      "VPD in sysfs, read by the inspector", .plans = REFUSES_TAKING),
	{ 0 },
};
