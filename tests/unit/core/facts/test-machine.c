/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "core/facts/machine.h"
#include "rig/rows.h"

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

/*
 * "0000:41:00.0 0000:41:00.1?": with a question mark what it does not surely have. In front a minus
 * sign for what its next start takes away, a plus sign for what that adds.
 */
static char *devices(const Machine *m)
{
	_cleanup_strv_ char **words = NULL;

	for (size_t i = 0; i < m->n_devices; i++)
		strv_appendf(&words, "%s%s%s",
			     !m->devices[i].next  ? "-"
			     : !m->devices[i].now ? "+"
						  : "",
			     BDF_TEXT(&m->devices[i].bdf), m->devices[i].maybe ? "?" : "");
	return strv_join(words, " ");
}

/* `why` not all is known; NULL: it is. The machine, for what else is asked of it. */
static Machine expect(const char *text, size_t size, const MachineMaps *maps, const char *expected,
		      const char *why)
{
	static const MachineMaps none = { 0 };
	Machine m = machine_parse(101, text, size, maps ? maps : &none);
	_cleanup_free_ char *found = devices(&m);

	if (why ? !m.unread || !strstr(m.unread, why) || !str_starts_with(m.unread, "/etc/pve/")
		: m.unread != NULL)
		fail_msg("%s: %s", text, m.unread ? m.unread : "all is known");
	if (strcmp(found, expected) != 0)
		fail_msg("%s: expected \"%s\", found \"%s\"", text, expected, found);
	return m;
}

static void expect_devices(const char *text, const MachineMaps *maps, const char *expected,
			   const char *why)
{
	Machine m = expect(text, strlen(text), maps, expected, why);

	machine_clear(&m);
}

#define SLOT(a) a ".0 " a ".1 " a ".2 " a ".3 " a ".4 " a ".5 " a ".6 " a ".7"
#define SLOT_MAYBE(a) a ".0? " a ".1? " a ".2? " a ".3? " a ".4? " a ".5? " a ".6? " a ".7?"

TEST(a_real_file_is_read_without_its_snapshots)
{
	_cleanup_(machine_clear) Machine m =
		expect(real, strlen(real), NULL,
		       SLOT("0000:41:00") " 0000:61:00.0 0000:61:00.1 +0000:81:00.0", NULL);

	assert_string_equal(m.name, "web-01");
	assert_int_equal(m.created, 1718000000);
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
		expect_devices(rows[i].text, NULL, rows[i].devices, NULL);
}

/* Where it may leave the line out, the machine may have it or not. */
TEST(what_proxmox_may_leave_out_the_machine_may_have_or_not)
{
	static const char doubtful[] =
		",pcie=maybe|, pcie=1|,a-key-of-a-later-version=x|,pcie=1,pcie=1|,61:00.0|"
		",host=61:00.0|,pcie=|,=1|,vendor-id=10de|,romfile=a;b|,driver=nvidia|,mdev=a/b";
	_cleanup_strv_ char **tails = NULL;

	strv_split(doubtful, "|", &tails);
	for (char **tail = tails; *tail; tail++) {
		_cleanup_free_ char *text = strf("hostpci0: 41:00.0%s\n", *tail);

		expect_devices(text, NULL, "0000:41:00.0?", NULL);
	}
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

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		expect_devices(rows[i].text, NULL, rows[i].devices, rows[i].why);
}

/* Whose it is stays known, so that it is no other tenant for that. */
TEST(an_unread_machine_keeps_its_name_and_time)
{
	static const char text[] = "hostpci0: x\nmeta: ctime=1718000000\nname: web\n";
	_cleanup_(machine_clear) Machine m = expect(text, strlen(text), NULL, "", "is none");

	assert_string_equal(m.name, "web");
	assert_int_equal(m.created, 1718000000);
}

TEST(a_file_has_bounds)
{
	_cleanup_free_ char *big = repeated("\n", MACHINE_FILE_MAX + 1), *many = NULL;
	_cleanup_strv_ char **lines = NULL;
	Machine m;

	expect_devices(big, NULL, "", "/etc/pve/qemu-server/101.conf is too big");
	m = expect("name: a\0hostpci0: 41:00.0", 25, NULL, "", "101.conf has a NUL byte");
	machine_clear(&m);
	for (unsigned i = 0; i < 65; i++)
		strv_appendf(&lines, "hostpci%u: %02x:00", i, i);
	many = strv_join(lines, "\n");
	m = machine_parse(101, many, strlen(many), &(MachineMaps){ 0 });
	assert_non_null(strstr(m.unread, "names too many functions of the host"));
	machine_clear(&m);
}

static char *name_of(const char *text)
{
	_cleanup_(machine_clear) Machine m = expect(text, strlen(text), NULL, "", NULL);

	return xstrdup(m.name);
}

/* Whoever may configure the machine chooses it. */
TEST(a_name_is_one_of_dns_or_none)
{
	static const TextRow rows[] = {
		{ "name: web-01.example\n", "web-01.example" },
		{ "name: a (102)\n", NULL },
		{ "name: \x1b[31mred\n", NULL },
		{ "name: $(reboot)\n", NULL },
		{ "name: a\nname: b\n", "b" },
		{ "name: a\nname: b c\n[PENDING]\nname: d\n", "a" },
		{ "[snap]\nname: a\n", NULL },
	};

	EXPECT_TEXTS(rows, name_of);
}

TEST(a_vgpu_is_one_by_the_uuid_that_proxmox_makes)
{
	static const char text[] = "hostpci3: 0000:41:00.0,mdev=nvidia-63,pcie=1\n";
	_cleanup_(machine_clear) Machine m = expect(text, strlen(text), NULL, "", NULL);

	assert_string_equal(m.mdevs[0], "00000003-0000-0000-0000-000000000101");
	assert_null(m.mdevs[1]);
}

TEST(a_disk_is_each_block_device_that_the_file_names)
{
	static const char text[] = "scsi0: /dev/disk/by-id/nvme-X,size=1T\nscsi1: local:vm.raw\n"
				   "args: -drive file=/dev/nvme1n1,if=none\n"
				   "[snap]\nscsi0: file=/dev/disk/by-id/nvme-X\n";
	_cleanup_(machine_clear) Machine m = expect(text, strlen(text), NULL, "", NULL);
	_cleanup_free_ char *disks = strv_join(m.disks, " ");

	assert_string_equal(disks, "/dev/disk/by-id/nvme-X /dev/nvme1n1");
}

TEST(a_mapping_means_what_this_node_has)
{
	_cleanup_(machine_maps_clear) MachineMaps maps =
		machine_maps_parse(pci_cfg, strlen(pci_cfg), "pve1");

	assert_null(maps.fault);
	expect_devices("hostpci0: mapping=nic,pcie=1\n", &maps, SLOT("0000:05:00"), NULL);
	expect_devices("hostpci0: mapping=both\n", &maps, SLOT("0000:41:00") " 0000:61:00.0", NULL);
	expect_devices("hostpci0: mapping=either\n", &maps,
		       SLOT_MAYBE("0000:41:00") " " SLOT_MAYBE("0000:61:00"), NULL);
	/* What it surely has with another line may still be the one that the mapping takes. */
	expect_devices(
		"hostpci0: 61:00.0\nhostpci1: mapping=either\n", &maps,
		"0000:61:00.0? " SLOT_MAYBE(
			"0000:41:00") " 0000:61:00.1? 0000:61:00.2? "
				      "0000:61:00.3? 0000:61:00.4? 0000:61:00.5? 0000:61:00.6? 0000:61:00.7?",
		NULL);
	expect_devices("hostpci0: mapping=elsewhere\n", &maps, "",
		       "no device of this node in the mapping elsewhere");
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
		const char *found = rows[i].devices;
		_cleanup_(machine_maps_clear) MachineMaps maps =
			machine_maps_parse(rows[i].text, strlen(rows[i].text), "pve1");

		assert_null(maps.fault);
		expect_devices("hostpci0: mapping=it\n", &maps, str_or_empty(found),
			       found ? NULL : "no device of this node");
		expect_devices("hostpci0: 41:00.0\n", &maps, "0000:41:00.0", NULL);
	}
}

/* Only machines that have one need them. */
TEST(a_file_of_mappings_that_cannot_be_read_is_blamed)
{
	_cleanup_free_ char *text = repeated("\n", MACHINE_FILE_MAX + 1);
	_cleanup_(machine_maps_clear) MachineMaps maps =
		machine_maps_parse(text, MACHINE_FILE_MAX + 1, "pve1");

	expect_devices("hostpci0: mapping=it\n", &maps, "",
		       "/etc/pve/mapping/pci.cfg is too big, or has a NUL byte");
	expect_devices("hostpci0: 41:00.0\n", &maps, "0000:41:00.0", NULL);
}

TEST(files_are_those_of_machines)
{
	static const char *const others[] = { "99.conf",	 "0101.conf",
					      "1000000000.conf", "101.conf.tmp",
					      "101.confx",	 ".conf",
					      "a.conf",		 "101",
					      "-101.conf",	 "10100000000000000000000.conf" };

	assert_int_equal(machine_vmid("101.conf"), 101);
	assert_int_equal(machine_vmid("999999999.conf"), 999999999);
	for (size_t i = 0; i < ELEMENTS(others); i++)
		assert_int_equal(machine_vmid(others[i]), 0);
}
