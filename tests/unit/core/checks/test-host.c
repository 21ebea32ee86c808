/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor's checks of the host's setup. */
#include "rig/test.h"

#include "checks-rig.h"

static void no_iommu(Rig *r)
{
	r->m.host.snapshot->iommu = false;
}

/* The firmware keeps memory of the host for this GPU. */
static void rmrr(Rig *r, CpuVendor vendor, unsigned major, unsigned minor)
{
	set(&model_facts(&r->m, GPU)->direct_region, "0x00000000bdf6e000-0x00000000bdf81fff");
	r->machine.cpu_vendor = vendor;
	r->machine.kernel_major = major;
	r->machine.kernel_minor = minor;
}

static void neighbour(Rig *r)
{
	model_function(&r->m, NIC)->iommu_group = 33;
}

static void vfio_not_loaded(Rig *r)
{
	r->m.inspection.vfio_pci = false;
	r->m.inspection.vfio_loadable = true;
}

/* promises O3, U11 */
TEST(each_fault_of_the_setup_is_found_by_its_check_and_by_no_other)
{
	_cleanup_strv_ char **cases = NULL;

	/* fault 20 */
	REFUSED("no IOMMU", "iommu", "fail", "no IOMMU groups", "intel_iommu=on",
		"the IOMMU is off", GPUPASS_ERROR_IOMMU_DISABLED, NULL, no_iommu(r));
	/* fault 20 */
	REFUSED("no-IOMMU mode", "noiommu", "fail", "all memory", "enable_unsafe_noiommu_mode=0",
		"without the protection", GPUPASS_ERROR_IOMMU_DISABLED, NULL,
		r->m.inspection.noiommu = true);
	/* field: host/25 */
	TOLD("no interrupt remapping", "interrupt-remapping", "fail", "vfio refuses", "x2APIC",
	     r->m.inspection.interrupts_remapped = false);
	TOLD("unsafe interrupts", "interrupt-remapping", "warn", "unsafe",
	     "allow_unsafe_interrupts", r->m.inspection.unsafe_interrupts = true);
	/* field: host/25 */
	TOLD("neither", "interrupt-remapping", "fail",
	     "interrupts are not remapped: a guest can raise interrupts of the host", "x2APIC",
	     r->m.inspection.unsafe_interrupts = true, r->m.inspection.interrupts_remapped = false);
	TOLD("ACS turned off", "acs", "fail", PORT, "setpci",
	     r->health[0].ports[0].config.acs_control = 0);
	TOLD("ACS override", "acs-override", "warn", "downstream", "tenants",
	     add(&r->host->cmdline, "pcie_acs_override=downstream"));
	/* fault 19 */
	REFUSED("a neighbour", "iommu-group", "fail", NIC " (igb)", "ACS",
		"IOMMU group 33 is not viable", GPUPASS_ERROR_IOMMU_GROUP_NOT_VIABLE,
		NIC " (igb) shares IOMMU group 33", neighbour(r));
	REFUSED("two groups in one IOMMU group", "iommu-group", "warn", "pair1", "ACS",
		"IOMMU group 33 is not viable", GPUPASS_ERROR_IOMMU_GROUP_NOT_VIABLE, "pair1",
		model_function(&r->m, "0000:a1:00.0")->iommu_group = 33,
		model_function(&r->m, "0000:a1:00.1")->iommu_group = 33);
	REFUSED("second tenant", "iommu-group", "warn", NIC " in IOMMU group 33 is assigned to vm7",
		"ACS", "IOMMU group 33 is not viable", GPUPASS_ERROR_IOMMU_GROUP_NOT_VIABLE,
		"is assigned to vm7", {
			static const char *const functions[] = { NIC, NULL };

			model_drive(&r->m, NIC, "vfio-pci", "vfio-pci");
			neighbour(r);
			host_assignment(&r->m.host, "nics", "vm7", 7, functions);
		});
	REFUSED("in no IOMMU group", "iommu-group", "fail", AUDIO, "DMAR",
		AUDIO " is in no IOMMU group", GPUPASS_ERROR_IOMMU_DISABLED, NULL,
		model_function(&r->m, AUDIO)->iommu_group = IOMMU_GROUP_NONE);
	REFUSED("an RMRR", "reserved-regions", "fail", "bdf6e000-0x", "another slot",
		"bdf6e000-0x00000000bdf81fff) for IOMMU group 33",
		GPUPASS_ERROR_IOMMU_GROUP_NOT_VIABLE, NULL, rmrr(r, CPU_VENDOR_UNKNOWN, 0, 0));
	REFUSED("on AMD, Linux 6.6", "reserved-regions", "fail", "platform RMRR", "another slot",
		"the firmware reserves", GPUPASS_ERROR_IOMMU_GROUP_NOT_VIABLE, NULL,
		rmrr(r, CPU_VENDOR_AMD, 6, 6));
	/* fault 8 */
	REFUSED("vfio-pci not loaded", "vfio", "warn", "not loaded", "modprobe vfio-pci",
		"vfio-pci is not loaded", GPUPASS_ERROR_VFIO_MISSING, NULL, vfio_not_loaded(r));
	REFUSED("vfio-pci blocked", "vfio", "fail", "modprobe.d", "modprobe vfio-pci",
		"vfio-pci is not loaded", GPUPASS_ERROR_VFIO_MISSING, NULL, vfio_not_loaded(r),
		add(&r->host->modprobe, "install vfio_pci /bin/false"));
	/* fault 8 */
	REFUSED("no vfio-pci", "vfio", "fail", "no vfio-pci", "CONFIG_VFIO_PCI",
		"this kernel has no vfio-pci", GPUPASS_ERROR_VFIO_MISSING, NULL,
		r->m.inspection.vfio_pci = false);
	TOLD("ids= on the command line", "vfio-ids", "warn", "10de:2230",
	     "ids=", add(&r->host->cmdline, "vfio-pci.ids=8086:1521,10de:2230"));
	TOLD("ids= in modprobe.d", "vfio-ids", "warn", "/etc/modprobe.d/v.conf",
	     "ids=", add(&r->host->modprobe, "options vfio_pci ids=10DE:2230"),
	     add(&r->host->modprobe_at, "vfio_pci /etc/modprobe.d/v.conf"));
	/* field: host/10, b */
	TOLD("ids= in a list of modules", "vfio-ids", "warn",
	     "ids= in /etc/initramfs-tools/modules:5: vfio-pci takes every board that matches 10de:2230",
	     "ids=",
	     add(&r->host->module_options,
		 "etc/initramfs-tools/modules:5: vfio_pci ids=10de:2230"));
	TOLD("ids= in a list for systemd", "vfio-ids", "warn",
	     "/etc/modules:5: systemd loads no module from a line with options",
	     "ids=", r->host->systemd = true,
	     add(&r->host->module_options, "etc/modules:5: vfio_pci ids=10de:2230"));
	/* field: host/08 */
	TOLD("a vfio-pci that the next boot does not load", "vfio", "warn",
	     "keeps it from being loaded at the next boot", "blacklist",
	     add(&r->host->modprobe, "blacklist vfio_pci"));
	all_had_cases(cases, checks_of_host, "");
}

/* Of lists the parts are parted by '|'. */
static const struct {
	const char *settings, *cmdline, *builtin, *unread;
	const char *status, *text;
} ids_rows[] = {
	{ "options vfio_pci ids=10de:2204", "", "", "", "pass", "takes these boards" },
	{ "options vfio_pci ids=10de:2230:1043:ffff", "", "", "", "pass", "" },
	{ "options vfio_pci ids=8086:2230,10de:22301", "", "", "", "pass", "" },
	/* field: host/14, other-3 */
	{ "options vfio_pci ids=10de:1aef,10de:1ad8", "", "", "", "warn",
	  "vfio-pci takes the audio function of every board that matches 10de:1aef at boot" },
	{ "options vfio_pci ids=10de:ffffffff", "", "", "", "warn",
	  "every board that matches 10de:ffffffff" },
	/* Only the last one counts, and that of the command line is the last. */
	{ "options vfio_pci ids=10de:2230|options vfio_pci ids=1:2", "", "", "", "pass", "" },
	{ "options vfio_pci ids=10de:2230", "vfio-pci.ids=1:2", "", "", "pass", "" },
	{ "options vfio_pci ids=1:2", "vfio_pci.ids=10de:2230", "", "", "warn",
	  "ids= on the kernel command line: vfio-pci" },
	/* What is built in has no settings of modprobe. */
	{ "options vfio_pci ids=10de:2230|install vfio_pci /sbin/x", "", "vfio_pci", "", "pass",
	  "" },
	{ "", "vfio-pci.ids=10de:2230", "vfio_pci", "", "warn", "10de:2230" },
	/* field: host/13 */
	{ "", "pci-stub.ids=10de:1aef", "pci_stub", "", "warn",
	  "pci-stub takes the audio function of every board that matches 10de:1aef" },
	{ "options pci_stub ids=10de:1aef", "", "", "", "warn", "pci-stub takes the audio" },
	{ "install vfio_pci /sbin/vfio-pci-override-vga.sh", "", "", "", "warn",
	  "modprobe runs \"/sbin/vfio-pci-override-vga.sh\"" },
	{ "install vfio_pci /bin/false", "", "", "", "pass", "" },
	{ "", "", "", "modprobe /etc/modprobe.d/v.conf: Permission denied", "unknown",
	  "not read: /etc/modprobe.d/v.conf: Permission denied" },
	{ "options vfio_pci ids=10de:2230", "", "", "cmdline /proc/cmdline: gone", "warn",
	  "not read: /proc" },
};

TEST(ids_are_judged_by_what_they_take)
{
	for (size_t i = 0; i < ELEMENTS(ids_rows); i++)
		STANDS("vfio-ids", ids_rows[i].status, ids_rows[i].text, {
			strv_split(ids_rows[i].settings, "|", &r->host->modprobe);
			strv_split(ids_rows[i].cmdline, "|", &r->host->cmdline);
			strv_split(ids_rows[i].builtin, "|", &r->host->builtin);
			strv_split(ids_rows[i].unread, "|", &r->host->unread);
		});
}

/* Also found: an image that is older than the change of modprobe.d. */
TEST(ids_of_the_image_are_told_where_the_host_has_others)
{
	static const char in_image[] = "in modprobe.d of /boot/initrd.img-6.1: vfio-pci takes";
	static const struct {
		const char *of_host, *of_image;
		bool vfio_pci;
		const char *status, *text;
	} rows[] = {
		{ "", "options vfio_pci ids=10de:2230", true, "warn", in_image },
		{ "", "options vfio_pci ids=10de:2230", false, "pass", "" },
		{ "", "options vfio_pci ids=1:2", true, "pass", "" },
		{ "options vfio_pci ids=1:2", "options vfio_pci ids=10de:2230", true, "warn",
		  in_image },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		STANDS("vfio-ids", rows[i].status, rows[i].text, {
			strv_split(rows[i].of_host, "|", &r->host->modprobe);
			add(&r->host->image->modprobe, rows[i].of_image);
			r->host->image->vfio_pci = rows[i].vfio_pci;
		});
}

/* Neither AMD before Linux 6.6 nor a kernel before 5.3 tells which regions may be relaxed. */
TEST(a_region_that_may_be_relaxed_is_no_fault)
{
	SPEAKS("on AMD, Linux 6.5", "", rmrr(r, CPU_VENDOR_AMD, 6, 5));
	SPEAKS("Linux 5.2", "", rmrr(r, CPU_VENDOR_UNKNOWN, 5, 2));
}

static void expect_remedy(const Rig *r, const char *begin)
{
	if (!str_starts_with(remedy_of(r, "iommu"), begin))
		fail_msg("not %s: %s", begin, remedy_of(r, "iommu"));
}

/* field: host/29 */
TEST(what_turns_the_iommu_on_depends_on_what_turned_it_off)
{
	static const char vt_d_asked[] = "enable VT-d in the firmware: the kernel command line has "
					 "intel_iommu=on already";
	static const struct {
		const char *words;
		CpuVendor vendor;
		IommuTable table;
		bool guest;
		const char *remedy; /* it begins with this */
	} rows[] = {
		{ "", CPU_VENDOR_UNKNOWN, IOMMU_TABLE_UNKNOWN, false,
		  "enable VT-d or AMD-Vi in the firmware and boot with intel_iommu=on (Intel)" },
		{ "intel_iommu=on", CPU_VENDOR_UNKNOWN, IOMMU_TABLE_UNKNOWN, false,
		  "enable VT-d or AMD-Vi in the firmware: the kernel command line has "
		  "intel_iommu=on already" },
		{ "", CPU_VENDOR_INTEL, IOMMU_TABLE_UNKNOWN, false,
		  "enable VT-d in the firmware and boot with intel_iommu=on" },
		{ "", CPU_VENDOR_INTEL, IOMMU_TABLE_NONE, false,
		  "enable VT-d in the firmware and boot with intel_iommu=on" },
		{ "iommu=pt", CPU_VENDOR_INTEL, IOMMU_TABLE_THERE, false,
		  "boot with intel_iommu=on" },
		{ "intel_iommu=on", CPU_VENDOR_INTEL, IOMMU_TABLE_UNKNOWN, false, vt_d_asked },
		{ "intel_iommu=on,sm_on", CPU_VENDOR_INTEL, IOMMU_TABLE_NONE, false,
		  "enable VT-d in the firmware, which describes no IOMMU: the kernel command line "
		  "has intel_iommu=on,sm_on already" },
		{ "intel_iommu=on", CPU_VENDOR_INTEL, IOMMU_TABLE_THERE, false,
		  "the firmware describes an IOMMU and the command line has intel_iommu=on: dmesg" },
		{ "", CPU_VENDOR_AMD, IOMMU_TABLE_UNKNOWN, false, "enable AMD-Vi (IOMMU)" },
		{ "intel_iommu=on", CPU_VENDOR_AMD, IOMMU_TABLE_NONE, false,
		  "enable AMD-Vi (IOMMU)" },
		{ "amd_iommu=on", CPU_VENDOR_AMD, IOMMU_TABLE_THERE, false,
		  "the firmware describes an IOMMU: dmesg" },
		{ "", CPU_VENDOR_ARM, IOMMU_TABLE_UNKNOWN, false,
		  "enable the SMMU in the firmware: dmesg | grep -i -e SMMU -e IORT" },
		/* The kernel takes one word after the other. */
		{ "intel_iommu=off", CPU_VENDOR_UNKNOWN, IOMMU_TABLE_UNKNOWN, false,
		  "take intel_iommu=off off the kernel command line, and reboot" },
		{ "intel_iommu=off intel_iommu=on", CPU_VENDOR_INTEL, IOMMU_TABLE_UNKNOWN, false,
		  vt_d_asked },
		{ "intel_iommu=on intel_iommu=igfx_off", CPU_VENDOR_INTEL, IOMMU_TABLE_UNKNOWN,
		  false, vt_d_asked },
		{ "intel_iommu=on intel_iommu=off", CPU_VENDOR_INTEL, IOMMU_TABLE_THERE, false,
		  "take intel_iommu=off off" },
		{ "iommu=off intel_iommu=on iommu=pt", CPU_VENDOR_INTEL, IOMMU_TABLE_THERE, false,
		  "take iommu=off off" },
		{ "iommu=pt,off", CPU_VENDOR_AMD, IOMMU_TABLE_THERE, false,
		  "take iommu=pt,off off" },
		{ "amd_iommu=off amd_iommu=on", CPU_VENDOR_AMD, IOMMU_TABLE_THERE, false,
		  "take amd_iommu=off off" },
		/* Of the other maker's IOMMU. */
		{ "intel_iommu=off", CPU_VENDOR_AMD, IOMMU_TABLE_NONE, false,
		  "enable AMD-Vi (IOMMU)" },
		{ "amd_iommu=off intel_iommu=on", CPU_VENDOR_INTEL, IOMMU_TABLE_UNKNOWN, false,
		  vt_d_asked },
		{ "intel_iommu=offline", CPU_VENDOR_INTEL, IOMMU_TABLE_THERE, false,
		  "boot with intel_iommu=on" },
		{ "intel_iommu=on", CPU_VENDOR_INTEL, IOMMU_TABLE_NONE, true,
		  "this host is itself a virtual machine" },
		{ "", CPU_VENDOR_INTEL, IOMMU_TABLE_THERE, true, "boot with intel_iommu=on" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++)
		ON_RIG(expect_remedy(r, rows[i].remedy), no_iommu(r),
		       strv_split(rows[i].words, " ", &r->machine.iommu_words),
		       r->machine.cpu_vendor = rows[i].vendor,
		       r->machine.iommu_table = rows[i].table,
		       r->machine.virtual_machine = rows[i].guest);
}

TEST(a_check_that_lacks_a_fact_does_not_pass)
{
	_cleanup_strv_ char **cases = NULL;

	LACKS("noiommu", "could not be inspected: Protocol error", no_inspection(r));
	LACKS("interrupt-remapping", "does not report", r->m.inspection.interrupts_known = false);
	LACKS("interrupt-remapping", "inspected", no_inspection(r));
	LACKS("acs", "the ports above " GPU " were not read", not_read(r, 0));
	LACKS("acs", "the ports above " GPU " were not read", not_read(r, -EPROTO));
	LACKS("acs", PORT ", above " GPU, r->health[0].ports[0].config = (PcieConfig){ 0 });
	LACKS("acs-override", "did not end within its time", no_host(r));
	LACKS("acs-override", "not read: /a/file: Permission denied", files_unread(r));
	LACKS("reserved-regions", "inspected", no_inspection(r));
	LACKS("vfio", "inspected", no_inspection(r));
	LACKS("vfio-ids", "within its time", no_host(r));
	LACKS("vfio-ids", "/a/file", files_unread(r));
	all_had_cases(cases, checks_of_host, "iommu iommu-group");
	all_had_cases(cases, checks_of_ids, "");
}
