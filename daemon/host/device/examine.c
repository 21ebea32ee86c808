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
#include "host/modprobe/modprobe-files.h"
#include "host/scan/cgroup.h"
#include "util/file.h"
#include "util/text.h"

#define FILES_MAX 256
#define BOOT_FAULT_MAX 384 /* bytes kept of what was wrong */
/* A line has ten characters a CPU. */
#define INTERRUPTS_MAX_BYTES (16UL * 1024 * 1024)

/* NULL, which is no error: the file is absent, too big, or unreadable. */
static int read_if_any(int dir_fd, const char *path, char **ret, size_t *ret_size)
{
	int r = file_read_at(dir_fd, path, EXAMINE_FILE_MAX, ret, ret_size);

	return r == -ENOMEM ? r : 0;
}

typedef int (*TextReader)(const char *name, const char *text, char ***into);

static int read_file(int root_fd, const char *path, const char *name, TextReader reader,
		     char ***into)
{
	_cleanup_free_ char *text = NULL;
	int r = read_if_any(root_fd, path, &text, NULL);

	return r < 0 || !text ? r : reader(name, text, into);
}

/* The files of a directory, which may be absent. */
static int read_directory(int root_fd, const char *directory, const char *suffix, bool base_names,
			  TextReader reader, char ***into)
{
	_cleanup_strv_ char **names = NULL;
	_cleanup_close_ int fd = -1;
	int r = dir_open_at(root_fd, directory, false, &fd);

	if (r >= 0)
		r = dir_list(fd, suffix, &names);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (size_t i = 0; r >= 0 && names && names[i] && i < FILES_MAX; i++) {
		_cleanup_free_ char *path = strf("%s/%s", directory, names[i]);

		r = path ? read_file(root_fd, path, base_names ? names[i] : path, reader, into)
			 : -ENOMEM;
	}
	return r;
}

static int read_modprobe(const ExamineRoots *roots, Examination *e)
{
	_cleanup_free_ char *release = NULL;
	int r = file_read_line_at(roots->proc_fd, "sys/kernel/osrelease", &release);

	if (r == -ENOMEM)
		return r;
	return modprobe_files_read(roots->root_fd, r < 0 || strchr(release, '/') ? "none" : release,
				   e);
}

static int read_modules(int sysfs_fd, Examination *e)
{
	static const char *const names[] = { "vfio",	"vfio_pci",   "vfio_iommu_type1",
					     "nvidia",	"nvidia_drm", "nvidia_uvm",
					     "nouveau", "pci_stub" };
	int r = 0;

	for (size_t i = 0; r >= 0 && i < ELEMENTS(names); i++) {
		/* A built-in module with parameters has a directory, without initstate. */
		_cleanup_free_ char *path = strf("module/%s", names[i]);

		if (!path)
			return -ENOMEM;
		if (faccessat(sysfs_fd, path, F_OK, 0) == 0)
			r = strv_append(&e->modules, names[i]);
	}
	return r;
}

static int read_iommu_units(int sysfs_fd, Examination *e)
{
	_cleanup_close_ int fd = -1;
	int r = dir_open_at(sysfs_fd, "class/iommu", false, &fd);

	if (r >= 0)
		r = dir_list(fd, "", &e->iommu_units);
	return r == -ENOMEM ? r : 0;
}

static int read_interrupts(int proc_fd, Examination *e)
{
	_cleanup_fclose_ FILE *f = NULL;
	_cleanup_free_ char *line = NULL;
	size_t capacity = 0, total = 0;
	ssize_t n;
	int fd = openat(proc_fd, "interrupts", O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	f = fdopen(fd, "re");
	if (!f) {
		close_fd(fd);
		return -ENOMEM;
	}
	while (!e->interrupts_remapped && (n = getline(&line, &capacity, f)) >= 0 &&
	       (total += (size_t)n) < INTERRUPTS_MAX_BYTES)
		e->interrupts_remapped = setup_interrupt_is_remapped(line);
#if defined(__x86_64__) || defined(__i386__)
	e->interrupts_known = total > 0;
#endif
	return 0;
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

static int note_service(int process_fd, const char *comm, const char *pid, Examination *e)
{
	_cleanup_free_ char *text = NULL, *unit = NULL, *container = NULL;
	int r = read_if_any(process_fd, "cgroup", &text, NULL);

	if (r >= 0 && text)
		r = cgroup_identify(text, &unit, &container);
	if (r < 0)
		return r;
	return strv_appendf(&e->services, "%s (pid %s%s%s%s%s)", comm, pid, unit ? ", unit " : "",
			    str_or_empty(unit), container ? ", container " : "",
			    str_or_empty(container));
}

/*
 * libvirt raises the limit of each QEMU to what the guest's memory needs, with prlimit(2). If
 * libvirt lacks the capability for that, as in a container, its own limit counts.
 */
static int note_libvirt(int process_fd, const char *comm, const char *pid, Examination *e)
{
	_cleanup_free_ char *limits = NULL, *status = NULL;
	uint64_t bytes;
	int r;

	if (e->libvirt_daemon)
		return 0;
	e->libvirt_daemon = strf("%s (pid %s)", comm, pid);
	if (!e->libvirt_daemon)
		return -ENOMEM;
	r = read_if_any(process_fd, "limits", &limits, NULL);
	if (r >= 0)
		r = read_if_any(process_fd, "status", &status, NULL);
	if (r < 0 || !limits || !status)
		return r;
	if (setup_may_raise_limits(status) || !setup_read_memlock(limits, &bytes) ||
	    bytes > INT64_MAX)
		return 0;
	e->memlock_limited = true;
	e->memlock_bytes = bytes;
	return 0;
}

static int note_process(int proc_fd, const char *pid, Examination *e)
{
	_cleanup_free_ char *comm = NULL;
	_cleanup_close_ int fd = -1;
	int r = dir_open_at(proc_fd, pid, false, &fd);

	if (r >= 0)
		r = file_read_line_at(fd, "comm", &comm);
	if (r < 0)
		return r == -ENOMEM ? r : 0;
	if (is_service(comm) && strv_length(e->services) < SETUP_LINES_MAX)
		return note_service(fd, comm, pid, e);
	if (strcmp(comm, "libvirtd") == 0 || strcmp(comm, "virtqemud") == 0)
		return note_libvirt(fd, comm, pid, e);
	return 0;
}

static int read_processes(int proc_fd, Examination *e)
{
	_cleanup_strv_ char **names = NULL;
	int r = dir_list(proc_fd, "", &names);

	if (r < 0)
		return r == -ENOMEM ? r : 0;
	for (char **name = names; r >= 0 && name && *name; name++) {
		unsigned long long pid;

		if (str_to_unsigned(*name, 10, INT_MAX, &pid) >= 0)
			r = note_process(proc_fd, *name, e);
	}
	return r;
}

/* ---- texts of one file ---- */

static int read_cmdline(int proc_fd, Examination *e)
{
	_cleanup_free_ char *text = NULL;
	int r = file_read_at(proc_fd, "cmdline", EXAMINE_FILE_MAX, &text, NULL);

	if (r < 0)
		return r == -ENOMEM ? r
				    : strv_appendf(&e->unread, "/proc/cmdline: %s", strerror(-r));
	return setup_read_cmdline(text, &e->cmdline);
}

static int read_version(int proc_fd, Examination *e)
{
	_cleanup_free_ char *text = NULL;
	int r = read_if_any(proc_fd, "driver/nvidia/version", &text, NULL);

	return r < 0 || !text ? r : setup_read_nvidia_version(text, &e->nvidia_version);
}

static int read_boot(int root_fd, Examination *e)
{
	_cleanup_(boot_faults_freep) BootFaults *faults = NULL;
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	int r = read_if_any(root_fd, "run/gpupass/boot.json", &text, &size);

	if (r < 0 || !text)
		return r;
	r = boot_faults_parse(text, size, &faults, NULL);
	if (r == -EBADMSG || r == -EPROTO)
		return strv_append(&e->boot, "/run/gpupass/boot.json cannot be understood");
	for (size_t i = 0; r >= 0 && i < faults->n_items && i < SETUP_LINES_MAX; i++) {
		_cleanup_free_ char *what = boot_fault_text(&faults->items[i]);

		r = what ? strv_appendf(&e->boot, "%s %.*s", BDF_TEXT(&faults->items[i].bdf),
					BOOT_FAULT_MAX, what)
			 : -ENOMEM;
	}
	return r;
}

static void read_systemd(int root_fd, Examination *e)
{
	static const char link[] = "etc/systemd/system/sysinit.target.wants/gpupass-bind.service";

	e->systemd = faccessat(root_fd, "run/systemd/system", F_OK, 0) == 0;
	e->bind_enabled = faccessat(root_fd, link, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* libvirt leaves out what is not executable. */
static void read_hook(int root_fd, Examination *e)
{
	static const char hook[] = "etc/libvirt/hooks/qemu.d/gpupass";
	struct stat st;

	e->hook = fstatat(root_fd, hook, &st, 0) == 0;
	e->hook_runs = e->hook && S_ISREG(st.st_mode) && (st.st_mode & S_IXUSR);
}

int examine_setup(const ExamineRoots *roots, Examination **ret)
{
	_cleanup_(examination_freep) Examination *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return -ENOMEM;
	r = read_cmdline(roots->proc_fd, e);
	if (r >= 0)
		r = read_version(roots->proc_fd, e);
	if (r >= 0)
		r = read_interrupts(roots->proc_fd, e);
	if (r >= 0)
		r = read_processes(roots->proc_fd, e);
	if (r >= 0)
		r = read_iommu_units(roots->sysfs_fd, e);
	if (r >= 0)
		r = read_modules(roots->sysfs_fd, e);
	if (r >= 0)
		r = read_modprobe(roots, e);
	if (r >= 0)
		r = examine_module_lists(roots->root_fd, e);
	if (r >= 0)
		r = read_directory(roots->root_fd, "etc/driverctl.d", "", true,
				   setup_read_driverctl, &e->driverctl);
	if (r >= 0)
		r = read_boot(roots->root_fd, e);
	if (r < 0)
		return r;
	read_systemd(roots->root_fd, e);
	read_hook(roots->root_fd, e);
	*ret = TAKE_PTR(e);
	return 0;
}
