/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of who uses the NICs of groups. */
#include "rig/test.h"

#include "checks-rig.h"

#define CARD AUDIO
#define USED "the host uses a NIC of the group"

/* The second function of the first board is one, so that it is in the group. */
static NicUse *nic(Rig *r)
{
	Inspection *in = &r->m.inspection;
	NicUse *use = GROW(in->nics, in->n_nics);

	model_function(&r->m, CARD)->class_code = 0x020000;
	model_drive(&r->m, CARD, "mlx5_core", NULL);
	model_facts(&r->m, CARD)->network = true;
	use->bdf = bdf_of(CARD);
	return use;
}

static void used_over(Rig *r, NicUserKind kind, const char *device, const char *peer,
		      const char *what)
{
	nic_use_add(nic(r), (NicUser){ .kind = kind,
				       .device = strdup(device),
				       .peer = peer ? strdup(peer) : NULL,
				       .what = what ? strdup(what) : NULL });
}

static void used(Rig *r, NicUserKind kind, const char *device, const char *what)
{
	used_over(r, kind, device, NULL, what);
}

static void used_by(Rig *r, const char *command)
{
	NicUse *use = nic(r);

	nic_use_add(use, (NicUser){ .kind = NIC_RDMA, .device = strdup("mlx5_0"), .pid = 812 });
	set(&use->users[0].command, command);
}

#define IN_USE(kind, id, device, what, text, remedy)                                               \
	REFUSED(text, id, "warn", CARD ": " text, remedy, USED, GPUPASS_ERROR_HOST_IN_USE,         \
		CARD ": " text, used(r, kind, device, what))

/* promises O3 */
/* promise M1 */
TEST(each_user_of_a_nic_refuses_by_name)
{
	_cleanup_strv_ char **cases = NULL;

	/* It is its own reason. */
	REFUSED("a default route", "nic-default-route", "warn", CARD ": eth5 has a default route",
		"leave this NIC out of the group",
		CARD ": eth5 has a default route of the host: 10.0.0.1 (table 254)",
		GPUPASS_ERROR_HOST_IN_USE, NULL,
		used_over(r, NIC_DEFAULT_ROUTE, "eth5", "10.0.0.1", "table 254"));
	IN_USE(NIC_ELSEWHERE, "nic-network", "mlx5_core", NULL, "mlx5_core shows no device here",
	       "ip netns");
	IN_USE(NIC_MASTER, "nic-network", "eth5", "br0 (bridge)", "eth5 is a port of br0 (bridge)",
	       "ip link set eth5 nomaster");
	IN_USE(NIC_UPPER, "nic-network", "eth5", "eth5.7 (vlan)", "eth5 carries eth5.7 (vlan)",
	       "ip link delete");
	IN_USE(NIC_SUBFUNCTION, "nic-network", "mlx5_core.sf.2", NULL,
	       "mlx5_core.sf.2 is a subfunction of it", "devlink port");
	IN_USE(NIC_STORAGE, "nic-network", "eth5", "the NFS server filer",
	       "eth5 is the way to the NFS server filer", "umount");
	IN_USE(NIC_ADDRESS, "nic-network", "br0 over eth5", "10.0.0.5/24",
	       "br0 over eth5 has the address 10.0.0.5/24",
	       "ip address flush dev br0; ip link set br0 down");
	IN_USE(NIC_ROUTE, "nic-network", "eth5", "10.1.0.0/16, table 254",
	       "eth5 has the route 10.1.0.0/16", "ip link set eth5 down");
	IN_USE(NIC_UP, "nic-network", "eth5", NULL, "eth5 is up", "ip link set eth5 down");
	IN_USE(NIC_RDMA, "nic-rdma", "mlx5_0", "nvme_rdma of the kernel",
	       "mlx5_0 is used by nvme_rdma of the kernel", "unload that module");
	REFUSED("a process", "nic-rdma", "warn", CARD ": mlx5_0 is used by ib_write_bw (pid 812)",
		"stop it", USED, GPUPASS_ERROR_HOST_IN_USE, "ib_write_bw (pid 812)",
		used_by(r, "ib_write_bw"));
	REFUSED("more than are listed", "nic-network", "warn", "4711 more uses are not listed",
		"ip link set eth5 down", USED, GPUPASS_ERROR_HOST_IN_USE, "eth5 has the route",
		used(r, NIC_ROUTE, "eth5", "10.1.0.0/16"), r->m.inspection.nics[0].more = 4711);
	REFUSED("one who is seen, where others might not be", "nic-network", "warn",
		CARD ": eth5 is up", "ip link set eth5 down", USED, GPUPASS_ERROR_HOST_IN_USE,
		"eth5 is up", used(r, NIC_UP, "eth5", NULL),
		r->m.inspection.nics[0].why = strdup("the kernel does not list it"));
	all_had_cases(cases, checks_of_nics, "");
}

#define NOT_KNOWN(text, ...)                                                                       \
	for (size_t i = 0; i < 3; i++)                                                             \
	ON_RIG((expect_status(r, checks_of_nics[i].id, "unknown", text),                           \
		check_refusal(&(Case){ .name = (text),                                             \
				       .remedy = "journalctl -t gpupass-network",                  \
				       .reason = "is not known",                                   \
				       .error = GPUPASS_ERROR_HOST_IN_USE,                         \
				       .cause = "who uses " CARD " is not known: " text },         \
			      checks_of_nics[i].id, r)),                                           \
	       __VA_ARGS__)

/* promise M1 */
TEST(a_nic_of_which_something_is_not_known_is_refused)
{
	NOT_KNOWN("the kernel does not list it",
		  nic(r)->why = strdup("the kernel does not list it"));
	NOT_KNOWN("it was not looked at", nic(r)->bdf.bus = 0x99);
}

TEST(a_nic_that_nobody_uses_is_given_away)
{
	SPEAKS("nobody", "", nic(r));
	STANDS("nic-network", "pass", "none is in a group", nic(r));
	STANDS("nic-rdma", "pass", "none is in a group", nic(r));
	/* Who has it by vfio is a holder. */
	SPEAKS("on vfio-pci, where nobody looks", "", nic(r),
	       model_drive(&r->m, CARD, "vfio-pci", "vfio-pci"), r->m.inspection.n_nics = 0);
	SPEAKS("on vfio-pci", "", used(r, NIC_ADDRESS, "eth5", "10.0.0.5/24"),
	       model_drive(&r->m, CARD, "vfio-pci", "vfio-pci"));
}

TEST(a_nic_with_vfs_is_told_how_they_go)
{
	_cleanup_strv_ char **cases = NULL;

	REFUSED("VFs", "virtual-functions", "warn", CARD " has virtual functions enabled",
		"see that nobody has one of them", CARD " has virtual functions enabled",
		GPUPASS_ERROR_HOST_IN_USE, NULL, nic(r), model_facts(&r->m, CARD)->num_vfs = 2);
}

TEST(a_driver_that_is_no_makers_is_told)
{
	static const char *const drivers[] = { "pci-stub", "uio_pci_generic", "igb_uio",
					       "xen-pciback" };

	for (size_t i = 0; i < ELEMENTS(drivers); i++)
		SPEAKS(drivers[i], "driver", nic(r), model_drive(&r->m, CARD, drivers[i], NULL));
}
