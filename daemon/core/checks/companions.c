/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of what a group has beside its GPUs. */
#include "core/checks/checks.h"

#define CLASS_ETHERNET 0x0200

/*
 * The management functions of NVSwitches look like ConnectX-7: gpu-driver-container tells them by
 * SW_MNG in their VPD. Whoever has one has the links of every tenant.
 */
static void check_switch_management(const Checks *c, const Companion *companion, Finding *f)
{
	const FunctionFacts *facts = checks_function(c, &companion->member.bdf);
	const char *bdf = BDF_TEXT(&companion->member.bdf);

	if (companion->member.kind != MEMBER_NIC ||
	    companion->function->vendor != PCI_VENDOR_MELLANOX)
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
 * libvirt sets a VF's MAC and VLAN by its NIC. What keeps the guest from choosing others is the
 * spoof check, and that it is not trusted.
 */
static void check_vf(const Checks *c, const Companion *companion, Finding *f)
{
	const Bdf *bdf = &companion->member.bdf;
	const Group *group = group_set_find_gpu(c->facts->groups, bdf);
	const Inspection *in = c->facts->inspection;
	const NicUse *use = in ? nic_use_find(in->nics, in->n_nics, bdf) : NULL;

	if (companion->member.kind != MEMBER_VF)
		return;
	if (companion->function->class_code >> 8 != CLASS_ETHERNET) {
		finding_fail(f, BDF_TEXT(bdf),
			     "%s is no Ethernet VF: nothing here gives it an identity",
			     BDF_TEXT(bdf));
		finding_remedy(f, "declare the group without it: GUIDs of InfiniBand are not set");
	} else if (!use || !use->vf_read) {
		finding_unknown(f, BDF_TEXT(bdf), "what %s may do is not known: %s", BDF_TEXT(bdf),
				use && use->vf_why ? use->vf_why : "its NIC was not asked");
		finding_remedy(f, "see ip -d link, and journalctl -t gpupass-network");
	} else if (!nic_use_vf_is_ruled(use)) {
		finding_warn(f, BDF_TEXT(bdf), "%s may send as another: spoof check %s, trust %s",
			     BDF_TEXT(bdf), use->spoof_check ? "on" : "off",
			     use->trusted ? "on" : "off");
		finding_remedy(f, "gpupass prepare %s", group ? group->name : "GROUP");
	} else {
		return;
	}
	finding_bars(f, GPUPASS_ERROR_HOST_IN_USE, NULL);
}

static void check_companions(const Checks *c, Finding *f)
{
	for (size_t i = 0; i < c->n_companions; i++) {
		if (!c->companions[i].function)
			continue;
		check_switch_management(c, &c->companions[i], f);
		check_vf(c, &c->companions[i], f);
	}
}

const Check checks_of_companions[] = {
	CHECK("companions", "NICs, VFs and NVMes of groups", 0, check_companions,
	      "no group has one that cannot be given", SEE_TABLE,
	      "VPD in sysfs, read by the inspector", .plans = REFUSES_TAKING),
	{ 0 },
};
