/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/device/examine.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/facts/boot-faults.h"
#include "core/facts/setup-files.h"
#include "host/device/examine-other-hooks.h"
#include "host/modprobe/modprobe-files.h"
#include "host/scan/cgroup.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

#define FILES_MAX 256
#define UNREAD_MAX 4	   /* lines of a fact */
#define BOOT_FAULT_MAX 384 /* bytes kept of what was wrong */

/* NULL, which is no error: the file is absent, too big, or unreadable. */
static void read_if_any(int dir_fd, const char *path, char **ret, size_t *ret_size)
{
	file_read_at(dir_fd, path, EXAMINE_FILE_MAX, ret, ret_size);
}

/*
 * Without a fact its check must not pass. `error` of an absent file is none, unless it is always
 * there. `fact` NULL: no check rests on it. -ENOMEM
 */
static void note_unread(Examination *e, const char *fact, const char *path, int error)
{
	size_t n = 0;

	/* The first few of each fact: hidden processes must not leave no room for another one. */
	for (char **line = e->unread; fact && line && *line; line++)
		n += str_starts_with(*line, fact);
	if (error >= 0 || !fact || n >= UNREAD_MAX)
		return;
	strv_appendf(&e->unread, "%s %s: %s", fact, path, strerror(-error));
}

static void note_unread_if_any(Examination *e, const char *fact, const char *path, int error)
{
	note_unread(e, fact, path, error == -ENOENT ? 0 : error);
}

typedef int (*TextReader)(const char *name, const char *text, char ***into);

static int read_file(int root_fd, const char *path, const char *name, TextReader reader,
		     char ***into, Examination *e, const char *fact)
{
	_cleanup_free_ char *text = NULL;
	int r = file_read_at(root_fd, path, EXAMINE_FILE_MAX, &text, NULL);

	if (r < 0) {
		note_unread_if_any(e, fact, path, r);
		return 0;
	}
	return reader(name, text, into);
}

/* The files of a directory, which may be absent. */
static int read_directory(int root_fd, const char *directory, const char *suffix, bool base_names,
			  TextReader reader, char ***into, Examination *e, const char *fact)
{
	_cleanup_strv_ char **names = NULL;
	_cleanup_close_ int fd = -1;
	int r = dir_open_at(root_fd, directory, false, &fd);

	if (r >= 0)
		r = dir_list(fd, suffix, &names);
	if (r < 0) {
		note_unread_if_any(e, fact, directory, r);
		return 0;
	}
	for (size_t i = 0; r >= 0 && names && names[i] && i < FILES_MAX; i++) {
		_cleanup_free_ char *path = strf("%s/%s", directory, names[i]);

		r = read_file(root_fd, path, base_names ? names[i] : path, reader, into, e, fact);
	}
	if (r >= 0 && strv_length(names) > FILES_MAX) {
		note_unread(e, fact, directory, -E2BIG);
		r = 0;
	}
	return r;
}

static void read_modprobe(const ExamineRoots *roots, Examination *e)
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

	for (size_t i = 0; i < ELEMENTS(names); i++)
		if (strcmp(comm, names[i]) == 0)
			return true;
	return false;
}

static void note_service(int process_fd, const char *comm, const char *pid, Examination *e)
{
	_cleanup_free_ char *text = NULL, *unit = NULL, *container = NULL;

	read_if_any(process_fd, "cgroup", &text, NULL);

	if (text)
		cgroup_identify(text, &unit, &container);
	strv_appendf(&e->services, "%s (pid %s%s%s%s%s)", comm, pid, unit ? ", unit " : "",
		     str_or_empty(unit), container ? ", container " : "", str_or_empty(container));
}

/*
 * When a process started, by the clock of today: the kernel counts from the boot, which no set
 * clock moves. Untouched where that is not known. -ENOMEM
 */
static void read_start(int process_fd, uint64_t *ret_usec)
{
	_cleanup_free_ char *stat = NULL;
	uint64_t since_boot = clock_usec(CLOCK_BOOTTIME), ticks;

	read_if_any(process_fd, "stat", &stat, NULL);

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
	read_if_any(process_fd, "limits", &limits, NULL);
	read_if_any(process_fd, "status", &status, NULL);
	if (status && setup_may_raise_limits(status))
		return;
	if (!status || !limits || !setup_read_memlock(limits, &bytes)) {
		note_unread(e, "memlock", e->libvirt_daemon, -EIO);
		return;
	}
	if (bytes > INT64_MAX)
		return;
	e->memlock_limited = true;
	e->memlock_bytes = bytes;
}

static void note_process(int proc_fd, const char *pid, Examination *e)
{
	_cleanup_free_ char *comm = NULL;
	_cleanup_close_ int fd = -1;
	int r = dir_open_at(proc_fd, pid, false, &fd);

	if (r >= 0)
		r = file_read_line_at(fd, "comm", &comm);
	/* It may have ended meanwhile. */
	if (r < 0) {
		note_unread_if_any(e, "processes", pid, r == -ESRCH ? 0 : r);
		return;
	}
	if (is_service(comm) && strv_length(e->services) < SETUP_LINES_MAX) {
		note_service(fd, comm, pid, e);
		return;
	}
	if (strcmp(comm, "libvirtd") == 0 || strcmp(comm, "virtqemud") == 0) {
		note_libvirt(fd, comm, pid, e);
		return;
	}
}

static void read_processes(int proc_fd, Examination *e)
{
	_cleanup_strv_ char **names = NULL;
	int r = dir_list(proc_fd, "", &names);

	if (r < 0) {
		note_unread(e, "processes", "/proc", r);
		return;
	}
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

	if (r < 0) {
		note_unread(e, "cmdline", "/proc/cmdline", r);
		return;
	}
	setup_read_cmdline(text, &e->cmdline);
}

static void read_version(int proc_fd, Examination *e)
{
	_cleanup_free_ char *text = NULL;

	read_if_any(proc_fd, "driver/nvidia/version", &text, NULL);

	if (text)
		setup_read_nvidia_version(text, &e->nvidia_version);
}

static int read_boot(int root_fd, Examination *e)
{
	_cleanup_(boot_faults_freep) BootFaults *faults = NULL;
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	int r = file_read_at(root_fd, "run/gpupass/boot.json", EXAMINE_FILE_MAX, &text, &size);

	if (r < 0) {
		note_unread(e, "boot", "/run/gpupass/boot.json", r);
		return 0;
	}
	r = boot_faults_parse(text, size, &faults, NULL);
	if (r == -EBADMSG || r == -EPROTO) {
		strv_append(&e->boot, "/run/gpupass/boot.json cannot be understood");
		return 0;
	}
	for (size_t i = 0; r >= 0 && i < faults->n_items && i < SETUP_LINES_MAX; i++) {
		_cleanup_free_ char *what = boot_fault_text(&faults->items[i]);

		strv_appendf(&e->boot, "%s %.*s", BDF_TEXT(&faults->items[i].bdf), BOOT_FAULT_MAX,
			     what);
	}
	return r;
}

static void read_systemd(int root_fd, Examination *e)
{
	static const char link[] = "etc/systemd/system/sysinit.target.wants/gpupass-bind.service";

	e->systemd = faccessat(root_fd, "run/systemd/system", F_OK, 0) == 0;
	e->bind_enabled = faccessat(root_fd, link, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

int examine_setup(const ExamineRoots *roots, Examination **ret)
{
	_cleanup_(examination_freep) Examination *e = xcalloc(1, sizeof(*e));
	int r;

	read_cmdline(roots->proc_fd, e);
	r = 0;
	read_version(roots->proc_fd, e);
	read_processes(roots->proc_fd, e);
	read_modules(roots->sysfs_fd, e);
	read_modprobe(roots, e);
	examine_module_lists(roots->root_fd, e);
	r = read_directory(roots->root_fd, "etc/driverctl.d", "", true, setup_read_driverctl,
			   &e->driverctl, e, "driverctl");
	if (r >= 0) {
		examine_other_hooks(roots->root_fd, e);
		r = 0;
	}
	if (r >= 0)
		r = read_boot(roots->root_fd, e);
	if (r < 0)
		return r;
	examine_hook(roots->root_fd, e);
	read_systemd(roots->root_fd, e);
	*ret = TAKE_PTR(e);
	return 0;
}
