/* SPDX-License-Identifier: GPL-2.0-or-later */
/* doctor's checks of the host's setup. */
#include "rig/test.h"

#include "checks-rig.h"

static void no_iommu(Rig *r)
{
	r->m.host.snapshot->iommu = false;
}

static void iommu_off_by_hand(Rig *r)
{
	no_iommu(r);
	add(&r->machine.iommu_words, "intel_iommu=off");
}

/* field: host/29 */
static void iommu_off_in_the_firmware(Rig *r)
{
	no_iommu(r);
	add(&r->machine.iommu_words, "intel_iommu=on");
	r->machine.cpu_vendor = CPU_VENDOR_INTEL;
}

static void rmrr(Rig *r)
{
	set(&model_facts(&r->m, GPU)->direct_region, "0x00000000bdf6e000-0x00000000bdf81fff");
}

static void noiommu_mode(Rig *r)
{
	r->m.inspection.noiommu = true;
}

static void no_remapping(Rig *r)
{
	r->m.inspection.interrupts_remapped = false;
}

static void unsafe_interrupts(Rig *r)
{
	r->m.inspection.unsafe_interrupts = true;
}

static void acs_off(Rig *r)
{
	r->health[0].ports[0].config.acs_control = 0;
}

static void acs_override(Rig *r)
{
	add(&r->host->cmdline, "pcie_acs_override=downstream");
}

static void neighbour(Rig *r)
{
	model_function(&r->m, NIC)->iommu_group = 33;
}

static void other_group_beside(Rig *r)
{
	model_function(&r->m, "0000:a1:00.0")->iommu_group = 33;
	model_function(&r->m, "0000:a1:00.1")->iommu_group = 33;
}

static void neighbour_of_another_tenant(Rig *r)
{
	static const char *const functions[] = { NIC, NULL };

	model_drive(&r->m, NIC, "vfio-pci", "vfio-pci");
	neighbour(r);
	host_assignment(&r->m.host, "nics", "vm7", 7, functions);
}

static void in_no_iommu_group(Rig *r)
{
	model_function(&r->m, AUDIO)->iommu_group = IOMMU_GROUP_NONE;
}

static void vfio_not_loaded(Rig *r)
{
	r->m.inspection.vfio_pci = false;
	r->m.inspection.vfio_loadable = true;
}

static void vfio_blocked(Rig *r)
{
	vfio_not_loaded(r);
	add(&r->host->modprobe, "install vfio_pci /bin/false");
}

static void no_vfio(Rig *r)
{
	r->m.inspection.vfio_pci = false;
}

static void ids_on_cmdline(Rig *r)
{
	add(&r->host->cmdline, "vfio-pci.ids=8086:1521,10de:2230");
}

static void ids_in_modprobe(Rig *r)
{
	add(&r->host->modprobe, "options vfio_pci ids=10DE:2230");
	add(&r->host->modprobe_at, "vfio_pci /etc/modprobe.d/v.conf");
}

/* field: host/10, b */
static void ids_in_a_list(Rig *r)
{
	add(&r->host->module_options, "etc/initramfs-tools/modules:5: vfio_pci ids=10de:2230");
}

static void ids_that_systemd_skips(Rig *r)
{
	r->host->systemd = true;
	add(&r->host->module_options, "etc/modules:5: vfio_pci ids=10de:2230");
}

/* field: host/08 */
static void vfio_pci_at_this_boot_only(Rig *r)
{
	add(&r->host->modprobe, "blacklist vfio_pci");
}

static const Case cases[] = {
	/* fault 20 */
	{ "no IOMMU", no_iommu, "iommu", "iommu", "fail", "no IOMMU groups", "intel_iommu=on",
	  "the IOMMU is off", GPUPASS_ERROR_IOMMU_DISABLED },
	{ "IOMMU switched off", iommu_off_by_hand, "iommu", "iommu", "fail", "off",
	  "take intel_iommu=off off", "the IOMMU is off", GPUPASS_ERROR_IOMMU_DISABLED },
	{ "IOMMU off in the firmware", iommu_off_in_the_firmware, "iommu", "iommu", "fail", "off",
	  "enable VT-d in the firmware: the kernel command line has intel_iommu=on already",
	  "the IOMMU is off", GPUPASS_ERROR_IOMMU_DISABLED },
	/* fault 20 */
	{ "no-IOMMU mode", noiommu_mode, "noiommu", "noiommu", "fail", "all memory",
	  "enable_unsafe_noiommu_mode=0", "without the protection", GPUPASS_ERROR_IOMMU_DISABLED },
	{ "no interrupt remapping", no_remapping, "interrupt-remapping", "interrupt-remapping",
	  "fail", "vfio refuses", "x2APIC" },
	{ "unsafe interrupts", unsafe_interrupts, "interrupt-remapping", "interrupt-remapping",
	  "warn", "unsafe", "allow_unsafe_interrupts" },
	{ "ACS turned off", acs_off, "acs", "acs", "fail", PORT, "setpci" },
	{ "ACS override", acs_override, "acs-override", "acs-override", "warn", "downstream",
	  "tenants" },
	/* fault 19 */
	{ "a neighbour", neighbour, "iommu-group", "iommu-group", "fail", NIC " (igb)", "ACS",
	  "IOMMU group 33 is not viable", GPUPASS_ERROR_IOMMU_GROUP_NOT_VIABLE,
	  NIC " (igb) shares IOMMU group 33" },
	{ "two groups in one IOMMU group", other_group_beside, "iommu-group", "iommu-group", "warn",
	  "pair1", "ACS", "IOMMU group 33 is not viable", GPUPASS_ERROR_IOMMU_GROUP_NOT_VIABLE,
	  "pair1" },
	{ "second tenant", neighbour_of_another_tenant, "iommu-group", "iommu-group", "warn",
	  NIC " in IOMMU group 33 is assigned to vm7", "ACS", "IOMMU group 33 is not viable",
	  GPUPASS_ERROR_IOMMU_GROUP_NOT_VIABLE, "is assigned to vm7" },
	{ "in no IOMMU group", in_no_iommu_group, "iommu-group", "iommu-group", "fail", AUDIO,
	  "DMAR", "" AUDIO " is in no IOMMU group", GPUPASS_ERROR_IOMMU_DISABLED },
	{ "an RMRR", rmrr, "reserved-regions", "reserved-regions", "fail", GPU, "another slot",
	  "the firmware reserves memory of the host", GPUPASS_ERROR_IOMMU_GROUP_NOT_VIABLE },
	/* fault 8 */
	{ "vfio-pci not loaded", vfio_not_loaded, "vfio", "vfio", "warn", "not loaded",
	  "modprobe vfio-pci", "vfio-pci is not loaded", GPUPASS_ERROR_VFIO_MISSING },
	{ "vfio-pci blocked", vfio_blocked, "vfio", "vfio", "fail", "modprobe.d",
	  "modprobe vfio-pci", "vfio-pci is not loaded", GPUPASS_ERROR_VFIO_MISSING },
	/* fault 8 */
	{ "no vfio-pci", no_vfio, "vfio", "vfio", "fail", "no vfio-pci", "CONFIG_VFIO_PCI",
	  "this kernel has no vfio-pci", GPUPASS_ERROR_VFIO_MISSING },
	{ "ids= on the command line", ids_on_cmdline, "vfio-ids", "vfio-ids", "warn", "10de:2230",
	  "ids=" },
	{ "ids= in modprobe.d", ids_in_modprobe, "vfio-ids", "vfio-ids", "warn",
	  "/etc/modprobe.d/v.conf", "ids=" },
	{ "ids= in a list of modules", ids_in_a_list, "vfio-ids", "vfio-ids", "warn",
	  "ids= in /etc/initramfs-tools/modules:5: vfio-pci takes every board that matches 10de:2230",
	  "ids=" },
	{ "ids= in a list for systemd", ids_that_systemd_skips, "vfio-ids", "vfio-ids", "warn",
	  "/etc/modules:5: systemd loads no module from a line with options", "ids=" },
	{ "a vfio-pci that the next boot does not load", vfio_pci_at_this_boot_only, "vfio", "vfio",
	  "warn", "keeps it from being loaded at the next boot", "blacklist" },
};

/* promises O3, U11 */
TEST(each_fault_of_the_setup_is_found_by_its_check_and_by_no_other)
{
	run_cases(cases, ELEMENTS(cases), checks_of_host, false);
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
	for (size_t i = 0; i < ELEMENTS(ids_rows); i++) {
		_cleanup_(rig_done) Rig rig;

		rig_init(&rig);
		strv_split(ids_rows[i].settings, "|", &rig.host->modprobe);
		if (*ids_rows[i].cmdline)
			add(&rig.host->cmdline, ids_rows[i].cmdline);
		if (*ids_rows[i].builtin)
			add(&rig.host->builtin, ids_rows[i].builtin);
		if (*ids_rows[i].unread)
			add(&rig.host->unread, ids_rows[i].unread);
		rig_report(&rig);
		if (!str_equal(status_of(&rig, "vfio-ids"), ids_rows[i].status) ||
		    !says(find_check(&rig, "vfio-ids"), ids_rows[i].text))
			fail_msg("%s %s: %s", ids_rows[i].settings, ids_rows[i].cmdline,
				 json_dumps(find_check(&rig, "vfio-ids"), 0));
	}
}

/* Also found: an image that is older than the change of modprobe.d. */
TEST(ids_of_the_image_are_told_where_the_host_has_others)
{
	static const struct {
		const char *of_host, *of_image;
		bool vfio_pci;
		const char *status;
	} rows[] = {
		{ NULL, "options vfio_pci ids=10de:2230", true, "warn" },
		{ NULL, "options vfio_pci ids=10de:2230", false, "pass" },
		{ NULL, "options vfio_pci ids=1:2", true, "pass" },
		{ "options vfio_pci ids=1:2", "options vfio_pci ids=10de:2230", true, "warn" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(rig_done) Rig rig;

		rig_init(&rig);
		if (rows[i].of_host)
			add(&rig.host->modprobe, rows[i].of_host);
		add(&rig.host->image->modprobe, rows[i].of_image);
		rig.host->image->vfio_pci = rows[i].vfio_pci;
		rig_report(&rig);
		assert_string_equal(status_of(&rig, "vfio-ids"), rows[i].status);
		if (str_equal(rows[i].status, "warn"))
			assert_true(says(find_check(&rig, "vfio-ids"),
					 "in modprobe.d of /boot/initrd.img-6.1: vfio-pci takes"));
	}
}

/* field: host/13 */

/* ---- facts that are missing ---- */

static void port_asleep(Rig *r)
{
	r->health[0].ports[0].config = (PcieConfig){ 0 };
}

static void no_remapping_told(Rig *r)
{
	r->m.inspection.interrupts_known = false;
}

static const Lack lacks[] = {
	{ "noiommu", no_inspection, "could not be inspected: Protocol error" },
	{ "interrupt-remapping", no_remapping_told, "does not report" },
	{ "interrupt-remapping", no_inspection, "inspected" },
	{ "acs", asleep, "the ports above " GPU " were not read" },
	{ "acs", gpu_not_read, "the ports above " GPU " were not read" },
	{ "acs", port_asleep, PORT ", above " GPU },
	{ "acs-override", no_host, "did not end within its time" },
	{ "acs-override", files_unread, "not read: /a/file: Permission denied" },
	{ "reserved-regions", no_inspection, "inspected" },
	{ "vfio", no_inspection, "inspected" },
	{ "vfio-ids", no_host, "within its time" },
	{ "vfio-ids", files_unread, "/a/file" },
};

TEST(a_check_that_lacks_a_fact_does_not_pass)
{
	run_lacks(lacks, ELEMENTS(lacks), checks_of_host, "iommu iommu-group");
	run_lacks(lacks, ELEMENTS(lacks), checks_of_ids, "");
}
