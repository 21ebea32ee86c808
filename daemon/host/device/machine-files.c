/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/device/machine-files.h"

#include <limits.h>

#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

#define DIRECTORY "etc/pve/qemu-server"
#define MACHINES_MAX 10000
#define CMDLINE_MAX 262144

/*
 * The process that its pid file names has its number on its command line, behind -id, as in
 * PVE::QemuServer::Helpers::vm_running_locally(). What cannot be read counts as not running: who
 * has a GPU open is found by looking at the files of processes.
 */
static bool is_running(int root_fd, int proc_fd, uint32_t vmid)
{
	_cleanup_free_ char *path = strf("run/qemu-server/%u.pid", vmid), *pid = NULL;
	_cleanup_free_ char *file = NULL, *words = NULL, *id = strf("%u", vmid);
	unsigned long long number;
	size_t size = 0;

	if (file_read_line_at(root_fd, path, &pid) < 0 ||
	    str_to_unsigned(pid, 10, INT_MAX, &number) < 0)
		return false;
	file = strf("%s/cmdline", pid);
	if (file_read_at(proc_fd, file, CMDLINE_MAX, &words, &size) < 0)
		return false;
	for (const char *word = words; word < words + size; word += strlen(word) + 1)
		if (strcmp(word, "-id") == 0)
			return word + sizeof("-id") < words + size &&
			       strcmp(word + sizeof("-id"), id) == 0;
	return false;
}

/* Without the file there are no mappings. */
static void read_maps(int root_fd, MachineMaps *ret)
{
	_cleanup_free_ char *node = NULL, *text = NULL;
	size_t size = 0;
	int r = file_read_at(root_fd, "etc/pve/mapping/pci.cfg", MACHINE_FILE_MAX, &text, &size);

	if (r == -ENOENT)
		return;
	if (r >= 0)
		r = file_link_name_at(root_fd, "etc/pve/local", &node);
	if (r >= 0)
		*ret = machine_maps_parse(text, size, node);
	else
		ret->fault = strf("cannot be read: %s", strerror(-r));
}

/* false: it has gone meanwhile. */
static bool read_machine(int directory_fd, const char *file, const MachineMaps *maps, Machine *ret)
{
	_cleanup_free_ char *text = NULL;
	uint32_t vmid = machine_vmid(file);
	size_t size = 0;
	int r = file_read_at(directory_fd, file, MACHINE_FILE_MAX, &text, &size);

	if (r == -ENOENT)
		return false;
	if (r >= 0)
		*ret = machine_parse(vmid, text, size, maps);
	else
		*ret = (Machine){ .vmid = vmid,
				  .unread = strf(MACHINE_FILES "/%s cannot be read: %s", file,
						 strerror(-r)) };
	return true;
}

int machine_files_read(int root_fd, int proc_fd, Machines **ret)
{
	_cleanup_(machines_freep) Machines *machines = xcalloc(1, sizeof(Machines));
	_cleanup_(machine_maps_clear) MachineMaps maps = { 0 };
	_cleanup_strv_ char **files = NULL;
	_cleanup_close_ int fd = -1;
	int r = dir_open_at(root_fd, DIRECTORY, false, &fd);

	if (r >= 0)
		r = dir_list(fd, ".conf", &files);
	if (r < 0)
		return r;
	read_maps(root_fd, &maps);
	if (strv_length(files) > MACHINES_MAX)
		return -E2BIG;
	machines->items = xcalloc(strv_length(files) + 1, sizeof(Machine));
	for (char **file = files; file && *file; file++) {
		Machine *machine = &machines->items[machines->n_items];

		if (machine_vmid(*file) == 0 || !read_machine(fd, *file, &maps, machine))
			continue;
		machine->running = is_running(root_fd, proc_fd, machine->vmid);
		machines->n_items++;
	}
	*ret = TAKE_PTR(machines);
	return 0;
}
