/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <string.h>

#include "rig/domains.h"

#define UUID "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242"
#define IDENTITY "<name>vm42</name><uuid>" UUID "</uuid>"
#define DOMAIN(inner) "<domain type='kvm'>" IDENTITY inner "</domain>"

TEST(vgpus_are_read_from_both_xmls)
{
	_cleanup_(domain_use_clear) DomainUse use = { 0 };
	static const char config[] = DOMAIN(
		"<devices><hostdev mode='subsystem' type='mdev' managed='no' model='vfio-pci'>"
		"<source><address uuid='4b20d080-1b54-4048-85b3-a6a62d165c01'/></source></hostdev>"
		"</devices>");

	assert_int_equal(domain_use_from_xml(DOMAIN("<devices/>"), config, &use, NULL), 0);
	assert_int_equal(use.n_mdevs, 1);
	assert_string_equal(use.mdevs[0].uuid, "4b20d080-1b54-4048-85b3-a6a62d165c01");
	assert_true(use.mdevs[0].config && !use.mdevs[0].live);
}

TEST(parse_gives_name_and_lower_case_uuid)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(
		"<?xml version='1.0'?><!-- by hand --><domain><name> a &amp; b\n</name>"
		"<uuid>\n3F0C9A52-6C2B-4A62-9A0E-0C1D5B8F4242 </uuid></domain>");

	assert_string_equal(domain_xml_name(xml), " a & b\n");
	assert_string_equal(domain_xml_uuid(xml), UUID);
}

TEST(parse_refuses_what_is_no_domain)
{
	static const struct {
		const char *text, *cause;
	} rows[] = {
		{ "", "line 1: Document is empty" },
		{ "not XML", "line 1: Start tag expected" },
		{ "<domain>\n<name>a</nam></domain>", "line 2: Opening and ending tag mismatch" },
		{ "<domain type='kvm' type='kvm'/>", "line 1: Attribute type redefined" },
		{ DOMAIN("<description>&unknown;</description>"), "Entity 'unknown' not defined" },
		{ DOMAIN("\x01"), "line 1: " },
		{ DOMAIN("\xff\xfe"), "line 1: Input is not proper UTF-8" },
		{ "<network>" IDENTITY "</network>", "root element is not <domain>" },
		{ "<x:domain xmlns:x='y'>" IDENTITY "</x:domain>", "root element is not <domain>" },
		{ "<domain><uuid>" UUID "</uuid></domain>", "no <name>" },
		{ "<domain><name> </name><uuid>" UUID "</uuid></domain>", "no <name>" },
		{ "<domain><name>a</name></domain>", "no <uuid>" },
		{ "<domain><name>a</name><uuid>1</uuid></domain>", "not a UUID" },
		{ "<domain><name>a</name>"
		  "<uuid>3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f424g</uuid></domain>",
		  "not a UUID" },
		{ "<!DOCTYPE domain><domain>" IDENTITY "</domain>", "DOCTYPE" },
		{ "<!DOCTYPE d [<!ENTITY a SYSTEM 'file:///etc/hostname'>]><domain><name>&a;</name>"
		  "<uuid>" UUID "</uuid></domain>",
		  "DOCTYPE" },
		{ "<!DOCTYPE d [<!ENTITY a 'aaaaaaaa'><!ENTITY b '&a;&a;&a;&a;'>]>"
		  "<domain x='&b;'>" IDENTITY "</domain>",
		  "DOCTYPE" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(problem_freep) Problem *problem = NULL;
		DomainXml *xml = NULL;

		if (domain_xml_parse(rows[i].text, &xml, &problem) != PROBLEM)
			fail_msg("row %zu is taken", i);
		assert_null(xml);
		assert_int_equal(problem->error, GPUPASS_ERROR_UNSUPPORTED_DOMAIN);
		if (!problem->cause || !strstr(problem->cause, rows[i].cause))
			fail_msg("row %zu: %s", i, problem->cause);
	}
}

TEST(parse_bounds_size_and_depth)
{
	static const size_t deep = 4000;
	_cleanup_(problem_freep) Problem *long_problem = NULL;
	_cleanup_(problem_freep) Problem *deep_problem = NULL;
	_cleanup_free_ char *text = malloc(DOMAIN_XML_MAX + 2);
	DomainXml *xml = NULL;

	memset(text, ' ', DOMAIN_XML_MAX + 1);
	memcpy(text, "<domain>", strlen("<domain>"));
	text[DOMAIN_XML_MAX + 1] = '\0';
	assert_int_equal(domain_xml_parse(text, &xml, &long_problem), PROBLEM);
	assert_string_equal(long_problem->cause, "it is longer than 8388608 bytes");

	for (size_t i = 0; i < deep; i++)
		memcpy(text + 3 * i, "<a>", 3);
	text[3 * deep] = '\0';
	assert_int_equal(domain_xml_parse(text, &xml, &deep_problem), PROBLEM);
	assert_non_null(strstr(deep_problem->cause, "Excessive depth"));
}

TEST(machine_and_ports_are_read_from_definitions)
{
	static const struct {
		const char *fixture;
		bool pcie;
		unsigned ports, slots;
	} rows[] = {
		{ "q35", true, 1, 0 },
		{ "q35-assigned", true, 1, 0 },
		{ "q35-eight-ports", true, 4, 0 },
		{ "q35-eight-ports-live", true, 4, 0 },
		{ "i440fx", false, 0, 25 },
		{ "i440fx-assigned", false, 0, 23 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *text = domain_fixture(rows[i].fixture);
		_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(text);

		if (domain_xml_is_pcie(xml) != rows[i].pcie)
			fail_msg("%s: pcie", rows[i].fixture);
		if (domain_xml_free_root_ports(xml) != rows[i].ports)
			fail_msg("%s: %u ports", rows[i].fixture, domain_xml_free_root_ports(xml));
		if (!rows[i].pcie && domain_xml_free_slots(xml) != rows[i].slots)
			fail_msg("%s: %u slots", rows[i].fixture, domain_xml_free_slots(xml));
		assert_true(domain_xml_sees_hotplug(xml));
	}
}

TEST(machine_type_decides_where_libvirt_has_not_been_yet)
{
	static const struct {
		const char *os;
		bool pcie;
	} rows[] = {
		{ "<os><type machine='q35'>hvm</type></os>", true },
		{ "<os><type machine='pc-q35-rhel9.2.0'>hvm</type></os>", true },
		{ "<os><type arch='aarch64' machine='virt-7.2'>hvm</type></os>", true },
		{ "<os><type machine='virt'>hvm</type></os>", true },
		{ "<os><type machine='pc'>hvm</type></os>", false },
		{ "<os><type machine='pc-i440fx-7.2'>hvm</type></os>", false },
		{ "<os><type>hvm</type></os>", false },
		{ "<os/>", false },
		{ "", false },
		{ "<os><type machine='q35'>hvm</type></os><devices><controller type='pci' "
		  "index='0' model='pci-root'/></devices>",
		  false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *text = strf("<domain>%s%s</domain>", IDENTITY, rows[i].os);
		_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(text);

		if (domain_xml_is_pcie(xml) != rows[i].pcie)
			fail_msg("row %zu: %s", i, rows[i].os);
		/* field: domains/12: by a device tree. */
		if (domain_xml_sees_hotplug(xml) != (strstr(rows[i].os, "'virt") != NULL))
			fail_msg("row %zu: %s", i, rows[i].os);
	}
}

TEST(ports_that_take_no_hotplug_are_not_free)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(
		DOMAIN("<devices>"
		       "<controller type='pci' index='1' model='pcie-root-port'/>"
		       "<controller type='pci' index='2' model='pcie-switch-downstream-port'/>"
		       "<controller type='pci' index='3' model='pcie-root-port'>"
		       "<target hotplug='off'/></controller>"
		       "<controller type='pci' index='4' model='pcie-root-port'/>"
		       "<controller type='pci' model='pcie-root-port'/>"
		       "<controller type='pci' index='999' model='pcie-root-port'/>"
		       "<controller type='usb' index='5' model='pcie-root-port'/>"
		       "<controller type='pci' index='6' model='pcie-to-pci-bridge'>"
		       "<address type='pci' bus='4' slot='0'/></controller>"
		       "</devices>"));

	assert_int_equal(domain_xml_free_root_ports(xml), 2);
	assert_true(domain_xml_bus_hotplug(xml, 1) && domain_xml_bus_hotplug(xml, 0));
	assert_false(domain_xml_bus_hotplug(xml, 3));
}

/* field: domains/08 */
TEST(a_bus_that_takes_no_hotplug_has_no_free_slot)
{
	_cleanup_(domain_xml_freep) DomainXml *xml =
		domain_parsed(DOMAIN("<devices><controller type='pci' index='0' model='pci-root'>"
				     "<target hotplug='off'/></controller></devices>"));

	assert_int_equal(domain_xml_free_slots(xml), 0);
}

#define HOSTDEV(inner) "<hostdev mode='subsystem' type='pci'>" inner "</hostdev>"
#define SOURCE(attributes) HOSTDEV("<source><address " attributes "/></source>")

TEST(hostdevs_are_read_as_libvirt_spells_addresses)
{
	static const struct {
		const char *hostdev;
		Bdf bdf;
	} rows[] = {
		{ SOURCE("domain='0x0000' bus='0x41' slot='0x00' function='0x1'"),
		  { 0, 0x41, 0, 1 } },
		{ SOURCE("domain='0' bus='65' slot='31' function='7'"), { 0, 0x41, 31, 7 } },
		{ SOURCE("domain='0x10000' bus='0xE1' slot='0x00' function='0x0'"),
		  { 0x10000, 0xe1, 0, 0 } },
		{ SOURCE("bus='0101' slot='0'"), { 0, 0x41, 0, 0 } },
		{ HOSTDEV("<!-- c --><driver name='vfio'/><source writeFiltering='no'> "
			  "<address bus='0x41' slot='0x02'/></source>"
			  "<address type='pci' domain='0' bus='7' slot='0' function='0'/>"),
		  { 0, 0x41, 2, 0 } },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *text = strf(DOMAIN("<devices>%s</devices>"), rows[i].hostdev);
		_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(text);
		_cleanup_free_ DomainHostdev *hostdevs = NULL;
		size_t n = 0;

		if (domain_xml_hostdevs(xml, &hostdevs, &n) != 0 || n != 1)
			fail_msg("row %zu is not read", i);
		if (!bdf_equal(&hostdevs[0].bdf, &rows[i].bdf))
			fail_msg("row %zu: %s", i, BDF_TEXT(&hostdevs[0].bdf));
		assert_null(hostdevs[0].alias);
		assert_false(hostdevs[0].managed);
	}
}

TEST(hostdevs_with_addresses_that_are_none_are_named)
{
	static const struct {
		const char *hostdev, *cause;
	} rows[] = {
		{ HOSTDEV(""), "<address/>" },
		{ HOSTDEV("<source/>"), "<address/>" },
		{ SOURCE(""), "<address/>" },
		{ SOURCE("bus='0x41'"), "<address bus='0x41'/>" },
		{ SOURCE("slot='0'"), "<address slot='0'/>" },
		{ SOURCE("bus='zz' slot='0'"), "bus='zz'" },
		{ SOURCE("bus='0x141' slot='0'"), "bus='0x141'" },
		{ SOURCE("bus='-1' slot='0'"), "bus='-1'" },
		{ SOURCE("bus=' 1' slot='0'"), "bus=' 1'" },
		{ SOURCE("bus='' slot='0'"), "bus=''" },
		{ SOURCE("bus='1' slot='32'"), "slot='32'" },
		{ SOURCE("bus='1' slot='0' function='8'"), "function='8'" },
		{ SOURCE("domain='0x100000000' bus='1' slot='0'"), "domain='0x100000000'" },
		{ "<disk><backingStore type='nvme'><source type='pci'/></backingStore></disk>",
		  "<address/>" },
		{ "<x><source><address type='pci' slot='{0}'/></source></x>", "slot='{0}'" },
		{ SOURCE("bus='111111111111111111111111111111111111' slot='0'"),
		  "bus='11111111111111111111111111111111'" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *text =
			strf(DOMAIN("\n<devices>\n%s</devices>"), rows[i].hostdev);
		_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(text);
		_cleanup_(problem_freep) Problem *problem = NULL;
		DomainHostdev *hostdevs = NULL;
		DomainUse use;
		size_t n = 0;

		assert_int_equal(domain_xml_hostdevs(xml, &hostdevs, &n), -EBADMSG);
		assert_null(hostdevs);
		assert_int_equal(domain_use_from_xml(NULL, text, &use, &problem), PROBLEM);
		assert_int_equal(problem->error, GPUPASS_ERROR_UNSUPPORTED_DOMAIN);
		assert_non_null(strstr(problem->reason, "vm42"));
		if (!strstr(problem->cause, "line 3") || !strstr(problem->cause, rows[i].cause))
			fail_msg("row %zu: %s", i, problem->cause);
	}
}

#define NVME "<source type='pci' managed='yes' namespace='1'>" HOST "</source>"
#define HOST "<address domain='0x0000' bus='0x41' slot='0x00' function='0x0'/>"
#define FILE_IN(name, inside)                                                                      \
	"<" name " type='file'><format type='qcow2'/><source file='/srv/a'/>" inside "</" name ">"

/* A board of the host in a domain's XML, and whether libvirt binds it. */
TEST(functions_are_found_wherever_libvirt_has_an_address_of_the_host)
{
	static const struct {
		const char *xml;
		bool managed;
	} rows[] = {
		{ "<disk type='nvme'>" NVME "<address type='pci' bus='1' slot='2'/></disk>", true },
		/* field: domains/02 */
		{ FILE_IN("disk",
			  "<backingStore type='nvme'>" NVME "<backingStore/></backingStore>"),
		  true },
		/* field: domains/03 */
		{ FILE_IN("disk",
			  FILE_IN("backingStore",
				  FILE_IN("backingStore",
					  FILE_IN("backingStore", "<backingStore type='nvme'>" NVME
								  "</backingStore>")))),
		  true },
		/* field: domains/04 */
		{ FILE_IN("disk", "<mirror type='nvme' job='copy'>" NVME "</mirror>"), true },
		{ FILE_IN("disk",
			  FILE_IN("mirror", "<backingStore type='nvme'>" NVME "</backingStore>")),
		  true },
		/* field: domains/05 */
		{ "<disk type='file'><source file='/srv/a'><dataStore type='nvme'>" NVME
		  "</dataStore></source></disk>",
		  true },
		{ "</devices><os><nvram type='nvme'>" NVME "</nvram></os><devices>", true },
		{ "<interface type='hostdev' managed='yes'><source><address type='pci' bus='65' slot='0'/>"
		  "</source></interface>",
		  true },
		/* No libvirt has these. */
		{ "<filesystem type='x'><source>" HOST "</source></filesystem>", false },
		{ "<x><y><z><address type='pci' bus='65' slot='0'/></z></y></x>", false },
		{ "<disk type='nvme'><source>" HOST "</source></disk>", false },
		{ "<hostdev type='pci'><source><address bus='1' slot='1'/>" HOST
		  "</source></hostdev>",
		  false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *text = strf(DOMAIN("<devices>%s</devices>"), rows[i].xml);
		Bdf bdf = { 0, 0x41, 0, 0 };
		const DomainHostdev *hostdev;
		_cleanup_(domain_use_clear) DomainUse use;

		assert_int_equal(domain_use_from_xml(NULL, text, &use, NULL), 0);
		hostdev = domain_use_hostdev(&use, &bdf);
		if (!hostdev || hostdev->managed != rows[i].managed || hostdev->has_guest)
			fail_msg("row %zu: %s", i, hostdev ? "managed or not" : "not found");
	}
}

TEST(what_is_no_address_of_the_host_is_not_taken_for_one)
{
	static const char *const rows[] = {
		"<disk type='file'><source file='a'/><address type='pci' bus='0x41' slot='0'/></disk>",
		"<disk type='nvme' device='cdrom'/>",
		"<interface type='hostdev'><source><address type='usb' bus='1' device='2'/></source>"
		"</interface>",
		"<hostdev type='usb'><source><address bus='1' device='2'/></source></hostdev>",
		"<hostdev type='scsi'><source><adapter name='scsi_host0'/><address bus='0' target='0' "
		"unit='0'/></source></hostdev>",
		"<hostdev type='scsi'><source><adapter><parentaddr>" HOST
		"</parentaddr></adapter></source>"
		"</hostdev>",
		"</devices><metadata><x:disk xmlns:x='u:x' type='nvme'>" NVME
		"</x:disk></metadata><devices>",
		"</devices><metadata><disk type='nvme'>" NVME "</disk></metadata><devices>",
		"<x:hostdev xmlns:x='u:x' type='pci'><source>" HOST "</source></x:hostdev>",
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *text = strf(DOMAIN("<devices>%s</devices>"), rows[i]);
		_cleanup_(domain_use_clear) DomainUse use;

		assert_int_equal(domain_use_from_xml(NULL, text, &use, NULL), 0);
		if (use.n_hostdevs != 0)
			fail_msg("row %zu: %s", i, BDF_TEXT(&use.hostdevs[0].bdf));
	}
}

/* `n` backing files below each other, and the last is a function of the host. */
static char *chain_of(size_t n)
{
	_cleanup_strv_ char **parts = NULL;

	strv_append(&parts, "<domain>" IDENTITY "<devices><disk type='file'>");
	for (size_t i = 0; i < n; i++)
		strv_append(&parts, "<backingStore type='file'>");
	strv_append(&parts, "<backingStore type='nvme'>" NVME "</backingStore>");
	for (size_t i = 0; i < n; i++)
		strv_append(&parts, "</backingStore>");
	strv_append(&parts, "</disk></devices></domain>");
	return strv_join(parts, "");
}

/* promise T7 */
TEST(no_depth_hides_a_function)
{
	_cleanup_free_ char *most = chain_of(507), *more = chain_of(508);
	_cleanup_(problem_freep) Problem *problem = NULL;
	DomainUse use;

	assert_int_equal(domain_use_from_xml(NULL, most, &use, NULL), 0);
	assert_int_equal(use.n_hostdevs, 1);
	domain_use_clear(&use);
	assert_int_equal(domain_use_from_xml(NULL, more, &use, &problem), PROBLEM);
	assert_non_null(strstr(problem->cause, "512 deep"));
}

TEST(only_pci_hostdevs_are_read)
{
	_cleanup_free_ char *text = domain_fixture("q35-other-tools");
	_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(text),
					      *none = domain_parsed(DOMAIN(""));
	_cleanup_free_ DomainHostdev *hostdevs = NULL;
	size_t n = 9;

	assert_int_equal(domain_xml_hostdevs(none, &hostdevs, &n), 0);
	assert_int_equal(n, 0);
	assert_int_equal(domain_xml_free_root_ports(none), 0);

	assert_int_equal(domain_xml_hostdevs(xml, &hostdevs, &n), 0);
	assert_int_equal(n, 1);
	assert_string_equal(BDF_TEXT(&hostdevs[0].bdf), "0000:a1:00.0");
	assert_true(hostdevs[0].managed);
}

TEST(use_lays_running_domain_over_definition)
{
	const char *live =
		"<domain type='kvm' id='1'>" IDENTITY "<devices>"
		"<hostdev mode='subsystem' type='pci' managed='yes'><source>"
		"<address bus='0x41' slot='0'/></source><alias name='hostdev0'/></hostdev>"
		"<hostdev mode='subsystem' type='pci'><source>"
		"<address bus='0x61' slot='0'/></source><alias name='hostdev1'/></hostdev>"
		"</devices></domain>";
	const char *config = DOMAIN("<devices>" SOURCE("bus='0x41' slot='0'")
					    SOURCE("bus='0xa1' slot='0'") "</devices>");
	_cleanup_(domain_use_clear) DomainUse use = { 0 };

	assert_int_equal(domain_use_from_xml(live, config, &use, NULL), 0);
	assert_true(use.active);
	assert_true(use.persistent);
	assert_string_equal(use.uuid, UUID);
	assert_string_equal(use.name, "vm42");
	assert_null(use.gpupass_groups);
	assert_int_equal(use.n_hostdevs, 3);
	assert_true(use.hostdevs[0].live && use.hostdevs[0].config && use.hostdevs[0].managed);
	assert_null(use.hostdevs[0].alias);
	assert_true(!use.hostdevs[1].live && use.hostdevs[1].config);
	assert_true(use.hostdevs[2].live && !use.hostdevs[2].config);
	assert_string_equal(use.hostdevs[2].alias, "hostdev1");
}

/* A look skims it, a plan reads all of it. */
TEST(a_name_is_all_the_text_inside_however_it_is_read)
{
	static const char text[] =
		"<domain type='kvm'><name>vm<b>4</b>2</name><uuid>" UUID "</uuid></domain>";
	_cleanup_(domain_xml_freep) DomainXml *parsed = NULL, *skimmed = NULL;

	assert_int_equal(domain_xml_parse(text, &parsed, NULL), 0);
	assert_int_equal(domain_xml_skim(text, &skimmed, NULL), 0);
	assert_string_equal(domain_xml_name(parsed), "vm42");
	assert_string_equal(domain_xml_name(skimmed), "vm42");
}

TEST(text_behind_a_broken_tag_is_refused_by_a_look_too)
{
	static const char text[] =
		"<domain type='kvm'><name>vm42</name><uuid>" UUID "</uuid><broken <tag>text</";
	_cleanup_(domain_xml_freep) DomainXml *skimmed = NULL;
	_cleanup_(problem_freep) Problem *problem = NULL;

	assert_int_equal(domain_xml_skim(text, &skimmed, &problem), PROBLEM);
}

TEST(use_takes_the_group_from_the_definition_where_there_is_one)
{
	_cleanup_free_ char *assigned = domain_fixture("q35-assigned");
	_cleanup_free_ char *plain = domain_fixture("q35");
	DomainUse use = { 0 };

	assert_int_equal(domain_use_from_xml(NULL, assigned, &use, NULL), 0);
	assert_true(domain_use_names(&use, "pair0"));
	assert_int_equal(use.n_hostdevs, 4);
	assert_string_equal(use.hostdevs[3].alias, "ua-gpupass-pair0-3");
	assert_true(use.persistent && !use.active);
	domain_use_clear(&use);

	assert_int_equal(domain_use_from_xml(assigned, plain, &use, NULL), 0);
	assert_null(use.gpupass_groups);
	domain_use_clear(&use);

	assert_int_equal(domain_use_from_xml(assigned, NULL, &use, NULL), 0);
	assert_true(domain_use_names(&use, "pair0"));
	assert_true(!use.persistent && use.active);
	domain_use_clear(&use);
}

TEST(use_refuses_two_texts_of_two_domains)
{
	const char *other = "<domain><name>vm1</name>"
			    "<uuid>00000000-0000-0000-0000-000000000001</uuid></domain>";
	_cleanup_(problem_freep) Problem *problem = NULL;
	DomainUse use;

	assert_int_equal(domain_use_from_xml(DOMAIN(""), other, &use, &problem), PROBLEM);
	assert_int_equal(problem->error, GPUPASS_ERROR_LIBVIRT_FAILED);
	assert_int_equal(domain_use_from_xml(NULL, NULL, &use, &problem), -EINVAL);
}

TEST(group_is_read_from_our_own_metadata_only)
{
	static const struct {
		const char *metadata, *group;
	} rows[] = {
		{ "", NULL },
		{ "<metadata/>", NULL },
		{ "<metadata><assignment group='a'/></metadata>", NULL },
		{ "<metadata><g:assignment xmlns:g='https://other.org' group='a'/></metadata>",
		  NULL },
		{ "<metadata><g:assignment xmlns:g='" DOMAIN_XML_NAMESPACE "'/></metadata>", NULL },
		{ "<metadata><g:other xmlns:g='" DOMAIN_XML_NAMESPACE "' group='a'/></metadata>",
		  NULL },
		{ "<metadata>text<?pi?><!-- c --><g:assignment xmlns:g='" DOMAIN_XML_NAMESPACE
		  "' group='a'/></metadata>",
		  "a" },
		{ "<metadata><assignment xmlns='" DOMAIN_XML_NAMESPACE "' group='b'/></metadata>",
		  "b" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *text = strf(DOMAIN("%s"), rows[i].metadata);
		_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(text);
		_cleanup_strv_ char **groups = NULL;

		groups = domain_xml_groups(xml);
		if (!str_equal(groups ? groups[0] : NULL, rows[i].group))
			fail_msg("row %zu: %s", i, groups ? groups[0] : "none");
	}
}

TEST(equivalence_ignores_only_white_space_and_order_of_attributes)
{
	static const struct {
		const char *a, *b;
		bool equal;
	} rows[] = {
		{ "<a x='1' y=\"2\"/>", "<a y='2' x='1'></a>", true },
		{ "<a><b/><c/></a>", "<a>\n  <b/>\n\t<c/>\n</a>", true },
		{ "<a>&lt;&#65;</a>", "<a>&#60;A</a>", true },
		{ "<p:a xmlns:p='u'/>", "<q:a xmlns:q='u'/>", true },
		{ "<a/>", "<b/>", false },
		{ "<a/>", "<a x=''/>", false },
		{ "<a x='1'/>", "<a x='2'/>", false },
		{ "<a x='1'/>", "<a y='1'/>", false },
		{ "<a> </a>", "<a/>", false },
		{ "<a> b</a>", "<a>b</a>", false },
		{ "<a><b/><c/></a>", "<a><c/><b/></a>", false },
		{ "<a><b/></a>", "<a><b/><b/></a>", false },
		{ "<a><!-- c --></a>", "<a/>", false },
		{ "<a><?p q?></a>", "<a><?p r?></a>", false },
		{ "<p:a xmlns:p='u'/>", "<p:a xmlns:p='v'/>", false },
		{ "<a/>", "<p:a xmlns:p='v'/>", false },
		{ "<a", "<a", false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		if (domain_xml_equivalent(rows[i].a, rows[i].b) != rows[i].equal ||
		    domain_xml_equivalent(rows[i].b, rows[i].a) != rows[i].equal)
			fail_msg("row %zu", i);
}

TEST(diff_shows_no_change_of_mere_form)
{
	_cleanup_free_ char *text = domain_fixture("q35-other-tools");
	_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(text);
	_cleanup_free_ char *again = domain_xml_to_text(xml);
	_cleanup_free_ char *none = domain_xml_diff(text, again);
	_cleanup_free_ char *one = domain_xml_diff("<a><b c='1'/></a>", "<a>\n<b c='2'/></a>");

	assert_true(domain_xml_equivalent(text, again));
	assert_string_equal(none, "");
	assert_string_equal(one, "--- before\n+++ after\n@@ -1,3 +1,3 @@\n <a>\n"
				 "-  <b c=\"1\"/>\n+  <b c=\"2\"/>\n </a>\n");
}

#define SECRET "s3cret"

/*
 * Anybody may ask for a plan, but libvirt shows passwords only to those who may write: so it is for
 * every place where others may have put a secret.
 */
TEST(diff_shows_of_what_is_not_ours_only_names)
{
	static const char *const parts[] = {
		"<description>" SECRET "</description><title>" SECRET "</title>",
		"<graphics type=\"vnc\" passwd=\"se&amp;" SECRET "\" port=\"1\"/>",
		"<metadata><p:a xmlns:p='p' p:b='" SECRET "'>" SECRET "<p:c>" SECRET
		"</p:c></p:a></metadata>",
		"<q:commandline xmlns:q='http://libvirt.org/schemas/domain/qemu/1.0'>"
		"<q:arg value='" SECRET "'/><q:env name='" SECRET "' value='" SECRET
		"'/></q:commandline>",
		"<devices><disk type='network'><auth username='" SECRET "'><secret usage='" SECRET
		"'/></auth><source name='" SECRET "'/></disk></devices>",
		"<sysinfo><entry name='" SECRET "'>" SECRET "</entry></sysinfo><!-- " SECRET " -->",
		"<devices><graphics passwd='" SECRET "'/><a><![CDATA[" SECRET "]]></a></devices>",
	};

	for (size_t i = 0; i < ELEMENTS(parts); i++) {
		_cleanup_free_ char *before = strf("<domain>%s</domain>", parts[i]);
		_cleanup_free_ char *after = strf("<domain>%s<added by='us'/></domain>", parts[i]);
		_cleanup_free_ char *diff = domain_xml_diff(before, after);

		assert_non_null(diff);
		assert_non_null(strstr(diff, "+  <added by=\"us\"/>\n"));
		if (strstr(diff, SECRET) || (strstr(parts[i], "vnc") &&
					     !strstr(diff, "<graphics type=\"vnc\" port=\"1\"/>")))
			fail_msg("row %zu:\n%s", i, diff);
	}
}

/* The shortest script takes out what stands between the two places of a hostdev, and adds it. */
TEST(diff_shows_of_what_only_stands_elsewhere_no_more)
{
	static const char other[] = "<shmem name='a' token='hunter2'/>";
	static const char ours[] =
		"<hostdev mode='subsystem' type='pci' managed='no'><source>"
		"<address bus='0x41' slot='0'/></source><alias name='ua-gpupass-pair0-0'/></hostdev>";
	_cleanup_free_ char *first = strf(DOMAIN("<devices>%s%s</devices>"), ours, other);
	_cleanup_free_ char *last = strf(DOMAIN("<devices>%s%s</devices>"), other, ours);
	_cleanup_free_ char *diff = domain_xml_diff(first, last);

	assert_non_null(strstr(diff, "-    <shmem"));
	assert_non_null(strstr(diff, "+    <shmem"));
	assert_null(strstr(diff, "hunter2"));
}

/* Then there is no diff, and no raw text instead. */
TEST(diff_of_what_cannot_be_read_is_none)
{
	_cleanup_free_ char *text = malloc(DOMAIN_XML_MAX + 2);
	_cleanup_free_ char *many = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&many, &size);

	memset(text, ' ', DOMAIN_XML_MAX + 1);
	memcpy(text, "<domain/>", strlen("<domain/>"));
	text[DOMAIN_XML_MAX + 1] = '\0';
	assert_null(domain_xml_diff("<domain><a passwd='" SECRET "'/></domain>", text));
	assert_null(domain_xml_diff("<domain/>", "<domain passwd='" SECRET));
	/* They differ too much: the diff would show the whole text. */
	fputs("<domain>", f);
	for (size_t i = 0; i < 2000; i++)
		fprintf(f, "<a b='%zu'/>", i);
	fputs("</domain>", f);
	assert_int_equal(fclose(f), 0);
	assert_null(domain_xml_diff("<domain/>", many));
}

TEST(errors_quote_nothing_of_the_text)
{
	static const char *const texts[] = {
		"<domain><a>x<" SECRET "</a></domain>",
		"<domain><a passwd='" SECRET "<'/></domain>",
		"<domain><a passwd=" SECRET "/></domain>",
		"<domain><a passwd='" SECRET "/></domain>",
		"<domain><" SECRET ":a/></a></domain>",
		"<domain><?" SECRET " </domain>",
	};

	for (size_t i = 0; i < ELEMENTS(texts); i++) {
		_cleanup_(problem_freep) Problem *problem = NULL;
		DomainXml *xml = NULL;

		assert_int_equal(domain_xml_parse(texts[i], &xml, &problem), PROBLEM);
		if (strstr(problem->cause, SECRET))
			fail_msg("row %zu: %s", i, problem->cause);
	}
}

static char *repeated(const char *before, const char *what, size_t n, const char *after)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	assert_non_null(f);
	fputs(before, f);
	while (n-- > 0)
		fputs(what, f);
	fputs(after, f);
	assert_int_equal(fclose(f), 0);
	return text;
}

/* Whoever may write a description or metadata can write most of a domain's text. */
TEST(use_is_read_whatever_others_have_written_beside_it)
{
	static const char ours[] =
		"<m:assignment xmlns:m='" DOMAIN_XML_NAMESPACE "' group='g'/>"
		"</metadata><devices><disk><source/></disk>"
		"<hostdev mode='subsystem' type='pci'><source><address bus='0x41' "
		"slot='0'/></source><alias name='ua-x'/></hostdev></devices>";
	static const struct {
		const char *what;
		size_t n;
	} rows[] = {
		{ "&amp;", 1000000 },
		{ "<b/>", 1000000 },
		{ "<devices><hostdev mode='subsystem' type='pci'/></devices>", 3 },
		{ "<!-- <b c='> -->", 3 },
		{ "<![CDATA[<b c='>]]>", 3 },
		{ "<?b c='> ?>", 3 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *tail = strf("</p:a>%s</domain>", ours);
		_cleanup_free_ char *text =
			repeated("<domain>" IDENTITY "<metadata><p:a xmlns:p='p'>", rows[i].what,
				 rows[i].n, tail);
		_cleanup_(domain_use_clear) DomainUse use = { 0 };

		if (domain_use_from_xml(NULL, text, &use, NULL) != 0)
			fail_msg("row %zu is not read", i);
		assert_true(domain_use_names(&use, "g"));
		assert_int_equal(use.n_hostdevs, 1);
		assert_int_equal(use.hostdevs[0].bdf.bus, 0x41);
		assert_string_equal(use.hostdevs[0].alias, "ua-x");
	}
}

TEST(use_is_read_beside_many_attributes_and_deep_elements)
{
	static const size_t n = 100000;
	_cleanup_free_ char *text = malloc(n * 12 + 10000);
	char *at;
	_cleanup_(domain_use_clear) DomainUse use = { 0 };

	at = stpcpy(text, "<domain>" IDENTITY "<metadata><p:a xmlns:p='p'");
	for (size_t i = 0; i < n; i++)
		at += sprintf(at, " a%zx='>'", i);
	at = stpcpy(at, ">");
	for (size_t i = 0; i < 250; i++)
		at = stpcpy(at, "<b xmlns:p='q'>");
	for (size_t i = 0; i < 250; i++)
		at = stpcpy(at, "</b>");
	stpcpy(at, "</p:a></metadata></domain>");
	assert_int_equal(domain_use_from_xml(NULL, text, &use, NULL), 0);
	assert_string_equal(use.name, "vm42");
}
