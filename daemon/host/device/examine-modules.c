/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lists of modules: which files each program reads, and in which order. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/facts/initramfs.h"
#include "core/facts/module-lists.h"
#include "core/facts/setup-files.h"
#include "host/device/examine.h"
#include "util/file.h"
#include "util/text.h"

#define FILES_MAX 256
#define DRACUT_LISTS 3 /* of its variables name modules */

typedef struct Reading {
	int root_fd;
	Examination *e;
	ModuleLists lists;
} Reading;

/* `settings` NULL: a list of lines. */
static int read_one(Reading *reading, const char *path, bool drivers, ShellSettings *settings)
{
	_cleanup_free_ char *text = NULL;
	int r = file_read_regular_at(reading->root_fd, path, EXAMINE_FILE_MAX, &text, NULL);

	if (r == -ENOENT || r == -ENOTDIR || r == -ENOMEM)
		return r == -ENOMEM ? r : 0;
	if (r < 0)
		return setup_keep_line(&reading->lists.unknown, strf("%s: %s", path, strerror(-r)));
	if (drivers)
		r = setup_keep_line(&reading->e->initramfs_at, strf("/%s", path));
	if (r < 0)
		return r;
	return settings ? shell_settings_read(path, text, settings)
			: module_lists_read_lines(path, text, drivers, &reading->lists);
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* `sort -V` of dracut and mkinitcpio. */
static int compare_versions(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

/*
 * The files of several directories in the order of their names. Of those with the same name, the
 * one in the first directory is read, even if it is empty.
 */
static int list_files(int root_fd, const char *const *directories, const char *suffix,
		      bool versions, char ***ret)
{
	_cleanup_strv_ char **all = NULL, **paths = NULL;
	int r = 0;

	for (size_t i = 0; directories[i]; i++) {
		_cleanup_strv_ char **names = NULL;
		_cleanup_close_ int fd = -1;

		r = dir_open_at(root_fd, directories[i], false, &fd);
		if (r >= 0)
			r = dir_list(fd, suffix, &names);
		if (r == -ENOMEM)
			return r;
		for (char **name = names; name && *name; name++) {
			if (strv_contains(all, *name) || strv_length(all) >= FILES_MAX)
				continue;
			r = strv_append(&all, *name);
			if (r < 0)
				return r;
		}
	}
	if (all)
		qsort(all, strv_length(all), sizeof(char *),
		      versions ? compare_versions : compare_names);
	for (char **name = all; name && *name; name++)
		for (size_t i = 0; directories[i]; i++) {
			_cleanup_free_ char *path = strf("%s/%s", directories[i], *name);

			if (!path)
				return -ENOMEM;
			if (faccessat(root_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
				continue;
			r = strv_append(&paths, path);
			if (r < 0)
				return r;
			break;
		}
	*ret = TAKE_PTR(paths);
	return 0;
}

static int read_listed(Reading *reading, const char *const *directories, const char *suffix,
		       bool drivers, ShellSettings *settings)
{
	_cleanup_strv_ char **paths = NULL;
	int r = list_files(reading->root_fd, directories, suffix, settings != NULL, &paths);

	for (char **path = paths; r >= 0 && path && *path; path++)
		r = read_one(reading, *path, drivers, settings);
	return r;
}

/*
 * For systemd /etc/modules is a file of modules-load.d: Debian has a link to it there. kmod's init
 * script reads all of them, too.
 */
static int read_modules_load(Reading *reading)
{
	static const char *const directories[] = { "etc/modules-load.d", "run/modules-load.d",
						   "usr/local/lib/modules-load.d",
						   "usr/lib/modules-load.d", NULL };
	_cleanup_strv_ char **paths = NULL;
	struct stat etc = { 0 }, st;
	int r = read_one(reading, "etc/modules", false, NULL);

	if (r >= 0)
		r = list_files(reading->root_fd, directories, ".conf", false, &paths);
	if (fstatat(reading->root_fd, "etc/modules", &etc, 0) < 0)
		etc.st_ino = 0;
	for (char **path = paths; r >= 0 && path && *path; path++)
		if (fstatat(reading->root_fd, *path, &st, 0) < 0 || st.st_ino != etc.st_ino ||
		    st.st_dev != etc.st_dev)
			r = read_one(reading, *path, false, NULL);
	return r;
}

/*
 * mkinitramfs adds the modules of these files (add_modules_from_file()). With gpupass's hook they
 * come after gpupass-bind.
 */
static int read_initramfs_tools(Reading *reading)
{
	static const char *const directories[] = { "usr/share/initramfs-tools/modules.d", NULL };
	static const char hook[] = "usr/share/initramfs-tools/hooks/gpupass";
	int r = read_one(reading, "etc/initramfs-tools/modules", true, NULL);

	if (r >= 0)
		r = read_listed(reading, directories, "", true, NULL);
	reading->e->initramfs_hook = faccessat(reading->root_fd, hook, F_OK, 0) == 0;
	if (reading->e->initramfs_hook)
		reading->lists.drivers = strv_free(reading->lists.drivers);
	return r;
}

/* The first `n_lists` variables name modules. */
static int take_settings(ModuleLists *lists, const ShellSettings *settings, size_t n_lists)
{
	int r = 0;

	for (size_t i = 0; i < n_lists; i++)
		for (char **word = settings->variables[i].words; r >= 0 && word && *word; word++)
			r = setup_keep_line(strstr(*word, ": =") ? &lists->unknown
								 : &lists->drivers,
					    strdup(*word));
	for (char **line = settings->unknown; r >= 0 && line && *line; line++)
		r = setup_keep_line(&lists->unknown, strdup(*line));
	return r;
}

/* "=drivers/gpu/drm" are all modules of a folder, which may have any driver. */
static bool dracut_matters(const char *variable, const char *word)
{
	if (strstr(variable, "dracutmodules"))
		return strcmp(word, "gpupass") == 0;
	return *word == '=' || initramfs_loads_taker(word, 0);
}

/*
 * dracut reads dracut.conf first (dropindirs_sort(), dracut.sh). omit_drivers keeps out only what
 * these variables do not name. Its module of gpupass must be asked for.
 */
static int read_dracut(Reading *reading)
{
	static const char *const directories[] = { "etc/dracut.conf.d",
						   "usr/lib/dracut/dracut.conf.d",
						   "run/initramfs/dracut.conf.d", NULL };
	static const char module[] = "usr/lib/dracut/modules.d/90gpupass/module-setup.sh";
	ShellVariable variables[] = {
		{ .name = "drivers" },		 { .name = "add_drivers" },
		{ .name = "force_drivers" },	 { .name = "dracutmodules" },
		{ .name = "add_dracutmodules" }, { .name = "force_add_dracutmodules" },
	};
	ShellSettings settings = { dracut_matters, variables, ELEMENTS(variables), NULL };
	bool asked = false;
	int r = read_one(reading, "etc/dracut.conf", true, &settings);

	if (r >= 0)
		r = read_listed(reading, directories, ".conf", true, &settings);
	for (size_t i = DRACUT_LISTS; i < ELEMENTS(variables); i++)
		asked |= variables[i].words != NULL;
	if (r >= 0)
		r = take_settings(&reading->lists, &settings,
				  asked && faccessat(reading->root_fd, module, F_OK, 0) == 0
					  ? 0
					  : DRACUT_LISTS);
	shell_settings_clear(&settings);
	return r;
}

static bool mkinitcpio_matters(const char *variable, const char *word)
{
	return strcmp(variable, "MODULES") == 0 ? initramfs_loads_taker(word, 0) : *word == '/';
}

/* FILES, BINARIES and HOOKS name no modules. Files of the directory beside it come after it. */
static int read_mkinitcpio_config(Reading *reading, const char *path)
{
	_cleanup_free_ char *directory = strf("%s.d", path);
	const char *const directories[] = { directory, NULL };
	ShellVariable variables[] = { { .name = "MODULES" } };
	ShellSettings settings = { mkinitcpio_matters, variables, ELEMENTS(variables), NULL };
	int r = directory ? read_one(reading, path, true, &settings) : -ENOMEM;

	if (r >= 0)
		r = read_listed(reading, directories, ".conf", true, &settings);
	if (r >= 0)
		r = take_settings(&reading->lists, &settings, 1);
	shell_settings_clear(&settings);
	return r;
}

/* The configuration that a preset names: its path in an element of `configs`. */
static int read_preset(Reading *reading, const char *path, char ***configs)
{
	ShellVariable variables[] = { { .name = "default_config" }, { .name = "ALL_config" } };
	ShellSettings settings = { mkinitcpio_matters, variables, ELEMENTS(variables), NULL };
	char *const *words;
	int r = read_one(reading, path, false, &settings);
	const char *config = NULL;

	words = variables[0].words ? variables[0].words : variables[1].words;
	if (words)
		config = strrchr(words[0], ' ');
	config = config ? config + strlen(" /") : "etc/mkinitcpio.conf";
	if (r >= 0 && !strv_contains(*configs, config) && strv_length(*configs) < FILES_MAX)
		r = strv_append(configs, config);
	shell_settings_clear(&settings);
	return r;
}

static int read_mkinitcpio(Reading *reading)
{
	static const char *const directories[] = { "etc/mkinitcpio.d", NULL };
	_cleanup_strv_ char **presets = NULL, **configs = NULL;
	int r = list_files(reading->root_fd, directories, ".preset", true, &presets);

	for (char **path = presets; r >= 0 && path && *path; path++)
		r = read_preset(reading, *path, &configs);
	if (r >= 0 && !configs)
		r = strv_append(&configs, "etc/mkinitcpio.conf");
	for (char **path = configs; r >= 0 && path && *path; path++)
		r = read_mkinitcpio_config(reading, *path);
	return r;
}

int examine_module_lists(int root_fd, Examination *e)
{
	Reading reading = { .root_fd = root_fd, .e = e };
	int r = read_modules_load(&reading);

	if (r >= 0)
		r = read_initramfs_tools(&reading);
	if (r >= 0)
		r = read_dracut(&reading);
	if (r >= 0)
		r = read_mkinitcpio(&reading);
	e->initramfs = TAKE_PTR(reading.lists.drivers);
	e->module_options = TAKE_PTR(reading.lists.options);
	e->modules_unknown = TAKE_PTR(reading.lists.unknown);
	return r;
}
