/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <stdlib.h>
#include <string.h>

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

/* As write_config() of PVE::SectionConfig writes it. */
static const char pci_cfg[] = "nic\n"
			      "\tdescription a card: with a colon\n"
			      "\tmap id=8086:1572,iommugroup=12,node=pve1,path=0000:05:00\n"
			      "\n"
			      "either\n"
			      "\tmap id=10de:2204,iommugroup=21,node=pve1,path=0000:41:00\n"
			      "\tmap id=10de:2204,iommugroup=31,node=pve1,path=0000:61:00\n"
			      "\tmap id=10de:2204,iommugroup=31,node=pve2,path=0000:a1:00\n"
			      "\n"
			      "both\n"
			      "\tmdev 0\n"
			      "\tmap node=pve1,path=0000:41:00;0000:61:00.0,id=10de:2204\n"
			      "\n"
			      "elsewhere\n"
			      "\tmap id=10de:2204,node=pve2,path=0000:41:00\n"
			      "\n";

static Machine parse(const char *text, const MachineMaps *maps)
{
	static const MachineMaps none = { 0 };

	return machine_parse(101, text, strlen(text), maps ? maps : &none);
}

/*
 * "0000:41:00.0 0000:41:00.1?": with a question mark what it does not surely have. In front a minus
 * sign for what its next start takes away, a plus sign for what that adds.
 */
static char *devices(const Machine *m)
{
	char **words = NULL, *text;

	for (size_t i = 0; i < m->n_devices; i++)
		strv_appendf(&words, "%s%s%s",
			     !m->devices[i].next  ? "-"
			     : !m->devices[i].now ? "+"
						  : "",
			     BDF_TEXT(&m->devices[i].bdf), m->devices[i].maybe ? "?" : "");
	text = strv_join(words, " ");
	strv_free(words);
	return text;
}

static void expect_devices(const char *text, const MachineMaps *maps, const char *expected)
{
	_cleanup_(machine_clear) Machine m = parse(text, maps);
	_cleanup_free_ char *found = devices(&m);

	if (m.unread)
		fail_msg("%s: not read: %s", text, m.unread);
	if (strcmp(found, expected) != 0)
		fail_msg("%s: expected \"%s\", found \"%s\"", text, expected, found);
}

#define SLOT(a) a ".0 " a ".1 " a ".2 " a ".3 " a ".4 " a ".5 " a ".6 " a ".7"
#define SLOT_MAYBE(a) a ".0? " a ".1? " a ".2? " a ".3? " a ".4? " a ".5? " a ".6? " a ".7?"

TEST(a_real_file_is_read_without_its_snapshots)
{
	Machine m = parse(real, NULL);

	assert_string_equal(m.name, "web-01");
	assert_int_equal(m.created, 1718000000);
	assert_null(m.unread);
	machine_clear(&m);
	expect_devices(real, NULL, SLOT("0000:41:00") " 0000:61:00.0 0000:61:00.1 +0000:81:00.0");
}

/* field: host/07, host/27 */
TEST(devices_are_those_that_proxmox_gives)
{
	static const struct {
		const char *text, *devices;
	} rows[] = {
		{ "", "" },
		{ "hostpci0: 41:00.0\n", "0000:41:00.0" },
		{ "hostpci0: host=41:00.0", "0000:41:00.0" },
		{ "hostpci15: pcie=1,host=0000:41:00.1,rombar=0\n", "0000:41:00.1" },
		{ "hostpci0:41:00.0\r\n", "0000:41:00.0" },
		{ "hostpci0: \t41:00.0 \n", "0000:41:00.0" },
		{ "hostpci0: 0001:c1:1f.7\n", "0001:c1:1f.7" },
		{ "hostpci0: 00010000:01:00.0\n", "10000:01:00.0" },
		{ "hostpci0: 41:00.0;41:00.1,pcie=1\n", "0000:41:00.0 0000:41:00.1" },
		{ "hostpci0: 41:00.0\nhostpci1: 41:00.0\n", "0000:41:00.0" },
		{ "hostpci0: 41:00.0,pcie=YES,x-vga=off,legacy-igd=0,rombar=1,romfile=a/b.rom,"
		  "vendor-id=0x10de,device-id=0x2204,sub-vendor-id=0x10DE,sub-device-id=0x0001,"
		  "driver=keep\n",
		  "0000:41:00.0" },
		{ "hostpci0: 41:00.0,, ,pcie=1,\n", "0000:41:00.0" },
		/* The last line of a key counts. */
		{ "hostpci0: 41:00.0\nhostpci0: 61:00.0\n", "0000:61:00.0" },
		{ "hostpci0: 41:00.0\nhostpci0:\n", "0000:41:00.0" },
		/* What is no line of Proxmox VE's is left out. */
		{ "what is this\nhostpci0: 41:00.0\n", "0000:41:00.0" },
		{ " hostpci0: 41:00.0\n\thostpci1: 61:00.0\n", "" },
		{ "hostpci00: 41:00.0\nhostpci: 61:00.0\nhostpcix: 61:00.0\n", "" },
		{ "Hostpci0: 41:00.0\nhost pci0: 41:00.0\nhostpci0 : 41:00.0\n", "" },
		{ "_hostpci0: 41:00.0\nhostpci-0: 41:00.0\n: 41:00.0\nhostpci0= 41:00.0\n", "" },
		{ "#hostpci0: 41:00.0\ndescription: hostpci0: 41:00.0\n", "" },
		{ "hostpci0:\n", "" },
		/* Where it may leave the line out, the machine may have it or not. */
		{ "hostpci0: 41:00.0,pcie=maybe\n", "0000:41:00.0?" },
		{ "hostpci0: 41:00.0, pcie=1\n", "0000:41:00.0?" },
		{ "hostpci0: 41:00.0,a-key-of-a-later-version=x\n", "0000:41:00.0?" },
		{ "hostpci0: 41:00.0,pcie=1,pcie=1\n", "0000:41:00.0?" },
		{ "hostpci0: 41:00.0,61:00.0\n", "0000:41:00.0?" },
		{ "hostpci0: 41:00.0,host=61:00.0\n", "0000:41:00.0?" },
		{ "hostpci0: 41:00.0,pcie=\n", "0000:41:00.0?" },
		{ "hostpci0: 41:00.0,=1\n", "0000:41:00.0?" },
		{ "hostpci0: 41:00.0,vendor-id=10de\n", "0000:41:00.0?" },
		{ "hostpci0: 41:00.0,romfile=a;b\n", "0000:41:00.0?" },
		{ "hostpci0: 41:00.0,driver=nvidia\n", "0000:41:00.0?" },
		{ "hostpci0: 41:00.0,mdev=a/b\n", "0000:41:00.0?" },
		{ "hostpci0: 0001:C1:1F.7\n", "0001:c1:1f.7?" },
		{ "hostpci16: 41:00.0\n", "0000:41:00.0?" },
		/* Pending changes: as vmconfig_apply_pending() does, first what goes. */
		{ "hostpci0: 41:00.0\n[PENDING]\nhostpci1: 61:00.0\ndelete: hostpci0\n",
		  "-0000:41:00.0 +0000:61:00.0" },
		{ "[pending] \nhostpci0: 41:00.0\n", "+0000:41:00.0" },
		{ "hostpci0: 41:00.0\n[PENDING]\nhostpci0: 61:00.0\n",
		  "-0000:41:00.0 +0000:61:00.0" },
		{ "hostpci0: 41:00.0\n[PENDING]\nhostpci0: 41:00.0,pcie=1\n", "0000:41:00.0" },
		{ "hostpci0: 41:00.0\n[PENDING]\ndelete: hostpci0\nhostpci0: 61:00.0\n",
		  "-0000:41:00.0 +0000:61:00.0" },
		{ "hostpci0: 41:00.0\nhostpci1: 61:00.0\n[PENDING]\ndelete: agent,!hostpci0; "
		  "hostpci1\n",
		  "-0000:41:00.0 -0000:61:00.0" },
		{ "hostpci0: 41:00.0\n[PENDING]\ndelete: hostpci00,hostpci,hostpci1\n",
		  "0000:41:00.0" },
		{ "hostpci0: 41:00.0\n[PENDING]\ndelete: hostpci0\ndelete: agent\n",
		  "0000:41:00.0" },
		{ "hostpci0: 41:00.0\n[PENDING]\ndelete: hostpci0\n[PENDING]\nagent: 1\n",
		  "0000:41:00.0" },
		{ "hostpci0: 41:00.0\ndelete: hostpci0\n", "0000:41:00.0" },
		{ "hostpci0: 41:00.0\nlock: backup\n[PENDING]\ndelete: hostpci0\n",
		  "-0000:41:00.0" },
		{ "hostpci0: 41:00.0\nlock: suspended\n[PENDING]\ndelete: hostpci0\n",
		  "0000:41:00.0" },
		{ "hostpci0: 41:00.0\nvmstate: a:b\n[PENDING]\ndelete: hostpci0\n",
		  "0000:41:00.0" },
		{ "hostpci0: 41:00.0\n[PENDING]\nwhat\n", "0000:41:00.0" },
		/* Snapshots and special sections do not count. Other brackets are a line. */
		{ "name: a\n[snap]\nhostpci0: 41:00.0\n[PENDING]\nhostpci1: 61:00.0",
		  "+0000:61:00.0" },
		{ "[special:cloudinit]\nhostpci0: 41:00.0\nwhat is this\n", "" },
		{ "[special:fleecing]\nfleecing-images: a:b\nhostpci0: 41:00.0\n", "" },
		{ "[Snap_1-a]\nhostpci0: 41:00.0\nargs: -device vfio-pci,host=61:00.0\n", "" },
		{ "[PENDING\nhostpci0: 41:00.0\n", "0000:41:00.0" },
		{ " [snap]\nhostpci0: 41:00.0\n", "0000:41:00.0" },
		{ "[snap] a\nhostpci0: 41:00.0\n", "0000:41:00.0" },
		{ "[a]b]\nhostpci0: 41:00.0\n", "0000:41:00.0" },
		{ "[special:later]\nname: x\nwhat\n[PENDING]\nhostpci0: 41:00.0\n",
		  "+0000:41:00.0" },
		/* A template never starts. */
		{ "hostpci0: 41:00.0\ntemplate: 1\n", "" },
		{ "hostpci0: 41:00.0\ntemplate: on\n", "" },
		{ "hostpci0: 41:00.0\ntemplate: 0\n", "0000:41:00.0" },
		{ "hostpci0: 41:00.0\ntemplate: 2\n", "0000:41:00.0" },
		{ "hostpci0: 41:00.0\n[snap]\ntemplate: 1\n", "0000:41:00.0" },
		{ "args: -cpu host,kvm=off\n", "" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		expect_devices(rows[i].text, NULL, rows[i].devices);
}

/* promise T10 */
TEST(a_machine_that_may_have_any_function_is_unread)
{
	static const struct {
		const char *text, *why, *devices;
	} rows[] = {
		{ "hostpci0: 61:00.0\nhostpci1: x\n", "has hostpci1 with an address that is none",
		  "0000:61:00.0" },
		{ "hostpci0: \n", "hostpci0 with neither an address nor a mapping", "" },
		{ "hostpci0: pcie=1\n", "hostpci0 with neither an address nor a mapping", "" },
		{ "hostpci0: 41:00.0,mapping=nic\n", "with both", "" },
		{ "hostpci0: 41:00.8\n", "is none", "" },
		{ "hostpci0: 41:20\n", "is none", "" },
		{ "hostpci0: 041:00.0\n", "is none", "" },
		{ "hostpci0: pci_0000_41_00_0\n", "is none", "" },
		{ "hostpci0: 41:00.0 61:00.0\n", "is none", "" },
		{ "hostpci0: 0000000000000000000000041:00.0\n", "is none", "" },
		{ "hostpci0: ;\n", "without an address", "" },
		{ "hostpci0: 61:00.0\nhostpci0: 41:00.0,later=1\n",
		  "hostpci0 twice, and Proxmox VE may leave the last line out", "0000:41:00.0?" },
		{ "hostpci0: 61:00.0\n[PENDING]\nhostpci0: 41:00.0,later=1\n",
		  "hostpci0 twice, and Proxmox VE may leave the last line out",
		  "-0000:61:00.0 +0000:41:00.0?" },
		{ "hostpci0: mapping=nic\n",
		  "/etc/pve/mapping/pci.cfg has no device of this node in the mapping nic, which "
		  "hostpci0 of 101 names",
		  "" },
		{ "hostpci0: mapping=$(reboot)\n", "a mapping whose name is none", "" },
		{ "args: -device vfio-pci,host=0000:41:00.0\n", "args", "" },
		{ "[PENDING]\nargs: -device vfio-pci,host=0000:41:00.0\n", "args", "" },
		{ "args: -device vfio-pci,host=0000:41:00.0\n[PENDING]\nargs: -s\n", "args", "" },
		{ "[special:later]\nhostpci0: 41:00.0\n[PENDING]\nhostpci1: 61:00.0\n",
		  "a section of a kind that is not known", "+0000:61:00.0" },
		{ "[x]\nhostpci0: 41:00.0\n", "a section of a kind that is not known", "" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(machine_clear) Machine m = parse(rows[i].text, NULL);
		_cleanup_free_ char *found = devices(&m);

		if (!m.unread || !strstr(m.unread, rows[i].why) ||
		    !str_starts_with(m.unread, "/etc/pve/"))
			fail_msg("%s: expected \"%s\", found \"%s\"", rows[i].text, rows[i].why,
				 m.unread ? m.unread : "nothing");
		if (strcmp(found, rows[i].devices) != 0)
			fail_msg("%s: expected \"%s\", found \"%s\"", rows[i].text, rows[i].devices,
				 found);
	}
}

/* Whose it is stays known, so that it is no other tenant for that. */
TEST(an_unread_machine_keeps_its_name_and_time)
{
	_cleanup_(machine_clear) Machine m =
		parse("hostpci0: x\nmeta: ctime=1718000000\nname: web\n", NULL);

	assert_non_null(m.unread);
	assert_string_equal(m.name, "web");
	assert_int_equal(m.created, 1718000000);
}

TEST(a_file_has_bounds)
{
	static const MachineMaps none = { 0 };
	size_t size = MACHINE_FILE_MAX + 1;
	_cleanup_free_ char *text = malloc(size + 1);
	char **lines = NULL, *many;
	Machine m;

	memset(text, '\n', size);
	text[size] = '\0';
	m = machine_parse(101, text, size, &none);
	assert_string_equal(m.unread, "/etc/pve/qemu-server/101.conf is too big");
	machine_clear(&m);
	m = machine_parse(101, "name: a\0hostpci0: 41:00.0", 25, &none);
	assert_string_equal(m.unread, "/etc/pve/qemu-server/101.conf has a NUL byte");
	machine_clear(&m);
	for (unsigned i = 0; i < 65; i++)
		strv_appendf(&lines, "hostpci%u: %02x:00", i, i);
	many = strv_join(lines, "\n");
	m = parse(many, NULL);
	assert_non_null(strstr(m.unread, "names too many functions of the host"));
	machine_clear(&m);
	strv_free(lines);
	free(many);
}

/* Whoever may configure the machine chooses it. */
TEST(a_name_is_one_of_dns_or_none)
{
	static const struct {
		const char *text, *name;
	} rows[] = {
		{ "name: web-01.example\n", "web-01.example" },
		{ "name: a (102)\n", NULL },
		{ "name: \x1b[31mred\n", NULL },
		{ "name: $(reboot)\n", NULL },
		{ "name: a\nname: b\n", "b" },
		{ "name: a\nname: b c\n[PENDING]\nname: d\n", "a" },
		{ "[snap]\nname: a\n", NULL },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(machine_clear) Machine m = parse(rows[i].text, NULL);

		if (!str_equal(m.name, rows[i].name))
			fail_msg("%s: found \"%s\"", rows[i].text, m.name ? m.name : "none");
		assert_null(m.unread);
	}
}

TEST(a_vgpu_is_one_by_the_uuid_that_proxmox_makes)
{
	_cleanup_(machine_clear) Machine m =
		parse("hostpci3: 0000:41:00.0,mdev=nvidia-63,pcie=1\n", NULL);

	assert_int_equal(m.n_devices, 0);
	assert_string_equal(m.mdevs[0], "00000003-0000-0000-0000-000000000101");
	assert_null(m.mdevs[1]);
}

TEST(a_mapping_means_what_this_node_has)
{
	Machine m;
	_cleanup_(machine_maps_clear) MachineMaps maps =
		machine_maps_parse(pci_cfg, strlen(pci_cfg), "pve1");

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
	assert_non_null(strstr(m.unread, "no device of this node in the mapping elsewhere"));
	machine_clear(&m);
}

#define MAP "\tmap id=10de:2204,node=pve1,path="

/* field: host/06. Of the mapping "it": its devices, or NULL where this node has none. */
TEST(mappings_are_those_that_proxmox_reads)
{
	static const struct {
		const char *text, *devices;
	} rows[] = {
		{ "it\n" MAP "0000:41:00.0", "0000:41:00.0" },
		{ "it \t\n  map  id=10de:2204,node=pve1,path=0000:41:00.0 \n", "0000:41:00.0" },
		{ "it\r\n" MAP "0000:41:00.0\r\n", "0000:41:00.0" },
		{ "it\n\tmap path=0000:41:00.0,subsystem-id=1458:403B,iommugroup=21,node=pve1,"
		  "id=10DE:2204,description=a card\n",
		  "0000:41:00.0" },
		{ "# a\nit\n # b\n" MAP "0000:41:00.0\n\t#c\n" MAP "0000:61:00.0\n",
		  "0000:41:00.0? 0000:61:00.0?" },
		{ "it\n" MAP "0000:41:00.0;0000:41:00.1\n", "0000:41:00.0 0000:41:00.1" },
		{ "it\n" MAP "0001:c1:00.0\n", "0001:c1:00.0" },
		/* An empty line ends it; blanks do not. */
		{ "it\n\n" MAP "0000:41:00.0\n", NULL },
		{ "it\n \n" MAP "0000:41:00.0\n", "0000:41:00.0" },
		{ MAP "0000:41:00.0\nit\n", NULL },
		/* As people write it. */
		{ "pci: it\n" MAP "0000:41:00.0\n", "0000:41:00.0" },
		{ "other\n" MAP "0000:61:00.0\nit\n" MAP "0000:41:00.0\n", "0000:41:00.0" },
		{ "it\n" MAP "0000:41:00.0\nother\n" MAP "0000:61:00.0\n", "0000:41:00.0" },
		/* What Proxmox VE does not understand is left out, and spoils nothing else. */
		{ "usb: key\n" MAP "0000:61:00.0\n\nit\n" MAP "0000:41:00.0\n", "0000:41:00.0" },
		{ "a b\n]]\n\nit\n" MAP "0000:41:00.0\n", "0000:41:00.0" },
		{ "it\n" MAP "0000:41:00.0\n9\n" MAP "0000:61:00.0\n",
		  "0000:41:00.0? 0000:61:00.0?" },
		{ "9x\n" MAP "0000:61:00.0\n\nit\n" MAP "0000:41:00.0\n", "0000:41:00.0" },
		{ "x\n" MAP "0000:61:00.0\nit\n" MAP "0000:41:00.0\n", "0000:41:00.0" },
		{ "pci:it\n" MAP "0000:41:00.0\n", NULL },
		{ "pci:\n" MAP "0000:41:00.0\n", NULL },
		{ "it\n\tmdev 1\n\tmdev 1\n\tlater x\n\tmap\n" MAP "0000:41:00.0\n",
		  "0000:41:00.0" },
		{ "it\n\tmap node=pve1,path=0000:61:00.0\n" MAP "0000:41:00.0\n", "0000:41:00.0" },
		{ "it\n\tmap id=10de:2204,path=0000:61:00.0\n" MAP "0000:41:00.0\n",
		  "0000:41:00.0" },
		{ "it\n\tmap id=10de:2204,node=pve1\n" MAP "0000:41:00.0\n", "0000:41:00.0" },
		{ "it\n\tmap id=10de,node=pve1,path=0000:61:00.0\n" MAP "0000:41:00.0\n",
		  "0000:41:00.0" },
		{ "it\n" MAP "0000:61:00.0,iommugroup=x\n" MAP "0000:41:00.0\n", "0000:41:00.0" },
		{ "it\n" MAP "0000:61:00.0,node=pve1\n" MAP "0000:41:00.0\n", "0000:41:00.0" },
		{ "it\n" MAP "0000:61:00.0,pve1\n" MAP "0000:41:00.0\n", "0000:41:00.0" },
		{ "it\n\tmap id=10de:2204,node=pve2,path=x,later=1\n" MAP "0000:41:00.0\n",
		  "0000:41:00.0" },
		/* Of two with one name the last counts. */
		{ "it\n" MAP "0000:61:00.0\n\nit\n" MAP "0000:41:00.0\n", "0000:41:00.0" },
		{ "it\nother\n" MAP "0000:41:00.0\n", "0000:41:00.0" },
		{ "it\n" MAP "0000:61:00.0\nother\nit\n" MAP "0000:41:00.0\n",
		  "0000:61:00.0? 0000:41:00.0?" },
		/* What a later version may read otherwise. */
		{ "it\n" MAP "0000:41:00.0,later=1\n", "0000:41:00.0?" },
		{ "it\n" MAP "41:00\n" MAP "0000:41:00.0\n", "0000:41:00.0?" },
		{ "it\n" MAP "0000:61:00.0-3\n", NULL },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		Machine m;
		_cleanup_(machine_maps_clear) MachineMaps maps =
			machine_maps_parse(rows[i].text, strlen(rows[i].text), "pve1");

		assert_null(maps.fault);
		if (rows[i].devices)
			expect_devices("hostpci0: mapping=it\n", &maps, rows[i].devices);
		m = parse("hostpci0: mapping=it\n", &maps);
		if (!m.unread != !!rows[i].devices)
			fail_msg("%s: found \"%s\"", rows[i].text, m.unread ? m.unread : "nothing");
		machine_clear(&m);
		expect_devices("hostpci0: 41:00.0\n", &maps, "0000:41:00.0");
	}
}

/* Only machines that have one need them. */
TEST(a_file_of_mappings_that_cannot_be_read_is_blamed)
{
	_cleanup_free_ char *text = malloc(MACHINE_FILE_MAX + 2);
	MachineMaps maps;
	Machine m;

	memset(text, '\n', MACHINE_FILE_MAX + 1);
	text[MACHINE_FILE_MAX + 1] = '\0';
	maps = machine_maps_parse(text, MACHINE_FILE_MAX + 1, "pve1");
	m = parse("hostpci0: mapping=it\n", &maps);
	assert_string_equal(m.unread, "/etc/pve/mapping/pci.cfg is too big, or has a NUL byte");
	machine_clear(&m);
	expect_devices("hostpci0: 41:00.0\n", &maps, "0000:41:00.0");
	machine_maps_clear(&maps);
}

TEST(files_are_those_of_machines)
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
