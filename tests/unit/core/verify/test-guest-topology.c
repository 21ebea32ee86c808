/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a guest sees of PCI Express: which of its devices are the group's, how far apart, and NCCL. */
#include "rig/test.h"

#include "core/domain/guest-path.h"
#include "core/verify/guest-topology.h"
#include "rig/bdf.h"
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
#define FAST " 16 16 16.0 16.0 0 0\n"
#define MIRROR_A SYS "e7/0000:e7:00.0/0000:e8:00.0/0000:e9:0"
#define MIRROR_B SYS "f0/0000:f0:00.0/0000:f1:00.0/0000:f2:0"

static const char mirrored[] =
	MIRROR_A "0.0/0000:ea:00.0 0x030200 0" FAST				    //
		MIRROR_B "0.0/0000:f3:00.0 0x030200 1" FAST			    //
			MIRROR_A "1.0/0000:eb:00.0 0x020700 0" FAST		    //
				MIRROR_B "1.0/0000:f4:00.0 0x020700 1" FAST	    //
					MIRROR_A "2.0/0000:ec:00.0 0x010802 0" FAST //
		 "/sys/devices/pci0000:00/0000:00:1f.2 0x020000 -1 0 0 Unknown 0 0 0\nnodes 2\n";
static const char *const mirrored_paths[] = {
	"0000:e7:00.0/00.0/00.0/00.0", "0000:f0:00.0/00.0/00.0/00.0", "0000:e7:00.0/00.0/01.0/00.0",
	"0000:f0:00.0/00.0/01.0/00.0", "0000:e7:00.0/00.0/02.0/00.0",
};
static const char flat[] = SYS "00/0000:00:02.0/0000:03:00.0 0x030200 0" FAST //
	SYS "00/0000:00:02.1/0000:04:00.0 0x030200 0" FAST		      //
		SYS "00/0000:00:02.2/0000:05:00.0 0x020700 0" FAST	      //
			SYS "00/0000:00:02.3/0000:06:00.0 0x020700 0" FAST    //
				SYS "00/0000:00:02.4/0000:07:00.0 0x010802 0" FAST "nodes 1\n";
static const char *const flat_paths[] = {
	"0000:00:02.0/00.0", "0000:00:02.1/00.0", "0000:00:02.2/00.0",
	"0000:00:02.3/00.0", "0000:00:02.4/00.0",
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
} Case;
#define GUEST(sysfs, file) (&(Case){ sysfs, file, false, NULL })
#define FLAT(sysfs, file) (&(Case){ sysfs, file, true, NULL })

static GuestRun run_of(const char *text)
{
	return text ? (GuestRun){ .outcome = GUEST_RAN,
				  .out = (char *)text,
				  .out_size = strlen(text) }
		    : (GuestRun){ .outcome = GUEST_NOT_STARTED };
}

static GuestTopology *judge_runs(const Case *c, const GuestRun runs[SIGHT_RUNS])
{
	static const VerifyInput verify = { .domain = "vm42", .group = "pair0" };
	Host host;
	GuestTopology *t;

	make_host(&host);
	t = guest_topology_judge(
		&(TopologyInput){ .verify = &verify,
				  .members = host.members,
				  .paths = (char **)(c->is_flat ? flat_paths : mirrored_paths),
				  .n_members = host.n_members,
				  .n_nodes = 2,
				  .health = c->health,
				  .n_health = c->health ? ELEMENTS(members) : 0 },
		runs);
	return t;
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
	assert_int_equal(t->n_members, ELEMENTS(members));
	assert_int_equal(t->n_pairs, ELEMENTS(members) * (ELEMENTS(members) - 1) / 2);
}

#define BOTH_NEAR                                                                                  \
	"GPUDirect RDMA between 0000:44:00.0 and 0000:45:00.0 (PIX), 0000:84:00.0 and 0000:85:00.0 (PIX)"
#define NONE_NEAR                                                                                  \
	"no GPUDirect RDMA; none between 0000:44:00.0 and 0000:45:00.0 (PHB, on the host PIX), "

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
	_cleanup_(guest_topology_freep) GuestTopology *t = judge(FLAT(other, none));

	assert_string_equal(BDF_TEXT(&t->members[0].guest_address), "0000:77:00.0");
}

TEST(a_device_that_is_missing_or_another_leaves_it_unknown)
{
	_cleanup_free_ char *gone = with(mirrored, "0000:e9:00.0", "0000:e9:05.0");
	_cleanup_free_ char *other = with(mirrored, "0x030200", "0x030000");
	const char *const rows[] = { gone, other };

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		expect(GUEST(rows[i], none), GUEST_SIGHT_UNKNOWN, NCCL_FILE_NONE,
		       "which device of the guest is 0000:44:00.0 is not known", NULL,
		       "GPUDirect RDMA between 0000:84:00.0 and 0000:85:00.0 (PIX)", NULL);
}

/* promise G9 */
TEST(what_is_not_understood_is_not_known)
{
	static const char *const rows[][2] = {
		{ "nodes 2\n", "" },
		{ "nodes 2\n", "nodes 2\nnodes 2\n" },
		{ "nodes 2", "nodes -2" },
		{ "nodes 2", "nodes 2 3" },
		{ "nodes 2", "nodes 99999999999999999999" },
		{ "nodes 2", "node 2" },
		{ "0x030200", "0x1030200" },
		{ "0x030200", "-1" },
		{ "0x030200 0", "0x030200" },
		{ "0000:ea:00.0", "..0/passwd" },
		{ "0000:ea:00.0", "0000:ea:00.8" },
		{ "/sys/devices/pci0000:e7/0000:e7:00.0/0000:e8:00.0/0000:e9:00.0/0000:ea:00.0",
		  "/" },
		{ "0000:ea:00.0",
		  "01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/"
		  "01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/"
		  "01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0/01:00.0" },
		{ "nodes 2\n", "\x1b[2J\nnodes 2\n" },
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
	_cleanup_free_ char *slow = with(mirrored, "16 16 16.0 16.0", "16 1 16.0 2.5");
	_cleanup_free_ char *old = with(mirrored, "16 16 16.0 16.0", "16 16 16 32");

	expect(&(Case){ mirrored, none, false, health }, GUEST_SIGHT_HOST, NCCL_FILE_NONE,
	       "of the host", NULL, BOTH_NEAR, NULL);
	expect(&(Case){ old, none, false, health }, GUEST_SIGHT_HOST, NCCL_FILE_NONE, "of the host",
	       NULL, BOTH_NEAR, NULL);
	expect(&(Case){ slow, none, false, health }, GUEST_SIGHT_HOST, NCCL_FILE_NONE,
	       "the guest sees the distances of the host; to NCCL the link of 0000:44:00.0 is 2.5 GT/s x1 "
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
		with(mirrored, "16 16 16.0 16.0 0 0", "16 0 16.0 Unknown 1 2.5");

	expect(&(Case){ qemu, none, false, health }, GUEST_SIGHT_HOST, NCCL_FILE_NONE,
	       "the guest sees the distances of the host; to NCCL the link up from the switch of "
	       "0000:44:00.0 is 2.5 GT/s x1 there, on the host 16 GT/s x16",
	       NULL, BOTH_NEAR, "export --format=nccl-topo vm42");
}

/* ---- NCCL's file ---- */

TEST(a_true_file_makes_up_for_a_flat_guest)
{
	_cleanup_free_ GpuHealth *health = host_links();

	expect(&(Case){ flat, truth, true, health }, GUEST_SIGHT_OTHER, NCCL_FILE_TRUE,
	       "are PHB in the guest", "it says what the host has",
	       BOTH_NEAR "; it believes its file, which is not what the guest sees", NULL);
}

TEST(a_file_that_says_otherwise_than_the_host_is_named_and_believed)
{
	static const struct {
		const char *from, *to, *told, *nccl;
	} rows[] = {
		{ "0000:03:00.0", "0000:13:00.0",
		  "it lacks 0000:44:00.0, which is 0000:03:00.0 in the guest",
		  "RDMA between 0000:84:00.0 and 0000:85:00.0 (PIX); none between 0000:44:00.0 and "
		  "0000:45:00.0 (PHB, on the host PIX)" },
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

		expect(&(Case){ flat, file, true, health }, GUEST_SIGHT_OTHER,
		       rows[i].told ? NCCL_FILE_UNTRUE : NCCL_FILE_TRUE, "in the guest",
		       rows[i].told ? rows[i].told : "it says", rows[i].nccl,
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

/* ---- where the guest sees what the XML has ---- */

#define ADDRESS(bus, slot, function)                                                               \
	"<address type='pci' domain='0' bus='" bus "' slot='" slot "' function='" function "'/>"
#define CONTROLLER(index, model, inner)                                                            \
	"<controller type='pci' index='" index "' model='" model "'>" inner "</controller>"
#define HOSTDEV(bus, inner)                                                                        \
	"<hostdev mode='subsystem' type='pci'><source><address domain='0' bus='" bus               \
	"' slot='0' function='0'/></source>" inner "</hostdev>"

TEST(the_xml_tells_the_slots_of_a_device_in_the_guest)
{
	static const char text[] =
		"<domain type='kvm'><name>vm42</name><uuid>3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242</uuid>"
		"<devices>" CONTROLLER("0", "pcie-root", "") CONTROLLER(
			"1", "pcie-root-port",
			ADDRESS("0", "2", "3")) CONTROLLER("2", "pcie-expander-bus",
							   "<target busNr='231'/>" ADDRESS("0", "4",
											   "0"))
			CONTROLLER("3", "pcie-root-port", ADDRESS("2", "0", "0")) CONTROLLER(
				"4", "pcie-switch-upstream-port",
				ADDRESS("3", "0",
					"0")) CONTROLLER("5", "pcie-switch-downstream-port",
							 ADDRESS("4", "1",
								 "0")) CONTROLLER("6",
										  "pcie-root-port",
										  ADDRESS("7", "1",
											  "0"))
				CONTROLLER(
					"7", "pcie-root-port",
					ADDRESS("6", "1", "0")) CONTROLLER("8", "pcie-expander-bus",
									   ADDRESS("0", "5", "0"))
					HOSTDEV("0x41", ADDRESS("1", "0", "0")) HOSTDEV(
						"0x42",
						ADDRESS("5", "0", "0")) HOSTDEV("0x43",
										ADDRESS("0", "5",
											"1"))
						HOSTDEV("0x44", ADDRESS("6", "0", "0")) HOSTDEV(
							"0x45",
							ADDRESS("9", "0", "0")) HOSTDEV("0x46", "")
							HOSTDEV("0x47",
								ADDRESS("8", "0",
									"0")) "</devices></domain>";
	static const struct {
		const char *host, *path;
	} rows[] = {
		{ "0000:41:00.0", "0000:00:02.3/00.0" },
		{ "0000:42:00.0", "0000:e7:00.0/00.0/01.0/00.0" },
		{ "0000:43:00.0", "0000:00:05.1" },
		{ "0000:44:00.0", NULL }, /* a circle */
		{ "0000:45:00.0", NULL }, /* no such controller */
		{ "0000:46:00.0", NULL }, /* no address */
		{ "0000:47:00.0", NULL }, /* an expander without a number */
		{ "0000:48:00.0", NULL }, /* the domain has it not */
	};
	_cleanup_(domain_xml_freep) DomainXml *xml = NULL;

	assert_int_equal(domain_xml_skim(text, &xml, NULL), 0);
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		Bdf host = bdf_of(rows[i].host);
		_cleanup_free_ char *path = domain_xml_guest_path(xml, &host);

		expect_text(rows[i].host, path, rows[i].path);
		assert_true(!path || str_equal(path, rows[i].path));
	}
}
