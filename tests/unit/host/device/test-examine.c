/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpupass/dbus.h"
#include "host/device/examine.h"
#include "host/launch/child.h"
#include "rig/look-rows.h"
#include "rig/worker-model.h"
#include "util/clock.h"
#include "util/text.h"

#define GPU "0000:41:00.0"
#define PORT "0000:40:01.1"
#define OF_GPU "sys/bus/pci/devices/" GPU "/"

static SysfsTree *host(void)
{
	SysfsTree *tree = sysfs_tree_new(NULL);

	tree_add_bridge(tree, PORT, 21);
	tree_add_gpu(tree, GPU, 0x2204, "nvidia", 21, PORT);
	return tree;
}

/* With the files that are always there. */
static SysfsTree *quiet_host(void)
{
	SysfsTree *tree = host();

	tree_write(tree, "proc/cmdline", "quiet modprobe.blacklist=nouveau\n");
	tree_write(tree, "root/run/gpupass/boot.json", "{}");
	return tree;
}

static json_t *look(SysfsTree *tree)
{
	_cleanup_(examination_freep) Examination *e = examine_setup(&tree->roots);

	return json_struct_write(examination_members, e);
}

/* ---- health ---- */

/* x8 of x16 lanes at 16 GT/s; a root port has ACS turned off. */
static void set_config(SysfsTree *tree, const char *bdf, bool port)
{
	uint8_t bytes[PCIE_CONFIG_BYTES] = { 0xde, 0x10 };
	_cleanup_free_ char *path = strf("sys/bus/pci/devices/%s/config", bdf);

	bytes[0x06] = 0x10;
	bytes[0x34] = 0x60;
	bytes[0x60] = 0x10;
	bytes[0x62] = port ? 0x42 : 0x02;
	bytes[0x6c] = 0x04;
	bytes[0x6d] = 0x01; /* x16 */
	bytes[0x72] = 0x84; /* x8 */
	bytes[0x100] = 0x0d;
	bytes[0x102] = 0x01;
	bytes[0x104] = 0x1f;
	tree_write_bytes(tree, path, bytes, sizeof(bytes));
}

/* A config file that must not be opened: a FIFO, at which the reader would wait for ever. */
static void trap(SysfsTree *tree, const char *bdf)
{
	_cleanup_free_ char *path = strf("%s/bus/pci/devices/%s/config", tree->sysfs, bdf);

	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
}

static SysfsTree *readable(void)
{
	SysfsTree *tree = host();

	set_config(tree, GPU, false);
	set_config(tree, PORT, true);
	return tree;
}

static SysfsTree *trapped(void)
{
	SysfsTree *tree = host();

	trap(tree, GPU);
	trap(tree, PORT);
	return tree;
}

static json_t *examine(SysfsTree *tree)
{
	_cleanup_(gpu_health_clear) GpuHealth health = { 0 };
	Bdf gpu = tree_bdf(GPU), port = tree_bdf(PORT);

	assert_int_equal(examine_gpu(&tree->roots, &gpu, &port, 1, &health), 0);
	return json_struct_write(gpu_health_members, &health);
}

static const LookRow awake[] = {
	ROW("an awake GPU is read with its port",
	    { OF_GPU "power_state", "D0\n", "sys/bus/pci/devices/" PORT "/power_state", "D0\n",
	      OF_GPU "aer_dev_correctable", "RxErr 3\nTOTAL_ERR_COR 3\n", OF_GPU "aer_dev_nonfatal",
	      "TOTAL_ERR_NONFATAL 2\n", OF_GPU "aer_dev_fatal", "TOTAL_ERR_FATAL 1\n" },
	    "{'power_state': 'D0', 'config': {'read': true, 'width': 8, 'width_max': 16}, "
	    "'aer': true, 'correctable': 3, 'nonfatal': 2, 'fatal': 1, "
	    "'ports': [{'config': {'acs': true, 'acs_capability': 31, 'acs_control': 0}}]}"),
};

#define ASLEEP "{'config': {'read': false}, 'ports': [{'config': {'read': false}}]}"

static const LookRow asleep[] = {
	ROW("D3hot", { OF_GPU "power_state", "D3hot\n" }, ASLEEP),
	ROW("D3cold", { OF_GPU "power_state", "D3cold\n" }, ASLEEP),
	ROW("D1", { OF_GPU "power_state", "D1\n" }, ASLEEP),
	ROW("unknown", { OF_GPU "power_state", "unknown\n" }, ASLEEP),
	ROW("no state", { OF_GPU "power_state", NULL }, ASLEEP),
};

TEST(what_is_awake_is_read_and_what_sleeps_is_not)
{
	look_rows(awake, ELEMENTS(awake), readable, examine);
	look_rows(asleep, ELEMENTS(asleep), trapped, examine);
}

TEST(a_gpu_that_is_gone_is_told)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = host();
	GpuHealth health = { 0 };
	Bdf gone = tree_bdf("0000:99:00.0");

	assert_int_equal(examine_gpu(&tree->roots, &gone, NULL, 0, &health), -ENOENT);
}

/* One that hangs its reader costs its own deadline, and no other GPU's facts. */
TEST(a_gpu_that_hangs_hides_no_other)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = host();
	_cleanup_free_ char *root = strf("%s/root", tree->path);
	const WorkerConfig config = {
		.program = WORKER,
		.sysfs_dir = tree->sysfs,
		.proc_dir = tree->proc,
		.root_dir = root,
	};
	PciFunction hangs = { .bdf = tree_bdf(GPU) }, well = { .bdf = tree_bdf("0000:61:00.0") };
	const PciFunction *leads[] = { &hangs, &well };
	GpuHealth health[2] = { 0 };
	_cleanup_free_ char *fifo = strf("%s/bus/pci/devices/" GPU "/config", tree->sysfs);
	int fd;

	tree_add_gpu(tree, "0000:61:00.0", 0x2204, "nvidia", 22, NULL);
	tree_write_attribute(tree, GPU, "power_state", "D0\n");
	tree_write_attribute(tree, "0000:61:00.0", "power_state", "D0\n");
	set_config(tree, "0000:61:00.0", false);
	trap(tree, GPU);
	host_health(WORKERS_UNTIL(&config, 2 * USEC_PER_SEC), leads, 2, health);
	assert_int_equal(health[0].error, -ETIMEDOUT);
	assert_true(health[0].stuck > 0 && child_runs(health[0].stuck));
	assert_int_equal(health[1].error, 0);
	assert_int_equal(health[1].config.width, 8);
	/* Lets the worker end. */
	fd = open(fifo, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	close(fd);
	for (unsigned i = 0; i < 500 && child_runs(health[0].stuck); i++)
		usleep(10000);
	assert_false(child_runs(health[0].stuck));
	gpu_health_clear(&health[0]);
	gpu_health_clear(&health[1]);
}

/* ---- the setup ---- */

#define HOOKS "/etc/libvirt/hooks/"
#define OURS "root" HOOKS "qemu.d/gpupass"
#define START "qemu.d/vm42/prepare/begin/start.sh"
#define STOP "qemu.d/vm42/release/end/stop.sh"

static const LookRow setups[] = {
	ROW("the setup",
	    { "proc/cmdline",
	      "quiet intel_iommu=on\n",
	      "proc/driver/nvidia/version",
	      "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue\n",
	      "proc/12/comm",
	      "virtqemud\n",
	      "proc/12/cgroup",
	      "0::/system.slice/virtqemud.service\n",
	      "proc/12/limits",
	      "Max locked memory         65536                65536                bytes\n",
	      "proc/12/status",
	      "CapEff:\t0000000000000000\n",
	      "proc/13/comm",
	      "nvidia-persiste\n",
	      "proc/13/cgroup",
	      "0::/system.slice/nvidia-persistenced.service\n",
	      "proc/14/comm",
	      "bash\n",
	      "sys/module/nvidia/initstate",
	      "live\n",
	      "root/etc/modprobe.d/v.conf",
	      "options vfio-pci ids=10de:2204\n",
	      "root/etc/initramfs-tools/modules",
	      "# list\nnvidia\n",
	      "root/etc/driverctl.d/pci-" GPU,
	      "vfio-pci\n",
	      "root/run/systemd/system/x",
	      "",
	      "root/etc/systemd/system/sysinit.target.wants/gpupass-bind.service -> root/nowhere",
	      "",
	      "root/run/gpupass/boot.json",
	      "{\"schema\": \"org.gpupass1.boot/1\", \"functions\": [{\"bdf\": \"" GPU
	      "\", \"outcome\": \"missing\"}], \"notes\": []}" },
	    "{'cmdline': ['intel_iommu=on'], 'nvidia_version': '550.54.15', "
	    "'libvirt_daemon': 'virtqemud (pid 12)', 'memlock_limited': true, "
	    "'memlock_bytes': 65536, "
	    "'services': ['nvidia-persiste (pid 13, unit nvidia-persistenced.service)'], "
	    "'modules': ['nvidia'], 'modprobe': ['options vfio_pci ids=10de:2204'], "
	    "'initramfs': ['etc/initramfs-tools/modules:2: nvidia'], "
	    "'initramfs_at': ['/etc/initramfs-tools/modules'], "
	    "'driverctl': ['" GPU " vfio-pci'], 'boot': ['" GPU " missing'], 'systemd': true, "
	    "'bind_enabled': true, 'unread': []}"),
	/* These are always there, or must be: without them nothing is known. */
	ROW("an empty host is no error", { NULL },
	    "{'modprobe': [], 'nvidia_version': null, 'systemd': false, 'bind_enabled': false, "
	    "'memlock_limited': false, "
	    "'unread': ['cmdline /proc/cmdline: No such file or directory', "
	    "'boot /run/gpupass/boot.json: No such file or directory']}"),
	ROW("what the kernel has built in is told",
	    { "proc/sys/kernel/osrelease", "6.8.0\n", "root/lib/modules/6.8.0/modules.builtin",
	      "kernel/drivers/vfio/pci/vfio-pci-core.ko\nkernel/drivers/pci/pci-stub.ko\n" },
	    "{'builtin': ['pci_stub']}"),
	ROW("what cannot be understood is told",
	    { "proc/cmdline", "", "root/run/gpupass/boot.json", "{" },
	    "{'boot': ['/run/gpupass/boot.json cannot be understood'], 'unread': []}"),
	/* field: host/08 */
	ROW("other hooks of libvirt are told by what they name",
	    { "root" HOOKS "qemu +x",
	      "#!/bin/bash\nH=\"$0.d/$1/$2/$3\"; [ -d \"$H\" ] && for f in \"$H\"/*; do "
	      "\"$f\" \"$@\"; done\n/usr/local/bin/vfio-startup >>/var/log/x\n",
	      "root/usr/local/bin/vfio-startup +x", "#!/bin/sh\nmodprobe vfio-pci\n",
	      "root" HOOKS START " +x",
	      "#!/bin/bash\nmodprobe -r nvidia_drm nvidia_modeset nvidia_uvm nvidia\n"
	      "virsh nodedev-detach pci_0000_41_00_0\nvirsh nodedev-detach pci_0000_41_00_1\n",
	      "root" HOOKS STOP " +x",
	      "#!/bin/bash\nvirsh nodedev-reattach pci_0000_41_00_0\nmodprobe nvidia\n",
	      "root" HOOKS "qemu.d/vm42/release/end/old.sh", "#!/bin/sh\nrmmod nvidia\n",
	      OURS " +x", "virsh\n", "root" HOOKS "qemu.d/log +x",
	      "#!/bin/sh\nlogger \"$1\" # not virsh\n" },
	    "{'host_hooks': ['" HOOKS START " names modprobe -r nvidia_drm at line 2', "
	    "'" HOOKS START " names virsh nodedev-detach pci_0000_41_00_0 at line 3', "
	    "'" HOOKS START " names virsh nodedev-detach pci_0000_41_00_1 at line 4', "
	    "'" HOOKS STOP " names virsh nodedev-reattach pci_0000_41_00_0 at line 2', "
	    "'" HOOKS STOP " names modprobe nvidia at line 3', "
	    "'/usr/local/bin/vfio-startup names modprobe vfio-pci at line 2']}"),
	/* field: newcomer 5 */
	ROW("our hook",
	    { OURS " +x", "\x7f"
			  "ELF\1\1 " GPUPASS_HOOK_SAYS ", with …" },
	    "{'hook': true, 'hook_runs': true, 'hook_is': 'gpupass-hook'}"),
	ROW("another program in its place",
	    { OURS " +x", "\x7f"
			  "ELF\1\1 another" },
	    "{'hook': true, 'hook_runs': true, 'hook_is': 'another program'}"),
	ROW("a script in its place",
	    { OURS " +x", "#!/bin/sh\nexec gpupass-hook # " GPUPASS_HOOK_SAYS "\n" },
	    "{'hook': true, 'hook_runs': true, 'hook_is': 'a script'}"),
	ROW("its words in its place", { OURS " +x", GPUPASS_HOOK_SAYS },
	    "{'hook': true, 'hook_runs': true, 'hook_is': 'another program'}"),
	ROW("nothing in its place", { OURS " +x", "" },
	    "{'hook': true, 'hook_runs': true, 'hook_is': 'another program'}"),
	ROW("our hook, which nobody may run",
	    { OURS, "\x7f"
		    "ELF " GPUPASS_HOOK_SAYS },
	    "{'hook': true, 'hook_runs': false, 'hook_is': null}"),
};

/* modprobe.d of a host: the settings that matter, and the files that name their modules. */
#define MODPROBE(settings, places, unread)                                                         \
	"{'modprobe': [" settings "], 'modprobe_at': [" places "], 'unread': [" unread "]}"
#define ETC "root/etc/modprobe.d/"
#define IDS(text) "options vfio-pci ids=" text "\n"
/* What of the lists of modules is asked for, has options, and is not understood. */
#define LISTS(drivers, options, unknown, hook)                                                     \
	"{'initramfs': [" drivers "], 'module_options': [" options                                 \
	"], 'modules_unknown': [" unknown "], 'initramfs_hook': " hook "}"

static const LookRow modules[] = {
	/* field: host/01 */
	ROW("continued lines",
	    { ETC "vfio.conf", "options vfio-pci \\\n  ids=10de:2204,10de:1aef \\\n"
			       "  disable_vga=1\nsoftdep nvidia pre: vfio-pci\n" },
	    MODPROBE("'options vfio_pci   ids=10de:2204,10de:1aef   disable_vga=1', "
		     "'softdep nvidia pre: vfio-pci'",
		     "'vfio_pci /etc/modprobe.d/vfio.conf', 'nvidia /etc/modprobe.d/vfio.conf'",
		     "")),
	ROW("tabs", { ETC "vfio.conf", "options\tvfio-pci\tids=10de:2204\n" },
	    MODPROBE("'options vfio_pci ids=10de:2204'", "'vfio_pci /etc/modprobe.d/vfio.conf'",
		     "")),
	/* field: host/14 */
	ROW("a file masks that of its name",
	    { ETC "vfio.conf", "# masks\n", "root/usr/lib/modprobe.d/vfio.conf", IDS("10de:2204") },
	    MODPROBE("", "", "")),
	ROW("a link to nothing does, too",
	    { "root/run/modprobe.d/vfio.conf -> /dev/null", "", "root/usr/lib/modprobe.d/vfio.conf",
	      IDS("10de:2204") },
	    MODPROBE("", "", "")),
	ROW("the last one counts, by the names of the files, whatever folder they are in",
	    { ETC "b.conf", IDS("1:2"), "root/usr/local/lib/modprobe.d/a.conf",
	      "options vfio_pci ids=3:4", "root/lib/modprobe.d/c.conf",
	      "install nouveau \t/bin/false\nblacklist snd-hda-intel" },
	    MODPROBE("'options vfio_pci ids=3:4', 'options vfio_pci ids=1:2', "
		     "'blacklist snd_hda_intel', 'install nouveau  /bin/false'",
		     "'vfio_pci /etc/modprobe.d/b.conf', "
		     "'vfio_pci /usr/local/lib/modprobe.d/a.conf', "
		     "'snd_hda_intel /lib/modprobe.d/c.conf', 'nouveau /lib/modprobe.d/c.conf'",
		     "")),
	ROW("what is no file of it",
	    { ETC "other.txt", IDS("1:2"), ETC "sub.conf/a.conf", IDS("1:2"),
	      ETC "gone.conf -> /nowhere", "" },
	    MODPROBE("", "", "")),
	ROW("a file without end", { ETC "a.conf", IDS("1:2"), ETC "zero.conf -> /dev/zero", "" },
	    MODPROBE("", "", "'modprobe /etc/modprobe.d/zero.conf: File too large'")),
	/* field: host/10 */
	ROW("initramfs-tools",
	    { "root/etc/initramfs-tools/modules",
	      "softdep nvidia pre: vfio\noptions vfio_pci ids=10de:2204\nvfio_pci ids=10de:2204\n",
	      "root/usr/share/initramfs-tools/modules.d/gpu", "nouveau\n",
	      "root/etc/initramfs-tools/modules.d/x", "nvidia\n" },
	    LISTS("'usr/share/initramfs-tools/modules.d/gpu:1: nouveau'",
		  "'etc/initramfs-tools/modules:3: vfio_pci ids=10de:2204'", "", "false")),
	ROW("a hook counts for its own program only",
	    { "root/usr/share/initramfs-tools/modules.d/gpu", "nouveau\n",
	      "root/usr/share/initramfs-tools/hooks/gpupass", "", "root/etc/mkinitcpio.conf",
	      "MODULES=(nvidia)\n" },
	    LISTS("'etc/mkinitcpio.conf:1: MODULES: nvidia'", "", "", "true")),
	ROW("modules-load.d: the first of a name is read, be it empty",
	    { "root/etc/modules", "vfio_pci ids=1\nnvidia\n", "root/etc/modules-load.d/a.conf", "",
	      "root/usr/lib/modules-load.d/a.conf", "vfio_pci ids=2\n",
	      "root/usr/lib/modules-load.d/b.conf", "pci_stub ids=3\n" },
	    LISTS("",
		  "'etc/modules:1: vfio_pci ids=1', 'usr/lib/modules-load.d/b.conf:1: pci_stub ids=3'",
		  "", "false")),
	ROW("dracut: 10- comes after 9-, and its module must be asked for",
	    { "root/etc/dracut.conf", "add_drivers=\" nvidia \"\n",
	      "root/etc/dracut.conf.d/10-b.conf",
	      "force_drivers=\" vfio_pci nouveau =drivers/gpu/drm \"\nomit_drivers+=\" nvidia \"\n",
	      "root/usr/lib/dracut/dracut.conf.d/9-a.conf", "force_drivers=\" snd_hda_intel \"\n",
	      "root/usr/lib/dracut/modules.d/90gpupass/module-setup.sh", "" },
	    LISTS("'etc/dracut.conf:1: add_drivers: nvidia', 'etc/dracut.conf.d/10-b.conf:1: force_drivers: nouveau'",
		  "", "'etc/dracut.conf.d/10-b.conf:1: force_drivers: =drivers/gpu/drm'", "false")),
	ROW("dracut with gpupass's module",
	    { "root/etc/dracut.conf.d/gpupass.conf",
	      "add_dracutmodules+=\" gpupass \"\nadd_drivers+=\" nvidia \"\n",
	      "root/usr/lib/dracut/modules.d/90gpupass/module-setup.sh", "" },
	    LISTS("", "", "", "false")),
	ROW("mkinitcpio",
	    { "root/etc/mkinitcpio.conf",
	      "MODULES=(vfio_pci vfio vfio_iommu_type1)\nFILES=(/etc/modprobe.d/nvidia.conf)\n"
	      "HOOKS=(base udev modconf block filesystems)\n" },
	    LISTS("", "", "", "false")),
	ROW("mkinitcpio's directory and presets",
	    { "root/etc/mkinitcpio.conf", "MODULES=(nvidia)\n", "root/etc/mkinitcpio-zen.conf",
	      "MODULES=(nouveau)\nfoo\n", "root/etc/mkinitcpio-zen.conf.d/x.conf",
	      "MODULES+=(nvidia_drm)\n", "root/etc/mkinitcpio.d/linux-zen.preset",
	      "ALL_config=\"/etc/mkinitcpio-zen.conf\"\nALL_kver='/boot/vmlinuz-linux-zen'\n" },
	    LISTS("'etc/mkinitcpio-zen.conf:1: MODULES: nouveau', 'etc/mkinitcpio-zen.conf.d/x.conf:1: MODULES: nvidia_drm'",
		  "", "'etc/mkinitcpio-zen.conf:2: foo'", "false")),
	/* Debian links it into modules-load.d. */
	ROW("etc/modules is read once",
	    { "root/etc/modules", "vfio_pci ids=10de:2204\n",
	      "root/etc/modules-load.d/modules.conf -> ../modules", "",
	      "root/etc/modules-load.d/vfio.conf -> /dev/null", "",
	      "root/usr/lib/modules-load.d/vfio.conf", "vfio_pci ids=10de:2204\n" },
	    LISTS("", "'etc/modules:1: vfio_pci ids=10de:2204'", "", "false")),
};

TEST(the_setup_is_read)
{
	look_rows(setups, ELEMENTS(setups), host, look);
}

TEST(modprobe_and_lists_of_modules_are_read_as_their_programs_do)
{
	look_rows(modules, ELEMENTS(modules), quiet_host, look);
}

TEST(bytes_that_are_no_text_are_no_words)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = quiet_host();

	tree_write_bytes(tree, "proc/cmdline", "a\0\xff", 3);
	tree_lay(tree, "root" HOOKS "network +x", "");
	tree_write_bytes(tree, "root" HOOKS "network", "virsh\0", 6);
	expect_json("bytes", look(tree), "{'cmdline': [], 'unread': [], 'host_hooks': []}");
}

/* Files of one fact that cannot be read leave room for those of another. */
TEST(what_cannot_be_read_is_told_of_each_fact)
{
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = host();
	_cleanup_(examination_freep) Examination *e = NULL;
	static char big[70000];

	memset(big, '#', sizeof(big));
	tree_write(tree, "proc/cmdline", "quiet\n");
	for (unsigned i = 0; i < 100; i++) {
		_cleanup_free_ char *path = strf("root/etc/driverctl.d/%03u", i);

		tree_write_bytes(tree, path, big, sizeof(big));
	}
	e = examine_setup(&tree->roots);
	assert_int_equal(strv_length(e->unread), 4 + 1);
	assert_true(str_starts_with(e->unread[3], "driverctl etc/driverctl.d/"));
	assert_true(str_starts_with(e->unread[4], "boot "));
}

/* libvirtd of root, which began so many seconds ago. */
static void began(SysfsTree *tree, int ago)
{
	long ticks = sysconf(_SC_CLK_TCK);
	_cleanup_free_ char *stat =
		strf("40 (libvirtd) S 1 40 40 0 -1 0 5 6 7 8 9 10 11 12 20 0 3 0 %lld 1 2\n",
		     ((long long)(clock_usec(CLOCK_BOOTTIME) / USEC_PER_SEC) - ago) * ticks);

	tree_write(tree, "proc/40/stat", stat);
}

/* field: newcomer 5 */
TEST(a_hook_counts_from_the_start_of_libvirt)
{
	static const struct {
		const char *name;
		int ago; /* libvirtd's start, while the files are of now */
		const char *other;
		bool late;
	} rows[] = {
		{ "at the same moment", 0, NULL, false },
		{ "libvirtd was there before", 10, NULL, true },
		{ "another hook outside the folder", 10, "root" HOOKS "qemu +x", false },
	};
	_cleanup_(sysfs_tree_freep) SysfsTree *tree = host();

	tree_add_process(tree, 40, "libvirtd", "0::/system.slice/libvirtd.service\n");
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(examination_freep) Examination *e = NULL;
		bool late_shows;
		struct statx st;

		tree_lay(tree, OURS " +x", "#!/bin/sh\n");
		if (rows[i].other)
			tree_lay(tree, rows[i].other, "#!/bin/sh\n");
		began(tree, rows[i].ago);
		e = examine_setup(&tree->roots);
		assert_string_equal(e->libvirt_daemon, "libvirtd (pid 40)");
		/* Not every file system knows when a folder was made. */
		late_shows = statx(tree->roots.root_fd, "etc", 0, STATX_BTIME, &st) == 0 &&
			     (st.stx_mask & STATX_BTIME);
		if (e->hook_known || e->hook_late != (rows[i].late && late_shows))
			fail_msg("%s: %d, %d", rows[i].name, e->hook_known, e->hook_late);
	}
}

TEST(what_cannot_be_ordered_is_not_known)
{
	enum { S = 1000000 };
	static const struct {
		uint64_t start, oldest, made;
		bool known, late;
	} rows[] = {
		{ 100 * S, 50 * S, 40 * S, true, false },
		{ 100 * S, 50 * S, 0, true, false },
		/* An upgrade replaces the file; the folder was there. */
		{ 100 * S, 150 * S, 40 * S, false, false },
		{ 100 * S, 150 * S, 150 * S, false, true },
		{ 100 * S, 150 * S, 0, false, false },
		{ 100 * S, 0, 150 * S, false, true },
		/* Too close. */
		{ 100 * S, 99 * S, 99 * S, false, false },
		{ 100 * S, 101 * S, 101 * S, false, false },
		/* The clock was set back. */
		{ 100 * S, 250 * S, 250 * S, false, false },
		{ 100 * S, 50 * S, 250 * S, false, false },
		/* Nothing is known of libvirt's start. */
		{ 0, 50 * S, 40 * S, false, false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		Examination e = { .libvirt_since_usec = rows[i].start };

		examination_order_hook(&e, rows[i].oldest, rows[i].made, 200 * S);
		if (e.hook_known != rows[i].known || e.hook_late != rows[i].late)
			fail_msg("row %zu: %d, %d", i, e.hook_known, e.hook_late);
	}
}
