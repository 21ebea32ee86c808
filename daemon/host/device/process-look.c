/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/device/process-look.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/kcmp.h>
#include <search.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/xalloc.h"

/* O_PATH in octal, as in fdinfo: the same on all architectures (asm-generic/fcntl.h). */
#define FDINFO_O_PATH 010000000U
#define FDINFO_MAX 65536U
/* The most bytes of names of mapped files that are remembered. */
#define KNOWN_BYTES_MAX (8U << 20)
#define MAPS_READS_MAX 3

typedef struct Looking {
	const ProcessLook *look;
	bool refused;
	bool vfio_device; /* has a vfio device open, and the kernel does not say which */
	bool vfio_group;  /* has the file of some IOMMU group open */
} Looking;

/*
 * Processes come and go while we look: if a read fails because the process is gone, that does not
 * matter. What matters is what we were not allowed to see, or could not see for reasons of our own.
 */
static int cannot_look(Looking *l, int error)
{
	if (error == -EACCES || error == -EPERM)
		l->refused = true;
	return error == -EMFILE || error == -ENFILE ? error : 0;
}

static bool is_device(const struct statx *file)
{
	return S_ISCHR(file->stx_mode) || S_ISBLK(file->stx_mode);
}

static int note_device(Looking *l, const struct statx *file)
{
	const DeviceFiles *files = l->look->files;
	bool block = S_ISBLK(file->stx_mode);
	const DeviceFile *first;
	size_t n = 0;
	int r = 0;

	l->vfio_group |= !block && file->stx_rdev_major == files->vfio_major;
	first = device_files_match(files, makedev(file->stx_rdev_major, file->stx_rdev_minor), &n);
	for (size_t i = 0; first && r >= 0 && i < n; i++)
		if (first[i].block == block)
			r = l->look->found((size_t)(first - files->items) + i, l->look->userdata);
	return r;
}

/* The result of following a link. */
typedef enum Seen {
	SEEN,
	SEEN_NOTHING, /* that could be a device */
	SEEN_GONE,
} Seen;

/*
 * What the link leads to. With AT_STATX_DONT_SYNC, FUSE and NFS answer from what they have and ask
 * no server, which may belong to a user (fs/fuse/dir.c, fuse_update_get_attr(); fs/nfs/inode.c,
 * nfs_getattr()). FUSE denies even root and answers only its own user
 * (fuse_allow_current_process()). Such a file is no device: no device can be opened on a file
 * system that a user mounted (nodev).
 */
static Seen look_through(Looking *l, int dir_fd, const char *name, struct statx *ret)
{
	char text[1];
	int error;

	if (statx(dir_fd, name, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, ret) == 0)
		return SEEN;
	error = errno;
	/* The link itself is the process's; only its target belongs to a file system. */
	if (error == EPERM || (error == EACCES && readlinkat(dir_fd, name, text, sizeof(text)) < 0))
		l->refused = true;
	return error == ENOENT ? SEEN_GONE : SEEN_NOTHING;
}

/* ---- descriptors ---- */

static int read_fdinfo(int task_fd, const char *name, char **ret)
{
	_cleanup_free_ char *path = strf("fdinfo/%s", name);

	return file_read_at(task_fd, path, FDINFO_MAX, ret, NULL);
}

/*
 * Anybody can have any file by O_PATH, which does not open it. The link of such a file has neither
 * the read bit nor the write bit (fs/proc/fd.c, tid_fd_update_inode()). But neither has a file
 * opened for ioctl(2) only, so the flags must decide. If the file is gone meanwhile, it is not
 * open.
 */
static bool is_opened(int task_fd, int fds_fd, const char *name)
{
	_cleanup_free_ char *text = NULL;
	unsigned flags = 0;
	const char *line;
	struct stat link;

	if (fstatat(fds_fd, name, &link, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (link.st_mode & (S_IRUSR | S_IWUSR))
		return true;
	if (read_fdinfo(task_fd, name, &text) < 0)
		return false;
	line = strstr(text, "flags:");
	return line && sscanf(line, "flags: %o", &flags) == 1 && !(flags & FDINFO_O_PATH);
}

/*
 * vfio's file of a device that was opened through its group has no number. Since 6.18 fdinfo names
 * the device (drivers/vfio/vfio_main.c, vfio_device_show_fdinfo()). The kernel writes the type in
 * the link's text: nobody can give such a name to an inode without a type.
 */
static int look_at_anonymous(Looking *l, int task_fd, int fds_fd, const char *name)
{
	static const char type[] = "anon_inode:[vfio-device]", key[] = "vfio-device-syspath:";
	_cleanup_free_ char *text = NULL;
	const DeviceFiles *files = l->look->files;
	char target[sizeof(type)];
	char *last;
	Bdf bdf;

	if (readlinkat(fds_fd, name, target, sizeof(target)) != (ssize_t)strlen(type) ||
	    memcmp(target, type, strlen(type)) != 0)
		return 0;
	if (read_fdinfo(task_fd, name, &text) < 0)
		return 0;
	last = strstr(text, key);
	if (last) {
		last[strcspn(last, "\n")] = '\0';
		last = strrchr(last, '/');
	}
	if (!last || sysfs_parse_bdf(last + 1, &bdf) < 0) {
		l->vfio_device = true;
		return 0;
	}
	for (size_t i = 0; i < files->n_items; i++)
		if (files->items[i].vfio && bdf_equal(&files->items[i].bdf, &bdf))
			return l->look->found(i, l->look->userdata);
	return 0;
}

static int look_at_descriptor(Looking *l, int task_fd, int fds_fd, const char *name)
{
	struct statx file = { 0 };

	if (look_through(l, fds_fd, name, &file) != SEEN)
		return 0;
	if ((file.stx_mode & S_IFMT) == 0 && l->look->files->vfio_major != 0)
		return look_at_anonymous(l, task_fd, fds_fd, name);
	if (!is_device(&file) || !is_opened(task_fd, fds_fd, name))
		return 0;
	return note_device(l, &file);
}

static int look_at_table(Looking *l, int task_fd)
{
	_cleanup_closedir_ DIR *dir = NULL;
	const struct dirent *entry;
	int fd, r;

	r = dir_open_at(task_fd, "fd", false, &fd);
	if (r < 0)
		return cannot_look(l, r);
	dir = fdopendir(fd);
	if (!dir)
		no_memory();
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		r = look_at_descriptor(l, task_fd, fd, entry->d_name);
		if (r < 0)
			return r;
	}
	return 0;
}

/*
 * Without kcmp(2), which is an option of the kernel's configuration, assume that each has its own.
 */
static bool share_table(const Looking *l, pid_t a, pid_t b)
{
	return l->look->real_proc && a > 0 && syscall(SYS_kcmp, a, b, KCMP_FILES, 0L, 0L) == 0;
}

/*
 * A thread may have open files of its own (unshare(2), CLONE_FILES). And the process's own entries
 * are those of its first thread: they are empty when that thread has ended while others live on and
 * hold files.
 */
int process_look_at_files(const ProcessLook *look, int process_fd, UnseenReason *ret_reason)
{
	Looking l = { .look = look };
	_cleanup_strv_ char **names = NULL;
	_cleanup_close_ int tasks_fd = -1;
	pid_t looked_at = 0;
	int r = dir_open_at(process_fd, "task", false, &tasks_fd);

	if (r >= 0)
		r = dir_list(tasks_fd, "", &names);
	if (r < 0)
		r = cannot_look(&l, r);
	for (char **name = names; r >= 0 && name && *name; name++) {
		_cleanup_close_ int fd = -1;
		unsigned long long tid;

		if (str_to_unsigned(*name, 10, INT_MAX, &tid) < 0 ||
		    share_table(&l, looked_at, (pid_t)tid))
			continue;
		r = dir_open_at(tasks_fd, *name, false, &fd);
		r = r < 0 ? cannot_look(&l, r) : look_at_table(&l, fd);
		looked_at = (pid_t)tid;
	}
	if (r < 0)
		return r;
	*ret_reason = l.refused ? UNSEEN_REFUSED : UNSEEN_VFIO_DEVICE;
	return l.refused || (l.vfio_device && !l.vfio_group);
}

/* ---- mappings ---- */

/* The files already looked at: each is mapped in several parts. */
typedef struct Known {
	void *tree; /* of tsearch(3), strings */
	size_t bytes;
} Known;

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void known_clear(Known *known)
{
	tdestroy(known->tree, free);
}

/* A file that does not fit in here is looked at again. */
static void remember(Known *known, const char *name)
{
	known->bytes += strlen(name);
	if (known->bytes <= KNOWN_BYTES_MAX && !tsearch(xstrdup(name), &known->tree, compare_names))
		no_memory();
}

/*
 * "7f1200000000-7f1200010000 rw-s 00000000 00:05 512    /dev/nvidia3". Device and inode are those
 * of the file's place, not of the device it stands for, which map_files shows. The rest of the
 * line, place and name together, tells files apart. NULL: no file is mapped there.
 */
static const char *name_in_line(char *line)
{
	const char *at = line;

	line[strcspn(line, "\n")] = '\0';
	for (int field = 0; at && field < 3; field++) {
		at = strchr(at, ' ');
		at = at ? at + 1 : NULL;
	}
	return !at || str_starts_with(at, "00:00 0") ? NULL : at;
}

static Seen look_at_mapping(Looking *l, int task_fd, const char *line, int *ret_error)
{
	unsigned long long start, end;
	struct statx file = { 0 };
	char path[64];
	Seen seen;

	if (sscanf(line, "%llx-%llx ", &start, &end) != 2)
		return SEEN_NOTHING;
	/*
	 * map_files has the addresses without the leading zeros of maps (fs/proc/base.c,
	 * dname_to_vma_addr()).
	 */
	snprintf(path, sizeof(path), "map_files/%llx-%llx", start, end);
	seen = look_through(l, task_fd, path, &file);
	if (seen == SEEN && is_device(&file))
		*ret_error = note_device(l, &file);
	return seen;
}

/* *ret_lines: the number of mappings; *ret_missed: how many could not be looked at. */
static int read_maps(Looking *l, int task_fd, Known *known, size_t *ret_lines, size_t *ret_missed)
{
	_cleanup_free_ char *line = NULL;
	_cleanup_fclose_ FILE *f = NULL;
	size_t size = 0;
	int fd, r = 0;

	*ret_lines = *ret_missed = 0;
	fd = openat(task_fd, "maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return cannot_look(l, -errno);
	f = fdopen(fd, "re");
	if (!f)
		no_memory();
	while (r >= 0 && getline(&line, &size, f) > 0) {
		const char *name = name_in_line(line);

		(*ret_lines)++;
		if (!name || tfind(name, &known->tree, compare_names))
			continue;
		if (look_at_mapping(l, task_fd, line, &r) == SEEN_GONE)
			(*ret_missed)++;
		else if (r >= 0)
			remember(known, name);
	}
	return r < 0 ? r : 0;
}

/* If a mapping moves meanwhile, search for it again. */
static int look_at_memory(Looking *l, int task_fd, size_t *ret_lines, size_t *ret_missed)
{
	_cleanup_(known_clear) Known known = { 0 };
	int r = 0;

	for (unsigned i = 0; i == 0 || (i < MAPS_READS_MAX && r >= 0 && *ret_missed > 0); i++)
		r = read_maps(l, task_fd, &known, ret_lines, ret_missed);
	return r;
}

/* Threads share their memory, but that of the first is no longer visible once it has ended. */
int process_look_at_mappings(const ProcessLook *look, int process_fd, UnseenReason *ret_reason)
{
	Looking l = { .look = look };
	_cleanup_strv_ char **names = NULL;
	_cleanup_close_ int tasks_fd = -1;
	size_t lines = 0, missed = 0;
	int r = look_at_memory(&l, process_fd, &lines, &missed);

	if (r >= 0 && lines == 0 && !l.refused) {
		r = dir_open_at(process_fd, "task", false, &tasks_fd);
		if (r >= 0)
			r = dir_list(tasks_fd, "", &names);
		if (r < 0)
			r = cannot_look(&l, r);
	}
	for (char **name = names; r >= 0 && lines == 0 && name && *name; name++) {
		_cleanup_close_ int fd = -1;

		r = dir_open_at(tasks_fd, *name, false, &fd);
		r = r < 0 ? cannot_look(&l, r) : look_at_memory(&l, fd, &lines, &missed);
	}
	if (r < 0)
		return r;
	*ret_reason = l.refused ? UNSEEN_REFUSED : UNSEEN_MOVING;
	return l.refused || missed > 0;
}
