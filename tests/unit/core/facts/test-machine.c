/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/facts/machine.h"
#include "util/text.h"

/* As Proxmox VE 8 writes one: a description, pending changes, a snapshot. */
static const char real[] =
	"#Two RTX 3090, bridged%0Aowner: team a\n"
	"agent: 1\n"
	"bios: ovmf\n"
	"boot: order=scsi0;net0\n"
	"cores: 16\n"
	"cpu: host\n"
	"efidisk0: local-zfs:vm-101-disk-0,efitype=4m,pre-enrolled-keys=1,size=1M\n"
	"hookscript: local:snippets/gpupass\n"
	"hostpci0: 0000:41:00,pcie=1\n"
	"hostpci1: 61:00.0;61:00.1,pcie=1,x-vga=0\n"
	"machine: q35\n"
	"memory: 65536\n"
	"meta: creation-qemu=8.1.5,ctime=1718000000\n"
	"name: web-01\n"
	"net0: virtio=BC:24:11:6C:2A:01,bridge=vmbr0,firewall=1\n"
	"numa: 0\n"
	"ostype: l26\n"
	"parent: before\n"
	"scsi0: local-zfs:vm-101-disk-1,iothread=1,size=64G\n"
	"scsihw: virtio-scsi-single\n"
	"smbios1: uuid=0e4d3a3b-5f6c-4f0e-9d5e-000000000101\n"
	"vmgenid: 1d2f8a52-6e3f-4a8d-8b6e-000000000101\n"
	"\n"
	"[PENDING]\n"
	"delete: agent\n"
	"hostpci2: 0000:81:00.0\n"
	"\n"
	"[before]\n"
	"#hostpci7: 0000:c1:00.0\n"
	"hostpci3: 0000:a1:00.0\n"
	"snaptime: 1718000001\n"
	"this line is of a snapshot, and nobody reads it\n";

static const char pci_cfg[] = "pci: nic\n"
			      "\tcomment a card: with a colon\n"
			      "\tmap id=8086:1572,iommugroup=12,node=pve1,path=0000:05:00\n"
			      "\n"
			      "pci: either\n"
			      "\tmap id=10de:2204,iommugroup=21,node=pve1,path=0000:41:00\n"
			      "\tmap id=10de:2204,iommugroup=31,node=pve1,path=0000:61:00\n"
			      "\tmap id=10de:2204,iommugroup=31,node=pve2,path=0000:a1:00\n"
			      "pci: both\n"
			      "\tmdev 0\n"
			      "\tmap node=pve1,path=0000:41:00;0000:61:00.0,id=10de:2204\n"
			      "pci: elsewhere\n"
			      "\tmap id=10de:2204,node=pve2,path=0000:41:00\n";

static Machine parse(const char *text, const MachineMaps *maps)
{
	static const MachineMaps none = { 0 };
	Machine m;

	assert_int_equal(machine_parse(101, text, strlen(text), maps ? maps : &none, &m), 0);
	return m;
}

/* "0000:41:00.0 0000:41:00.1?": with a question mark what is one of several. */
static char *devices(const Machine *m)
{
	char **words = NULL, *text;

	for (size_t i = 0; i < m->n_devices; i++)
		assert_int_equal(strv_appendf(&words, "%s%s", BDF_TEXT(&m->devices[i].bdf),
					      m->devices[i].maybe ? "?" : ""),
				 0);
	text = strv_join(words, " ");
	strv_free(words);
	return text;
}

static void expect_devices(const char *text, const MachineMaps *maps, const char *expected)
{
	Machine m = parse(text, maps);
	char *found = devices(&m);

	if (m.unread)
		fail_msg("%s: not read: %s", text, m.unread);
	if (strcmp(found, expected) != 0)
		fail_msg("%s: expected \"%s\", found \"%s\"", text, expected, found);
	free(found);
	machine_clear(&m);
}

#define SLOT(a) a ".0 " a ".1 " a ".2 " a ".3 " a ".4 " a ".5 " a ".6 " a ".7"
#define SLOT_MAYBE(a) a ".0? " a ".1? " a ".2? " a ".3? " a ".4? " a ".5? " a ".6? " a ".7?"

static void a_real_file_is_read_without_its_snapshots(_unused_ void **state)
{
	Machine m = parse(real, NULL);

	assert_string_equal(m.name, "web-01");
	assert_int_equal(m.created, 1718000000);
	assert_null(m.unread);
	machine_clear(&m);
	expect_devices(real, NULL, SLOT("0000:41:00") " 0000:61:00.0 0000:61:00.1 0000:81:00.0");
}

static void devices_are_read_in_every_form(_unused_ void **state)
{
	static const struct {
		const char *text, *devices;
	} rows[] = {
		{ "", "" },
		{ "hostpci0: 41:00.0\n", "0000:41:00.0" },
		{ "hostpci0: host=41:00.0", "0000:41:00.0" },
		{ "hostpci15: pcie=1,host=0000:41:00.1,rombar=0\n", "0000:41:00.1" },
		{ "hostpci0:41:00.0\r\n", "0000:41:00.0" },
		{ "hostpci0: 0001:C1:1F.7\n", "0001:c1:1f.7" },
		{ "hostpci0: 00010000:01:00.0\n", "10000:01:00.0" },
		{ "hostpci0: 41:00.0;41:00.1,pcie=1\n", "0000:41:00.0 0000:41:00.1" },
		{ "hostpci0: 41:00.0\nhostpci1: 41:00.0\n", "0000:41:00.0" },
		{ "hostpci0: 41:00.0,driver=keep,a-key-of-a-later-version=x\n", "0000:41:00.0" },
		{ "[pending]\nhostpci0: 41:00.0\n", "0000:41:00.0" },
		{ "[special:cloudinit]\nhostpci0: 41:00.0\nwhat is this\n", "" },
		{ "name: a\n[snap]\nhostpci0: 41:00.0\n[PENDING]\nhostpci1: 61:00.0",
		  "0000:61:00.0" },
		{ "#hostpci0: 41:00.0\ndescription: hostpci0: 41:00.0\n", "" },
		{ "hostpci0: 41:00.0\ntemplate: 1\n", "" },
		{ "hostpci0: 41:00.0\ntemplate: 0\n", "0000:41:00.0" },
		{ "args: -cpu host,kvm=off\n", "" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		expect_devices(rows[i].text, NULL, rows[i].devices);
}

/* promise T10 */
static void what_is_not_understood_makes_the_whole_machine_unread(_unused_ void **state)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{ "hostpci0: 41:00.0\nno line of a file\nhostpci1: x\n", "line 2" },
		{ "hostpci0:\n", "neither an address nor a mapping" },
		{ "hostpci0: pcie=1\n", "neither an address nor a mapping" },
		{ "hostpci0: 41:00.0,mapping=nic\n", "or both" },
		{ "hostpci: 41:00.0\n", "without a number" },
		{ "hostpcix: 41:00.0\n", "without a number" },
		{ "hostpci0: 41:00.8\n", "is none" },
		{ "hostpci0: 41:20\n", "is none" },
		{ "hostpci0: pci_0000_41_00_0\n", "is none" },
		{ "hostpci0: 41:00.0 61:00.0\n", "is none" },
		{ "hostpci0: 0000000000000000000000041:00.0\n", "is none" },
		{ "hostpci0: ;\n", "no address" },
		{ "hostpci0: mapping=nic\n", "a mapping that this node does not" },
		{ "[PENDING\nhostpci0: 41:00.0\n", "line 1" },
		{ "[PENDING]\nwhat\n", "line 2" },
		{ ": 41:00.0\n", "line 1" },
		{ "host pci0: 41:00.0\n", "line 1" },
		{ "args: -device vfio-pci,host=0000:41:00.0\n", "args" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		Machine m = parse(rows[i].text, NULL);

		if (!m.unread || !strstr(m.unread, rows[i].why))
			fail_msg("%s: expected \"%s\", found \"%s\"", rows[i].text, rows[i].why,
				 m.unread ? m.unread : "nothing");
		assert_int_equal(m.n_devices, 0);
		machine_clear(&m);
	}
}

/* Whose it is stays known, so that it is no other tenant for that. */
static void an_unread_machine_keeps_its_name_and_time(_unused_ void **state)
{
	Machine m = parse("what\nmeta: ctime=1718000000\nname: web\nhostpci0: 41:00.0\n", NULL);

	assert_non_null(m.unread);
	assert_string_equal(m.name, "web");
	assert_int_equal(m.created, 1718000000);
	assert_int_equal(m.n_devices, 0);
	machine_clear(&m);
}

static void a_file_has_bounds(_unused_ void **state)
{
	static const MachineMaps none = { 0 };
	size_t size = MACHINE_FILE_MAX + 1;
	char *text = malloc(size + 1);
	char **lines = NULL, *many;
	Machine m;

	memset(text, '\n', size);
	text[size] = '\0';
	assert_int_equal(machine_parse(101, text, size, &none, &m), 0);
	assert_string_equal(m.unread, "its file is too big");
	machine_clear(&m);
	assert_int_equal(machine_parse(101, "name: a\0hostpci0: 41:00.0", 25, &none, &m), 0);
	assert_string_equal(m.unread, "its file has a NUL byte");
	machine_clear(&m);
	for (unsigned i = 0; i < 65; i++)
		assert_int_equal(strv_appendf(&lines, "hostpci%u: %02x:00", i, i), 0);
	many = strv_join(lines, "\n");
	m = parse(many, NULL);
	assert_string_equal(m.unread, "it has too many functions of the host");
	machine_clear(&m);
	strv_free(lines);
	free(many);
	free(text);
}

/* Whoever may configure the machine chooses it. */
static void a_name_is_one_of_dns_or_none(_unused_ void **state)
{
	static const struct {
		const char *text, *name;
	} rows[] = {
		{ "name: web-01.example\n", "web-01.example" },
		{ "name: a (102)\n", NULL },
		{ "name: \x1b[31mred\n", NULL },
		{ "name: $(reboot)\n", NULL },
		{ "name: a\nname: b\n", "a" },
		{ "[snap]\nname: a\n", NULL },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		Machine m = parse(rows[i].text, NULL);

		if (!str_equal(m.name, rows[i].name))
			fail_msg("%s: found \"%s\"", rows[i].text, m.name ? m.name : "none");
		assert_null(m.unread);
		machine_clear(&m);
	}
}

static void a_vgpu_is_one_by_the_uuid_that_proxmox_makes(_unused_ void **state)
{
	Machine m = parse("hostpci3: 0000:41:00.0,mdev=nvidia-63,pcie=1\n", NULL);

	assert_int_equal(m.n_devices, 0);
	assert_string_equal(m.mdevs[0], "00000003-0000-0000-0000-000000000101");
	assert_null(m.mdevs[1]);
	machine_clear(&m);
}

static void a_mapping_means_what_this_node_has(_unused_ void **state)
{
	MachineMaps maps;
	Machine m;

	assert_int_equal(machine_maps_parse(pci_cfg, strlen(pci_cfg), "pve1", &maps), 0);
	assert_null(maps.fault);
	expect_devices("hostpci0: mapping=nic,pcie=1\n", &maps, SLOT("0000:05:00"));
	expect_devices("hostpci0: mapping=both\n", &maps, SLOT("0000:41:00") " 0000:61:00.0");
	expect_devices("hostpci0: mapping=either\n", &maps,
		       SLOT_MAYBE("0000:41:00") " " SLOT_MAYBE("0000:61:00"));
	/* What it surely has with another line may still be the one that the mapping takes. */
	expect_devices(
		"hostpci0: 61:00.0\nhostpci1: mapping=either\n", &maps,
		"0000:61:00.0? " SLOT_MAYBE(
			"0000:41:00") " 0000:61:00.1? 0000:61:00.2? "
				      "0000:61:00.3? 0000:61:00.4? 0000:61:00.5? 0000:61:00.6? 0000:61:00.7?");
	m = parse("hostpci0: mapping=elsewhere\n", &maps);
	assert_non_null(strstr(m.unread, "a mapping that this node does not"));
	machine_clear(&m);
	machine_maps_clear(&maps);
}

static void mappings_that_are_not_understood_are_none(_unused_ void **state)
{
	static const struct {
		const char *text, *fault;
	} rows[] = {
		{ "usb: key\n", "not understood" },
		{ "\tmap node=pve1,path=41:00\n", "not understood" },
		{ "pci: a\n\tmap path=41:00\n", "not understood" },
		{ "pci: a\n\tmap node=pve1\n", "not understood" },
		{ "pci: a\npci: a\n", "twice" },
		{ "pci:\n\tmap node=pve1,path=0000:41:00\n", "whose name is none" },
		{ "pci: a b\n", "whose name is none" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		MachineMaps maps;
		Machine m;

		assert_int_equal(
			machine_maps_parse(rows[i].text, strlen(rows[i].text), "pve1", &maps), 0);
		if (!maps.fault || !strstr(maps.fault, rows[i].fault))
			fail_msg("%s: found \"%s\"", rows[i].text,
				 maps.fault ? maps.fault : "no fault");
		m = parse("hostpci0: mapping=a\n", &maps);
		assert_non_null(strstr(m.unread, "mapping/pci.cfg"));
		machine_clear(&m);
		expect_devices("hostpci0: 41:00.0\n", &maps, "0000:41:00.0");
		machine_maps_clear(&maps);
	}
}

static void files_are_those_of_machines(_unused_ void **state)
{
	static const struct {
		const char *file;
		uint32_t vmid;
	} rows[] = {
		{ "101.conf", 101 },	  { "999999999.conf", 999999999 },
		{ "99.conf", 0 },	  { "0101.conf", 0 },
		{ "1000000000.conf", 0 }, { "101.conf.tmp", 0 },
		{ "101.confx", 0 },	  { ".conf", 0 },
		{ "a.conf", 0 },	  { "101", 0 },
		{ "-101.conf", 0 },	  { "10100000000000000000000.conf", 0 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		assert_int_equal(machine_vmid(rows[i].file), rows[i].vmid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_real_file_is_read_without_its_snapshots),
		cmocka_unit_test(devices_are_read_in_every_form),
		cmocka_unit_test(what_is_not_understood_makes_the_whole_machine_unread),
		cmocka_unit_test(an_unread_machine_keeps_its_name_and_time),
		cmocka_unit_test(a_file_has_bounds),
		cmocka_unit_test(a_name_is_one_of_dns_or_none),
		cmocka_unit_test(a_vgpu_is_one_by_the_uuid_that_proxmox_makes),
		cmocka_unit_test(a_mapping_means_what_this_node_has),
		cmocka_unit_test(mappings_that_are_not_understood_are_none),
		cmocka_unit_test(files_are_those_of_machines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
