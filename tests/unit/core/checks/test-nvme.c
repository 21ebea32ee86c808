/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of NVMes that groups have. */
#include "rig/test.h"

#include "checks-rig.h"

static NvmeHold hold;
static NvmeLabel label;
static char *lines[2];

static void held(Rig *r, NvmeHoldKind kind, const char *who)
{
	hold = (NvmeHold){ kind, (char *)"/dev/nvme0n1p1", (char *)who };
	r->nvme_use.holds = &hold;
	r->nvme_use.n_holds = 1;
}

static char **one_line(const char *line)
{
	lines[0] = (char *)line;
	return lines;
}

static void with_data(Rig *r)
{
	r->nvme.is_clean = false;
	label = (NvmeLabel){ .node = (char *)"/dev/nvme0n1p1",
			     .type = (char *)"zfs_member",
			     .name = (char *)"tank" };
	r->nvme_use.labels = &label;
	r->nvme_use.n_labels = 1;
}

static void without_way(Rig *r)
{
	r->nvme_state.sanitizes_block = false;
}

#define IN_USE "the host uses an NVMe of the group"
#define HELD(name, kind, who, says, remedy)                                                        \
	REFUSED(name, "nvme-use", "warn", says, remedy, IN_USE, GPUPASS_ERROR_HOST_IN_USE, says,   \
		held(r, kind, who))

/* promises M5, M7 */
TEST(who_uses_an_nvme_refuses_by_name)
{
	_cleanup_strv_ char **cases = NULL;

	HELD("a mount", NVME_HOLD_MOUNT, "/srv", "/dev/nvme0n1p1 is mounted at /srv", "umount");
	HELD("swap", NVME_HOLD_SWAP, NULL, "/dev/nvme0n1p1 is swap space", "swapoff");
	HELD("btrfs", NVME_HOLD_BTRFS, "ab", "the mounted btrfs ab", "umount");
	HELD("LVM", NVME_HOLD_DM, "vg-root (dm-0, LVM)", "vg-root (dm-0, LVM)", "vgreduce");
	HELD("md", NVME_HOLD_MD, "md0", "in the RAID md0", "mdadm");
	HELD("bcache", NVME_HOLD_HOLDER, "bcache0", "is held by bcache0", "lsblk");
	HELD("a loop device", NVME_HOLD_LOOP, "loop1", "behind loop1", "losetup");
	HELD("nvmet", NVME_HOLD_EXPORT, "nvmet (nqn.x)", "served to others by nvmet", "nvmetcli");
	HELD("the boot disk", NVME_HOLD_BOOT, "root=UUID=1", "root=UUID=1", "declare another");
	HELD("fstab", NVME_HOLD_FSTAB, "/data", "named in /etc/fstab: /data", "take that line");
	HELD("ZFS", NVME_HOLD_CLAIM, NULL, "claimed by something", "zpool");
	REFUSED("a process", "nvme-use", "warn", "/dev/nvme0n1 by python3", "stop it", IN_USE,
		GPUPASS_ERROR_HOST_IN_USE, "python3 (pid 4242",
		(model_holder(&r->m, NVME, "/dev/nvme0n1", false)));
	REFUSED("another controller", "nvme-use", "warn", "nvme7 reaches the same",
		"one controller", IN_USE, GPUPASS_ERROR_HOST_IN_USE, "nvme7",
		(r->nvme_use.siblings = one_line("nvme7")));
	REFUSED("VMD", "nvme-use", "fail", "behind Intel's VMD", "turn VMD off",
		"behind Intel's VMD", GPUPASS_ERROR_UNSUPPORTED_BOARD, NULL,
		(r->nvme.bdf.segment = 0x10000));
	REFUSED("data that nobody gave up", "nvme-data", "warn", "zfs_member \"tank\"", "--erase",
		"what is on an NVMe of the group would be lost", GPUPASS_ERROR_HOST_IN_USE, "tank",
		with_data(r));
	REFUSED("SMART", "nvme-state", "warn", "its media is read-only", "declare another",
		"cannot be given to a domain", GPUPASS_ERROR_UNSUPPORTED_BOARD, "read-only",
		(r->nvme_state.critical_warning = 8));
	REFUSED("a lock", "nvme-state", "warn", "it is locked", "sedutil",
		"cannot be given to a domain", GPUPASS_ERROR_UNSUPPORTED_BOARD, "locked",
		(r->nvme_state.lock = NVME_LOCK_LOCKED));
	REFUSED("no way to erase it", "nvme-state", "warn", "neither sanitize nor format",
		"declare another", "cannot be given to a domain", GPUPASS_ERROR_UNSUPPORTED_BOARD,
		"could not be cleaned", without_way(r));
	all_had_cases(cases, checks_of_nvme, "");
}

TEST(a_good_nvme_is_no_fault)
{
	SPEAKS("clean", "", (void)r);
	SPEAKS("with data that may be erased", "", (with_data(r), r->nvme.may_erase = true));
	STANDS("nvme-state", "pass", "no fault",
	       (r->nvme.state = NULL, r->nvme_use.controller = NULL));
}

/* What is not known refuses, too. */
static void refused_unknown(Rig *r, const char *reason)
{
	r->m.host.groups = group_set_free(r->m.host.groups);
	r->m.facts = &r->machine;
	assert_int_equal(model_plan(&r->m), PROBLEM);
	assert_non_null(strstr(r->m.problem->reason, reason));
}

#define NOT_KNOWN(id, text, reason, ...)                                                           \
	ON_RIG((expect_status(r, id, "unknown", text), refused_unknown(r, reason),                 \
		add(&cases, id)),                                                                  \
	       __VA_ARGS__)

TEST(what_is_not_known_of_an_nvme_refuses)
{
	_cleanup_strv_ char **cases = NULL;

	NOT_KNOWN("nvme-use", "was not looked at: it hangs", "whether the host uses an NVMe",
		  (r->nvme.use = NULL, r->nvme.use_why = "it hangs"));
	NOT_KNOWN("nvme-use", "not known: the mounts", "whether the host uses an NVMe",
		  (r->nvme_use.unread = one_line("the mounts of the host")));
	NOT_KNOWN("nvme-state", "is not known: no driver", "cannot be given",
		  (r->nvme.is_clean = false, r->nvme.may_erase = true, r->nvme.state = NULL,
		   r->nvme.state_why = "no driver"));
}
