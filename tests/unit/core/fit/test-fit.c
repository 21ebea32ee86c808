/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whether a domain fits its GPUs: what is found in many domains, and what is written into them. */
#include "rig/test.h"

#include <string.h>

#include "core/domain/xml-tune.h"
#include "core/fit/fit.h"
#include "rig/domains.h"

#define GIB (1ULL << 30)
#define MIB (1ULL << 20)
#define UEFI "<os firmware='efi'><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os>"
#define BIOS "<os><type arch='x86_64' machine='pc-q35-7.2'>hvm</type></os>"
#define HOST_CPU "<cpu mode='host-passthrough'/>"
#define MODEL_CPU "<cpu mode='host-model'/>"
#define WIDE_CPU "<cpu mode='host-model'><maxphysaddr mode='passthrough'/></cpu>"
#define RAM "<memory unit='GiB'>64</memory>"
#define VCPU "<vcpu placement='static'>16</vcpu>"
#define IOMMU "<iommu model='intel'/>"
#define WINDOW                                                                                     \
	"<qemu:commandline><qemu:arg value='-fw_cfg'/><qemu:arg "                                  \
	"value='name=opt/ovmf/X-PciMmio64Mb,string=524288'/></qemu:commandline>"
#define CLIQUE                                                                                     \
	"<qemu:commandline><qemu:arg value='-set'/><qemu:arg "                                     \
	"value='device.ua-a.x-nv-gpudirect-clique=0'/></qemu:commandline>"
#define OVERRIDE(alias, value)                                                                     \
	"<qemu:override><qemu:device alias='" alias "'><qemu:frontend><qemu:property "             \
	"name='x-nv-gpudirect-clique' type='unsigned' value='" value                               \
	"'/></qemu:frontend></qemu:device></qemu:override>"

static DomainXml *domain(const char *inner, const char *devices)
{
	_cleanup_free_ char *text =
		strf("<domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/"
		     "domain/qemu/1.0'>\n  <name>vm</name>\n"
		     "  <uuid>3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242</uuid>\n  %s\n"
		     "  <devices>%s</devices>\n</domain>\n",
		     inner, devices);

	return domain_parsed(text);
}

/* Two nodes of 32 CPUs and 128 GiB, 46 bits. */
typedef struct Host {
	HostFacts facts;
	HostNode nodes[2];
	HugePool pool;
} Host;

static void make_host(Host *h)
{
	*h = (Host){
		.nodes = { { .node = 0, .cpus = (char *)"0-31", .memory_bytes = 128 * GIB },
			   { .node = 1, .cpus = (char *)"32-63", .memory_bytes = 128 * GIB } },
		.pool = { .page_bytes = GIB, .total = 100, .free = 100 },
		.facts = { .physical_bits = 46, .n_nodes = 2, .memory_bytes = 256 * GIB },
	};
	h->nodes[0].pools = &h->pool;
	h->nodes[0].n_pools = 1;
	h->facts.nodes = h->nodes;
}

/* Two boards with one large BAR each. */
typedef struct Boards {
	PciFunction functions[2];
	const PciFunction *list[2];
} Boards;

static void make_boards(Boards *b, uint64_t bar, int node)
{
	*b = (Boards){ 0 };
	for (size_t i = 0; i < 2; i++) {
		b->functions[i].numa_node = node;
		b->functions[i].bar_size[0] = 16 * MIB;
		b->functions[i].bar_size[1] = bar;
		b->functions[i].bar_size[3] = 32 * MIB;
		b->list[i] = &b->functions[i];
	}
}

static FitFacts facts_of(const DomainXml *xml, const Boards *b, const HostFacts *host)
{
	return (FitFacts){ .xml = xml, .functions = b->list, .n_functions = 2, .host = host };
}

/* All findings except root-ports, which every domain without ports has. */
static void expect_found(size_t row, const FitFacts *facts, const char *wanted)
{
	_cleanup_(fit_report_freep) FitReport *report = fit_check(facts);
	_cleanup_strv_ char **parts = NULL;
	_cleanup_free_ char *found = NULL;

	for (size_t i = 0; i < report->n_items; i++)
		if (report->items[i].id != FIT_ROOT_PORTS)
			strv_appendf(&parts, "%s:%s",
				     fit_severity_to_string(report->items[i].severity),
				     fit_id_to_string(report->items[i].id));
	found = strv_join(parts, " ");
	if (!str_equal(found, wanted))
		fail_msg("row %zu: found \"%s\" instead of \"%s\"", row, found, wanted);
}

#define ANY CPU_VENDOR_UNKNOWN
#define INTEL CPU_VENDOR_INTEL
#define AMD CPU_VENDOR_AMD

TEST(windows_are_judged_by_firmware_and_width)
{
	static const struct {
		const char *inner;
		uint64_t bar;
		unsigned host_bits;
		const char *found;
		CpuVendor vendor;
	} rows[] = {
		{ UEFI RAM HOST_CPU, 256 * MIB, 39, "", ANY },
		{ UEFI RAM MODEL_CPU, 256 * MIB, 46, "", ANY },
		{ UEFI RAM MODEL_CPU, 64 * GIB, 46, "error:bar-window", INTEL },
		/* 40 bits are trusted on AMD, whose vendor KVM's guests have unless they say so. */
		{ UEFI RAM MODEL_CPU, 64 * GIB, 46, "warning:bar-window", AMD },
		{ UEFI RAM MODEL_CPU, 64 * GIB, 46, "warning:bar-window", ANY },
		{ UEFI RAM "<cpu mode='custom'><model>x</model><vendor>AMD</vendor></cpu>",
		  64 * GIB, 46, "warning:bar-window", INTEL },
		{ UEFI RAM MODEL_CPU, 32 * GIB, 46, "warning:bar-window", AMD },
		{ UEFI RAM MODEL_CPU, 16 * GIB, 46, "", AMD },
		{ UEFI RAM HOST_CPU, 64 * GIB, 46, "", ANY },
		{ UEFI RAM WIDE_CPU, 64 * GIB, 46, "", ANY },
		{ UEFI RAM HOST_CPU, 256 * GIB, 46, "", ANY },
		{ UEFI RAM HOST_CPU, 256 * GIB, 52, "", ANY },
		/* A quarter of the address space has room, an eighth has not. */
		{ UEFI RAM HOST_CPU, 256 * GIB, 42, "warning:bar-window", ANY },
		{ UEFI RAM HOST_CPU, 512 * GIB, 42, "error:bar-window", ANY },
		{ UEFI RAM HOST_CPU, 256 * GIB, 43, "warning:bar-window", ANY },
		{ UEFI RAM HOST_CPU, 64 * GIB, 40, "error:bar-window", INTEL },
		{ UEFI RAM HOST_CPU, 64 * GIB, 40, "warning:bar-window", AMD },
		{ UEFI RAM HOST_CPU, 128 * GIB, 40, "error:bar-window", AMD },
		/* The host's address width is not known: no finding. */
		{ UEFI RAM HOST_CPU, 256 * GIB, 0, "", ANY },
		{ UEFI RAM MODEL_CPU, 256 * GIB, 0, "error:bar-window", ANY },
		{ UEFI RAM "<cpu mode='custom'><maxphysaddr mode='emulate' bits='42'/></cpu>",
		  64 * GIB, 46, "", ANY },
		{ UEFI RAM "<cpu mode='host-model'><maxphysaddr mode='passthrough' limit='39'/>"
			   "</cpu>",
		  64 * GIB, 46, "error:bar-window", ANY },
		{ UEFI RAM MODEL_CPU WINDOW, 64 * GIB, 46, "", ANY },
		{ UEFI RAM MODEL_CPU WINDOW, 512 * GIB, 46, "error:bar-window", ANY },
		/* Where the firmware takes it for the least, there is room. */
		{ UEFI RAM HOST_CPU WINDOW, 512 * GIB, 46, "warning:bar-window", ANY },
		{ BIOS RAM MODEL_CPU, 64 * GIB, 46, "", ANY },
		{ BIOS RAM HOST_CPU, 64 * GIB, 46, "", ANY },
		{ BIOS RAM MODEL_CPU, 512 * GIB, 46, "error:bar-window", ANY },
		{ "<os><loader type='pflash'>/OVMF.fd</loader><type arch='x86_64' machine='q35'>hvm"
		  "</type></os>" RAM,
		  64 * GIB, 46, "error:bar-window", INTEL },
		{ "<os><loader type='rom'>/x</loader><type arch='x86_64' machine='q35'>hvm</type>"
		  "</os>" RAM,
		  512 * GIB, 46, "", ANY },
		{ "<os><type arch='aarch64' machine='virt'>hvm</type></os>" RAM, 512 * GIB, 46, "",
		  ANY },
		/* Impossible sizes in sysfs are ignored. */
		{ UEFI RAM HOST_CPU, 1ULL << 62, 46, "", ANY },
		{ UEFI RAM HOST_CPU, UINT64_MAX, 46, "", ANY },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(domain_xml_freep) DomainXml *xml = domain(rows[i].inner, "");
		HostFacts host = { .physical_bits = rows[i].host_bits,
				   .cpu_vendor = rows[i].vendor };
		Boards boards;
		FitFacts facts;

		make_boards(&boards, rows[i].bar, NUMA_NODE_NONE);
		facts = facts_of(xml, &boards, &host);
		expect_found(i, &facts, rows[i].found);
	}
}

TEST(a_slow_start_and_a_hotplug_of_large_bars_are_told)
{
	static const struct {
		unsigned major, minor;
		uint64_t bar;
		bool running, started;
		const char *found;
	} rows[] = {
		{ 6, 1, 64 * GIB, false, false, "info:slow-start" },
		{ 6, 14, 64 * GIB, false, false, "info:slow-start" },
		{ 5, 15, 64 * GIB, false, false, "info:slow-start" },
		{ 6, 15, 64 * GIB, false, false, "" },
		{ 7, 0, 64 * GIB, false, false, "" },
		{ 6, 1, 16 * GIB, false, false, "" },
		{ 6, 1, 64 * GIB, false, true, "" },
		{ 6, 1, 64 * GIB, true, false, "warning:hotplug-window" },
		{ 0, 0, 64 * GIB, false, false, "" }, /* not known */
		{ 0, 0, 64 * GIB, true, false, "warning:hotplug-window" },
		{ 0, 0, 256 * MIB, true, false, "" },
	};
	_cleanup_(domain_xml_freep) DomainXml *xml = domain(UEFI RAM HOST_CPU, "");

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		const HostFacts host = { .physical_bits = 46,
					 .kernel_major = rows[i].major,
					 .kernel_minor = rows[i].minor };
		Boards boards;
		FitFacts facts;

		make_boards(&boards, rows[i].bar, NUMA_NODE_NONE);
		facts = facts_of(xml, &boards, &host);
		facts.running = rows[i].running;
		facts.started = rows[i].started;
		expect_found(i, &facts, rows[i].found);
	}
}

TEST(memory_and_placement_are_judged_by_the_host)
{
#define BASE BIOS HOST_CPU
#define PLACED VCPU0 "<numatune><memory mode='strict' nodeset='0'/></numatune>"
#define VCPU0 "<vcpu cpuset='0-31'>16</vcpu>"
#define CELLS                                                                                      \
	"<cpu mode='host-passthrough'><numa><cell id='0' cpus='0-7' memory='1'/>"                  \
	"<cell id='1' cpus='8-15' memory='1'/></numa></cpu>"
#define MEMNODE(cell, node) "<memnode cellid='" cell "' mode='strict' nodeset='" node "'/>"
#define MEMNODES(a, b) "<numatune>" MEMNODE("0", a) MEMNODE("1", b) "</numatune>"
	static const struct {
		const char *inner, *devices;
		int node;
		const char *found;
	} rows[] = {
		{ BASE RAM PLACED, "", 0, "" },
		{ BASE RAM PLACED, "", 1, "warning:numa-memory warning:numa-cpus" },
		{ BASE RAM PLACED, "", NUMA_NODE_NONE, "" },
		{ BASE RAM PLACED, "", 7, "" },
		{ BASE RAM VCPU, "", 0, "warning:numa-memory warning:numa-cpus" },
		{ BASE RAM VCPU0, "", 0, "warning:numa-memory" },
		{ BASE RAM "<vcpu placement='auto'>4</vcpu><numatune><memory mode='strict' "
			   "placement='auto'/></numatune>",
		  "", 0, "" },
		/* field: domains/01: without a nodeset libvirt has numad choose. */
		{ BASE RAM
		  "<vcpu placement='auto'>4</vcpu><numatune><memory mode='preferred'/></numatune>",
		  "", 0, "" },
		{ BIOS CELLS RAM VCPU0 MEMNODES("0", "0"), "", 0, "" },
		{ BIOS CELLS RAM VCPU0 MEMNODES("0", "1"), "", 0, "warning:numa-memory" },
		{ BIOS CELLS RAM VCPU0
		  "<numatune><memory nodeset='0'/>" MEMNODE("1", "0") "</numatune>",
		  "", 0, "" },
		{ BIOS CELLS RAM VCPU0
		  "<numatune><memory nodeset='1'/>" MEMNODE("1", "0") "</numatune>",
		  "", 0, "warning:numa-memory" },
		{ BIOS CELLS RAM VCPU0 "<numatune>" MEMNODE("1", "0") "</numatune>", "", 0,
		  "warning:numa-memory" },
		{ BASE RAM "<vcpu>2</vcpu><cputune><vcpupin vcpu='0' cpuset='3'/><vcpupin vcpu='1' "
			   "cpuset='4-5'/></cputune><numatune><memory nodeset='0'/></numatune>",
		  "", 0, "" },
		{ BASE RAM "<vcpu>2</vcpu><cputune><vcpupin vcpu='0' cpuset='3'/><vcpupin vcpu='1' "
			   "cpuset='40'/></cputune><numatune><memory nodeset='0'/></numatune>",
		  "", 0, "warning:numa-cpus" },
		{ BASE RAM
		  "<vcpu cpuset='0-31'>33</vcpu><numatune><memory nodeset='0'/></numatune>",
		  "", 0, "warning:numa-cpus" },
		{ BASE "<memory unit='GiB'>200</memory>" PLACED, "", 0,
		  "info:pinning warning:numa-memory" },
		{ BASE "<memory unit='GiB'>300</memory>" PLACED, "", 0,
		  "error:memory info:pinning warning:numa-memory" },
		{ BASE "<memory unit='GiB'>100</memory>" PLACED, "", 0, "info:pinning" },
		{ BASE "<memory unit='GiB'>100</memory><memoryBacking><hugepages><page size='1' "
		       "unit='G'/></hugepages></memoryBacking>" PLACED,
		  "", 0, "" },
		{ BASE "<memory unit='GiB'>101</memory><memoryBacking><hugepages><page size='1' "
		       "unit='G'/></hugepages></memoryBacking>" PLACED,
		  "", 0, "error:hugepages" },
		/* A missing pool is unknown, not empty. */
		{ BASE RAM "<memoryBacking><hugepages/></memoryBacking>" PLACED, "", 0, "" },
		{ BASE RAM "<memtune><hard_limit unit='GiB'>65</hard_limit></memtune>" PLACED, "",
		  0, "" },
		{ BASE RAM "<memtune><hard_limit unit='GiB'>64</hard_limit></memtune>" PLACED, "",
		  0, "error:memlock" },
		{ BASE RAM "<memtune><hard_limit unit='MiB'>65537</hard_limit></memtune>" PLACED,
		  "", 0, "warning:memlock" },
		/*
		 * Memory to be hotplugged is not locked at the start and needs no huge pages yet.
		 */
		{ BASE "<maxMemory unit='GiB'>400</maxMemory>" RAM
		       "<memtune><hard_limit unit='GiB'>65</hard_limit></memtune>" PLACED,
		  "", 0, "warning:numa-memory" },
		{ BASE "<maxMemory unit='GiB'>120</maxMemory><memory unit='GiB'>60</memory>"
		       "<memoryBacking><hugepages><page size='1' unit='G'/></hugepages>"
		       "</memoryBacking>" PLACED,
		  "", 0, "" },
		{ BASE RAM PLACED, IOMMU, 0, "info:viommu" },
		{ BASE RAM "<memtune><hard_limit unit='GiB'>129</hard_limit></memtune>" PLACED,
		  IOMMU, 0, "info:viommu" },
		{ BASE RAM "<memtune><hard_limit unit='GiB'>128</hard_limit></memtune>" PLACED,
		  IOMMU, 0, "warning:memlock info:viommu" },
		{ BASE RAM "<memtune><hard_limit unit='GiB'>64</hard_limit></memtune>" PLACED,
		  IOMMU, 0, "error:memlock info:viommu" },
		{ BASE RAM PLACED CLIQUE, "", 0, "warning:gpudirect-clique" },
		/* field: domains/11 */
		{ BASE RAM PLACED "<launchSecurity type='sev-snp'/>", "", 0,
		  "warning:launch-security" },
		{ BASE RAM PLACED "<launchSecurity/>", "", 0, "warning:launch-security" },
		{ BASE RAM PLACED OVERRIDE("ua-a", "0"), "", 0, "warning:gpudirect-clique" },
		{ BASE RAM PLACED OVERRIDE("ua-gpupass-pair0-0", "1"), "", 0,
		  "warning:gpudirect-clique" },
		{ BASE RAM PLACED OVERRIDE("ua-gpupass-pair0-0", "0"), "", 0, "" },
		{ "<os><type arch='x86_64' machine='pc-i440fx-7.2'>hvm</type></os>" RAM PLACED, "",
		  0, "warning:machine-type" },
		/* Values that are not numbers count as absent. */
		{ BASE "<memory unit='GiB'>many</memory><vcpu cpuset='x'>-3</vcpu>", "", 0,
		  "warning:numa-memory warning:numa-cpus" },
		{ BASE "<memory unit='TiB'>99999999999999</memory>" PLACED, "", 0, "" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(domain_xml_freep) DomainXml *xml = domain(rows[i].inner, rows[i].devices);
		Boards boards;
		FitFacts facts;
		Host host;

		make_host(&host);
		make_boards(&boards, 256 * MIB, rows[i].node);
		facts = facts_of(xml, &boards, &host.facts);
		expect_found(i, &facts, rows[i].found);
	}
}

TEST(a_host_of_which_nothing_is_known_gives_no_findings)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = domain(BIOS RAM VCPU, "");
	const HostFacts nothing = { 0 };
	Boards boards;
	FitFacts facts;

	make_boards(&boards, 256 * MIB, 0);
	facts = facts_of(xml, &boards, &nothing);
	expect_found(0, &facts, "");
	facts.host = NULL;
	expect_found(1, &facts, "");
}

TEST(strict_refuses_what_matters_of_its_own_topic)
{
	static const struct {
		FitId id;
		FitSeverity severity;
		FitMode numa, fit;
		bool refused;
	} rows[] = {
		{ FIT_BAR_WINDOW, FIT_ERROR, FIT_ADVISE, FIT_ADVISE, false },
		{ FIT_BAR_WINDOW, FIT_ERROR, FIT_ADVISE, FIT_APPLY, false },
		{ FIT_BAR_WINDOW, FIT_ERROR, FIT_ADVISE, FIT_STRICT, true },
		{ FIT_BAR_WINDOW, FIT_WARNING, FIT_ADVISE, FIT_STRICT, true },
		{ FIT_BAR_WINDOW, FIT_ERROR, FIT_STRICT, FIT_ADVISE, false },
		{ FIT_PINNING, FIT_INFO, FIT_STRICT, FIT_STRICT, false },
		{ FIT_NUMA_CPUS, FIT_WARNING, FIT_STRICT, FIT_ADVISE, true },
		{ FIT_NUMA_CPUS, FIT_WARNING, FIT_ADVISE, FIT_STRICT, false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		FitFinding finding = { .id = rows[i].id, .severity = rows[i].severity };
		FitReport report = { .items = &finding, .n_items = 1 };

		if ((fit_refusal(&report, rows[i].numa, rows[i].fit) != NULL) != rows[i].refused)
			fail_msg("row %zu", i);
	}
}

/* ---- writing ---- */

#define FUNCTION                                                                                   \
	{                                                                                          \
		0, 0x41, 0, 0                                                                      \
	}

static char *without_pair0(const char *text)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = NULL;
	const Bdf function = FUNCTION;
	bool changed = false;

	assert_int_equal(domain_xml_parse(text, &xml, NULL), 0);
	domain_xml_remove_group(xml, "pair0", &function, 1, &changed);
	assert_true(changed);
	return domain_xml_to_text(xml);
}

/*
 * Adds the group, writes what makes it fit, and looks for `wanted` in the XML. A new check finds
 * `left`. After the group is removed, the XML is as before.
 */
static void there_and_back(size_t row, const char *text, const Boards *boards, const Host *host,
			   const char *const *wanted, const char *left)
{
	static const DomainXmlGpu gpu = { .functions = { FUNCTION }, .n_functions = 1 };
	_cleanup_(domain_xml_freep) DomainXml *xml = NULL;
	_cleanup_free_ char *before = NULL, *tuned = NULL, *after = NULL;
	FitTune tune = { 0 };
	FitFacts facts;

	assert_int_equal(domain_xml_parse(text, &xml, NULL), 0);
	before = domain_xml_to_text(xml);
	assert_int_equal(domain_xml_add_group(xml, "pair0", &gpu, 1, NULL, NULL), 0);
	facts = facts_of(xml, boards, &host->facts);
	facts.within = true;
	tune = fit_tune(&facts, true, true);
	assert_int_equal(domain_xml_tune(xml, &tune), 0);
	fit_tune_clear(&tune);
	expect_found(row, &facts, left);
	tuned = domain_xml_to_text(xml);
	for (; *wanted; wanted++)
		if (!strstr(tuned, *wanted))
			fail_msg("row %zu: no %s in:\n%s", row, *wanted, tuned);
	after = without_pair0(tuned);
	if (!str_equal(before, after))
		fail_msg("row %zu: before\n%s\nafter\n%s", row, before, after);
}

#define DOMAIN(attributes, inner)                                                                  \
	"<domain type='kvm'" attributes ">\n  <name>vm</name>\n"                                   \
	"  <uuid>3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242</uuid>\n" inner                              \
	"  <devices>\n    <controller type='pci' index='0' model='pcie-root'/>\n  </devices>\n"    \
	"</domain>\n"
#define QEMU " xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'"
#define L(element) "  " element "\n"
#define WANTED(...) ((const char *const[]){ __VA_ARGS__, NULL })

/* libvirt before 8.7 refuses a definition with <maxphysaddr> as a whole. */
TEST(an_older_libvirt_gets_no_maxphysaddr)
{
	for (uint64_t bar = 64; bar <= 256; bar *= 4) {
		_cleanup_(domain_xml_freep) DomainXml *xml = domain(UEFI RAM VCPU MODEL_CPU, "");
		_cleanup_(fit_report_freep) FitReport *report = NULL;
		_cleanup_(fit_tune_clear) FitTune tune = { 0 };
		const char *remedy = NULL;
		Boards boards;
		FitFacts facts;
		Host host;

		make_host(&host);
		host.facts.libvirt_version = 8006000;
		make_boards(&boards, bar * GIB, NUMA_NODE_NONE);
		facts = facts_of(xml, &boards, &host.facts);
		tune = fit_tune(&facts, false, true);
		assert_false(tune.passthrough);
		/* Within QEMU's 40 bits there is room for one of the two windows. */
		assert_int_equal(tune.mmio_mb > 0, bar == 64);
		report = fit_check(&facts);
		for (size_t i = 0; i < report->n_items; i++)
			if (report->items[i].id == FIT_BAR_WINDOW)
				remedy = report->items[i].remedy;
		assert_non_null(remedy);
		assert_non_null(
			strstr(remedy, "libvirt 8.6.0 of this host does not know <maxphysaddr>"));
		host.facts.libvirt_version = LIBVIRT_MAXPHYSADDR;
		tune = fit_tune(&facts, false, true);
		assert_true(tune.passthrough);
	}
}

TEST(a_definition_that_has_both_prefixes_gets_no_argument)
{
	static const DomainXmlGpu gpu = { .functions = { FUNCTION }, .n_functions = 1 };
	const FitTune tune = { .mmio_mb = 262144 };
	_cleanup_(domain_xml_freep) DomainXml *xml = NULL;
	_cleanup_free_ char *before = NULL, *after = NULL;

	assert_int_equal(
		domain_xml_parse("<domain type='kvm' xmlns:qemu='urn:a' xmlns:gpupass-qemu='urn:b'>"
				 "<name>a</name><uuid>11111111-1111-4111-8111-111111111111</uuid>"
				 "<os><type machine='q35'>hvm</type></os><devices/></domain>",
				 &xml, NULL),
		0);
	assert_int_equal(domain_xml_tune(xml, &tune), -EINVAL);
	assert_int_equal(domain_xml_add_group(xml, "pair0", &gpu, 1, NULL, NULL), 0);
	before = domain_xml_to_text(xml);
	assert_int_equal(domain_xml_tune(xml, &tune), -EEXIST);
	after = domain_xml_to_text(xml);
	assert_string_equal(after, before);
}

TEST(what_is_written_fits_and_is_taken_out_exactly)
{
	const struct {
		const char *text;
		uint64_t bar;
		unsigned bits;
		const char *const *wanted;
		const char *left;
	} rows[] = {
		{ DOMAIN("", L(RAM) L(VCPU) L(UEFI) L(MODEL_CPU)), 64 * GIB, 46,
		  WANTED("<vcpu placement=\"static\" cpuset=\"0-31\">16</vcpu>",
			 "<memory mode=\"preferred\" nodeset=\"0\"/>",
			 "<maxphysaddr mode=\"passthrough\"/>", "gpupass:added"),
		  "" },
		/* Wider addresses are not enough: 42 bits give a window of 512 GiB. */
		{ DOMAIN("", L(RAM) L(VCPU) L(UEFI) L(MODEL_CPU)), 256 * GIB, 43,
		  WANTED("<maxphysaddr mode=\"passthrough\"/>",
			 "opt/ovmf/X-PciMmio64Mb,string=2097152", "xmlns:qemu="),
		  "" },
		{ DOMAIN(QEMU, L(RAM) L(VCPU) L(UEFI) L(HOST_CPU)
				       L("<qemu:commandline>\n    <qemu:arg value='-s'/>\n"
					 "  </qemu:commandline>")),
		  256 * GIB, 43, WANTED("opt/ovmf/X-PciMmio64Mb,string=2097152", "\"-s\""), "" },
		/* The prefix is another namespace's already. */
		{ DOMAIN(" xmlns:qemu='urn:x' qemu:a='1'", L(RAM) L(VCPU) L(UEFI) L(HOST_CPU)),
		  256 * GIB, 43,
		  WANTED("opt/ovmf/X-PciMmio64Mb,string=2097152", "gpupass-qemu:arg"), "" },
		/* No <cpu> to write into: fw_cfg sets the window, within QEMU's 40 bits. */
		{ DOMAIN("", L(RAM) L(VCPU) L(UEFI)), 64 * GIB, 46,
		  WANTED("opt/ovmf/X-PciMmio64Mb,string=524288"), "" },
		/* An operator's own settings are left alone. */
		{ DOMAIN("", L(RAM) L("<vcpu cpuset='40'>16</vcpu>")
				     L("<numatune>\n    <memory mode='strict' nodeset='1'/>\n"
				       "  </numatune>") L(UEFI) L(HOST_CPU)),
		  64 * GIB, 46, WANTED("cpuset=\"40\"", "mode=\"strict\" nodeset=\"1\""),
		  "warning:numa-memory warning:numa-cpus" },
		/* Where a cell has no <memnode>. Otherwise nothing is left to say. */
		{ DOMAIN("", L(RAM) L(VCPU) L("<numatune>\n    <memnode cellid='0' mode='strict' "
					      "nodeset='0'/>\n  </numatune>") L(BIOS) L(CELLS)),
		  256 * MIB, 46, WANTED("<memory mode=\"preferred\" nodeset=\"0\"/>", "memnode"),
		  "" },
		{ DOMAIN("", L(RAM) L(VCPU) L(MEMNODES("0", "1")) L(BIOS) L(CELLS)), 256 * MIB, 46,
		  WANTED("<numatune><memnode cellid=\"0\""), "warning:numa-memory" },
		{ DOMAIN("", L(RAM) L("<vcpu placement='auto'>16</vcpu>")
				     L("<numatune>\n    <memory mode='preferred'/>\n  </numatune>")
					     L(BIOS)),
		  256 * MIB, 46,
		  WANTED("<numatune>\n    <memory mode=\"preferred\"/>\n  </numatune>"), "" },
		/* No room for a window: reported, and nothing written. */
		{ DOMAIN("", L(RAM) L(VCPU0) L(UEFI)
				     L("<cpu mode='custom'>\n    <maxphysaddr mode='emulate' "
				       "bits='39'/>\n  </cpu>")),
		  512 * GIB, 46, WANTED("bits=\"39\""), "error:bar-window" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		Boards boards;
		Host host;

		make_host(&host);
		host.facts.physical_bits = rows[i].bits;
		make_boards(&boards, rows[i].bar, 0);
		there_and_back(i, rows[i].text, &boards, &host, rows[i].wanted, rows[i].left);
	}
}

/* libvirt writes "0-1" for "0,1", and CPUs as ranges: still the same set. */
TEST(sets_that_libvirt_wrote_in_its_own_way_are_taken_out)
{
	static const char text[] = DOMAIN(
		"", L("<metadata>\n    <g:assignment xmlns:g='urn:gpupass:domain:1' "
		      "group='pair0'>\n"
		      "      <g:added what='numatune' value='interleave 0,1'/>\n"
		      "      <g:added what='vcpu-cpuset' value='0-3,4-7,9'/>\n"
		      "    </g:assignment>\n  </metadata>") L("<vcpu cpuset='0-7,9'>16</vcpu>")
			    L("<numatune>\n    <memory mode='interleave' nodeset='0-1'/>\n  "
			      "</numatune>"));
	_cleanup_free_ char *after = without_pair0(text);

	assert_null(strstr(after, "numatune"));
	assert_null(strstr(after, "cpuset"));
}

TEST(what_an_operator_changed_since_stays)
{
	static const char text[] = DOMAIN(
		QEMU,
		L("<metadata>\n    <g:assignment xmlns:g='urn:gpupass:domain:1' "
		  "group='pair0'>\n"
		  "      <g:added what='numatune' value='preferred 0'/>\n"
		  "      <g:added what='vcpu-cpuset' value='0-31'/>\n"
		  "      <g:added what='maxphysaddr' value='passthrough'/>\n"
		  "      <g:added what='qemu-namespace' value='qemu'/>\n"
		  "      <g:added what='firmware-window' value='x'/>\n"
		  "      <g:added what='everything' value='x'/>\n      <g:added/>\n"
		  "    </g:assignment>\n  </metadata>") L("<vcpu cpuset='0-15'>16</vcpu>")
			L("<numatune>\n    <memory mode='strict' nodeset='0'/>\n  </numatune>")
				L("<cpu mode='host-model'>\n    <maxphysaddr mode='emulate' "
				  "bits='42'/>\n  </cpu>") L(WINDOW));
	_cleanup_free_ char *after = without_pair0(text);

	for (size_t i = 0; i < 5; i++) {
		static const char *const kept[] = { "cpuset=\"0-15\"", "mode=\"strict\"",
						    "bits=\"42\"", "X-PciMmio64Mb", "xmlns:qemu" };

		if (!strstr(after, kept[i]))
			fail_msg("%s is gone:\n%s", kept[i], after);
	}
	assert_null(strstr(after, "assignment"));
}
