/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/device/examine.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>

#include "core/facts/boot-faults.h"
#include "core/setup/setup-files.h"
#include "host/device/config-space.h"
#include "host/modprobe/modprobe-files.h"
#include "host/scan/nvidia-proc.h"
#include "host/scan/process.h"
#include "host/scan/sysfs.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

#define AER_MAX_BYTES 4096
#define FILES_MAX 256
#define UNREAD_MAX 4	   /* lines of a fact */
#define BOOT_FAULT_MAX 384 /* bytes kept of what was wrong */

/* NULL: the file is absent, too big, or unreadable. */
static char *read_if_any(int dir_fd, const char *path)
{
	char *text = NULL;

	(void)file_read_at(dir_fd, path, EXAMINE_FILE_MAX, &text, NULL);
	return text;
}

/*
 * Without a fact its check must not pass. `error` of an absent file is none, unless it is always
 * there. `fact` NULL: no check rests on it.
 */
static void note_unread(Examination *e, const char *fact, const char *path, int error)
{
	size_t n = 0;

	/* The first few of each fact: hidden processes must not leave no room for another one. */
	for (char **line = e->unread; fact && line && *line; line++)
		n += str_starts_with(*line, fact);
	if (error < 0 && fact && n < UNREAD_MAX)
		strv_appendf(&e->unread, "%s %s: %s", fact, path, strerror(-error));
}

static void note_unread_if_any(Examination *e, const char *fact, const char *path, int error)
{
	note_unread(e, fact, path, error == -ENOENT ? 0 : error);
}

/* The folder may be absent. */
static void read_driverctl(int root_fd, Examination *e)
{
	static const char folder[] = "etc/driverctl.d";
	_cleanup_strv_ char **names = NULL;
	_cleanup_close_ int fd = -1;
	int r = dir_open_at(root_fd, folder, false, &fd);

	if (r >= 0)
		r = dir_list(fd, "", &names);
	note_unread_if_any(e, "driverctl", folder, r);
	for (size_t i = 0; names && names[i] && i < FILES_MAX; i++) {
		_cleanup_free_ char *path = strf("%s/%s", folder, names[i]), *text = NULL;

		r = file_read_at(fd, names[i], EXAMINE_FILE_MAX, &text, NULL);
		if (r < 0)
			note_unread_if_any(e, "driverctl", path, r);
		else
			setup_read_driverctl(names[i], text, &e->driverctl);
	}
	if (strv_length(names) > FILES_MAX)
		note_unread(e, "driverctl", folder, -E2BIG);
}

static void read_modprobe(const Roots *roots, Examination *e)
{
	_cleanup_free_ char *release = NULL;
	int r = file_read_line_at(roots->proc_fd, "sys/kernel/osrelease", &release);

	modprobe_files_read(roots->root_fd, r < 0 || strchr(release, '/') ? "none" : release, e);
}

static void read_modules(int sysfs_fd, Examination *e)
{
	static const char *const names[] = { "vfio",	"vfio_pci",   "vfio_iommu_type1",
					     "nvidia",	"nvidia_drm", "nvidia_uvm",
					     "nouveau", "pci_stub" };

	for (size_t i = 0; i < ELEMENTS(names); i++) {
		/* A built-in module with parameters has a directory, without initstate. */
		_cleanup_free_ char *path = strf("module/%s", names[i]);

		if (faccessat(sysfs_fd, path, F_OK, 0) == 0)
			strv_append(&e->modules, names[i]);
	}
}

/* ---- processes ---- */

/* Names as the kernel keeps them, of 15 characters. */
static bool is_service(const char *comm)
{
	static const char *const names[] = { "nvidia-persiste", "nv-hostengine", "nv-fabricmanage",
					     "dcgm-exporter" };

	return SOME_OF(names, ELEMENTS(names), strcmp(comm, it) == 0);
}

static void note_service(int process_fd, const char *comm, const char *pid, Examination *e)
{
	_cleanup_free_ char *text = read_if_any(process_fd, "cgroup"), *unit = NULL;
	_cleanup_free_ char *container = NULL;

	if (text)
		cgroup_identify(text, &unit, &container);
	strv_appendf(&e->services, "%s (pid %s%s%s%s%s)", comm, pid, unit ? ", unit " : "",
		     str_or_empty(unit), container ? ", container " : "", str_or_empty(container));
}

/*
 * When a process started, by the clock of today: the kernel counts from the boot, which no set
 * clock moves. Untouched where that is not known.
 */
static void read_start(int process_fd, uint64_t *ret_usec)
{
	_cleanup_free_ char *stat = read_if_any(process_fd, "stat");
	uint64_t since_boot = clock_usec(CLOCK_BOOTTIME), ticks;

	if (!stat || !setup_read_start(stat, &ticks))
		return;
	ticks = ticks * USEC_PER_SEC / (uint64_t)sysconf(_SC_CLK_TCK);
	if (ticks <= since_boot)
		*ret_usec = now_realtime() - (since_boot - ticks);
}

/*
 * libvirt raises the limit of each QEMU to what the guest's memory needs, with prlimit(2). If
 * libvirt lacks the capability for that, as in a container, its own limit counts.
 */
static void note_libvirt(int process_fd, const char *comm, const char *pid, Examination *e)
{
	_cleanup_free_ char *limits = NULL, *status = NULL;
	struct stat st;
	uint64_t bytes;

	/* A user has one of their own for qemu:///session. */
	if (e->libvirt_daemon || fstat(process_fd, &st) < 0 || st.st_uid != geteuid())
		return;
	e->libvirt_daemon = strf("%s (pid %s)", comm, pid);
	read_start(process_fd, &e->libvirt_since_usec);
	limits = read_if_any(process_fd, "limits");
	status = read_if_any(process_fd, "status");
	if (status && setup_may_raise_limits(status))
		return;
	if (!status || !limits || !setup_read_memlock(limits, &bytes)) {
		note_unread(e, "memlock", e->libvirt_daemon, -EIO);
	} else if (bytes <= INT64_MAX) {
		e->memlock_limited = true;
		e->memlock_bytes = bytes;
	}
}

static void note_process(int proc_fd, const char *pid, Examination *e)
{
	_cleanup_free_ char *comm = NULL;
	_cleanup_close_ int fd = -1;
	int r = dir_open_at(proc_fd, pid, false, &fd);

	if (r >= 0)
		r = file_read_line_at(fd, "comm", &comm);
	/* It may have ended meanwhile. */
	if (r < 0)
		note_unread_if_any(e, "processes", pid, r == -ESRCH ? 0 : r);
	else if (is_service(comm) && strv_length(e->services) < SETUP_LINES_MAX)
		note_service(fd, comm, pid, e);
	else if (strcmp(comm, "libvirtd") == 0 || strcmp(comm, "virtqemud") == 0)
		note_libvirt(fd, comm, pid, e);
}

static void read_processes(int proc_fd, Examination *e)
{
	_cleanup_strv_ char **names = NULL;
	int r = dir_list(proc_fd, "", &names);

	note_unread(e, "processes", "/proc", r);
	for (char **name = names; name && *name; name++) {
		unsigned long long pid;

		if (str_to_unsigned(*name, 10, INT_MAX, &pid) >= 0)
			note_process(proc_fd, *name, e);
	}
}

/* ---- texts of one file ---- */

static void read_cmdline(int proc_fd, Examination *e)
{
	_cleanup_free_ char *text = NULL;
	int r = file_read_at(proc_fd, "cmdline", EXAMINE_FILE_MAX, &text, NULL);

	if (r < 0)
		note_unread(e, "cmdline", "/proc/cmdline", r);
	else
		e->cmdline = setup_read_cmdline(text);
}

static void read_boot(int root_fd, Examination *e)
{
	_cleanup_(boot_faults_freep) BootFaults *faults = NULL;
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	int r = file_read_at(root_fd, "run/gpupass/boot.json", EXAMINE_FILE_MAX, &text, &size);

	note_unread(e, "boot", "/run/gpupass/boot.json", r);
	if (r >= 0 && boot_faults_parse(text, size, &faults, NULL) < 0)
		strv_append(&e->boot, "/run/gpupass/boot.json cannot be understood");
	for (size_t i = 0; faults && i < faults->n_items && i < SETUP_LINES_MAX; i++) {
		_cleanup_free_ char *what = boot_fault_text(&faults->items[i]);

		strv_appendf(&e->boot, "%s %.*s", BDF_TEXT(&faults->items[i].bdf), BOOT_FAULT_MAX,
			     what);
	}
}

static void read_systemd(int root_fd, Examination *e)
{
	static const char link[] = "etc/systemd/system/sysinit.target.wants/gpupass-bind.service";

	e->systemd = faccessat(root_fd, "run/systemd/system", F_OK, 0) == 0;
	e->bind_enabled = faccessat(root_fd, link, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

Examination *examine_setup(const Roots *roots)
{
	Examination *e = xcalloc(1, sizeof(*e));

	read_cmdline(roots->proc_fd, e);
	e->nvidia_version = nvidia_proc_version(roots->proc_fd);
	read_processes(roots->proc_fd, e);
	read_modules(roots->sysfs_fd, e);
	read_modprobe(roots, e);
	examine_module_lists(roots->root_fd, e);
	read_driverctl(roots->root_fd, e);
	read_boot(roots->root_fd, e);
	examine_hook(roots->root_fd, e);
	read_systemd(roots->root_fd, e);
	return e;
}

/* ---- the health of a GPU ---- */

/* An absent or unreadable attribute says nothing; that is not a failure. */
static void read_if_awake(int sysfs_fd, const Bdf *bdf, char **ret_state, PcieConfig *ret)
{
	(void)sysfs_read_attribute(sysfs_fd, bdf, "power_state", ret_state);
	if (str_equal(*ret_state, "D0"))
		config_space_read(sysfs_fd, bdf, ret);
}

/* Counters in the kernel's memory; reading them does not touch the device. */
static void read_counter(int sysfs_fd, GpuHealth *health, const char *name, uint64_t *ret)
{
	_cleanup_free_ char *path = sysfs_function_path(&health->bdf, name), *text = NULL;

	if (file_read_at(sysfs_fd, path, AER_MAX_BYTES, &text, NULL) >= 0 &&
	    setup_read_aer(text, ret))
		health->aer = true;
}

static void read_ports(int sysfs_fd, const Bdf *ports, size_t n, GpuHealth *health)
{
	health->ports = xcalloc(n + 1, sizeof(HealthPort));
	for (size_t i = 0; i < n; i++) {
		_cleanup_free_ char *state = NULL;
		HealthPort *port = &health->ports[health->n_ports++];

		port->bdf = ports[i];
		read_if_awake(sysfs_fd, &ports[i], &state, &port->config);
	}
}

int examine_gpu(const Roots *roots, const Bdf *gpu, const Bdf *ports, size_t n_ports,
		GpuHealth *ret)
{
	GpuHealth health = { .bdf = *gpu };

	if (!sysfs_has_function(roots->sysfs_fd, gpu))
		return -ENOENT;
	read_counter(roots->sysfs_fd, &health, "aer_dev_correctable", &health.correctable);
	read_counter(roots->sysfs_fd, &health, "aer_dev_nonfatal", &health.nonfatal);
	read_counter(roots->sysfs_fd, &health, "aer_dev_fatal", &health.fatal);
	read_if_awake(roots->sysfs_fd, gpu, &health.power_state, &health.config);
	read_ports(roots->sysfs_fd, ports, n_ports, &health);
	*ret = health;
	return 0;
}
