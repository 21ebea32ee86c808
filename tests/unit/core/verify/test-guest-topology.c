/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a guest sees of PCI Express: which of its devices are the group's, how far apart, and NCCL. */
#include "rig/test.h"

#include <fcntl.h>

#include "core/verify/guest-topology.h"
#include "rig/bdf.h"
#include "rig/snapshot-read.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

/* ---- a host: two switches in two nodes, with a GPU and a NIC below each, and an NVMe ---- */

typedef struct Host {
	PciFunction functions[5];
	Bdf upstream[5][3];
	const PciFunction *members[5];
	size_t n_members;
} Host;

#define GPU 0x030200
#define NIC 0x020700
#define NVME PCI_CLASS_NVME

static const struct {
	const char *bdf, *upstream[3];
	int node;
	uint32_t class_code;
} members[] = {
	{ "0000:44:00.0", { "0000:40:01.0", "0000:41:00.0", "0000:42:00.0" }, 0, GPU },
	{ "0000:84:00.0", { "0000:80:01.0", "0000:81:00.0", "0000:82:00.0" }, 1, GPU },
	{ "0000:45:00.0", { "0000:40:01.0", "0000:41:00.0", "0000:42:01.0" }, 0, NIC },
	{ "0000:85:00.0", { "0000:80:01.0", "0000:81:00.0", "0000:82:01.0" }, 1, NIC },
	{ "0000:46:00.0", { "0000:40:01.0", "0000:41:00.0", "0000:42:02.0" }, 0, NVME },
};

static void make_host(Host *host)
{
	*host = (Host){ .n_members = ELEMENTS(members) };
	for (size_t i = 0; i < ELEMENTS(members); i++) {
		host->functions[i] = (PciFunction){
			.bdf = bdf_of(members[i].bdf),
			.class_code = members[i].class_code,
			.numa_node = members[i].node,
			.upstream = host->upstream[i],
			.n_upstream = 3,
		};
		for (size_t k = 0; k < 3; k++)
			host->upstream[i][k] = bdf_of(members[i].upstream[k]);
		host->members[i] = &host->functions[i];
	}
}

/* ---- guests ---- */

#define SYS "/sys/devices/pci0000:"
#define PCI(path, class, node, links)                                                              \
	"<pci path='" path "' class='" class "' node='" node "' " links "/>\n"
#define LINK(width, speed) "width='" width "' speed='" speed "'"
#define PORT(width, speed) " port_width='" width "' port_speed='" speed "'"
#define FAST LINK("16", "16.0 GT/s PCIe") PORT("16", "16.0 GT/s PCIe")
#define MIRROR_A SYS "e7/0000:e7:00.0/0000:e8:00.0/0000:e9:0"
#define MIRROR_B SYS "f0/0000:f0:00.0/0000:f1:00.0/0000:f2:0"

/* clang-format off */
static const char mirrored[] =
	"<sysfs nodes='2'>\n"
	PCI(MIRROR_A "0.0/0000:ea:00.0", "0x030200", "0", FAST)
	PCI(MIRROR_B "0.0/0000:f3:00.0", "0x030200", "1", FAST)
	PCI(MIRROR_A "1.0/0000:eb:00.0", "0x020700", "0", FAST)
	PCI(MIRROR_B "1.0/0000:f4:00.0", "0x020700", "1", FAST)
	PCI(MIRROR_A "2.0/0000:ec:00.0", "0x010802", "0", FAST)
	PCI(SYS "00/0000:00:1f.2", "0x020000", "-1", LINK("", "Unknown") PORT("", ""))
	"</sysfs>\n";
static const char flat[] =
	"<sysfs nodes='1'>\n"
	PCI(SYS "00/0000:00:02.0/0000:03:00.0", "0x030200", "0", FAST)
	PCI(SYS "00/0000:00:02.1/0000:04:00.0", "0x030200", "0", FAST)
	PCI(SYS "00/0000:00:02.2/0000:05:00.0", "0x020700", "0", FAST)
	PCI(SYS "00/0000:00:02.3/0000:06:00.0", "0x020700", "0", FAST)
	PCI(SYS "00/0000:00:02.4/0000:07:00.0", "0x010802", "0", FAST)
	"</sysfs>\n";
/* clang-format on */
static const char *const mirrored_paths[] = {
	"e7/00.0/00.0/00.0/00.0", "f0/00.0/00.0/00.0/00.0", "e7/00.0/00.0/01.0/00.0",
	"f0/00.0/00.0/01.0/00.0", "e7/00.0/00.0/02.0/00.0",
};
static const char *const flat_paths[] = {
	"00/02.0/00.0", "00/02.1/00.0", "00/02.2/00.0", "00/02.3/00.0", "00/02.4/00.0",
};

#define SPEED "' link_speed='16.0 GT/s PCIe' link_width='16'"
#define SWITCH(n) "<pci busid='ffff:ff:" n SPEED " class='0x060400'>"
#define CPU(n) "<cpu numaid='" n "' affinity='0' arch='x86_64'>"
static const char truth[] = "named there\n<system version='1'>" CPU("0")
	SWITCH("01.0") "<pci busid='0000:03:00.0" SPEED
		       "><gpu dev='0'/></pci><pci busid='0000:05:00.0" SPEED
		       "/></pci></cpu>" CPU("1") SWITCH("02.0") "<pci busid='0000:04:00.0" SPEED
								"/><pci busid='0000:06:00.0" SPEED
								"/></pci></cpu></system>\n";
static const char none[] = "usual not\n";

typedef struct Case {
	const char *sysfs, *file;
	bool is_flat;
	GpuHealth *health;
	unsigned links; /* NVLinks between its GPUs */
} Case;
#define GUEST(sysfs, file) (&(Case){ sysfs, file, false, NULL, 0 })
#define FLAT(sysfs, file) (&(Case){ sysfs, file, true, NULL, 0 })

static GuestRun run_of(const char *text)
{
	return text ? (GuestRun){ .outcome = GUEST_RAN,
				  .out = (char *)text,
				  .out_size = strlen(text) }
		    : (GuestRun){ .outcome = GUEST_NOT_STARTED };
}

static GuestTopology *judge_runs(const Case *c, const GuestRun runs[SIGHT_RUNS])
{
	const VerifyInput verify = { .domain = "vm42",
				     .group = "pair0",
				     .links_expected = c->links };
	DomainHostdev hostdevs[ELEMENTS(members)] = { 0 };
	const DomainUse use = { .hostdevs = hostdevs, .n_hostdevs = ELEMENTS(members) };
	Host host;

	make_host(&host);
	for (size_t i = 0; i < ELEMENTS(members); i++) {
		hostdevs[i].bdf = host.functions[i].bdf;
		snprintf(hostdevs[i].path, sizeof(hostdevs[i].path), "%s",
			 (c->is_flat ? flat_paths : mirrored_paths)[i]);
	}
	return guest_topology_judge(
		&(TopologyInput){ .verify = &verify,
				  .members = host.members,
				  .n_members = host.n_members,
				  .use = &use,
				  .n_nodes = 2,
				  .health = c->health,
				  .n_health = c->health ? ELEMENTS(members) : 0 },
		runs);
}

static GuestTopology *judge(const Case *c)
{
	const GuestRun runs[] = { run_of(c->sysfs), run_of(c->file) };

	return judge_runs(c, runs);
}

/* The text with the first `from` made `to`. */
static char *with(const char *text, const char *from, const char *to)
{
	const char *at = strstr(text, from);

	if (!at)
		fail_msg("no %s", from);
	return strf("%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
}

static void expect_text(const char *what, const char *is, const char *expected)
{
	if (expected ? !is || !strstr(is, expected) : is != NULL)
		fail_msg("%s: %s, and not %s", what, is ? is : "nothing",
			 expected ? expected : "nothing");
}

/* `nccl`, `file`, `remedy`: words; NULL: nothing is said. */
static void expect(const Case *c, GuestSight state, NcclFileState file, const char *seen,
		   const char *told, const char *nccl, const char *remedy)
{
	_cleanup_(guest_topology_freep) GuestTopology *t = judge(c);

	if (t->state != state || t->file != file)
		fail_msg("%s, %s: %s", guest_sight_to_string(t->state),
			 nccl_file_state_to_string(t->file), t->seen);
	expect_text("seen", t->seen, seen);
	expect_text("file", t->file_told, told);
	expect_text("nccl", t->nccl, nccl);
	expect_text("remedy", t->remedy, remedy);
}

#define BOTH_NEAR                                                                                  \
	"it allows GPUDirect RDMA between 0000:44:00.0 and 0000:45:00.0 (PIX), 0000:84:00.0 and "  \
	"0000:85:00.0 (PIX)"
#define NONE_NEAR                                                                                  \
	"it allows no GPUDirect RDMA; none between 0000:44:00.0 and 0000:45:00.0 (PHB, on the host PIX), "

/* ---- what it sees ---- */

TEST(a_mirrored_guest_sees_the_distances_of_the_host)
{
	expect(GUEST(mirrored, none), GUEST_SIGHT_HOST, NCCL_FILE_NONE,
	       "the guest sees the distances of the host", NULL, BOTH_NEAR, NULL);
}

TEST(a_flat_guest_does_not_and_nccl_turns_rdma_off)
{
	expect(FLAT(flat, none), GUEST_SIGHT_OTHER, NCCL_FILE_NONE,
	       "0000:44:00.0 and 0000:84:00.0 are PHB in the guest, on the host SYS", NULL,
	       NONE_NEAR,
	       "give the guest NCCL's file: gpupass export --format=nccl-topo vm42; or assign pair0 "
	       "with --topology=mirror");
}

/* Firmware numbers buses as it likes: the slots of the domain's XML tell which device is which. */
TEST(a_guest_with_other_bus_numbers_is_understood)
{
	_cleanup_free_ char *other = with(flat, "0000:03:00.0", "0000:77:00.0");

	expect(FLAT(other, truth), GUEST_SIGHT_OTHER, NCCL_FILE_UNTRUE, "are PHB in the guest",
	       "it lacks 0000:44:00.0, which is 0000:77:00.0 in the guest",
	       "it allows GPUDirect RDMA between 0000:84:00.0 and 0000:85:00.0 (PIX); it believes",
	       "nccl-topo");
}

TEST(a_device_that_is_missing_or_another_leaves_it_unknown)
{
	_cleanup_free_ char *gone = with(mirrored, "0000:e9:00.0", "0000:e9:05.0");
	_cleanup_free_ char *other = with(mirrored, "0x030200", "0x030000");
	const char *const rows[] = { gone, other };

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		expect(GUEST(rows[i], none), GUEST_SIGHT_UNKNOWN, NCCL_FILE_NONE,
		       "which device of the guest is 0000:44:00.0 is not known", NULL,
		       "it allows GPUDirect RDMA between 0000:84:00.0 and 0000:85:00.0 (PIX)",
		       NULL);
}

TEST(no_rdma_is_said_of_all_only_where_all_is_known)
{
	_cleanup_free_ char *gone = with(flat, "0000:00:02.0", "0000:00:05.0");

	expect(FLAT(gone, none), GUEST_SIGHT_OTHER, NCCL_FILE_NONE, "in the guest", NULL,
	       "whether it allows GPUDirect RDMA is not known; none between 0000:84:00.0 and "
	       "0000:85:00.0 (PHB, on the host PIX)",
	       "nccl-topo");
}

/* promise G9 */
TEST(what_is_not_understood_is_not_known)
{
	static const char *const rows[][2] = {
		{ "</sysfs>", "" },
		{ "</sysfs>", "</sysfs><sysfs nodes='2'/>" },
		{ "<sysfs", "<!DOCTYPE sysfs [<!ENTITY a 'b'>]><sysfs" },
		{ "'2'", "'-2'" },
		{ "'2'", "'2 3'" },
		{ "'2'", "'99999999999999999999'" },
		{ "nodes=", "node=" },
		{ "0x030200", "0x1030200" },
		{ "0x030200", "-1" },
		{ "0x030200", "&a;" },
		{ "class='0x030200' ", "" },
		{ "0000:ea:00.0", "..0/passwd" },
		{ "0000:ea:00.0", "0000:ea:00.8" },
		{ "/sys/devices/pci0000:e7/0000:e7:00.0/0000:e8:00.0/0000:e9:00.0/0000:ea:00.0",
		  "/" },
		{ "pci0000:e7/0000", "pci0001:e7/0001" },
		{ "0000:ea:00.0",
		  "01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/"
		  "01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/"
		  "01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0" },
		{ "</sysfs>", "\x1b[2J</sysfs>" },
		{ "</sysfs>", "<pci/></sysfs>" },
	};
	_cleanup_free_ char *spaces = xcalloc(1, 2000);

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *text = with(mirrored, rows[i][0], rows[i][1]);

		expect(GUEST(text, none), GUEST_SIGHT_UNKNOWN, NCCL_FILE_NONE,
		       "the guest does not say", NULL, "is not known", NULL);
	}
	memset(spaces, ' ', 1999);
	expect(GUEST(spaces, none), GUEST_SIGHT_UNKNOWN, NCCL_FILE_NONE, "the guest does not say",
	       NULL, "is not known", NULL);
	expect(GUEST(NULL, NULL), GUEST_SIGHT_UNKNOWN, NCCL_FILE_UNKNOWN, "the guest does not say",
	       NULL, "is not known", NULL);
}

TEST(a_run_that_failed_or_has_a_zero_in_it_is_not_heard)
{
	GuestRun good = run_of(mirrored), rows[] = { good, good, good };

	rows[0].exit_code = 1;
	rows[1].signalled = true;
	rows[2].out_size++;
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		const GuestRun runs[] = { rows[i], run_of(none) };
		_cleanup_(guest_topology_freep) GuestTopology *t =
			judge_runs(GUEST(NULL, NULL), runs);

		assert_int_equal(t->state, GUEST_SIGHT_UNKNOWN);
	}
}

/* ---- speeds ---- */

/* Each of them at 16 GT/s x16. */
static GpuHealth *host_links(void)
{
	static HealthPort ports[3] = { { .config = { .speed_max = 4, .width_max = 16 } },
				       { .config = { .speed_max = 4, .width_max = 16 } } };
	GpuHealth *health = xcalloc(ELEMENTS(members), sizeof(GpuHealth));

	for (size_t i = 0; i < ELEMENTS(members); i++) {
		health[i].bdf = bdf_of(members[i].bdf);
		health[i].config = (PcieConfig){ .speed_max = 4, .width_max = 16 };
		health[i].n_ports = ELEMENTS(ports);
		health[i].ports = ports;
	}
	return health;
}

/* QEMU's root ports tell what they are told to, if they are: 2.5 GT/s and one lane in old machines. */
TEST(a_port_that_seems_slower_than_the_hosts_is_told)
{
	_cleanup_free_ GpuHealth *health = host_links();
	_cleanup_free_ char *slow =
		with(mirrored, PORT("16", "16.0 GT/s PCIe"), PORT("1", "2.5 GT/s PCIe"));
	_cleanup_free_ char *old =
		with(mirrored, FAST, LINK("16", "16 GT/s") PORT("16", "32 GT/s"));

	expect(&(Case){ mirrored, none, false, health, 0 }, GUEST_SIGHT_HOST, NCCL_FILE_NONE,
	       "of the host", NULL, BOTH_NEAR, NULL);
	expect(&(Case){ old, none, false, health, 0 }, GUEST_SIGHT_HOST, NCCL_FILE_NONE,
	       "of the host", NULL, BOTH_NEAR, NULL);
	expect(&(Case){ slow, none, false, health, 0 }, GUEST_SIGHT_HOST, NCCL_FILE_NONE,
	       "the guest sees the distances of the host; the link of 0000:44:00.0 is 2.5 GT/s x1 "
	       "there, on the host 16 GT/s x16",
	       NULL, BOTH_NEAR, "export --format=nccl-topo vm42");
}

/*
 * As QEMU 7.2 has it: the upper port of its switch tells of 2.5 GT/s and one lane, the lower one of
 * no link at all, which limits nothing.
 */
TEST(the_link_up_from_qemus_switch_seems_slow_to_nccl)
{
	_cleanup_free_ GpuHealth *health = host_links();
	_cleanup_free_ char *qemu =
		with(mirrored, PORT("16", "16.0 GT/s PCIe"),
		     PORT("0", "Unknown") " up_width='1' up_speed='2.5 GT/s PCIe'");

	expect(&(Case){ qemu, none, false, health, 0 }, GUEST_SIGHT_HOST, NCCL_FILE_NONE,
	       "the guest sees the distances of the host; the link up from the switch of "
	       "0000:44:00.0 is 2.5 GT/s x1 there, on the host 16 GT/s x16",
	       NULL, BOTH_NEAR, "export --format=nccl-topo vm42");
}

/* ---- NCCL's file ---- */

TEST(a_true_file_makes_up_for_a_flat_guest)
{
	_cleanup_free_ GpuHealth *health = host_links();

	expect(&(Case){ flat, truth, true, health, 0 }, GUEST_SIGHT_OTHER, NCCL_FILE_TRUE,
	       "are PHB in the guest", "it has the distances of the host",
	       BOTH_NEAR "; it believes its file, which is not what the guest sees", NULL);
}

TEST(a_file_that_says_otherwise_than_the_host_is_named_and_believed)
{
	static const struct {
		const char *from, *to, *told, *nccl;
	} rows[] = {
		/* NCCL hangs one that its file lacks below a CPU of its own choice. */
		{ "0000:03:00.0", "0000:13:00.0",
		  "it lacks 0000:44:00.0, which is 0000:03:00.0 in the guest",
		  "RDMA between 0000:84:00.0 and 0000:85:00.0 (PIX); it believes" },
		/* It compares texts. */
		{ "0000:03:00.0", "03:00.0", "it lacks 0000:44:00.0", "(PIX); it believes" },
		{ "ffff:ff:01.0", "FFFF:FF:01.0", NULL, "(PIX)" },
		{ "<system", "<!-- <?\n\t-->\n<system", NULL, "(PIX)" },
		{ "0000:03:00.0' link_speed='16.0", "0000:03:00.0' link_speed='8.0",
		  "the link of 0000:44:00.0 is 8 GT/s x16 in it, on the host 16 GT/s x16",
		  "0000:44:00.0 and 0000:45:00.0 (PIX)" },
		{ "numaid='1'", "numaid='0'",
		  "0000:44:00.0 and 0000:84:00.0 are PHB in it, on the host SYS", "(PIX)" },
		{ SWITCH("02.0") "<pci", SWITCH("02.0") SWITCH("03.0") "</pci><pci", NULL,
		  "(PIX)" },
	};
	_cleanup_free_ GpuHealth *health = host_links();

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *file = with(truth, rows[i].from, rows[i].to);

		expect(&(Case){ flat, file, true, health, 0 }, GUEST_SIGHT_OTHER,
		       rows[i].told ? NCCL_FILE_UNTRUE : NCCL_FILE_TRUE, "in the guest",
		       rows[i].told ? rows[i].told : "it has", rows[i].nccl,
		       rows[i].told ? "--format=nccl-topo" : NULL);
	}
}

/* A second switch between them is PXB, which NCCL takes for near; a root port of its own is not. */
TEST(a_switch_below_a_switch_is_farther)
{
	_cleanup_free_ char *deeper =
		with(truth, "<pci busid='0000:06:00.0" SPEED "/>",
		     SWITCH("03.0") "<pci busid='0000:06:00.0" SPEED "/></pci>");
	_cleanup_free_ char *beside = with(truth, "<pci busid='0000:06:00.0" SPEED "/></pci>",
					   "</pci><pci busid='0000:06:00.0" SPEED "/>");

	expect(FLAT(flat, deeper), GUEST_SIGHT_OTHER, NCCL_FILE_UNTRUE, "in the guest",
	       "0000:84:00.0 and 0000:85:00.0 are PXB in it, on the host PIX",
	       "0000:84:00.0 and 0000:85:00.0 (PXB); it believes", "--format=nccl-topo");
	expect(FLAT(flat, beside), GUEST_SIGHT_OTHER, NCCL_FILE_UNTRUE, "in the guest",
	       "0000:84:00.0 and 0000:85:00.0 are PHB in it, on the host PIX",
	       "none between 0000:84:00.0 and 0000:85:00.0 (PHB, on the host PIX)",
	       "--format=nccl-topo");
}

/* NCCL, too, goes over PCIe between boards that it takes for near: the file opens more than RDMA. */
TEST(boards_that_seem_near_and_have_no_nvlink_are_told)
{
	_cleanup_free_ char *half = with(truth, "0000:05:00.0", "0000:04:00.0");
	_cleanup_free_ char *both =
		with(half, "02.0" SPEED " class='0x060400'><pci busid='0000:04:00.0",
		     "02.0" SPEED " class='0x060400'><pci busid='0000:05:00.0");

	for (unsigned links = 0; links < 5; links += 4)
		expect(&(Case){ flat, both, true, NULL, links }, GUEST_SIGHT_OTHER,
		       NCCL_FILE_UNTRUE, "in the guest", "are PIX in it, on the host SYS",
		       links > 0
			       ? "on the host PIX); it believes"
			       : "on the host PIX); it uses peer access over PCIe, if the driver "
				 "has it, between 0000:44:00.0 and 0000:84:00.0 (PIX); it believes",
		       "nccl-topo");
}

/* promise G9 */
TEST(a_file_that_nccl_cannot_read_is_told)
{
	static const char *const rows[] = {
		"",
		"<system version='2'></system>",
		"<system></system>",
		"<topology version='1'></topology>",
		"<system version='1'>",
		"<!DOCTYPE system [<!ENTITY a 'b'>]><system version='1'/>",
		"root:x:0:0:root:/root:/bin/bash",
		"<?xml version='1.0'?><system version='1'/>",
		"<system\nversion='1'/>",
		"<system version='1'\n/>",
		"<system\tversion='1'/>",
		"<system version='1'>\t</system>",
		"<system version='1'><!-- </system>",
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *file = strf("named there\n%s", rows[i]);

		expect(FLAT(flat, file), GUEST_SIGHT_OTHER, NCCL_FILE_UNREADABLE, "in the guest",
		       "not one that NCCL can read", NONE_NEAR, "nccl-topo");
	}
	expect(FLAT(flat, "named not\n"), GUEST_SIGHT_OTHER, NCCL_FILE_MISSING, "in the guest",
	       "names one that is not there", NONE_NEAR, "nccl-topo");
	expect(FLAT(flat, NULL), GUEST_SIGHT_OTHER, NCCL_FILE_UNKNOWN, "in the guest", NULL,
	       NONE_NEAR, "nccl-topo");
}

TEST(a_level_that_the_guest_sets_is_told)
{
	expect(FLAT(flat, "usual not level\n"), GUEST_SIGHT_OTHER, NCCL_FILE_NONE, "in the guest",
	       NULL, "; but nccl.conf sets NCCL_NET_GDR_LEVEL", "nccl-topo");
}

/* ---- the file that export writes: tests/fixtures/client, of the hosts of test-client-export ---- */

#define FILED_MAX 6

/* In a flat guest, whose buses count from 5 on in the order of the members. */
static void expect_true_file(const char *name, const PciFunction *const *of, unsigned n,
			     const char *nccl)
{
	_cleanup_free_ char *sysfs = xstrdup("<sysfs nodes='1'>"), *whole = NULL;
	_cleanup_free_ char *path = strf(FIXTURES "/client/nccl-%s.xml", name);
	_cleanup_free_ char *xml = NULL, *file = NULL;
	static const VerifyInput verify = { .domain = "vm42", .group = "pair0" };
	DomainHostdev hostdevs[FILED_MAX] = { 0 };
	const DomainUse use = { .hostdevs = hostdevs, .n_hostdevs = n };
	_cleanup_(guest_topology_freep) GuestTopology *t = NULL;

	for (unsigned i = 0; i < n; i++) {
		char *longer;

		hostdevs[i].bdf = of[i]->bdf;
		snprintf(hostdevs[i].path, sizeof(hostdevs[i].path), "00/02.%x/00.0", i);
		longer = strf("%s<pci path='" SYS "00/0000:00:02.%x/0000:%02x:00.0' class='0x%06x' "
			      "node='0'/>",
			      sysfs, i, i + 5, of[i]->class_code);
		free(sysfs);
		sysfs = longer;
	}
	whole = strf("%s</sysfs>", sysfs);
	assert_int_equal(file_read_at(AT_FDCWD, path, 65536, &xml, NULL), 0);
	file = strf("named there\n%s", xml);
	t = guest_topology_judge(&(TopologyInput){ .verify = &verify,
						   .members = of,
						   .n_members = n,
						   .use = &use,
						   .n_nodes = 2 },
				 (GuestRun[]){ run_of(whole), run_of(file) });
	expect_text(name, t->file_told, "it has the distances of the host");
	expect_text(name, t->nccl, nccl);
}

/* Its members are those of test-client-export, in their order. */
TEST(the_file_that_export_writes_of_switches_and_nics_is_true)
{
	static const char *const members_of[] = { "0000:18:00.0", "0000:19:00.0", "0000:1a:00.0",
						  "0000:9a:00.0", "0000:9b:00.0", "0000:9c:00.1" };
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;
	const PciFunction *of[ELEMENTS(members_of)];
	_cleanup_free_ char *json = NULL;
	char *message = NULL;

	assert_int_equal(
		file_read_at(AT_FDCWD, FIXTURES "/hosts/h100-nvl-nics.json", 1 << 20, &json, NULL),
		0);
	assert_int_equal(pci_snapshot_from_json(json, strlen(json), &snapshot, &message), 0);
	for (size_t i = 0; i < ELEMENTS(of); i++) {
		Bdf bdf = bdf_of(members_of[i]);

		of[i] = pci_snapshot_find(snapshot, &bdf);
		assert_non_null(of[i]);
	}
	expect_true_file(
		"h100-nvl-nics", of, ELEMENTS(of),
		"GPUDirect RDMA between 0000:18:00.0 and 0000:1a:00.0 (PIX), 0000:19:00.0 "
		"and 0000:1a:00.0 (PIX), 0000:9a:00.0 and 0000:9c:00.1 (PIX), 0000:9b:00.0 "
		"and 0000:9c:00.1 (PIX); it uses peer access over PCIe, if the driver has it, "
		"between 0000:18:00.0 and 0000:19:00.0 (PIX), 0000:9a:00.0 and 0000:9b:00.0 "
		"(PIX); it believes");
}

/* Of two of its functions no node is known, though the host has several. */
TEST(the_file_that_export_writes_is_true)
{
	static Bdf upstream[6][5];
	static const struct {
		const char *bdf, *upstream[5];
		int node;
		uint32_t class_code;
	} rows[] = {
		{ "0000:04:00.0",
		  { "0000:00:01.0", "0000:01:00.0", "0000:02:00.0", "0000:03:00.0",
		    "0000:03:08.0" },
		  0,
		  GPU },
		{ "0000:07:00.0",
		  { "0000:00:01.0", "0000:01:00.0", "0000:02:01.0", "0000:05:00.0",
		    "0000:06:00.0" },
		  0,
		  GPU },
		{ "0000:08:00.0",
		  { "0000:00:01.0", "0000:01:00.0", "0000:02:01.0", "0000:05:00.0",
		    "0000:06:01.0" },
		  0,
		  NIC },
		{ "0000:44:00.0",
		  { "0000:40:01.0", "0000:41:00.0", "0000:42:00.0" },
		  NUMA_NODE_NONE,
		  0x030000 },
		{ "0000:c1:00.0", { "0000:c0:02.0" }, NUMA_NODE_NONE, 0x020000 },
		{ "0000:c1:00.1", { "0000:c0:02.0" }, NUMA_NODE_NONE, 0x020000 },
	};
	const PciFunction *of[ELEMENTS(rows)];
	PciFunction functions[ELEMENTS(rows)];

	for (unsigned i = 0; i < ELEMENTS(rows); i++) {
		PciFunction *f = &functions[i];

		*f = (PciFunction){ .bdf = bdf_of(rows[i].bdf),
				    .class_code = rows[i].class_code,
				    .numa_node = rows[i].node,
				    .upstream = upstream[i] };
		while (f->n_upstream < 5 && rows[i].upstream[f->n_upstream]) {
			upstream[i][f->n_upstream] = bdf_of(rows[i].upstream[f->n_upstream]);
			f->n_upstream++;
		}
		of[i] = f;
	}
	expect_true_file(
		"deep", of, ELEMENTS(rows),
		"GPUDirect RDMA between 0000:04:00.0 and 0000:08:00.0 (PXB), 0000:07:00.0 and "
		"0000:08:00.0 (PIX); it uses peer access over PCIe, if the driver has it, between "
		"0000:04:00.0 and 0000:07:00.0 (PXB); it believes");
}

TEST(a_file_that_nobody_looked_at_is_no_file_that_nccl_cannot_read)
{
	const GuestRun runs[] = { run_of(mirrored), { .outcome = GUEST_TOO_MUCH } };
	_cleanup_(guest_topology_freep) GuestTopology *t = judge_runs(GUEST(NULL, NULL), runs);

	assert_int_equal(t->file, NCCL_FILE_UNKNOWN);
	expect_text("file", t->file_told, "it is too large to be looked at");
}
