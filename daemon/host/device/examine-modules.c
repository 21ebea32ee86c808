/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The lists of modules: which files each program reads, and in which order. */
#include <fcntl.h>
#include <sys/stat.h>

#include "core/facts/initramfs.h"
#include "core/facts/module-lists.h"
#include "core/setup/setup-files.h"
#include "host/device/examine.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

#define FILES_MAX 256
#define DRACUT_LISTS 3 /* of its variables name modules */

typedef struct Reading {
	int root_fd;
	Examination *e;
	ModuleLists lists;
} Reading;

/* `settings` NULL: a list of lines. */
static void read_one(Reading *reading, const char *path, bool drivers, ShellSettings *settings)
{
	_cleanup_free_ char *text = NULL;
	int r = file_read_regular_at(reading->root_fd, path, EXAMINE_FILE_MAX, &text, NULL);

	if (r == -ENOENT || r == -ENOTDIR)
		return;
	if (r < 0) {
		setup_keep_line(&reading->lists.unknown, strf("%s: %s", path, strerror(-r)));
		return;
	}
	if (drivers)
		setup_keep_line(&reading->e->initramfs_at, strf("/%s", path));
	if (settings)
		shell_settings_read(path, text, settings);
	else
		module_lists_read_lines(path, text, drivers, &reading->lists);
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
static char **list_files(int root_fd, const char *const *directories, const char *suffix,
			 bool versions)
{
	_cleanup_strv_ char **all = NULL;
	char **paths = NULL;

	for (size_t i = 0; directories[i]; i++) {
		_cleanup_strv_ char **names = NULL;

		(void)dir_list_at(root_fd, directories[i], suffix, &names);
		for (char **name = names; name && *name; name++)
			if (!strv_contains(all, *name) && strv_length(all) < FILES_MAX)
				strv_append(&all, *name);
	}
	if (all)
		qsort(all, strv_length(all), sizeof(char *),
		      versions ? compare_versions : compare_names);
	for (char **name = all; name && *name; name++)
		for (size_t i = 0; directories[i]; i++) {
			_cleanup_free_ char *path = strf("%s/%s", directories[i], *name);

			if (faccessat(root_fd, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
				continue;
			strv_append(&paths, path);
			break;
		}
	return paths;
}

static void read_listed(Reading *reading, const char *const *directories, const char *suffix,
			bool drivers, ShellSettings *settings)
{
	_cleanup_strv_ char **paths =
		list_files(reading->root_fd, directories, suffix, settings != NULL);

	for (char **path = paths; path && *path; path++)
		read_one(reading, *path, drivers, settings);
}

/*
 * For systemd /etc/modules is a file of modules-load.d: Debian has a link to it there. kmod's init
 * script reads all of them, too.
 */
static void read_modules_load(Reading *reading)
{
	static const char *const directories[] = { "etc/modules-load.d", "run/modules-load.d",
						   "usr/local/lib/modules-load.d",
						   "usr/lib/modules-load.d", NULL };
	_cleanup_strv_ char **paths = list_files(reading->root_fd, directories, ".conf", false);
	struct stat etc = { 0 }, st;

	read_one(reading, "etc/modules", false, NULL);
	if (fstatat(reading->root_fd, "etc/modules", &etc, 0) < 0)
		etc.st_ino = 0;
	for (char **path = paths; path && *path; path++)
		if (fstatat(reading->root_fd, *path, &st, 0) < 0 || st.st_ino != etc.st_ino ||
		    st.st_dev != etc.st_dev)
			read_one(reading, *path, false, NULL);
}

/*
 * mkinitramfs adds the modules of these files (add_modules_from_file()). With gpupass's hook they
 * come after gpupass-bind.
 */
static void read_initramfs_tools(Reading *reading)
{
	static const char *const directories[] = { "usr/share/initramfs-tools/modules.d", NULL };
	static const char hook[] = "usr/share/initramfs-tools/hooks/gpupass";

	read_one(reading, "etc/initramfs-tools/modules", true, NULL);
	read_listed(reading, directories, "", true, NULL);
	reading->e->initramfs_hook = faccessat(reading->root_fd, hook, F_OK, 0) == 0;
	if (reading->e->initramfs_hook)
		reading->lists.drivers = strv_free(reading->lists.drivers);
}

/* The first `n_lists` variables name modules. */
static void take_settings(ModuleLists *lists, const ShellSettings *settings, size_t n_lists)
{
	for (size_t i = 0; i < n_lists; i++)
		for (char **word = settings->variables[i].words; word && *word; word++)
			setup_keep_line(strstr(*word, ": =") ? &lists->unknown : &lists->drivers,
					xstrdup(*word));
	for (char **line = settings->unknown; line && *line; line++)
		setup_keep_line(&lists->unknown, xstrdup(*line));
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
static void read_dracut(Reading *reading)
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

	read_one(reading, "etc/dracut.conf", true, &settings);
	read_listed(reading, directories, ".conf", true, &settings);
	for (size_t i = DRACUT_LISTS; i < ELEMENTS(variables); i++)
		asked |= variables[i].words != NULL;
	take_settings(&reading->lists, &settings,
		      asked && faccessat(reading->root_fd, module, F_OK, 0) == 0 ? 0
										 : DRACUT_LISTS);
	shell_settings_clear(&settings);
}

static bool mkinitcpio_matters(const char *variable, const char *word)
{
	return strcmp(variable, "MODULES") == 0 ? initramfs_loads_taker(word, 0) : *word == '/';
}

/* FILES, BINARIES and HOOKS name no modules. Files of the directory beside it come after it. */
static void read_mkinitcpio_config(Reading *reading, const char *path)
{
	_cleanup_free_ char *directory = strf("%s.d", path);
	const char *const directories[] = { directory, NULL };
	ShellVariable variables[] = { { .name = "MODULES" } };
	ShellSettings settings = { mkinitcpio_matters, variables, ELEMENTS(variables), NULL };

	read_one(reading, path, true, &settings);
	read_listed(reading, directories, ".conf", true, &settings);
	take_settings(&reading->lists, &settings, 1);
	shell_settings_clear(&settings);
}

/* The configuration that a preset names: its path in an element of `configs`. */
static void read_preset(Reading *reading, const char *path, char ***configs)
{
	ShellVariable variables[] = { { .name = "default_config" }, { .name = "ALL_config" } };
	ShellSettings settings = { mkinitcpio_matters, variables, ELEMENTS(variables), NULL };
	char *const *words;
	const char *config = NULL;

	read_one(reading, path, false, &settings);
	words = variables[0].words ? variables[0].words : variables[1].words;
	if (words)
		config = strrchr(words[0], ' ');
	config = config ? config + strlen(" /") : "etc/mkinitcpio.conf";
	if (!strv_contains(*configs, config) && strv_length(*configs) < FILES_MAX)
		strv_append(configs, config);
	shell_settings_clear(&settings);
}

static void read_mkinitcpio(Reading *reading)
{
	static const char *const directories[] = { "etc/mkinitcpio.d", NULL };
	_cleanup_strv_ char **presets = list_files(reading->root_fd, directories, ".preset", true);
	_cleanup_strv_ char **configs = NULL;

	for (char **path = presets; path && *path; path++)
		read_preset(reading, *path, &configs);
	if (!configs)
		strv_append(&configs, "etc/mkinitcpio.conf");
	for (char **path = configs; path && *path; path++)
		read_mkinitcpio_config(reading, *path);
}

void examine_module_lists(int root_fd, Examination *e)
{
	Reading reading = { .root_fd = root_fd, .e = e };

	read_modules_load(&reading);
	read_initramfs_tools(&reading);
	read_dracut(&reading);
	read_mkinitcpio(&reading);
	e->initramfs = TAKE_PTR(reading.lists.drivers);
	e->module_options = TAKE_PTR(reading.lists.options);
	e->modules_unknown = TAKE_PTR(reading.lists.unknown);
}
