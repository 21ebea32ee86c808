/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

#include "core/base/limits.h"
#include "core/domain/xml-tree.h"
#include "core/domain/xml-tune.h"
#include "rig/domains.h"

#define UUID "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242"
#define DOMAIN(inner) "<domain type='kvm'><name>vm42</name><uuid>" UUID "</uuid>" inner "</domain>"
#define Q35 "<os><type arch='x86_64' machine='q35'>hvm</type></os>"
#define PC "<os><type arch='x86_64' machine='pc'>hvm</type></os>"

/* The group in the fixtures. */
static const DomainXmlGpu pair[] = {
	{ .functions = { { 0, 0x41, 0, 0 }, { 0, 0x41, 0, 1 } }, .n_functions = 2 },
	{ .functions = { { 0, 0x61, 0, 0 }, { 0, 0x61, 0, 1 } }, .n_functions = 2 },
};
static const Bdf functions[] = {
	{ 0, 0x41, 0, 0 },
	{ 0, 0x41, 0, 1 },
	{ 0, 0x61, 0, 0 },
	{ 0, 0x61, 0, 1 },
};

static char *add(const char *text, const char *group)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(text);
	_cleanup_(problem_freep) Problem *problem = NULL;

	if (domain_xml_add_group(xml, group, pair, ELEMENTS(pair), NULL, &problem) != 0)
		fail_msg("not added: %s", problem ? problem->reason : "errno");
	return domain_xml_to_text(xml);
}

static char *take_out(const char *text, const char *group, bool *ret_changed)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(text);

	domain_xml_remove_group(xml, group, functions, ELEMENTS(functions), ret_changed);
	return domain_xml_to_text(xml);
}

static void check_equivalent(const char *what, const char *a, const char *b)
{
	_cleanup_free_ char *diff = domain_xml_diff(a, b);

	if (!domain_xml_equivalent(a, b))
		fail_msg("%s:\n%s", what, diff);
}

static const char *const plain[] = { "q35", "i440fx", "q35-other-tools", "q35-eight-ports",
				     "q35-eight-ports-live" };

TEST(a_model_is_named_once_a_hostdev_and_goes_with_it)
{
	DomainXmlGpu named[ELEMENTS(pair)];

	memcpy(named, pair, sizeof(named));
	for (size_t i = 0; i < ELEMENTS(named); i++)
		named[i].names_model = true;
	for (size_t i = 0; i < ELEMENTS(plain); i++) {
		_cleanup_free_ char *before = domain_fixture(plain[i]), *with = NULL, *after = NULL;
		_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(before);
		_cleanup_(problem_freep) Problem *problem = NULL;
		_cleanup_free_ char *same = domain_xml_to_text(xml);
		size_t n = 0;
		bool changed;

		assert_int_equal(
			domain_xml_add_group(xml, "pair0", named, ELEMENTS(named), NULL, &problem),
			0);
		with = domain_xml_to_text(xml);
		for (const char *at = with;
		     (at = strstr(at, "<driver name=\"vfio\" model=\"vfio-pci\"/>")); at++)
			n++;
		assert_int_equal(n, 4);
		after = take_out(with, "pair0", &changed);
		assert_string_equal(after, same);
	}
}

static void check_taken_out(const char *what, const char *before, const char *assigned)
{
	_cleanup_free_ char *once = NULL, *twice = NULL;
	bool changed = false;

	once = take_out(assigned, "pair0", &changed);
	assert_true(changed);
	check_equivalent(what, before, once);
	twice = take_out(once, "pair0", &changed);
	assert_false(changed);
	assert_string_equal(once, twice);
}

/* What libvirt has added to our elements is removed with them. */
TEST(adding_and_taking_out_leaves_the_definition_as_it_was)
{
	for (size_t i = 0; i < ELEMENTS(plain); i++) {
		_cleanup_free_ char *text = domain_fixture(plain[i]);
		_cleanup_free_ char *added = add(text, "pair0");

		assert_false(domain_xml_equivalent(text, added));
		check_taken_out(plain[i], text, added);
	}
	for (size_t i = 0; i < 4; i++) {
		_cleanup_free_ char *name = strf("%s-assigned", plain[i]);
		_cleanup_free_ char *text = domain_fixture(plain[i]);
		_cleanup_free_ char *assigned = domain_fixture(name);

		check_taken_out(name, text, assigned);
	}
}

/* Somebody who may define a domain chose them so that each number is found taken at last. */
TEST(many_aliases_and_ports_take_no_long_time)
{
	_cleanup_free_ char *text = NULL, *added = NULL, *back = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	clock_t begun;
	bool changed = false;

	assert_non_null(f);
	fputs("<domain type='kvm'><name>vm42</name><uuid>" UUID "</uuid>" Q35 "<devices>", f);
	for (unsigned i = 20000; i > 0; i--)
		fprintf(f, "<input><alias name='ua-gpupass-pair0-%u'/></input>", i - 1);
	for (unsigned i = 200; i > 0; i--)
		fprintf(f,
			"<controller type='pci' index='%u'><alias name='ua-gpupass-pair0-port%u'/>"
			"</controller>",
			i, i);
	fputs("</devices></domain>", f);
	assert_int_equal(fclose(f), 0);
	begun = clock();
	added = add(text, "pair0");
	back = take_out(added, "pair0", &changed);
	assert_true(changed);
	assert_non_null(strstr(added, "\"ua-gpupass-pair0-20003\""));
	assert_true((clock() - begun) / CLOCKS_PER_SEC < 10);
}

TEST(untouched_lines_keep_their_layout)
{
	static const char before[] = "<domain type=\"kvm\">\n"
				     "  <name>vm42</name>\n"
				     "  <uuid>" UUID "</uuid>\n"
				     "  <!-- by  hand -->\n"
				     "  <?keep this?>\n"
				     "  <os><type machine=\"q35\">hvm</type></os>\n"
				     "  <devices>\n"
				     "    <emulator>/usr/bin/kvm</emulator>\n"
				     "  </devices>\n"
				     "</domain>\n";
	_cleanup_free_ char *added = add(before, "pair0");
	_cleanup_free_ char *back = NULL;
	bool changed;

	assert_non_null(strstr(added, "</uuid>\n  <metadata>\n    <gpupass:assignment "
				      "xmlns:gpupass=\"" DOMAIN_XML_NAMESPACE
				      "\" group=\"pair0\"/>\n  </metadata>\n  <!-- by  hand -->"));
	assert_non_null(strstr(added, "</emulator>\n    <controller type=\"pci\" index=\"1\" "
				      "model=\"pcie-root-port\">\n      <alias "));
	assert_non_null(strstr(added, "</hostdev>\n  </devices>\n</domain>\n"));
	back = take_out(added, "pair0", &changed);
	assert_string_equal(back, before);
}

#define HOSTDEV(host_bus, host_function, number, bus, slot, function, multi)                       \
	"<hostdev mode='subsystem' type='pci' managed='no'><source><address domain='0x0000' "      \
	"bus='" host_bus "' slot='0x00' function='" host_function "'/></source>"                   \
	"<alias name='ua-gpupass-pair0-" number "'/><address type='pci' domain='0x0000' "          \
	"bus='" bus "' slot='" slot "' function='" function "'" multi "/></hostdev>"
#define MULTI " multifunction='on'"
#define METADATA                                                                                   \
	"<metadata><g:assignment xmlns:g='" DOMAIN_XML_NAMESPACE "' group='pair0'/></metadata>"

/* What is there, and what comes behind it. */
#define PCIE_BUSES                                                                                 \
	"<controller type='pci' index='0' model='pcie-root'/>"                                     \
	"<controller type='pci' index='4' model='pcie-root-port'/>"                                \
	"<controller type='pci' model='pcie-root-port'/>"                                          \
	"<controller type='usb' index='90'/>"                                                      \
	"<rng><address type='pci' domain='0' bus='0x05' slot='0' function='0'/></rng>"
#define PCIE_PORTS                                                                                 \
	"<controller type='pci' index='7' model='pcie-root-port'>"                                 \
	"<alias name='ua-gpupass-pair0-port0'/><address type='pci' domain='0x0000' bus='0x00' "    \
	"slot='0x03' function='0x0' multifunction='on'/></controller>"                             \
	"<controller type='pci' index='8' model='pcie-root-port'>"                                 \
	"<alias name='ua-gpupass-pair0-port1'/><address type='pci' domain='0x0000' bus='0x00' "    \
	"slot='0x03' function='0x1'/></controller>"
#define PCI_SLOTS_USED                                                                             \
	"<disk><address type='pci' domain='0' bus='0' slot='0x03' function='0'/></disk>"           \
	"<rng><address type='pci' domain='0' bus='0' slot='5' function='0'/></rng>"                \
	"<rng><address type='pci' domain='0' bus='1' slot='4' function='0'/></rng>"                \
	"<lease><address type='drive' bus='0' slot='4'/></lease>"
#define PAIR_AT(bus, slot, second_bus, second_slot)                                                \
	HOSTDEV("0x41", "0x0", "0", bus, slot, "0x0", MULTI)                                       \
	HOSTDEV("0x41", "0x1", "1", bus, slot, "0x1", "")                                          \
	HOSTDEV("0x61", "0x0", "2", second_bus, second_slot, "0x0", MULTI)                         \
	HOSTDEV("0x61", "0x1", "3", second_bus, second_slot, "0x1", "")

/* Behind every bus that is in use: a root port a GPU, or on i440fx a free slot. */
TEST(each_gpu_gets_a_place_of_its_own)
{
	static const struct {
		const char *what, *before, *after;
	} rows[] = {
		{ "q35", DOMAIN(Q35 "<devices>" PCIE_BUSES "</devices>"),
		  DOMAIN(METADATA Q35 "<devices>" PCIE_BUSES PCIE_PORTS PAIR_AT(
			  "0x07", "0x00", "0x08", "0x00") "</devices>") },
		{ "i440fx", DOMAIN(PC "<devices>" PCI_SLOTS_USED "</devices>"),
		  DOMAIN(METADATA PC "<devices>" PCI_SLOTS_USED PAIR_AT("0x00", "0x04", "0x00",
									"0x06") "</devices>") },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *added = add(rows[i].before, "pair0");

		check_equivalent(rows[i].what, rows[i].after, added);
	}
}

/*
 * field: domains/10: in the slot of an operator's port libvirt would set multifunction='on' on that
 * one, for good.
 */
TEST(our_ports_share_no_slot_with_others)
{
	static const struct {
		const char *used; /* slots of bus 0 */
		const char *slot; /* NULL: libvirt chooses */
	} rows[] = {
		{ "\x01", "0x03" },
		{ "\x03\x04\x1f", "0x05" },
		{ "\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18",
		  "0x19" },
		{ "\x03\x04\x05\x06\x07\x08\x09\x0a\x0b\x0c\x0d\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19",
		  NULL },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_strv_ char **parts = NULL;
		_cleanup_free_ char *devices = NULL, *text = NULL, *added = NULL, *wanted = NULL;

		for (const char *slot = rows[i].used; *slot; slot++)
			strv_appendf(
				&parts,
				"<controller type='pci' index='%d' "
				"model='pcie-root-port'><address type='pci' bus='0' slot='%d'/>"
				"</controller>",
				*slot, *slot);
		devices = strv_join(parts, "");
		text = strf(DOMAIN(Q35 "<devices>%s</devices>"), devices);
		added = add(text, "pair0");
		wanted = strf("bus=\"0x00\" slot=\"%s\" function=\"0x1\"/>",
			      rows[i].slot ? rows[i].slot : "");
		if ((strstr(added, wanted) != NULL) != (rows[i].slot != NULL) ||
		    (!rows[i].slot && strstr(added, "bus=\"0x00\"")))
			fail_msg("row %zu: %s", i, added);
	}
}

TEST(guest_functions_start_at_zero)
{
	static const struct {
		DomainXmlGpu gpu;
		const char *guest[3];
		bool multi;
	} rows[] = {
		{ { .functions = { { 0, 5, 0, 0 } }, .n_functions = 1 }, { "0x0" }, false },
		{ { .functions = { { 0, 5, 0, 0 }, { 0, 5, 0, 2 } }, .n_functions = 2 },
		  { "0x0", "0x2" },
		  true },
		{ { .functions = { { 0, 5, 0, 1 }, { 0, 5, 0, 3 }, { 0, 5, 0, 7 } },
		    .n_functions = 3 },
		  { "0x0", "0x1", "0x2" },
		  true },
		{ { .functions = { { 0, 5, 0, 4 } }, .n_functions = 1 }, { "0x0" }, false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(DOMAIN(Q35));
		_cleanup_free_ char *text = NULL;
		const char *at;

		assert_int_equal(domain_xml_add_group(xml, "g", &rows[i].gpu, 1, NULL, NULL), 0);
		text = domain_xml_to_text(xml);
		at = strstr(text, "<hostdev");
		for (size_t k = 0; k < rows[i].gpu.n_functions; k++) {
			_cleanup_free_ char *address =
				strf("slot=\"0x00\" function=\"%s\"%s/>", rows[i].guest[k],
				     k == 0 && rows[i].multi ? " multifunction=\"on\"" : "");

			at = strstr(at, "<address type=\"pci\"");
			assert_non_null(at);
			at = strstr(at, "slot=");
			if (strncmp(at, address, strlen(address)) != 0)
				fail_msg("row %zu, function %zu: %.60s", i, k, at);
		}
	}
}

TEST(aliases_are_such_as_libvirt_keeps_and_differ_as_groups_do)
{
	static const char *const groups[] = { "a.b", "a_b", "a_db", "a__b", "a-b", "a._b", "a_.b" };
	_cleanup_strv_ char **seen = NULL;

	for (size_t i = 0; i < ELEMENTS(groups); i++) {
		_cleanup_free_ char *text = domain_xml_hostdev(groups[i], 0, &functions[0]);
		char *alias = strstr(text, "ua-gpupass-");

		assert_non_null(alias);
		*strchr(alias, '"') = '\0';
		for (const char *s = alias; *s; s++)
			if (!isalnum((unsigned char)*s) && *s != '-' && *s != '_')
				fail_msg("%s: %s", groups[i], alias);
		if (strv_contains(seen, alias))
			fail_msg("%s: %s is taken", groups[i], alias);
		strv_append(&seen, alias);
	}
}

#define OTHER_UUID "1b5c0000-0000-0000-0000-000000000043"

/* libvirt's formatdomain, "PCI Passthrough": by such an element it sets MAC and VLAN of a VF. */
TEST(a_vf_is_an_interface_with_a_mac_of_its_own_for_each_domain_and_host)
{
	static const Bdf vf = { 0, 0x42, 0, 2 }, next = { 0, 0x42, 0, 3 };
	_cleanup_free_ char *mac = domain_vf_mac(UUID, &vf, 1),
			    *again = domain_vf_mac(UUID, &vf, 1);
	_cleanup_free_ char *text = domain_xml_interface("pair0", 4, &vf, mac, 42);
	_cleanup_free_ char *plainly = domain_xml_interface("pair0", 4, &vf, mac, 0);
	_cleanup_free_ char *other_domain = domain_vf_mac(OTHER_UUID, &vf, 1);
	_cleanup_free_ char *other_vf = domain_vf_mac(UUID, &next, 1);
	_cleanup_free_ char *other_host = domain_vf_mac(UUID, &vf, 2);
	_cleanup_free_ char *expected =
		strf("<interface type='hostdev' managed='no'><mac address='%s'/><source><address "
		     "type='pci' domain='0x0000' bus='0x42' slot='0x00' function='0x2'/></source>"
		     "<vlan><tag id='42'/></vlan><alias name='ua-gpupass-pair0-4'/></interface>",
		     mac);

	check_equivalent("interface", expected, text);
	assert_null(strstr(plainly, "vlan"));
	/* Of one device, and of no maker. */
	assert_true(strchr("26ae", mac[1]) && strlen(mac) == 17);
	assert_string_equal(again, mac);
	assert_string_not_equal(other_domain, mac);
	assert_string_not_equal(other_vf, mac);
	assert_string_not_equal(other_host, mac);
}

TEST(a_vf_goes_into_the_definition_and_out_of_it_with_its_group)
{
	static const DomainXmlGpu with_vf[] = {
		{ .functions = { { 0, 0x41, 0, 0 }, { 0, 0x41, 0, 1 } }, .n_functions = 2 },
		{ .functions = { { 0, 0x42, 0, 2 } },
		  .n_functions = 1,
		  .mac = "02:00:00:00:00:01",
		  .vlan = 42 },
	};
	static const Bdf vf = { 0, 0x42, 0, 2 };

	for (size_t i = 0; i < ELEMENTS(plain); i++) {
		_cleanup_free_ char *before = domain_fixture(plain[i]), *with = NULL, *after = NULL;
		_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(before);
		_cleanup_(domain_use_clear) DomainUse use = { 0 };
		_cleanup_(problem_freep) Problem *problem = NULL;
		const DomainHostdev *hostdev;
		bool changed;

		assert_int_equal(domain_xml_add_group(xml, "pair0", with_vf, 2, NULL, &problem), 0);
		with = domain_xml_to_text(xml);
		assert_int_equal(domain_use_from_xml(NULL, with, &use, &problem), 0);
		hostdev = domain_use_hostdev(&use, &vf);
		assert_true(hostdev && hostdev->config && !hostdev->managed && hostdev->has_guest);
		assert_string_equal(hostdev->alias, "ua-gpupass-pair0-2");
		after = take_out(with, "pair0", &changed);
		assert_true(changed);
		check_equivalent(plain[i], before, after);
	}
}

TEST(hostdev_for_a_live_attach_has_no_guest_address)
{
	static const Bdf vmd = { 0x10000, 0xe1, 0x1f, 7 };
	_cleanup_free_ char *text = domain_xml_hostdev("pair0", 3, &vmd);

	check_equivalent("hostdev",
			 "<hostdev mode='subsystem' type='pci' managed='no'><source>"
			 "<address domain='0x10000' bus='0xe1' slot='0x1f' function='0x7'/>"
			 "</source><alias name='ua-gpupass-pair0-3'/></hostdev>",
			 text);
}

TEST(alias_numbers_that_are_taken_are_passed_over)
{
	_cleanup_free_ char *added =
		add(DOMAIN(Q35 "<devices><controller type='pci' index='1' model='pcie-root-port'>"
			       "<alias name='ua-gpupass-pair0-port0'/></controller>"
			       "<rng><alias name='ua-gpupass-pair0-1'/></rng></devices>"),
		    "pair0");

	assert_null(strstr(strstr(added, "-port0") + 1, "-port0"));
	assert_non_null(strstr(added, "ua-gpupass-pair0-port1\""));
	assert_non_null(strstr(added, "ua-gpupass-pair0-port2\""));
	assert_null(strstr(strstr(added, "pair0-1\"") + 1, "pair0-1\""));
	assert_non_null(strstr(added, "ua-gpupass-pair0-4\""));
}

#define SLOT(n) "<rng><address type='pci' bus='0' slot='" #n "'/></rng>"
/* clang-format off */
#define SLOTS_3_TO_30                                                                              \
	SLOT(3) SLOT(4) SLOT(5) SLOT(6) SLOT(7) SLOT(8) SLOT(9) SLOT(10) SLOT(11) SLOT(12)         \
	SLOT(13) SLOT(14) SLOT(15) SLOT(16) SLOT(17) SLOT(18) SLOT(19) SLOT(20) SLOT(21) SLOT(22)  \
	SLOT(23) SLOT(24) SLOT(25) SLOT(26) SLOT(27) SLOT(28) SLOT(29) SLOT(30)
/* clang-format on */

TEST(adding_is_refused_by_name_and_changes_nothing)
{
	static const struct {
		const char *text;
		GpupassError error;
		const char *reason;
	} rows[] = {
		{ DOMAIN(Q35 "<devices><hostdev mode='subsystem' type='pci' managed='yes'><source>"
			     "<address bus='0x61' slot='0' function='1'/></source></hostdev>"
			     "</devices>"),
		  GPUPASS_ERROR_SPLIT_GROUP, "vm42 has 0000:61:00.1 already" },
		{ DOMAIN(PC "<devices>" SLOTS_3_TO_30 "</devices>"),
		  GPUPASS_ERROR_UNSUPPORTED_DOMAIN, "it has too few PCI slots left" },
		{ DOMAIN(Q35 "<devices><controller type='pci' index='254'/></devices>"),
		  GPUPASS_ERROR_UNSUPPORTED_DOMAIN, "it has no PCI bus number left" },
		{ DOMAIN("<os><type machine='microvm'>hvm</type></os>"),
		  GPUPASS_ERROR_UNSUPPORTED_DOMAIN, "its machine type is not supported" },
		{ "<domain type='lxc'><name>vm42</name><uuid>" UUID "</uuid></domain>",
		  GPUPASS_ERROR_UNSUPPORTED_DOMAIN, "its hypervisor takes no VFIO devices" },
		{ "<domain><name>vm42</name><uuid>" UUID "</uuid></domain>",
		  GPUPASS_ERROR_UNSUPPORTED_DOMAIN, "its hypervisor takes no VFIO devices" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(rows[i].text);
		_cleanup_(problem_freep) Problem *problem = NULL;
		_cleanup_free_ char *text = NULL;

		if (domain_xml_add_group(xml, "pair0", pair, ELEMENTS(pair), NULL, &problem) !=
		    PROBLEM)
			fail_msg("row %zu is taken", i);
		if (problem->error != rows[i].error || strcmp(problem->reason, rows[i].reason) != 0)
			fail_msg("row %zu: %s", i, problem->reason);
		assert_non_null(problem->remedy);
		text = domain_xml_to_text(xml);
		check_equivalent(rows[i].reason, rows[i].text, text);
	}
}

TEST(adding_takes_a_sane_number_of_gpus_only)
{
	static const DomainXmlGpu none = { .n_functions = 0 }, many = { .n_functions = 9 };
	_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(DOMAIN(Q35));

	assert_int_equal(domain_xml_add_group(xml, "g", pair, 0, NULL, NULL), -EINVAL);
	assert_int_equal(domain_xml_add_group(xml, "g", pair,
					      GROUP_GPUS_MAX + GROUP_COMPANIONS_MAX + 1, NULL,
					      NULL),
			 -EINVAL);
	assert_int_equal(domain_xml_add_group(xml, "g", &none, 1, NULL, NULL), -EINVAL);
	assert_int_equal(domain_xml_add_group(xml, "g", &many, 1, NULL, NULL), -EINVAL);
}

/* The groups that the metadata names, in order, joined by '+'. */
static char *names_of(const DomainXml *xml)
{
	_cleanup_strv_ char **names = NULL;

	names = domain_xml_groups(xml);
	return strv_join(names, "+");
}

static void expect_names(const DomainXml *xml, const char *expected)
{
	_cleanup_free_ char *names = names_of(xml);

	if (!str_equal(names, expected))
		fail_msg("%s instead of %s", names, expected);
}

static const DomainXmlGpu second_pair[] = {
	{ .functions = { { 0, 0xb1, 0, 0 }, { 0, 0xb1, 0, 1 } }, .n_functions = 2 },
	{ .functions = { { 0, 0xd1, 0, 0 }, { 0, 0xd1, 0, 1 } }, .n_functions = 2 },
};
static const Bdf second_functions[] = {
	{ 0, 0xb1, 0, 0 },
	{ 0, 0xb1, 0, 1 },
	{ 0, 0xd1, 0, 0 },
	{ 0, 0xd1, 0, 1 },
};

static const struct {
	const char *name;
	const DomainXmlGpu *gpus;
	const Bdf *functions;
} two[] = { { "pair0", pair, functions }, { "pair1", second_pair, second_functions } };

static void take_out_of(DomainXml *xml, size_t which, const char *left)
{
	bool changed;

	domain_xml_remove_group(xml, two[which].name, two[which].functions, 4, &changed);
	assert_true(changed);
	expect_names(xml, left);
}

/* In every order: each group is whole, and when both are out, the definition is as it was. */
TEST(two_groups_come_and_go_apart)
{
	for (size_t i = 0; i < 2 * ELEMENTS(plain); i++) {
		_cleanup_free_ char *text = domain_fixture(plain[i / 2]), *back = NULL;
		_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(text);
		_cleanup_(domain_use_clear) DomainUse use = { 0 };

		for (size_t k = 0; k < 2; k++)
			assert_int_equal(
				domain_xml_add_group(xml, two[k].name, two[k].gpus, 2, NULL, NULL),
				0);
		expect_names(xml, "pair0+pair1");
		assert_int_equal(domain_xml_hostdevs(xml, &use.hostdevs, &use.n_hostdevs), 0);
		for (size_t k = 0; k < 4; k++) {
			const DomainHostdev *one = domain_use_hostdev(&use, &functions[k]);
			const DomainHostdev *other = domain_use_hostdev(&use, &second_functions[k]);

			assert_true(one && other && !bdf_same_slot(&one->guest, &other->guest));
		}
		take_out_of(xml, i % 2, two[1 - i % 2].name);
		take_out_of(xml, 1 - i % 2, "");
		back = domain_xml_to_text(xml);
		check_equivalent(plain[i / 2], text, back);
	}
}

TEST(a_name_is_taken_out_renamed_and_read_once)
{
	static const char metadata[] =
		DOMAIN(Q35 "<metadata><a:assignment xmlns:a='" DOMAIN_XML_NAMESPACE "' group='g'>"
			   "<a:also group='h'/><b:also xmlns:b='urn:b' group='others'/><a:also/>"
			   "<a:also group='h'/><a:also group='i'/></a:assignment></metadata>");
	_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(metadata);
	bool changed;

	expect_names(xml, "g+h+i");
	domain_xml_rename_group(xml, "i", "k");
	domain_xml_rename_group(xml, "nobody's", "x");
	expect_names(xml, "g+h+k");
	domain_xml_unname_group(xml, "x", &changed);
	assert_false(changed);
	/* The place that versions with one group a domain read is never empty. */
	domain_xml_unname_group(xml, "g", &changed);
	assert_true(changed);
	expect_names(xml, "h+k");
	domain_xml_unname_group(xml, "h", &changed);
	expect_names(xml, "k");
	domain_xml_unname_group(xml, "k", &changed);
	expect_names(xml, "");
	assert_false(domain_xml_unmark(xml));
}

TEST(what_tenants_write_there_counts_to_a_limit)
{
	_cleanup_strv_ char **lines = NULL, **names = NULL;
	_cleanup_(domain_xml_freep) DomainXml *xml = NULL;
	_cleanup_free_ char *many = NULL, *text = NULL;

	for (unsigned i = 0; i < 5000; i++)
		strv_appendf(&lines, "<a:also group='x%u'/>", i);
	many = strv_join(lines, "");
	text = strf(DOMAIN(Q35 "<metadata><a:assignment xmlns:a='" DOMAIN_XML_NAMESPACE
			       "' group='g'>%s</a:assignment></metadata>"),
		    many);
	xml = domain_parsed(text);
	names = domain_xml_groups(xml);
	assert_int_equal(strv_length(names), XML_NAMES_MAX);
}

TEST(taking_out_leaves_what_is_not_of_the_group)
{
	static const char *const rows[] = {
		DOMAIN(Q35),
		DOMAIN(Q35 "<devices/>"),
		DOMAIN(Q35 "<metadata><a:assignment xmlns:a='" DOMAIN_XML_NAMESPACE
			   "' group='pair1'/></metadata>"),
		DOMAIN("<devices><hostdev mode='subsystem' type='pci'><source>"
		       "<address bus='0x42' slot='0'/></source>"
		       "<alias name='ua-gpupass-pair0-x0'/></hostdev>"
		       "<hostdev mode='subsystem' type='pci'><source/>"
		       "<alias name='ua-gpupass-pair0-1-0'/></hostdev>"
		       "<hostdev mode='subsystem' type='pci'><alias name='ua-gpupass-pair0-'/>"
		       "</hostdev><hostdev mode='subsystem' type='usb'><source>"
		       "<address bus='0x41' slot='0'/></source>"
		       "<alias name='ua-gpupass-pair0-0'/></hostdev>"
		       "<controller type='pci' index='1' model='pcie-root-port'/>"
		       "<controller type='pci' index='2' model='pcie-root-port'>"
		       "<alias name='ua-gpupass-pair0-0'/></controller>"
		       "<controller type='pci' index='3' model='pcie-root-port'>"
		       "<alias name='ua-gpupass-pair01-port0'/></controller></devices>"),
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *text = NULL;
		bool changed = true;

		text = take_out(rows[i], "pair0", &changed);
		if (changed)
			fail_msg("row %zu is changed", i);
		check_equivalent("nothing of it", rows[i], text);
	}
}

TEST(what_is_of_the_group_goes_and_all_else_stays)
{
	static const char attributes[] =
		DOMAIN("<metadata a='1'/>" Q35 "<devices xmlns:x='urn:x'/>");
	static const struct {
		const char *what, *assigned, *left;
	} rows[] = {
		{ "a function that carries no mark",
		  DOMAIN("<devices><emulator/><hostdev mode='subsystem' type='pci' managed='yes'>"
			 "<source><address bus='0x61' slot='0'/></source></hostdev></devices>"),
		  DOMAIN("<devices><emulator/></devices>") },
		{ "a root port that something else uses",
		  DOMAIN("<devices><controller type='pci' index='1' model='pcie-root-port'>"
			 "<alias name='ua-gpupass-pair0-port0'/></controller>"
			 "<controller type='pci' index='2' model='pcie-root-port'>"
			 "<alias name='ua-gpupass-pair0-port1'/></controller>"
			 "<rng><address type='pci' bus='0x02' slot='0'/></rng></devices>"),
		  DOMAIN("<devices><controller type='pci' index='2' model='pcie-root-port'/>"
			 "<rng><address type='pci' bus='0x02' slot='0'/></rng></devices>") },
		/* libvirt writes one alias a device, so only somebody else's text has more. */
		{ "a port that stays, with two of our marks",
		  DOMAIN("<devices><controller type='pci' index='1' model='pcie-root-port'>"
			 "<alias name='ua-gpupass-pair0-port0'/>"
			 "<alias name='ua-gpupass-pair0-port7'/></controller>"
			 "<rng><address type='pci' bus='0x01' slot='0'/></rng></devices>"),
		  DOMAIN("<devices><controller type='pci' index='1' model='pcie-root-port'/>"
			 "<rng><address type='pci' bus='0x01' slot='0'/></rng></devices>") },
	};
	_cleanup_free_ char *added = add(attributes, "pair0");

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		check_taken_out(rows[i].what, rows[i].left, rows[i].assigned);
	check_taken_out("emptied elements with attributes of others", attributes, added);
}

/*
 * Without its port, libvirt would define another one for the index, or the guest would not find the
 * slot's other functions. The last group to go takes it along.
 */
/* fault 61 */
TEST(a_port_that_another_group_needs_is_taken_over_by_it)
{
	static const char both[] =
		DOMAIN("<devices><controller type='pci' index='1' model='pcie-root-port'>"
		       "<alias name='ua-gpupass-pair0-port0'/><address type='pci' bus='0' slot='1' "
		       "function='0' multifunction='on'/></controller>"
		       "<controller type='pci' index='2' model='pcie-root-port'>"
		       "<alias name='ua-gpupass-pair0-port1'/>"
		       "<address type='pci' bus='0' slot='1' function='1'/></controller>"
		       "<controller type='pci' index='3' model='pcie-root-port'>"
		       "<alias name='ua-gpupass-pair0-1-port0'/>"
		       "<address type='pci' bus='0' slot='1' function='2'/></controller>"
		       "<controller type='pci' index='4' model='pcie-root-port'>"
		       "<alias name='ua-gpupass-pair0-port2'/>"
		       "<address type='pci' bus='0' slot='1' function='3'/></controller>"
		       "<rng><address type='pci' bus='0' slot='2'/></rng></devices>");
	_cleanup_free_ char *one = NULL, *none = NULL, *other = NULL;
	bool changed;

	one = take_out(both, "pair0", &changed);
	assert_null(strstr(one, "ua-gpupass-pair0-port"));
	assert_null(strstr(one, "index=\"4\""));
	assert_non_null(strstr(one, "ua-gpupass-pair0-1-port1"));
	assert_non_null(strstr(one, "ua-gpupass-pair0-1-port2"));
	none = take_out(one, "pair0-1", &changed);
	assert_null(strstr(none, "pcie-root-port"));

	other = take_out(both, "pair0-1", &changed);
	assert_non_null(strstr(other, "index=\"3\""));
	free(none);
	none = take_out(other, "pair0", &changed);
	assert_null(strstr(none, "pcie-root-port"));
}

/* Without a function 0 the guest does not look for the other functions of the slot. */
TEST(function_zero_of_a_shared_slot_stays)
{
	_cleanup_free_ char *assigned = domain_fixture("q35-shared-slot");
	_cleanup_free_ char *text = NULL;
	bool changed;

	text = take_out(assigned, "pair0", &changed);
	assert_non_null(strstr(text, "index=\"9\" model=\"pcie-root-port\""));
	assert_null(strstr(text, "index=\"10\" model=\"pcie-root-port\""));
	assert_non_null(strstr(text, "index=\"11\" model=\"pcie-root-port\""));
	assert_null(strstr(text, "gpupass"));
	assert_null(strstr(text, "<hostdev"));
}

/*
 * Removes what our metadata lists, except a namespace that other elements use by now: libxml2's
 * nodes, however deep, point to it.
 */
TEST(a_namespace_that_something_uses_stays)
{
	static const char qemu[] = "http://libvirt.org/schemas/domain/qemu/1.0";
	static const struct {
		const char *user;
		bool stays;
	} rows[] = {
		{ "", false },
		{ "<a/>", false },
		{ "<qemu:a/>", true },
		{ "<a><b><qemu:c/></b></a>", true },
		{ "<a><b qemu:c='d'/></a>", true },
		{ "<a xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'><qemu:b/></a>",
		  false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *text = strf(
			"<domain type='kvm' xmlns:qemu='%s'><name>a</name>"
			"<uuid>3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242</uuid><metadata>%s"
			"<g:assignment xmlns:g='" DOMAIN_XML_NAMESPACE "' group='pair0'>"
			"<g:added what='qemu-namespace' value='qemu'/></g:assignment></metadata>"
			"</domain>",
			qemu, rows[i].user);
		bool changed = false;
		_cleanup_free_ char *after = take_out(text, "pair0", &changed);
		_cleanup_(domain_xml_freep) DomainXml *again = domain_parsed(after);

		assert_true(changed);
		assert_non_null(again);
		if ((strstr(after, "<domain type=\"kvm\">") == NULL) != rows[i].stays)
			fail_msg("row %zu: %s", i, after);
	}
}

/* ---- peer access over PCIe ---- */

#define QEMU_NS " xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'"
#define OVERRIDE(alias, inner)                                                                     \
	"<qemu:device alias='" alias "'><qemu:frontend>" inner "</qemu:frontend></qemu:device>"
#define PROPERTY(name, value) "<qemu:property name='" name "' type='unsigned' value='" value "'/>"

/* The fixture with these words behind its devices, in a namespace that the root declares. */
static char *domain_of_qemu(const char *fixture, const char *words)
{
	_cleanup_free_ char *text = domain_fixture(fixture), *rest = NULL;
	size_t tag = strcspn(text, ">"), at;

	if (!*words)
		return strdup(text);
	rest = strdup(text + tag);
	at = (size_t)(strstr(rest, "</devices>") - rest) + strlen("</devices>");
	return strf("%.*s%s%.*s\n  %s%s", (int)tag, text, strstr(text, "xmlns:qemu") ? "" : QEMU_NS,
		    (int)at, rest, words, rest + at);
}

static DomainXml *with_peers(const char *text, Problem **ret_problem)
{
	DomainXmlGpu peers[ELEMENTS(pair)];
	DomainXml *xml = domain_parsed(text);

	memcpy(peers, pair, sizeof(peers));
	for (size_t i = 0; i < ELEMENTS(peers); i++)
		peers[i].clique = true;
	if (domain_xml_add_group(xml, "pair0", peers, ELEMENTS(peers), NULL, ret_problem) != 0)
		return domain_xml_free(xml);
	return xml;
}

static void expect_peers(const char *text, bool wanted)
{
	_cleanup_(domain_use_clear) DomainUse use = { 0 };
	_cleanup_(problem_freep) Problem *problem = NULL;

	assert_int_equal(domain_use_from_xml(NULL, text, &use, &problem), 0);
	for (size_t i = 0; i < ELEMENTS(functions); i++)
		assert_int_equal(domain_use_hostdev(&use, &functions[i])->clique,
				 wanted && functions[i].function == 0);
	assert_null(use.unclear);
}

TEST(a_diff_shows_all_that_peer_access_writes)
{
	_cleanup_free_ char *before = domain_of_qemu(
		"q35",
		"<qemu:override>" OVERRIDE("ua-mine", PROPERTY("x-a", "7")) "</qemu:override>");
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_(domain_xml_freep) DomainXml *xml = with_peers(before, &problem);
	_cleanup_free_ char *with = domain_xml_to_text(xml), *diff = domain_xml_diff(before, with);
	_cleanup_free_ char *mine = domain_xml_diff(with, "<domain/>");

	assert_non_null(strstr(diff, "<qemu:device alias=\"ua-gpupass-pair0-0\">"));
	assert_non_null(strstr(diff, "<qemu:property name=\"x-nv-gpudirect-clique\" "
				     "type=\"unsigned\" value=\"0\"/>"));
	assert_null(strstr(mine, "ua-mine"));
	assert_null(strstr(mine, "x-a"));
}

TEST(peer_access_comes_and_goes_byte_for_byte)
{
	static const char *const words[] = {
		"",
		"<qemu:commandline>\n    <qemu:arg value='-s'/>\n  </qemu:commandline>",
		"<qemu:override>\n    " OVERRIDE("hostdev7",
						 PROPERTY("x-a", "1")) "\n  </qemu:override>",
		"<qemu:override>\n    " OVERRIDE(
			"ua-gpupass-pair1-0",
			PROPERTY("x-nv-gpudirect-clique", "0")) "\n  </qemu:override>",
	};

	for (size_t i = 0; i < ELEMENTS(plain) * ELEMENTS(words); i++) {
		_cleanup_free_ char *before =
			domain_of_qemu(plain[i / ELEMENTS(words)], words[i % ELEMENTS(words)]);
		_cleanup_(problem_freep) Problem *problem = NULL;
		_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(before), *peers = NULL;
		_cleanup_free_ char *same = domain_xml_to_text(xml), *with = NULL, *after = NULL;
		bool changed;

		peers = with_peers(before, &problem);
		assert_non_null(peers);
		with = domain_xml_to_text(peers);
		expect_peers(with, true);
		after = take_out(with, "pair0", &changed);
		assert_string_equal(after, same);
	}
}

/* Of two that wrote into the namespace, the last to go takes the declaration with it. */
TEST(a_declared_namespace_stays_until_nobody_needs_it)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_free_ char *before = domain_fixture("q35"), *same = NULL, *with = NULL,
			    *after = NULL;
	_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(before), *peers = NULL;
	bool changed;

	same = domain_xml_to_text(xml);
	peers = with_peers(before, &problem);
	assert_int_equal(domain_xml_tune(peers, &(FitTune){ .mmio_mb = 262144 }), 0);
	domain_xml_untune(peers, &changed);
	with = domain_xml_to_text(peers);
	assert_null(strstr(with, "fw_cfg"));
	expect_peers(with, true);
	after = take_out(with, "pair0", &changed);
	assert_string_equal(after, same);
}

TEST(what_somebody_adds_to_our_override_stays)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_free_ char *before = domain_fixture("q35"), *with = NULL, *edited = NULL,
			    *after = NULL;
	_cleanup_(domain_xml_freep) DomainXml *xml = with_peers(before, &problem);
	const char *at;
	bool changed;

	with = domain_xml_to_text(xml);
	at = strstr(with, "<qemu:property");
	edited = strf("%.*s" PROPERTY("x-pci-vendor-id", "4318") "%s", (int)(at - with), with, at);
	after = take_out(edited, "pair0", &changed);
	assert_non_null(strstr(after, "x-pci-vendor-id"));
	assert_null(strstr(after, "x-nv-gpudirect-clique"));
	assert_non_null(strstr(after, "xmlns:qemu"));
}

TEST(an_override_of_ones_own_for_our_alias_is_refused)
{
	_cleanup_free_ char *before = domain_of_qemu(
		"q35", "<qemu:override>" OVERRIDE("ua-gpupass-pair0-2",
						  PROPERTY("x-a", "1")) "</qemu:override>");
	_cleanup_(problem_freep) Problem *problem = NULL;

	assert_null(with_peers(before, &problem));
	assert_int_equal(problem->error, GPUPASS_ERROR_UNSUPPORTED_DOMAIN);
	assert_string_equal(problem->reason, "vm42 has a <qemu:override> of its own for "
					     "ua-gpupass-pair0-2");
	assert_non_null(strstr(problem->remedy, "virsh edit vm42"));
}

#define KVM(inner) "<domain type='kvm'><name>a</name><uuid>" UUID "</uuid>" Q35 inner "</domain>"

TEST(who_hides_the_hypervisor_is_found)
{
	static const struct {
		const char *text, *told;
	} rows[] = {
		{ KVM(""), NULL },
		{ KVM("<features><kvm><hidden state='off'/></kvm></features>"), NULL },
		{ KVM("<features><kvm><hidden state='on'/></kvm></features>"), "it hides KVM" },
		{ KVM("<features><hyperv><vendor_id state='on' value='x'/></hyperv></features>"),
		  "another hypervisor's name" },
		{ KVM("<cpu><feature policy='disable' name='hypervisor'/></cpu>"),
		  "hides its hypervisor" },
		{ KVM("<cpu><feature policy='disable' name='vmx'/></cpu>"), NULL },
		{ "<domain type='qemu'><name>a</name><uuid>" UUID "</uuid>" Q35 "</domain>",
		  "not KVM" },
		{ "<domain type='kvm'><name>a</name><uuid>" UUID "</uuid><os><type "
		  "arch='aarch64' machine='virt'>hvm</type></os></domain>",
		  "not of x86_64" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(domain_xml_freep) DomainXml *xml = domain_parsed(rows[i].text);
		const char *told = domain_xml_hides_hypervisor(xml);

		if ((told != NULL) != (rows[i].told != NULL) ||
		    (told && !strstr(told, rows[i].told)))
			fail_msg("row %zu: %s", i, str_or_empty(told));
	}
}
