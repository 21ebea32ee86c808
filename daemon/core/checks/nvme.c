/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of NVMes that groups have: who uses one, what is on it, and whether it can be cleaned. */
#include <string.h>

#include "core/checks/checks.h"

#define IN_USE "the host uses an NVMe of the group"
#define NOT_KNOWN "whether the host uses an NVMe of the group is not known"
#define DATA_LOST "what is on an NVMe of the group would be lost"
#define NOT_FIT "an NVMe of the group cannot be given to a domain"

static bool covers(const Checks *c, const CheckNvme *nvme)
{
	return checks_cover_group(c, nvme->group);
}

/* ---- who uses it ---- */

static const char *remedy_of_hold(NvmeHoldKind kind)
{
	switch (kind) {
	case NVME_HOLD_MOUNT:
	case NVME_HOLD_BTRFS:
		return "umount it, and take it out of /etc/fstab and of units that mount it";
	case NVME_HOLD_SWAP:
		return "swapoff it, and take it out of /etc/fstab";
	case NVME_HOLD_DM:
		return "take it out of its volume group (pvmove, vgreduce), close it (cryptsetup "
		       "close), or blacklist it in multipath.conf";
	case NVME_HOLD_MD:
		return "take it out of that RAID (mdadm --fail, --remove)";
	case NVME_HOLD_LOOP:
		return "losetup -d that device";
	case NVME_HOLD_EXPORT:
		return "take it out of that target (nvmetcli, targetcli)";
	case NVME_HOLD_BOOT:
		return "the host boots from it: declare another one";
	case NVME_HOLD_FSTAB:
		return "take that line out of /etc/fstab";
	case NVME_HOLD_HOLDER:
	case NVME_HOLD_CLAIM:
		break;
	}
	return "find what has it (lsblk, zpool status), and take it out";
}

static void tell_holders(const Checks *c, const CheckNvme *nvme, Finding *f)
{
	const Inspection *inspection = c->facts->inspection;

	for (size_t i = 0; inspection && i < inspection->n_holders; i++) {
		const Holder *holder = &inspection->holders[i];
		_cleanup_free_ char *text = NULL;

		if (!bdf_equal(&holder->bdf, &nvme->bdf) || holder->vfio)
			continue;
		text = holder_text(holder);
		finding_warn(f, BDF_TEXT(&nvme->bdf), "%s", text);
		finding_remedy(f, "stop it");
		finding_bars(f, GPUPASS_ERROR_HOST_IN_USE, IN_USE);
	}
}

static void tell_use(const CheckNvme *nvme, Finding *f)
{
	const char *bdf = BDF_TEXT(&nvme->bdf);
	const NvmeUse *use = nvme->use;

	for (size_t i = 0; i < use->n_holds; i++) {
		_cleanup_free_ char *text = nvme_hold_text(&use->holds[i]);

		finding_warn(f, bdf, "%s: %s", bdf, text);
		finding_remedy(f, "%s", remedy_of_hold(use->holds[i].kind));
		finding_bars(f, GPUPASS_ERROR_HOST_IN_USE, IN_USE);
	}
	for (char **sibling = use->siblings; sibling && *sibling; sibling++) {
		finding_warn(f, bdf, "%s: %s reaches the same namespaces", bdf, *sibling);
		finding_remedy(f, "declare one whose subsystem has one controller");
		finding_bars(f, GPUPASS_ERROR_HOST_IN_USE, IN_USE);
	}
	for (char **what = use->unread; what && *what; what++) {
		finding_unknown(f, bdf, "%s: not known: %s", bdf, *what);
		finding_remedy(f, "see that it can be read");
		finding_bars(f, GPUPASS_ERROR_HOST_IN_USE, NOT_KNOWN);
	}
}

static void check_use(const Checks *c, Finding *f)
{
	for (size_t i = 0; i < c->facts->n_nvmes; i++) {
		const CheckNvme *nvme = &c->facts->nvmes[i];
		const char *bdf = BDF_TEXT(&nvme->bdf);

		if (!covers(c, nvme))
			continue;
		if (nvme_is_behind_vmd(&nvme->bdf)) {
			finding_fail(f, bdf, "%s is behind Intel's VMD, and cannot be given alone",
				     bdf);
			finding_remedy(f, "turn VMD off for its port in the firmware's setup");
			finding_bars(f, GPUPASS_ERROR_UNSUPPORTED_BOARD, NULL);
		}
		tell_holders(c, nvme, f);
		if (nvme->use) {
			tell_use(nvme, f);
			continue;
		}
		finding_unknown(f, bdf, "%s was not looked at: %s", bdf,
				str_or_empty(nvme->use_why));
		finding_remedy(f, "see journalctl -t gpupass-inspector");
		finding_bars(f, GPUPASS_ERROR_HOST_IN_USE, NOT_KNOWN);
	}
}

/* ---- what is on it ---- */

static void check_data(const Checks *c, Finding *f)
{
	for (size_t i = 0; i < c->facts->n_nvmes; i++) {
		const CheckNvme *nvme = &c->facts->nvmes[i];
		const char *bdf = BDF_TEXT(&nvme->bdf);

		if (!covers(c, nvme) || nvme->is_clean || nvme->may_erase)
			continue;
		finding_warn(f, bdf, "%s was not erased by gpupass, and nobody said that it may be",
			     bdf);
		finding_remedy(f, "if nothing on it is needed: gpupass declare it with --erase");
		finding_bars(f, GPUPASS_ERROR_HOST_IN_USE, DATA_LOST);
		for (size_t k = 0; nvme->use && k < nvme->use->n_labels; k++) {
			_cleanup_free_ char *text = nvme_label_text(&nvme->use->labels[k]);

			finding_warn(f, bdf, "%s: %s", bdf, text);
			finding_bars(f, GPUPASS_ERROR_HOST_IN_USE, DATA_LOST);
		}
	}
}

/* ---- whether it can be cleaned ---- */

static void tell_state(const CheckNvme *nvme, Finding *f)
{
	const char *bdf = BDF_TEXT(&nvme->bdf);
	_cleanup_strv_ char **lines = NULL;

	nvme_state_faults(nvme->state, &lines);
	if (nvme_erase_choose(nvme->state, &lines) == NVME_WAY_NONE)
		strv_append(&lines, "so it could not be cleaned between two tenants");
	for (char **line = lines; line && *line; line++) {
		finding_warn(f, bdf, "%s: %s", bdf, *line);
		finding_remedy(f, "mend it by hand (nvme-cli, sedutil-cli), or declare another");
		finding_bars(f, GPUPASS_ERROR_UNSUPPORTED_BOARD, NOT_FIT);
	}
}

/* One that was erased waits on vfio for its next tenant, and was asked before it went there. */
static void check_state(const Checks *c, Finding *f)
{
	for (size_t i = 0; i < c->facts->n_nvmes; i++) {
		const CheckNvme *nvme = &c->facts->nvmes[i];
		const char *bdf = BDF_TEXT(&nvme->bdf);

		if (!covers(c, nvme))
			continue;
		if (nvme->state) {
			tell_state(nvme, f);
		} else if (!nvme->is_clean) {
			finding_unknown(f, bdf, "what %s says of itself is not known: %s", bdf,
					str_or_empty(nvme->state_why));
			finding_remedy(f, "give it to the host's driver nvme, and try again");
			finding_bars(f, GPUPASS_ERROR_UNSUPPORTED_BOARD, NOT_FIT);
		}
	}
}

const Check checks_of_nvme[] = {
	CHECK("nvme-use", "Who uses NVMes", NEEDS_NVMES, check_use, "the host uses none of a group",
	      "nvmes", "mounts, holders and exclusive opens of their disks, read by the inspector",
	      .plans = REFUSES_TAKING),
	CHECK("nvme-data", "Data on NVMes", NEEDS_NVMES, check_data, "all may be erased, or were",
	      "nvmes", "receipts, and groups.d", .plans = REFUSES_TAKING),
	CHECK("nvme-state", "State of NVMes", NEEDS_NVMES, check_state,
	      "all can be cleaned, and have no fault", "nvmes",
	      "identify data and log pages, read by the eraser", .plans = REFUSES_TAKING),
	{ 0 },
};
