/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/nvme/holds.h"

#include <limits.h>
#include <sys/stat.h>

#include "host/scan/sysfs.h"
#include "util/file.h"
#include "util/xalloc.h"

#define TEXT_MAX (4UL * 1024 * 1024)
#define BTRFS "fs/btrfs"
#define NVMET "kernel/config/nvmet/subsystems"
#define LIO "kernel/config/target/core"

static void cannot_read(NvmeLook *look, const char *what, int error)
{
	strv_appendf(&look->use->unread, "%s: %s", what, strerror(-error));
}

/* The entries of a folder; none where it is absent. */
static char **entries_of(NvmeLook *look, int dir_fd, const char *path)
{
	char **entries = NULL;
	int r = dir_list_at(dir_fd, path, "", &entries);

	if (r < 0 && r != -ENOENT && r != -ENOTDIR)
		cannot_read(look, path, r);
	return entries;
}

static char *read_text(NvmeLook *look, int dir_fd, const char *path)
{
	char *text = NULL;
	int r = file_read_at(dir_fd, path, TEXT_MAX, &text, NULL);

	if (r < 0 && r != -ENOENT && r != -ENOTDIR)
		cannot_read(look, path, r);
	return text;
}

/* The node that a path is, or leads to; NULL: none of this controller. */
static const char *node_of_path(const NvmeLook *look, const char *path)
{
	struct stat st;

	if (nvme_use_has_path(look->use, path))
		return path;
	if (path[0] != '/' || fstatat(look->roots->root_fd, path + 1, &st, 0) < 0 ||
	    !S_ISBLK(st.st_mode))
		return NULL;
	for (size_t i = 0; i < look->n_nodes; i++)
		if (look->nodes[i].number == st.st_rdev)
			return look->use->nodes[i];
	return NULL;
}

/* ---- sysfs ---- */

/* "dm-0" with its name, and the kind of its UUID: "LVM-…", "CRYPT-LUKS2-…", "mpath-…". */
static void add_mapped(NvmeLook *look, const char *node, const char *dm)
{
	_cleanup_free_ char *name_path = strf("block/%s/dm/name", dm), *name = NULL;
	_cleanup_free_ char *uuid_path = strf("block/%s/dm/uuid", dm), *uuid = NULL, *who = NULL;

	(void)sysfs_line_if_any(look->roots->sysfs_fd, name_path, &name);
	(void)sysfs_line_if_any(look->roots->sysfs_fd, uuid_path, &uuid);
	if (str_is_empty(uuid))
		who = strf("%s (%s)", name ? name : dm, dm);
	else
		who = strf("%s (%s, %.*s)", name ? name : dm, dm, (int)strcspn(uuid, "-"), uuid);
	nvme_look_add(look, NVME_HOLD_DM, node, who);
}

static void find_holders(NvmeLook *look, const NvmeNode *node, const char *path)
{
	_cleanup_free_ char *directory = strf("%s/holders", node->directory);
	_cleanup_strv_ char **names = entries_of(look, look->roots->sysfs_fd, directory);

	for (char **name = names; name && *name; name++) {
		if (str_starts_with(*name, "dm-"))
			add_mapped(look, path, *name);
		else
			nvme_look_add(look,
				      str_starts_with(*name, "md") ? NVME_HOLD_MD
								   : NVME_HOLD_HOLDER,
				      path, *name);
	}
}

/* Its mounts have an anonymous number: 0:43. */
static void find_btrfs(NvmeLook *look)
{
	_cleanup_strv_ char **uuids = entries_of(look, look->roots->sysfs_fd, BTRFS);

	for (char **uuid = uuids; uuid && *uuid; uuid++) {
		_cleanup_free_ char *path = strf(BTRFS "/%s/devices", *uuid);
		_cleanup_strv_ char **names = entries_of(look, look->roots->sysfs_fd, path);

		for (char **name = names; name && *name; name++) {
			_cleanup_free_ char *node = strf("/dev/%s", *name);

			if (strv_contains(look->use->nodes, node))
				nvme_look_add(look, NVME_HOLD_BTRFS, node, *uuid);
		}
	}
}

static void find_loops(NvmeLook *look)
{
	_cleanup_strv_ char **names = entries_of(look, look->roots->sysfs_fd, "block");

	for (char **name = names; name && *name; name++) {
		_cleanup_free_ char *path = strf("block/%s/loop/backing_file", *name);
		_cleanup_free_ char *file = NULL;
		const char *node;

		if (!str_starts_with(*name, "loop") ||
		    sysfs_line_if_any(look->roots->sysfs_fd, path, &file) < 0 || !file)
			continue;
		node = node_of_path(look, file);
		if (node)
			nvme_look_add(look, NVME_HOLD_LOOP, node, *name);
	}
}

/* ---- what the kernel serves to others ---- */

static bool is_controller_file(const NvmeLook *look, const char *path)
{
	return str_starts_with(path, "/dev/") && str_equal(path + 5, look->use->controller);
}

static void try_export(NvmeLook *look, const char *path, const char *who)
{
	const char *node = is_controller_file(look, path) ? path : node_of_path(look, path);

	if (node)
		nvme_look_add(look, NVME_HOLD_EXPORT, node, who);
}

/* Of nvmet it is not exclusive (nvmet_bdev_ns_enable(), drivers/nvme/target/io-cmd-bdev.c). */
static void find_nvmet(NvmeLook *look)
{
	_cleanup_strv_ char **subsystems = entries_of(look, look->roots->sysfs_fd, NVMET);

	for (char **name = subsystems; name && *name; name++) {
		_cleanup_free_ char *folder = strf(NVMET "/%s/namespaces", *name);
		_cleanup_free_ char *who = strf("nvmet (%s)", *name);
		_cleanup_strv_ char **paths = NULL;
		_cleanup_strv_ char **ids = entries_of(look, look->roots->sysfs_fd, folder);

		strv_appendf(&paths, NVMET "/%s/passthru/device_path", *name);
		for (char **id = ids; id && *id; id++)
			strv_appendf(&paths, "%s/%s/device_path", folder, *id);
		for (char **path = paths; *path; path++) {
			_cleanup_free_ char *text = read_text(look, look->roots->sysfs_fd, *path);

			if (text)
				try_export(look, str_strip(text), who);
		}
	}
}

/* LIO's backstores: the attribute "info" has the path among its words. */
static void find_lio(NvmeLook *look)
{
	_cleanup_strv_ char **hbas = entries_of(look, look->roots->sysfs_fd, LIO);

	for (char **hba = hbas; hba && *hba; hba++) {
		_cleanup_free_ char *folder = strf(LIO "/%s", *hba);
		_cleanup_strv_ char **stores = entries_of(look, look->roots->sysfs_fd, folder);

		for (char **store = stores; store && *store; store++) {
			_cleanup_free_ char *path = strf("%s/%s/info", folder, *store);
			_cleanup_free_ char *text = read_text(look, look->roots->sysfs_fd, path);
			_cleanup_free_ char *who = strf("LIO (%s/%s)", *hba, *store);
			_cleanup_strv_ char **words = NULL;

			if (text)
				strv_split(text, " \t\n", &words);
			for (char **word = words; word && *word; word++)
				if (str_starts_with(*word, "/dev/"))
					try_export(look, *word, who);
		}
	}
}

/* ---- /proc and fstab ---- */

typedef struct MountSearch {
	NvmeLook *look;
	const char *of; /* ", in the mount name space of …"; "" for the host's */
} MountSearch;

#define IN_SPACE ", in the mount name space of "

/* Nearly all name spaces have the host's mounts: one line for a disk and a place is enough. */
static bool is_told(const NvmeUse *use, const char *node, const char *point)
{
	size_t n = strlen(point);

	return SOME(use->holds, use->n_holds,
		    it->kind == NVME_HOLD_MOUNT && strcmp(it->node, node) == 0 &&
			    strncmp(it->who, point, n) == 0 &&
			    (it->who[n] == '\0' || str_starts_with(it->who + n, IN_SPACE)));
}

static void add_mount(size_t node, const char *point, void *userdata)
{
	MountSearch *search = userdata;
	_cleanup_free_ char *who = strf("%s%s", point, search->of);

	if (is_told(search->look->use, search->look->use->nodes[node], point))
		return;
	nvme_look_add(search->look, NVME_HOLD_MOUNT, search->look->use->nodes[node], who);
}

static char *space_of(int proc_fd, const char *pid)
{
	_cleanup_free_ char *path = strf("%s/ns/mnt", pid);
	char *name = NULL;

	(void)file_link_name_at(proc_fd, path, &name);
	return name;
}

/*
 * A process that cannot be looked at tells of no mount. That is no gap: whoever has one has the
 * disk for himself, and the claim says so.
 */
static void find_mounts_of(NvmeLook *look, const char *pid, bool first, char ***spaces)
{
	int proc_fd = look->roots->proc_fd;
	_cleanup_free_ char *space = space_of(proc_fd, pid), *path = strf("%s/mountinfo", pid);
	_cleanup_free_ char *comm_path = strf("%s/comm", pid), *comm = NULL, *text = NULL,
			    *of = NULL;

	if (!first && (!space || strv_contains(*spaces, space)))
		return;
	if (file_read_at(proc_fd, path, TEXT_MAX, &text, NULL) < 0) {
		if (first)
			strv_append(&look->use->unread, "the mounts of the host");
		return;
	}
	if (space)
		strv_append(spaces, space);
	if (!first)
		(void)file_read_line_at(proc_fd, comm_path, &comm);
	of = first ? xstrdup("") : strf(IN_SPACE "%s (pid %s)", str_or_empty(comm), pid);
	nvme_mounts_find(text, look->numbers, add_mount, &(MountSearch){ look, of });
}

static void find_mounts(NvmeLook *look)
{
	_cleanup_strv_ char **spaces = NULL;
	_cleanup_strv_ char **pids = entries_of(look, look->roots->proc_fd, ".");

	find_mounts_of(look, "1", true, &spaces);
	for (char **pid = pids; pid && *pid; pid++) {
		unsigned long long number;

		if (str_to_unsigned(*pid, 10, INT_MAX, &number) >= 0)
			find_mounts_of(look, *pid, false, &spaces);
	}
}

static const char *resolve(const NvmeLook *look, const char *spec)
{
	const char *node = nvme_use_resolve(look->use, spec);

	return node ? node : node_of_path(look, spec);
}

/* root=, resume= and others: whatever word names a disk behind its first "=". */
static void find_boot_words(NvmeLook *look)
{
	_cleanup_free_ char *text = read_text(look, look->roots->proc_fd, "cmdline");
	_cleanup_strv_ char **words = NULL;

	if (text)
		strv_split(text, " \n", &words);
	for (char **word = words; word && *word; word++) {
		const char *value = strchr(*word, '=');
		const char *node = value ? resolve(look, value + 1) : NULL;

		if (node)
			nvme_look_add(look, NVME_HOLD_BOOT, node, *word);
	}
}

/* Lines whose first field names a disk; `tells`: the second one says for what. */
static void find_lines(NvmeLook *look, int dir_fd, const char *path, NvmeHoldKind kind, bool tells)
{
	_cleanup_free_ char *text = read_text(look, dir_fd, path);
	_cleanup_strv_ char **lines = NULL;

	if (text)
		strv_split(text, "\n", &lines);
	for (char **line = lines; line && *line; line++) {
		_cleanup_strv_ char **fields = NULL;
		const char *node;

		strv_split(*line, " \t", &fields);
		if (strv_length(fields) < 2 || fields[0][0] == '#')
			continue;
		nvme_unescape(fields[0]);
		nvme_unescape(fields[1]);
		node = resolve(look, fields[0]);
		if (node)
			nvme_look_add(look, kind, node, tells ? fields[1] : NULL);
	}
}

void nvme_holds_find(NvmeLook *look)
{
	find_mounts(look);
	find_lines(look, look->roots->proc_fd, "swaps", NVME_HOLD_SWAP, false);
	for (size_t i = 0; i < look->n_nodes; i++)
		find_holders(look, &look->nodes[i], look->use->nodes[i]);
	find_btrfs(look);
	find_loops(look);
	find_nvmet(look);
	find_lio(look);
	find_boot_words(look);
	find_lines(look, look->roots->root_fd, "etc/fstab", NVME_HOLD_FSTAB, true);
}
