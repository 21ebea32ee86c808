/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/modprobe/modprobe-files.h"

#include <ctype.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "host/modprobe/kmod.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

#define FILE_MAX_BYTES (1024UL * 1024)
#define FILES_MAX 1024

/* In the order of modprobe.d(5): of files with one name the first counts, whatever is in it. */
static const char *const folders[] = {
	"etc/modprobe.d",     "run/modprobe.d", "usr/local/lib/modprobe.d",
	"usr/lib/modprobe.d", "lib/modprobe.d",
};

/* The files that libkmod will read. */
typedef struct Files {
	char **names; /* without their folders */
	char **paths; /* and their texts, to say where a setting is */
	char **texts;
	bool endless; /* libkmod would not come to the end of one of them */
} Files;

LOCAL_CLEAR(Files, files_clear)
#include "modprobe-files.inc"

static void note_unread(Examination *e, const char *path, int error)
{
	const char *why = error == -EBADMSG   ? "it is no file"
			  : error == -E2BIG   ? "there is too much in it"
			  : error == -ELIBACC ? "libkmod cannot be loaded"
					      : strerror(-error);

	strv_appendf(&e->unread, "modprobe /%s: %s", path, why);
}

/* A link to /dev/null masks the files of its name. 1: it counts, 0: it does not. */
static int read_text(int fd, const char *name, char **ret)
{
	struct stat st;
	int r;

	if (fstatat(fd, name, &st, 0) < 0)
		return errno == ENOENT || errno == ELOOP ? 0 : -errno;
	if (S_ISDIR(st.st_mode))
		return 0;
	if (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)) {
		*ret = xstrdup("");
		return 1;
	}
	r = file_read_regular_at(fd, name, FILE_MAX_BYTES, ret, NULL);
	return r < 0 ? r : 1;
}

static void add_file(int fd, const char *folder, const char *name, Files *files, Examination *e)
{
	_cleanup_free_ char *path = strf("%s/%s", folder, name), *text = NULL;
	int r;

	if (strv_contains(files->names, name) || strv_length(files->names) > FILES_MAX)
		return;
	r = strv_length(files->names) < FILES_MAX ? read_text(fd, name, &text) : -E2BIG;
	if (r == 0)
		return;
	if (r < 0)
		note_unread(e, path, r);
	files->endless |= r == -EBADMSG || r == -EFBIG || r == -E2BIG;
	strv_append(&files->names, name);
	strv_appendf(&files->paths, "/%s", path);
	strv_append(&files->texts, str_or_empty(text));
}

static void add_folder(int root_fd, const char *folder, Files *files, Examination *e)
{
	_cleanup_strv_ char **names = NULL;
	_cleanup_close_ int fd = -1;
	int r = dir_open_at(root_fd, folder, false, &fd);

	if (r >= 0)
		r = dir_list(fd, ".conf", &names);
	if (r < 0 && r != -ENOENT)
		note_unread(e, folder, r);
	for (char **name = names; name && *name; name++)
		add_file(fd, folder, *name, files, e);
}

/* ---- where a setting is ---- */

/* Dash and underscore are the same in names of modules. */
static bool names_module(const char *text, const char *module, size_t size)
{
	for (const char *at = text; *at; at++) {
		size_t i = 0;

		while (i < size && (at[i] == '-' ? '_' : at[i]) == module[i])
			i++;
		if (i == size && (at == text || isspace((unsigned char)at[-1])) &&
		    (at[i] == '\0' || isspace((unsigned char)at[i])))
			return true;
	}
	return false;
}

/* libkmod does not say where: so the files that name the module are told. */
static void add_places(const Files *files, const char *setting, Examination *e)
{
	const char *module = strchr(setting, ' ') + 1;
	size_t size = strcspn(module, " ");

	for (size_t i = 0; i < strv_length(files->paths); i++) {
		_cleanup_free_ char *place = NULL;

		if (!names_module(files->texts[i], module, size))
			continue;
		place = strf("%.*s %s", (int)size, module, files->paths[i]);
		if (!strv_contains(e->modprobe_at, place))
			strv_append(&e->modprobe_at, place);
	}
}

static void read_settings(int root_fd, const char *release, const Files *files, Examination *e)
{
	char *paths[ELEMENTS(folders) + 1] = { NULL };
	_cleanup_free_ char *modules = strf("/proc/self/fd/%d/lib/modules/%s", root_fd, release);
	int r;

	for (size_t i = 0; i < ELEMENTS(folders); i++)
		paths[i] = strf("/proc/self/fd/%d/%s", root_fd, folders[i]);
	r = kmod_read_settings(modules, (const char *const *)paths, &e->modprobe);
	for (size_t i = 0; i < ELEMENTS(folders); i++)
		free(paths[i]);
	if (r < 0)
		note_unread(e, "etc/modprobe.d", r);
	for (char **setting = e->modprobe; setting && *setting; setting++)
		add_places(files, *setting, e);
}

/* ---- what is built in ---- */

static void read_builtin(int root_fd, const char *release, Examination *e)
{
	static const char *const modules[][2] = { { "vfio_pci", "/vfio-pci.ko" },
						  { "pci_stub", "/pci-stub.ko" } };
	_cleanup_free_ char *path = strf("lib/modules/%s/modules.builtin", release), *text = NULL;
	int r = file_read_at(root_fd, path, FILE_MAX_BYTES, &text, NULL);

	/* Without it, what modprobe.d has for them may count: no more is said than that. */
	for (size_t i = 0; r >= 0 && i < ELEMENTS(modules); i++)
		if (strstr(text, modules[i][1]))
			strv_append(&e->builtin, modules[i][0]);
}

void modprobe_files_read(int root_fd, const char *release, Examination *e)
{
	_cleanup_(files_clear) Files files = { 0 };

	for (size_t i = 0; i < ELEMENTS(folders); i++)
		add_folder(root_fd, folders[i], &files, e);
	if (!files.endless)
		read_settings(root_fd, release, &files, e);
	read_builtin(root_fd, release, e);
}
