/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * modprobe's settings, as lines of modprobe.d(5) in the order in which they count: "options
 * vfio_pci ids=10de:2204", "install nouveau /bin/false". Names of modules have underscores.
 */
#pragma once

#include <stdbool.h>

/* A setting may have to do with who gets a GPU's functions: others are not kept. */
bool modprobe_matters(const char *setting);

/*
 * A setting keeps the module from being loaded by the alias of a device, or its driver from being
 * registered.
 */
bool modprobe_blocks(char *const *settings, const char *module);

/* What modprobe runs instead of loading the module, unless it loads nothing then; or NULL. */
const char *modprobe_runs(char *const *settings, const char *module);

/*
 * The value of a parameter of the module at the end of all settings and words of the kernel's
 * command line; NULL: none sets it. A module that is built in gets no settings. *ret_setting: the
 * setting that has it; NULL: the command line.
 */
char *modprobe_value(char *const *settings, char *const *cmdline, const char *module,
		     const char *parameter, const char **ret_setting);
