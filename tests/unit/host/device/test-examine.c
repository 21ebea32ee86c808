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
#include "rig/sysfs-tree.h"
#include "rig/worker-model.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/text.h"

#define GPU "0000:41:00.0"
#define PORT "0000:40:01.1"

typedef struct Bench {
	SysfsTree *tree;
	ExamineRoots roots;
	char *root; /* stands for "/" */
} Bench;

static int setup(void **state)
{
	Bench *b = calloc(1, sizeof(*b));

	assert_non_null(b);
	b->tree = sysfs_tree_new(NULL);
	tree_add_bridge(b->tree, PORT, 21);
	tree_add_gpu(b->tree, GPU, 0x2204, "nvidia", 21, PORT);
	tree_write(b->tree, "root/etc/hostname", "h\n");
	b->root = strf("%s/root", b->tree->path);
	assert_non_null(b->root);
	b->roots = (ExamineRoots){
		.sysfs_fd = b->tree->roots.sysfs_fd,
		.proc_fd = b->tree->roots.proc_fd,
		.root_fd = open(b->root, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	};
	assert_true(b->roots.root_fd >= 0);
	*state = b;
	return 0;
}

static int teardown(void **state)
{
	Bench *b = *state;

	close_fd(b->roots.root_fd);
	sysfs_tree_free(b->tree);
	free(b->root);
	free(b);
	return 0;
}

/* x8 of x16 lanes at 16 GT/s; a root port has ACS turned off. */
static void set_config(Bench *b, const char *bdf, bool port)
{
	uint8_t bytes[PCIE_CONFIG_BYTES] = { 0xde, 0x10 };
	_cleanup_free_ char *path = strf("sys/bus/pci/devices/%s/config", bdf);

	assert_non_null(path);
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
	tree_write_bytes(b->tree, path, bytes, sizeof(bytes));
}

static GpuHealth examine(Bench *b)
{
	GpuHealth health = { 0 };
	Bdf gpu = tree_bdf(GPU), port = tree_bdf(PORT);

	assert_int_equal(examine_gpu(&b->roots, &gpu, &port, 1, &health), 0);
	return health;
}

#define WITH_SETUP(name) TEST_WITH(name, setup, teardown)

WITH_SETUP(an_awake_gpu_is_read_with_its_port)
{
	Bench *b = *state;
	GpuHealth health;

	tree_write_attribute(b->tree, GPU, "power_state", "D0\n");
	tree_write_attribute(b->tree, PORT, "power_state", "D0\n");
	set_config(b, GPU, false);
	set_config(b, PORT, true);
	tree_write_attribute(b->tree, GPU, "aer_dev_correctable", "RxErr 3\nTOTAL_ERR_COR 3\n");
	tree_write_attribute(b->tree, GPU, "aer_dev_nonfatal", "TOTAL_ERR_NONFATAL 2\n");
	tree_write_attribute(b->tree, GPU, "aer_dev_fatal", "TOTAL_ERR_FATAL 1\n");
	health = examine(b);
	assert_string_equal(health.power_state, "D0");
	assert_true(health.config.read && health.aer);
	assert_int_equal(health.config.width, 8);
	assert_int_equal(health.config.width_max, 16);
	assert_int_equal(health.correctable, 3);
	assert_int_equal(health.nonfatal, 2);
	assert_int_equal(health.fatal, 1);
	assert_int_equal(health.n_ports, 1);
	assert_true(pcie_acs_is_off(&health.ports[0].config));
	gpu_health_clear(&health);
}

/* A config file that must not be opened: a FIFO, at which the reader would wait for ever. */
static void trap(Bench *b, const char *bdf)
{
	_cleanup_free_ char *path = strf("%s/bus/pci/devices/%s/config", b->tree->sysfs, bdf);

	assert_non_null(path);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
}

WITH_SETUP(what_sleeps_is_not_read)
{
	static const char *const states[] = { "D3hot\n", "D3cold\n", "D1\n", "unknown\n", NULL };
	Bench *b = *state;

	trap(b, GPU);
	trap(b, PORT);
	for (size_t i = 0; i < ELEMENTS(states); i++) {
		GpuHealth health;

		if (states[i])
			tree_write_attribute(b->tree, GPU, "power_state", states[i]);
		else
			tree_remove_attribute(b->tree, GPU, "power_state");
		health = examine(b);
		assert_false(health.config.read);
		assert_false(health.ports[0].config.read);
		gpu_health_clear(&health);
	}
}

WITH_SETUP(a_gpu_that_is_gone_is_told)
{
	Bench *b = *state;
	GpuHealth health = { 0 };
	Bdf gone = tree_bdf("0000:99:00.0");

	assert_int_equal(examine_gpu(&b->roots, &gone, NULL, 0, &health), -ENOENT);
}

/* One that hangs its reader costs its own deadline, and no other GPU's facts. */
WITH_SETUP(a_gpu_that_hangs_hides_no_other)
{
	Bench *b = *state;
	const WorkerConfig config = {
		.program = WORKER,
		.sysfs_dir = b->tree->sysfs,
		.proc_dir = b->tree->proc,
		.root_dir = b->root,
	};
	PciFunction hangs = { .bdf = tree_bdf(GPU) }, well = { .bdf = tree_bdf("0000:61:00.0") };
	const PciFunction *leads[] = { &hangs, &well };
	GpuHealth health[2] = { 0 };
	_cleanup_free_ char *fifo = strf("%s/bus/pci/devices/" GPU "/config", b->tree->sysfs);
	int fd;

	tree_add_gpu(b->tree, "0000:61:00.0", 0x2204, "nvidia", 22, NULL);
	tree_write_attribute(b->tree, GPU, "power_state", "D0\n");
	tree_write_attribute(b->tree, "0000:61:00.0", "power_state", "D0\n");
	set_config(b, "0000:61:00.0", false);
	trap(b, GPU);
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

WITH_SETUP(the_setup_is_read)
{
	Bench *b = *state;
	_cleanup_(examination_freep) Examination *e = NULL;

	tree_write(b->tree, "proc/cmdline", "quiet intel_iommu=on\n");
	tree_write(b->tree, "proc/driver/nvidia/version",
		   "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue\n");
	tree_add_process(b->tree, 12, "virtqemud", "0::/system.slice/virtqemud.service\n");
	tree_write(b->tree, "proc/12/limits",
		   "Max locked memory         65536                65536                bytes\n");
	tree_write(b->tree, "proc/12/status", "CapEff:\t0000000000000000\n");
	tree_add_process(b->tree, 13, "nvidia-persiste",
			 "0::/system.slice/nvidia-persistenced.service\n");
	tree_add_process(b->tree, 14, "bash", "0::/\n");
	tree_write(b->tree, "sys/module/nvidia/initstate", "live\n");
	tree_write(b->tree, "root/etc/modprobe.d/v.conf", "options vfio-pci ids=10de:2204\n");
	tree_write(b->tree, "root/etc/initramfs-tools/modules", "# list\nnvidia\n");
	tree_write(b->tree, "root/etc/driverctl.d/pci-" GPU, "vfio-pci\n");
	tree_write(b->tree, "root/run/systemd/system/x", "");
	tree_link(b->tree, "root/etc/systemd/system/sysinit.target.wants/gpupass-bind.service",
		  "root/nowhere");
	tree_write(b->tree, "root/run/gpupass/boot.json",
		   "{\"schema\": \"org.gpupass1.boot/1\", \"functions\": [{\"bdf\": \"" GPU
		   "\", \"outcome\": \"missing\"}], \"notes\": []}");
	e = examine_setup(&b->roots);
	assert_string_equal(e->cmdline[0], "intel_iommu=on");
	assert_string_equal(e->nvidia_version, "550.54.15");
	assert_string_equal(e->libvirt_daemon, "virtqemud (pid 12)");
	assert_true(e->memlock_limited);
	assert_int_equal(e->memlock_bytes, 65536);
	assert_int_equal(strv_length(e->services), 1);
	assert_string_equal(e->services[0],
			    "nvidia-persiste (pid 13, unit nvidia-persistenced.service)");
	assert_true(strv_contains(e->modules, "nvidia"));
	assert_string_equal(e->modprobe[0], "options vfio_pci ids=10de:2204");
	assert_null(e->unread);
	assert_string_equal(e->initramfs[0], "etc/initramfs-tools/modules:2: nvidia");
	assert_string_equal(e->initramfs_at[0], "/etc/initramfs-tools/modules");
	assert_string_equal(e->driverctl[0], GPU " vfio-pci");
	assert_string_equal(e->boot[0], GPU " missing");
	assert_true(e->systemd && e->bind_enabled);
	assert_null(e->unread);
}

/* A tree of files, and what is found in it. field: host/10 */
static const struct ListsRow {
	const char *what, *files[9]; /* path, text */
	const char *drivers, *options, *unknown;
	bool hook;
} lists_rows[] = {
	ROW("initramfs-tools",
	    { "etc/initramfs-tools/modules",
	      "softdep nvidia pre: vfio\noptions vfio_pci ids=10de:2204\nvfio_pci ids=10de:2204\n",
	      "usr/share/initramfs-tools/modules.d/gpu", "nouveau\n",
	      "etc/initramfs-tools/modules.d/x", "nvidia\n" },
	    "usr/share/initramfs-tools/modules.d/gpu:1: nouveau",
	    "etc/initramfs-tools/modules:3: vfio_pci ids=10de:2204", "", false),
	ROW("a hook counts for its own program only",
	    { "usr/share/initramfs-tools/modules.d/gpu", "nouveau\n",
	      "usr/share/initramfs-tools/hooks/gpupass", "", "etc/mkinitcpio.conf",
	      "MODULES=(nvidia)\n" },
	    "etc/mkinitcpio.conf:1: MODULES: nvidia", "", "", true),
	ROW("modules-load.d: the first of a name is read, be it empty",
	    { "etc/modules", "vfio_pci ids=1\nnvidia\n", "etc/modules-load.d/a.conf", "",
	      "usr/lib/modules-load.d/a.conf", "vfio_pci ids=2\n", "usr/lib/modules-load.d/b.conf",
	      "pci_stub ids=3\n" },
	    "", "etc/modules:1: vfio_pci ids=1|usr/lib/modules-load.d/b.conf:1: pci_stub ids=3", "",
	    false),
	ROW("dracut: 10- comes after 9-, and its module must be asked for",
	    { "etc/dracut.conf", "add_drivers=\" nvidia \"\n", "etc/dracut.conf.d/10-b.conf",
	      "force_drivers=\" vfio_pci nouveau =drivers/gpu/drm \"\nomit_drivers+=\" nvidia \"\n",
	      "usr/lib/dracut/dracut.conf.d/9-a.conf", "force_drivers=\" snd_hda_intel \"\n",
	      "usr/lib/dracut/modules.d/90gpupass/module-setup.sh", "" },
	    "etc/dracut.conf:1: add_drivers: nvidia|"
	    "etc/dracut.conf.d/10-b.conf:1: force_drivers: nouveau",
	    "", "etc/dracut.conf.d/10-b.conf:1: force_drivers: =drivers/gpu/drm", false),
	ROW("dracut with gpupass's module",
	    { "etc/dracut.conf.d/gpupass.conf",
	      "add_dracutmodules+=\" gpupass \"\nadd_drivers+=\" nvidia \"\n",
	      "usr/lib/dracut/modules.d/90gpupass/module-setup.sh", "" },
	    "", "", "", false),
	ROW("mkinitcpio",
	    { "etc/mkinitcpio.conf",
	      "MODULES=(vfio_pci vfio vfio_iommu_type1)\nFILES=(/etc/modprobe.d/nvidia.conf)\n"
	      "HOOKS=(base udev modconf block filesystems)\n" },
	    "", "", "", false),
	ROW("mkinitcpio's directory and presets",
	    { "etc/mkinitcpio.conf", "MODULES=(nvidia)\n", "etc/mkinitcpio-zen.conf",
	      "MODULES=(nouveau)\nfoo\n", "etc/mkinitcpio-zen.conf.d/x.conf",
	      "MODULES+=(nvidia_drm)\n", "etc/mkinitcpio.d/linux-zen.preset",
	      "ALL_config=\"/etc/mkinitcpio-zen.conf\"\nALL_kver='/boot/vmlinuz-linux-zen'\n" },
	    "etc/mkinitcpio-zen.conf:1: MODULES: nouveau|"
	    "etc/mkinitcpio-zen.conf.d/x.conf:1: MODULES: nvidia_drm",
	    "", "etc/mkinitcpio-zen.conf:2: foo", false),
};

static void expect_lines(const char *what, char *const *lines, const char *expected)
{
	_cleanup_free_ char *joined = strv_join(lines, "|");

	if (!str_equal(joined, expected))
		fail_msg("%s: \"%s\", not \"%s\"", what, joined, expected);
}

WITH_SETUP(lists_of_modules_are_read_as_their_programs_do)
{
	for (size_t i = 0; i < ELEMENTS(lists_rows); i++) {
		const struct ListsRow *row = &lists_rows[i];
		_cleanup_(examination_freep) Examination *e = NULL;
		void *bench = NULL;
		Bench *b;

		setup(&bench);
		b = bench;
		for (size_t k = 0; row->files[k]; k += 2) {
			_cleanup_free_ char *path = strf("root/%s", row->files[k]);

			tree_write(b->tree, path, row->files[k + 1]);
		}
		e = examine_setup(&b->roots);
		expect_lines(row->what, e->initramfs, row->drivers);
		expect_lines(row->what, e->module_options, row->options);
		expect_lines(row->what, e->modules_unknown, row->unknown);
		assert_int_equal(e->initramfs_hook, row->hook);
		teardown(&bench);
	}
}

/* Debian links it into modules-load.d. */
WITH_SETUP(etc_modules_is_read_once)
{
	Bench *b = *state;
	_cleanup_(examination_freep) Examination *e = NULL;
	_cleanup_free_ char *link = strf("%s/etc/modules-load.d/modules.conf", b->root);
	_cleanup_free_ char *masked = strf("%s/etc/modules-load.d/vfio.conf", b->root);

	tree_write(b->tree, "root/etc/modules", "vfio_pci ids=10de:2204\n");
	tree_write(b->tree, "root/etc/modules-load.d/x.conf", "");
	tree_write(b->tree, "root/usr/lib/modules-load.d/vfio.conf", "vfio_pci ids=10de:2204\n");
	assert_int_equal(symlink("../modules", link), 0);
	assert_int_equal(symlink("/dev/null", masked), 0);
	e = examine_setup(&b->roots);
	expect_lines("link", e->module_options, "etc/modules:1: vfio_pci ids=10de:2204");
	assert_null(e->modules_unknown);
}

WITH_SETUP(an_empty_host_is_no_error)
{
	Bench *b = *state;
	_cleanup_(examination_freep) Examination *e = NULL;

	e = examine_setup(&b->roots);
	assert_null(e->modprobe);
	assert_null(e->nvidia_version);
	assert_false(e->systemd || e->bind_enabled || e->memlock_limited);
	/* These are always there, or must be: without them nothing is known. */
	assert_int_equal(strv_length(e->unread), 2);
	assert_string_equal(e->unread[0], "cmdline /proc/cmdline: No such file or directory");
	assert_true(str_starts_with(e->unread[1], "boot /run/gpupass/boot.json: "));
}

/* modprobe.d of a host, and the settings that matter, with the files that name their modules. */
static const struct {
	const char *files[3][2]; /* "A -> B": a link */
	const char *settings, *places, *unread;
} modprobe_rows[] = {
	/* field: host/01 */
	ROW({ { "etc/modprobe.d/vfio.conf", "options vfio-pci \\\n  ids=10de:2204,10de:1aef \\\n"
					    "  disable_vga=1\nsoftdep nvidia pre: vfio-pci\n" } },
	    "options vfio_pci   ids=10de:2204,10de:1aef   disable_vga=1|"
	    "softdep nvidia pre: vfio-pci",
	    "vfio_pci /etc/modprobe.d/vfio.conf|nvidia /etc/modprobe.d/vfio.conf", ""),
	ROW({ { "etc/modprobe.d/vfio.conf", "options\tvfio-pci\tids=10de:2204\n" } },
	    "options vfio_pci ids=10de:2204", "vfio_pci /etc/modprobe.d/vfio.conf", ""),
	/* field: host/14 */
	ROW({ { "etc/modprobe.d/vfio.conf", "# masks the file of the same name\n" },
	      { "usr/lib/modprobe.d/vfio.conf", "options vfio-pci ids=10de:2204\n" } },
	    "", "", ""),
	ROW({ { "run/modprobe.d/vfio.conf -> /dev/null", "" },
	      { "usr/lib/modprobe.d/vfio.conf", "options vfio-pci ids=10de:2204\n" } },
	    "", "", ""),
	/* The last one counts, by the names of the files and whatever folder they are in. */
	ROW({ { "etc/modprobe.d/b.conf", "options vfio-pci ids=1:2\n" },
	      { "usr/local/lib/modprobe.d/a.conf", "options vfio_pci ids=3:4" },
	      { "lib/modprobe.d/c.conf",
		"install nouveau \t/bin/false\nblacklist snd-hda-intel" } },
	    "options vfio_pci ids=3:4|options vfio_pci ids=1:2|blacklist snd_hda_intel|"
	    "install nouveau  /bin/false",
	    "vfio_pci /etc/modprobe.d/b.conf|vfio_pci /usr/local/lib/modprobe.d/a.conf|"
	    "snd_hda_intel /lib/modprobe.d/c.conf|nouveau /lib/modprobe.d/c.conf",
	    ""),
	ROW({ { "etc/modprobe.d/other.txt", "options vfio-pci ids=1:2\n" },
	      { "etc/modprobe.d/sub.conf/a.conf", "options vfio-pci ids=1:2\n" },
	      { "etc/modprobe.d/gone.conf -> /nowhere", "" } },
	    "", "", ""),
	ROW({ { "etc/modprobe.d/a.conf", "options vfio-pci ids=1:2\n" },
	      { "etc/modprobe.d/zero.conf -> /dev/zero", "" } },
	    "", "", "modprobe /etc/modprobe.d/zero.conf: File too large"),
};

static void lay_out(Bench *b, const char *path, const char *text)
{
	const char *arrow = strstr(path, " -> ");
	_cleanup_free_ char *name = strndup(path, arrow ? (size_t)(arrow - path) : strlen(path));
	_cleanup_free_ char *full = name ? strf("root/%s", name) : NULL;

	assert_non_null(full);
	tree_write(b->tree, full, text);
	if (!arrow)
		return;
	assert_int_equal(unlinkat(b->roots.root_fd, name, 0), 0);
	assert_int_equal(symlinkat(arrow + strlen(" -> "), b->roots.root_fd, name), 0);
}

WITH_SETUP(modprobe_is_read_as_modprobe_reads)
{
	for (size_t i = 0; i < ELEMENTS(modprobe_rows); i++) {
		_cleanup_(examination_freep) Examination *e = NULL;
		_cleanup_free_ char *settings = NULL, *places = NULL, *unread = NULL;
		Bench *b;

		if (i > 0)
			setup(state);
		b = *state;
		tree_write(b->tree, "proc/cmdline", "modprobe.blacklist=nouveau\n");
		tree_write(b->tree, "root/run/gpupass/boot.json", "{}");
		for (size_t k = 0; k < 3 && modprobe_rows[i].files[k][0]; k++)
			lay_out(b, modprobe_rows[i].files[k][0], modprobe_rows[i].files[k][1]);
		e = examine_setup(&b->roots);
		settings = strv_join(e->modprobe, "|");
		places = strv_join(e->modprobe_at, "|");
		unread = strv_join(e->unread, "|");
		assert_string_equal(settings, modprobe_rows[i].settings);
		assert_string_equal(places, modprobe_rows[i].places);
		assert_string_equal(unread, modprobe_rows[i].unread);
		if (i + 1 < ELEMENTS(modprobe_rows))
			teardown(state);
	}
}

WITH_SETUP(what_the_kernel_has_built_in_is_told)
{
	Bench *b = *state;
	_cleanup_(examination_freep) Examination *e = NULL;

	tree_write(b->tree, "proc/sys/kernel/osrelease", "6.8.0\n");
	tree_write(b->tree, "root/lib/modules/6.8.0/modules.builtin",
		   "kernel/drivers/vfio/pci/vfio-pci-core.ko\nkernel/drivers/pci/pci-stub.ko\n");
	e = examine_setup(&b->roots);
	assert_int_equal(strv_length(e->builtin), 1);
	assert_string_equal(e->builtin[0], "pci_stub");
}

static void write_script(Bench *b, const char *path, const char *text, mode_t mode)
{
	_cleanup_free_ char *below = strf("root/%s", path);

	assert_non_null(below);
	tree_write(b->tree, below, text);
	assert_int_equal(fchmodat(b->roots.root_fd, path, mode, 0), 0);
}

/* field: host/08 */
WITH_SETUP(other_hooks_of_libvirt_are_told_by_what_they_name)
{
	Bench *b = *state;
	_cleanup_(examination_freep) Examination *e = NULL;
	_cleanup_free_ char *all = NULL;

#define HOOKS "etc/libvirt/hooks/"
	write_script(b, HOOKS "qemu",
		     "#!/bin/bash\nH=\"$0.d/$1/$2/$3\"; [ -d \"$H\" ] && for f in \"$H\"/*; do "
		     "\"$f\" \"$@\"; done\n/usr/local/bin/vfio-startup >>/var/log/x\n",
		     0755);
	write_script(b, "usr/local/bin/vfio-startup", "#!/bin/sh\nmodprobe vfio-pci\n", 0755);
	write_script(b, HOOKS "qemu.d/vm42/prepare/begin/start.sh",
		     "#!/bin/bash\n"
		     "modprobe -r nvidia_drm nvidia_modeset nvidia_uvm nvidia\n"
		     "virsh nodedev-detach pci_0000_41_00_0\n"
		     "virsh nodedev-detach pci_0000_41_00_1\n",
		     0755);
	write_script(b, HOOKS "qemu.d/vm42/release/end/stop.sh",
		     "#!/bin/bash\nvirsh nodedev-reattach pci_0000_41_00_0\nmodprobe nvidia\n",
		     0700);
	write_script(b, HOOKS "qemu.d/vm42/release/end/old.sh", "#!/bin/sh\nrmmod nvidia\n", 0644);
	write_script(b, HOOKS "qemu.d/gpupass", "virsh\n", 0755);
	write_script(b, HOOKS "qemu.d/log", "#!/bin/sh\nlogger \"$1\" # not virsh\n", 0755);
	tree_write_bytes(b->tree, "root/" HOOKS "network", "virsh\0", 6);
	assert_int_equal(fchmodat(b->roots.root_fd, HOOKS "network", 0755, 0), 0);
	e = examine_setup(&b->roots);
	all = strv_join(e->host_hooks, "\n");
	assert_string_equal(
		all, "/" HOOKS
		     "qemu.d/vm42/prepare/begin/start.sh names modprobe -r nvidia_drm at line 2\n"
		     "/" HOOKS "qemu.d/vm42/prepare/begin/start.sh names virsh nodedev-detach "
		     "pci_0000_41_00_0 at line 3\n"
		     "/" HOOKS "qemu.d/vm42/prepare/begin/start.sh names virsh nodedev-detach "
		     "pci_0000_41_00_1 at line 4\n"
		     "/" HOOKS "qemu.d/vm42/release/end/stop.sh names virsh nodedev-reattach "
		     "pci_0000_41_00_0 at line 2\n"
		     "/" HOOKS "qemu.d/vm42/release/end/stop.sh names modprobe nvidia at line 3\n"
		     "/usr/local/bin/vfio-startup names modprobe vfio-pci at line 2");
#undef HOOKS
}

WITH_SETUP(files_that_cannot_be_understood_are_passed_over_or_told)
{
	Bench *b = *state;
	_cleanup_(examination_freep) Examination *e = NULL;
	tree_write_bytes(b->tree, "proc/cmdline", "a\0\xff", 3);
	tree_write(b->tree, "root/run/gpupass/boot.json", "{");
	e = examine_setup(&b->roots);
	assert_string_equal(e->boot[0], "/run/gpupass/boot.json cannot be understood");
	assert_null(e->unread);
}

/* Files of one fact that cannot be read leave room for those of another. */
WITH_SETUP(what_cannot_be_read_is_told_of_each_fact)
{
	Bench *b = *state;
	_cleanup_(examination_freep) Examination *e = NULL;
	static char big[70000];

	memset(big, '#', sizeof(big));
	tree_write(b->tree, "proc/cmdline", "quiet\n");
	for (unsigned i = 0; i < 100; i++) {
		_cleanup_free_ char *path = strf("root/etc/driverctl.d/%03u", i);

		assert_non_null(path);
		tree_write_bytes(b->tree, path, big, sizeof(big));
	}
	e = examine_setup(&b->roots);
	assert_int_equal(strv_length(e->unread), 4 + 1);
	assert_true(str_starts_with(e->unread[3], "driverctl etc/driverctl.d/"));
	assert_true(str_starts_with(e->unread[4], "boot "));
}

/* ---- libvirt's hook ---- */

#define HOOKS "root/etc/libvirt/hooks"
#define OURS HOOKS "/qemu.d/gpupass"

static void add_hook(Bench *b, const char *path, const char *content, mode_t mode)
{
	_cleanup_free_ char *whole = strf("%s/%s", b->tree->path, path);

	assert_non_null(whole);
	tree_write(b->tree, path, content);
	assert_int_equal(chmod(whole, mode), 0);
}

/* libvirtd of root, which began so many seconds ago. */
static void began(Bench *b, int ago)
{
	long ticks = sysconf(_SC_CLK_TCK);
	_cleanup_free_ char *stat =
		strf("40 (libvirtd) S 1 40 40 0 -1 0 5 6 7 8 9 10 11 12 20 0 3 0 %lld 1 2\n",
		     ((long long)(clock_usec(CLOCK_BOOTTIME) / USEC_PER_SEC) - ago) * ticks);

	tree_write(b->tree, "proc/40/stat", stat);
}

/* field: newcomer 5 */
WITH_SETUP(what_lies_in_the_hooks_place_is_told)
{
	static const struct {
		const char *content;
		mode_t mode;
		bool runs;
		const char *is;
	} rows[] = {
		{ "\x7f"
		  "ELF\1\1 " GPUPASS_HOOK_SAYS ", with …",
		  0755, true, "gpupass-hook" },
		{ "\x7f"
		  "ELF\1\1 another",
		  0755, true, "another program" },
		{ "#!/bin/sh\nexec gpupass-hook # " GPUPASS_HOOK_SAYS "\n", 0755, true,
		  "a script" },
		{ GPUPASS_HOOK_SAYS, 0755, true, "another program" },
		{ "", 0755, true, "another program" },
		{ "\x7f"
		  "ELF " GPUPASS_HOOK_SAYS,
		  0644, false, NULL },
	};
	Bench *b = *state;

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(examination_freep) Examination *e = NULL;

		add_hook(b, OURS, rows[i].content, rows[i].mode);
		e = examine_setup(&b->roots);
		if (!e->hook || e->hook_runs != rows[i].runs || !str_equal(e->hook_is, rows[i].is))
			fail_msg("row %zu: %s", i, str_or_empty(e->hook_is));
	}
}

/* field: newcomer 5 */
WITH_SETUP(a_hook_counts_from_the_start_of_libvirt)
{
	static const struct {
		const char *name;
		int ago; /* libvirtd's start, while the files are of now */
		const char *other;
		bool late;
	} rows[] = {
		{ "at the same moment", 0, NULL, false },
		{ "libvirtd was there before", 10, NULL, true },
		{ "another hook outside the folder", 10, HOOKS "/qemu", false },
	};
	Bench *b = *state;

	tree_add_process(b->tree, 40, "libvirtd", "0::/system.slice/libvirtd.service\n");
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(examination_freep) Examination *e = NULL;
		bool late_shows;
		struct statx st;

		add_hook(b, OURS, "#!/bin/sh\n", 0755);
		if (rows[i].other)
			add_hook(b, rows[i].other, "#!/bin/sh\n", 0755);
		began(b, rows[i].ago);
		e = examine_setup(&b->roots);
		assert_string_equal(e->libvirt_daemon, "libvirtd (pid 40)");
		/* Not every file system knows when a folder was made. */
		late_shows = statx(b->roots.root_fd, "etc", 0, STATX_BTIME, &st) == 0 &&
			     (st.stx_mask & STATX_BTIME);
		if (e->hook_known || e->hook_late != (rows[i].late && late_shows))
			fail_msg("%s: %d, %d", rows[i].name, e->hook_known, e->hook_late);
	}
}

WITH_SETUP(what_cannot_be_ordered_is_not_known)
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
