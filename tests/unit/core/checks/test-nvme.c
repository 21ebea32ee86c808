/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of NVMes that groups have. */
#include "rig/test.h"

#define RIG_BEGIN model_add_nvme(&r->m)
#include "checks-rig.h"

#define OTHER "00000000-0000-0000-0000-000000000009"

static NvmeUse *use(Rig *r)
{
	return r->m.inspection.nvmes;
}

static NvmeState *nvme(Rig *r)
{
	return r->m.inspection.nvme_states;
}

static TenantMark *mark(Rig *r)
{
	return r->m.tenants->items[0].mark;
}

static void held(Rig *r, NvmeHoldKind kind, const char *who)
{
	*GROW(use(r)->holds, use(r)->n_holds) =
		(NvmeHold){ kind, xstrdup("/dev/nvme0n1p1"), xstrdup(who) };
}

static void labelled(Rig *r)
{
	*GROW(use(r)->labels, use(r)->n_labels) = (NvmeLabel){ .node = xstrdup("/dev/nvme0n1p1"),
							       .type = xstrdup("zfs_member"),
							       .name = xstrdup("tank") };
}

/* Nobody knows whose it was; with `uuid`, a tenant's. */
static void used(Rig *r, const char *uuid)
{
	mark(r)->state = TENANT_DIRTY;
	set(&mark(r)->domain_uuid, uuid);
	labelled(r);
}

/* As it is then. */
static void erased_by(Rig *r, NvmeWay way)
{
	mark(r)->erases = xcalloc(1, sizeof(NvmeReceipt));
	mark(r)->erases[0] = (NvmeReceipt){ .way = way, .state = nvme_state_copy(nvme(r)) };
	mark(r)->n_erases = 1;
	nvme(r)->erased = true;
}

static void may_be_erased(Rig *r)
{
	for (size_t i = 0; i < r->m.host.declarations->n_items; i++)
		r->m.host.declarations->items[i].erase = true;
}

static void behind_vmd(Rig *r)
{
	model_function(&r->m, NVME)->bdf.segment = 0x10000;
	model_facts(&r->m, NVME)->bdf.segment = 0x10000;
	r->m.host.declarations->items[0].companions[0].bdf.segment = 0x10000;
	use(r)->bdf.segment = nvme(r)->bdf.segment = 0x10000;
	mark(r)->bdf.segment = r->m.tenants->items[0].bdf.segment = 0x10000;
	reseal(r);
}

static void a_disk_of(Rig *r, const char *path)
{
	DomainUse *domain = host_domain(&r->m.host, "vm7", false, (const char *const[]){ NULL });

	strv_append(&domain->disks, path);
}

static void on_vfio(Rig *r)
{
	model_bind_pair0(&r->m);
	model_drive(&r->m, NVME, "vfio-pci", "vfio-pci");
	r->m.inspection.n_nvmes = r->m.inspection.n_nvme_states = 0;
	nvme_use_clear(use(r));
	nvme_state_clear(nvme(r));
}

#define IN_USE "the host uses an NVMe of the group"
#define LOST "what is on an NVMe of the group would be lost"
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
	REFUSED("a process", "holders", "warn", "/dev/nvme0n1 by python3", "stop it",
		"processes of the host use it", GPUPASS_ERROR_HOST_IN_USE, "python3 (pid 4242",
		model_holder(&r->m, NVME, "/dev/nvme0n1", false));
	REFUSED("another controller", "nvme-use", "warn", "nvme7 reaches the same",
		"one controller", IN_USE, GPUPASS_ERROR_HOST_IN_USE, "nvme7",
		strv_append(&use(r)->siblings, "nvme7"));
	REFUSED("a domain", "nvme-use", "warn", "/dev/nvme0n1 is a disk of the domain vm7",
		"virsh edit", IN_USE, GPUPASS_ERROR_HOST_IN_USE, "vm7",
		a_disk_of(r, "/dev/nvme0n1"));
	REFUSED("a domain, by a link that udev was kept from making", "nvme-use", "warn",
		"/dev/disk/by-id/nvme-M_S1N9 is a disk of the domain vm7", "virsh edit", IN_USE,
		GPUPASS_ERROR_HOST_IN_USE, "vm7",
		(strv_append(&use(r)->aliases, "/dev/disk/by-id/nvme-*_S1N9*"),
		 a_disk_of(r, "/dev/disk/by-id/nvme-M_S1N9")));
	REFUSED("a domain, by its file system", "nvme-use", "warn",
		"/dev/disk/by-label/tank is a disk of the domain vm7", "virsh edit", IN_USE,
		GPUPASS_ERROR_HOST_IN_USE, "vm7",
		(used(r, OTHER), a_disk_of(r, "/dev/disk/by-label/tank")));
	REFUSED("VMD", "nvme-use", "fail", "behind Intel's VMD", "turn VMD off",
		"behind Intel's VMD", GPUPASS_ERROR_UNSUPPORTED_BOARD, NULL, behind_vmd(r));
	REFUSED("data that nobody gave up", "nvme-data", "warn", "zfs_member \"tank\"", "--erase",
		LOST, GPUPASS_ERROR_HOST_IN_USE, "tank", used(r, NULL));
	REFUSED("what was written since", "nvme-data", "warn", "written on since", "--erase", LOST,
		GPUPASS_ERROR_HOST_IN_USE, "tank", labelled(r));
	REFUSED("the same where it may be erased", "nvme-data", "warn", "written on since",
		"gpupass prepare pair0", LOST, GPUPASS_ERROR_HOST_IN_USE, "tank",
		(erased_by(r, NVME_WAY_FORMAT_USER), labelled(r), may_be_erased(r)));
	REFUSED("what was written without a label", "nvme-data", "warn", "written on since",
		"--erase", LOST, GPUPASS_ERROR_HOST_IN_USE, "written on since",
		(erased_by(r, NVME_WAY_SANITIZE_BLOCK), nvme(r)->erased = false));
	REFUSED("another one than was erased", "nvme-data", "warn", "serial number is S2",
		"--erase", LOST, GPUPASS_ERROR_HOST_IN_USE, "not as gpupass erased it",
		(erased_by(r, NVME_WAY_FORMAT_USER), set(&nvme(r)->serial, "S2")));
	REFUSED("one with another firmware", "nvme-data", "warn", "firmware is evil", "--erase",
		LOST, GPUPASS_ERROR_HOST_IN_USE, "firmware is evil",
		(erased_by(r, NVME_WAY_SANITIZE_BLOCK), set(&nvme(r)->firmware, "evil")));
	REFUSED("SMART", "nvme-state", "warn", "its media is read-only", "declare another",
		"cannot be given to a domain", GPUPASS_ERROR_UNSUPPORTED_BOARD, "read-only",
		(nvme(r)->critical_warning = 8));
	REFUSED("a lock", "nvme-state", "warn", "it is locked", "sedutil",
		"cannot be given to a domain", GPUPASS_ERROR_UNSUPPORTED_BOARD, "locked",
		(nvme(r)->lock = NVME_LOCK_LOCKED));
	REFUSED("no way to erase it", "nvme-state", "warn", "neither sanitize nor format",
		"declare another", "cannot be given to a domain", GPUPASS_ERROR_UNSUPPORTED_BOARD,
		"could not be cleaned", (nvme(r)->sanitizes_block = false));
	all_had_cases(cases, checks_of_nvme, "");
}

TEST(a_good_nvme_is_no_fault)
{
	SPEAKS("clean", "", (void)r);
	SPEAKS("as it was erased", "", erased_by(r, NVME_WAY_SANITIZE_BLOCK));
	SPEAKS("of a format nobody can say it", "",
	       (erased_by(r, NVME_WAY_FORMAT_USER), nvme(r)->erased = false));
	SPEAKS("with data that is yet to be erased", "groups", (used(r, NULL), may_be_erased(r)));
	SPEAKS("with a tenant's, who gets it again or after whom it is erased", "", used(r, OTHER));
	SPEAKS("on vfio, where nobody can be asked", "", on_vfio(r));
	SPEAKS("a domain has another disk", "", a_disk_of(r, "/dev/nvme1n1"));
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

	NOT_KNOWN("nvme-use", "was not looked at", "whether the host uses an NVMe",
		  use(r)->bdf.bus++);
	NOT_KNOWN("nvme-use", "not known: the mounts", "whether the host uses an NVMe",
		  strv_append(&use(r)->unread, "the mounts of the host"));
	NOT_KNOWN("nvme-use", "not known: the host does not show", "whether the host uses an NVMe",
		  strv_free(TAKE_PTR(use(r)->nodes)));
	NOT_KNOWN("nvme-state", "was not looked at", "cannot be given", nvme(r)->bdf.bus++);
	NOT_KNOWN("nvme-state", "not known: it hangs", "cannot be given",
		  strv_append(&nvme(r)->unread, "it hangs"));
}
