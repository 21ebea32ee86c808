/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <stdio.h>
#include <time.h>

#include "core/doctor/capture.h"
#include "core/domain/xml.h"
#include "rig/host-model.h"

TEST(domains_are_found_by_uuid_and_by_what_they_use)
{
	Bdf a = bdf_of("0000:41:00.0"), b = bdf_of("0000:61:00.0"), absent = bdf_of("0000:81:00.0");
	size_t position = 0;
	_cleanup_(host_done) HostModel h = host_new();

	host_domain(&h, "vm1", true, (const char *const[]){ "0000:41:00.0", NULL });
	host_domain(&h, "vm2", false, (const char *const[]){ NULL });
	host_domain(&h, "vm3", false,
		    (const char *const[]){ "0000:61:00.0", "0000:41:00.0", NULL });
	assert_string_equal(domain_uses_find(h.uses, h.uses->items[1].uuid)->name, "vm2");
	assert_null(domain_uses_find(h.uses, "none"));
	assert_null(domain_uses_find(h.uses, NULL));
	assert_string_equal(domain_uses_holding(h.uses, &a, &position)->name, "vm1");
	assert_string_equal(domain_uses_holding(h.uses, &a, &position)->name, "vm3");
	assert_null(domain_uses_holding(h.uses, &a, &position));
	position = 0;
	assert_string_equal(domain_uses_holding(h.uses, &b, &position)->name, "vm3");
	assert_null(domain_use_hostdev(&h.uses->items[2], &absent));
	assert_ptr_equal(domain_use_hostdev(&h.uses->items[2], &a), &h.uses->items[2].hostdevs[1]);
}

TEST(a_copy_is_whole_and_stands_alone)
{
	_cleanup_(domain_use_clear) DomainUse copy = { 0 };
	_cleanup_free_ char *before = NULL, *after = NULL;
	HostModel h = host_new();
	DomainUse *use = host_domain(&h, "vm1", true,
				     (const char *const[]){ "0000:41:00.0", "0000:41:00.1", NULL });

	strv_append(&use->gpupass_groups, "pair0");
	use->hostdevs[1].alias = strdup("ua-gpupass-pair0-1");
	use->hostdevs[1].managed = true;
	domain_use_add_mdev(use, "4b20d080-1b54-4048-85b3-a6a62d165c01", true, false);
	domain_use_add_unclear(use, "x");
	strv_append(&use->disks, "/dev/nvme0n1");
	before = json_struct_text(capture_domain, use);
	domain_use_copy(use, &copy);
	host_done(&h);
	after = json_struct_text(capture_domain, &copy);
	assert_string_equal(after, before);
	assert_non_null(strstr(after, "ua-gpupass-pair0-1"));
	/* Its arrays grow by themselves. */
	domain_use_add_mdev(&copy, "4b20d080-1b54-4048-85b3-a6a62d165c02", true, false);
	assert_int_equal(copy.n_mdevs, 2);
}

TEST(a_domains_disks_are_known_by_their_paths)
{
	static const char xml[] =
		"<domain><name>vm1</name><uuid>3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242</uuid><devices>"
		"<disk type='block'><source dev='/dev/disk/by-id/nvme-X'/><backingStore "
		"type='file'><source file='/dev/nvme1n1'/></backingStore></disk>"
		"<disk type='file'><source file='/srv/a.qcow2'/></disk>"
		"<hostdev mode='capabilities' type='storage'><source dev='/dev/nvme1n1'/></hostdev>"
		"<interface type='direct'><source dev='eth0'/></interface></devices></domain>";
	_cleanup_(domain_use_clear) DomainUse use = { 0 };
	_cleanup_free_ char *disks = NULL;
	Problem *problem = NULL;

	assert_int_equal(domain_use_from_xml(xml, xml, &use, &problem), 0);
	disks = strv_join(use.disks, " ");
	assert_string_equal(disks, "/dev/disk/by-id/nvme-X /dev/nvme1n1");
}

/* What a domain has past libvirt. `args`: values of <qemu:arg>; or elements, with a '<' */
typedef struct Spelling {
	const char *args[4];
	const char *has;     /* addresses, in order; NULL: none */
	const char *unclear; /* a part of what is said of it; NULL: nothing */
	const char *mdev;
} Spelling;

#define MDEV "4b20d080-1b54-4048-85b3-a6a62d165c01"
#define OVERRIDE(properties)                                                                       \
	"<qemu:override><qemu:device alias='hostdev0'><qemu:frontend>" properties                  \
	"</qemu:frontend></qemu:device></qemu:override>"
#define PROPERTY(name, value) "<qemu:property name='" name "' type='string' value='" value "'/>"

/* field: host/05, and more of its kind */
static const Spelling spellings[] = {
	{ .args = { "-device", "vfio-pci,host=01:00.0,bus=pcie.0,multifunction=on,x-vga=on",
		    "-device", "vfio-pci,host=01:00.1" },
	  .has = "0000:01:00.0 0000:01:00.1" },
	{ .args = { "-device", "vfio-pci,host=0000:01:00.0" }, .has = "0000:01:00.0" },
	{ .args = { "--device", "driver=vfio-pci,id=gpu,host=0x1:0.0" }, .has = "0000:01:00.0" },
	{ .args = { "-device", "host=01:00.0,driver=vfio-pci" }, .has = "0000:01:00.0" },
	{ .args = { "-device", "vfio-pci-nohotplug,host=0001:41:1f.7,display=off" },
	  .has = "0001:41:1f.7" },
	{ .args = { "-device", "vfio-pci,id=a,,b,host=0A:00.0,romfile=/x,,host=02:00.0" },
	  .has = "0000:0a:00.0" },
	{ .args = { "-device", "vfio-pci,host=01:00.0,host=02:00.0" },
	  .has = "0000:01:00.0 0000:02:00.0" },
	{ .args = { "-device vfio-pci,host=01:00.0" }, .has = "0000:01:00.0" },
	{ .args = { "-device=vfio-pci,host=01:00.0" }, .has = "0000:01:00.0" },
	{ .args = { "-device",
		    "{&quot;driver&quot;:&quot;vfio-pci&quot;,&quot;host&quot;:&quot;01:00.0&quot;}" },
	  .has = "0000:01:00.0" },
	{ .args = { "-device",
		    "{ &apos;host&apos; : &apos;01:00.0&apos;, &apos;id&apos;: &apos;\"&apos;, "
		    "&apos;driver&apos;:&apos;vfio-pci&apos; }" },
	  .has = "0000:01:00.0" },
	{ .args = { "-device",
		    "{\"driver\":\"vfio-pci\",\"x\":\"\\\\\",\"h\\u006fst\":\"01\\u003a00.0\"}" },
	  .has = "0000:01:00.0" },
	{ .args = { "-device", "vfio-pci,sysfsdev=/sys/bus/pci/devices/0000:01:00.0" },
	  .has = "0000:01:00.0" },
	{ .args = { "-device",
		    "vfio-pci,sysfsdev=/sys/devices/pci0000:00/0000:00:01.0//0000:01:00.0/./" },
	  .has = "0000:01:00.0" },
	{ .args = { "-device",
		    "{\"driver\":\"vfio-pci\",\"sysfsdev\":\"/sys/bus/pci/devices/0000:01:00.0\"}" },
	  .has = "0000:01:00.0" },
	{ .args = { "-set", "device.hostdev0.host=01:00.0" }, .has = "0000:01:00.0" },
	{ .args = { "-set", "device.gpu.sysfsdev=/sys/bus/pci/devices/0000:01:00.0" },
	  .has = "0000:01:00.0" },
	{ .args = { "-global", "vfio-pci.host=01:00.0" }, .has = "0000:01:00.0" },
	{ .args = { "-global", "driver=vfio-pci,property=host,value=01:00.0" },
	  .has = "0000:01:00.0" },
	{ .args = { "-drive", "file=nvme://0000:01:00.0/1,if=none" }, .has = "0000:01:00.0" },
	{ .args = { "-blockdev",
		    "{\"driver\":\"raw\",\"file\":{\"driver\":\"nvme\",\"device\":\"0000:01:00.0\"}}" },
	  .has = "0000:01:00.0" },
	{ .args = { "-drive", "file.driver=nvme,file.device=0000:01:00.0,file.namespace=1" },
	  .has = "0000:01:00.0" },
	{ .args = { OVERRIDE(PROPERTY("host", "0000:01:00.0")) }, .has = "0000:01:00.0" },
	{ .args = { OVERRIDE(PROPERTY("sysfsdev", "/sys/bus/pci/devices/0000:01:00.0")) },
	  .has = "0000:01:00.0" },
	{ .args = { "-device", "vfio-pci,sysfsdev=/sys/bus/mdev/devices/" MDEV }, .mdev = MDEV },
	/* what cannot be judged */
	{ .args = { "-object", "iommufd,id=iommufd0", "-device", "vfio-pci,fd=7,iommufd=iommufd0" },

	  .unclear = "fd=" },
	{ .args = { "-device", "vfio-pci,host=01:00.0,fd=7" },
	  .has = "0000:01:00.0",
	  .unclear = "fd=" },
	{ .args = { "-device", "vfio-pci,host=x" }, .unclear = "address" },
	{ .args = { "-device", "vfio-pci,host=01:00.8" }, .unclear = "address" },
	{ .args = { "-device",
		    "vfio-pci,sysfsdev=/sys/bus/pci/devices/0000:02:00.0/../0000:01:00.0" },

	  .unclear = "address" },
	{ .args = { "-device", "vfio-pci,sysfsdev=/var/tmp/gpu" }, .unclear = "address" },
	{ .args = { "-set", "device.gpu.sysfsdev=/var/tmp/gpu" }, .unclear = "address" },
	{ .args = { "-device", "{\"driver\":\"vfio-pci\",\"host" }, .unclear = "address" },
	{ .args = { "-readconfig", "/etc/gpu.cfg" }, .unclear = "-readconfig" },
	{ .args = { OVERRIDE(PROPERTY("fd", "7")) }, .unclear = "fd=" },
	{ .args = { OVERRIDE(PROPERTY("host", "gpu")) }, .unclear = "address" },
	/* QEMU cuts slot and function to 32 bits, and of two the last one wins */
	{ .args = { "-device", "vfio-pci,host=01:100000000.0" }, .has = "0000:01:00.0" },
	{ .args = { "-device", "vfio-pci,host=06:00.0,host=01:00.4294967296" },
	  .has = "0000:06:00.0 0000:01:00.0" },
	/* what stands behind -device is its value, whatever it begins with */
	{ .args = { "-device", "-x,host=01:00.0,driver=vfio-pci" }, .has = "0000:01:00.0" },
	{ .args = { "-device", "-x,host=01:00.0,id=a", "-set", "device.a.driver=vfio-pci" },
	  .has = "0000:01:00.0" },
	{ .args = { "-global", "driver=vfio-pci,property=sysfsdev,value=/sys/bus/pci/devices/"
			       "0000:01:00.0" },
	  .has = "0000:01:00.0" },
	/* what is readable beside it makes nothing clear */
	{ .args = { "-device", "vfio-pci,host=06:00.0,sysfsdev=/sys/bus/pci/devices/0000:06:00.0/"
			       "../0000:01:00.0" },
	  .has = "0000:06:00.0",
	  .unclear = "address" },
	{ .args = { "-device", "vfio-pci,host=06:00.0,id=x", "-set", "device.x.fd=7" },
	  .has = "0000:06:00.0",
	  .unclear = "fd=" },
	{ .args = { "-device", "vfio-pci,sysfsdev=/tmp/0000:77:00.0" },
	  .has = "0000:77:00.0",
	  .unclear = "address" },
	{ .args = { "-drive", "file=blkdebug::nvme://0000:01:00.0/1" }, .has = "0000:01:00.0" },
	{ .args = { "-drive", "file=json:{\"driver\":\"nvme\",,\"device\":\"0000:01:00.0\"}" },
	  .has = "0000:01:00.0" },
	{ .args = { "-qmp", "unix:/tmp/q,server" }, .unclear = "monitor" },
	/* what takes no function */
	{ .args = { "-device", "virtio-net-pci,host_mtu=1500,addr=01.0" } },
	{ .args = { "-fw_cfg", "name=opt/gpu,string=0000:01:00.0", "-netdev", "tap,fd=7,id=n" } },
	{ .args = { "-chardev", "socket,id=a,host=127.0.0.1,port=1", "-cpu", "host,kvm=off" } },
	{ .args = { "-trace", "enable=vfio*", "-device", "vfio-user-pci,socket=/x" } },
	{ .args = { "-usbdevice", "host:01:00.0", "-append", "-" } },
	{ .args = { OVERRIDE("<qemu:property name='host' type='remove'/>") } },
	{ .args = { OVERRIDE("<qemu:property name='x-no-mmap' type='bool' value='true'/>") } },
	{ .args = { "", "-", "--", "," } },
};

static void check_spelling(const Spelling *s, bool live)
{
	_cleanup_free_ char *args = strdup(""), *xml = NULL, *has = NULL;
	_cleanup_(domain_use_clear) DomainUse use = { 0 };
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_strv_ char **addresses = NULL;

	for (size_t i = 0; i < ELEMENTS(s->args) && s->args[i]; i++) {
		_cleanup_free_ char *before = args;

		if (*s->args[i] == '<')
			args = strf("%s</qemu:commandline>%s<qemu:commandline>", before,
				    s->args[i]);
		else
			args = strf("%s<qemu:arg value=%c%s%c/>", before,
				    strchr(s->args[i], '"') ? '\'' : '"', s->args[i],
				    strchr(s->args[i], '"') ? '\'' : '"');
	}
	xml = strf("<domain type='kvm' xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>"
		   "<name>vm</name><uuid>" MDEV "</uuid><devices/>"
		   "<qemu:commandline>%s</qemu:commandline></domain>",
		   args);
	assert_int_equal(domain_use_from_xml(live ? xml : NULL, live ? NULL : xml, &use, &problem),
			 0);
	for (size_t i = 0; i < use.n_hostdevs; i++) {
		strv_append(&addresses, BDF_TEXT(&use.hostdevs[i].bdf));
		assert_true(use.hostdevs[i].argument && use.hostdevs[i].live == live &&
			    use.hostdevs[i].config != live);
	}
	has = strv_join(addresses, " ");
	if (!str_equal(has, str_or_empty(s->has)) || !s->unclear != !use.unclear ||
	    (s->unclear && !strstr(use.unclear, s->unclear)) ||
	    !str_equal(s->mdev, use.n_mdevs ? use.mdevs[0].uuid : NULL))
		fail_msg("%s: has \"%s\", unclear \"%s\"", args, has, str_or_empty(use.unclear));
}

TEST(what_qemu_gets_past_libvirt_counts_in_every_spelling)
{
	for (size_t i = 0; i < ELEMENTS(spellings); i++)
		for (int live = 0; live < 2; live++)
			check_spelling(&spellings[i], live);
}

/* Seconds of the processor for a domain with `n` functions, or mediated devices, by arguments. */
static double seconds_of(unsigned n, bool mdevs)
{
	_cleanup_(domain_use_clear) DomainUse use = { 0 };
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_free_ char *xml = NULL;
	clock_t begin;
	size_t size;
	FILE *f = open_memstream(&xml, &size);

	assert_non_null(f);
	fprintf(f, "<domain xmlns:qemu='http://libvirt.org/schemas/domain/qemu/1.0'>"
		   "<name>vm</name><uuid>" MDEV "</uuid><devices/>"
		   "<qemu:commandline><qemu:arg value='vfio-pci,");
	for (unsigned k = 0; k < n; k++)
		if (mdevs)
			fprintf(f, "sysfsdev=/sys/%08x-1b54-4048-85b3-a6a62d165c01,", k);
		else
			fprintf(f, "host=%x:%02x:%02x.%u,", k >> 16, k >> 8 & 0xff, k >> 3 & 0x1f,
				k & 7);
	fprintf(f, "'/></qemu:commandline></domain>");
	assert_int_equal(fclose(f), 0);
	begin = clock();
	assert_int_equal(domain_use_from_xml(NULL, xml, &use, &problem), 0);
	assert_int_equal(use.n_hostdevs + use.n_mdevs, n);
	return (double)(clock() - begin) / CLOCKS_PER_SEC;
}

/*
 * Who may write XML must not make each look at the host take minutes: eight times as many cost
 * about eight times as much, and not sixty-four times.
 */
TEST(many_arguments_cost_no_more_than_their_number)
{
	for (int mdevs = 0; mdevs < 2; mdevs++)
		assert_true(seconds_of(64000, mdevs) < 24 * seconds_of(8000, mdevs) + 0.1);
}

/* field: domains/07. gpupass-hook(8) says that nobody looks at it. */
TEST(a_render_node_takes_no_function)
{
	_cleanup_(domain_use_clear) DomainUse use = { 0 };
	_cleanup_(problem_freep) Problem *problem = NULL;

	assert_int_equal(
		domain_use_from_xml(NULL,
				    "<domain type='kvm'><name>vm</name><uuid>" MDEV
				    "</uuid><devices><graphics type='egl-headless'><gl rendernode="
				    "'/dev/dri/by-path/pci-0000:41:00.0-render'/></graphics>"
				    "</devices></domain>",
				    &use, &problem),
		0);
	assert_int_equal(use.n_hostdevs + use.n_mdevs, 0);
	assert_null(use.unclear);
}
