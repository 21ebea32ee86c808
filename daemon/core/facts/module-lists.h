/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lists of modules to load at boot or to put into an initramfs, each read by the rule of the
 * program that it belongs to. Other words of these files, such as hooks and files, name no module.
 * Lists are bounded.
 */
#pragma once

#include "gpupass/cleanup.h"

typedef struct ModuleLists {
	/* NULL: empty */
	char **drivers; /* "etc/mkinitcpio.conf:1: MODULES: nvidia": drivers of functions of GPUs */
	char **options; /* "etc/modules:5: vfio_pci ids=…": of vfio-pci and pci-stub */
	char **unknown; /* "etc/dracut.conf:2: if [ … ]": lines that are not understood */
} ModuleLists;
DECLARE_CLEAR(ModuleLists, module_lists_clear)

/*
 * /etc/modules, modules-load.d, and initramfs-tools' modules: one module a line, with options
 * behind it. `drivers`: its drivers count, because they are loaded in the initramfs.
 */
void module_lists_read_lines(const char *name, const char *text, bool drivers, ModuleLists *into);

/* What the assignments of one program's files have made of a variable. */
typedef struct ShellVariable {
	const char *name;
	char **words; /* those that matter here: "etc/dracut.conf:2: add_drivers: nvidia" */
	bool is_array;
	bool is_open; /* the text does not end in a blank */
} ShellVariable;

/* All files of one program, read in the order in which it reads them. */
typedef struct ShellSettings {
	bool (*matters)(const char *variable, const char *word);
	ShellVariable *variables;
	size_t n_variables;
	char **unknown; /* as in ModuleLists */
} ShellSettings;

/*
 * Files that bash reads: dracut's and mkinitcpio's. Only assignments of plain words are understood,
 * with `=` and `+=`, quotes, arrays and continued lines. Of any other line nothing is assumed.
 */
void shell_settings_read(const char *name, const char *text, ShellSettings *settings);
void shell_settings_clear(ShellSettings *settings);
