/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/setup/hook-script.h"

#include "core/setup/kernel-words.h"
#include "core/setup/setup-files.h"
#include "util/text.h"
#include "util/xalloc.h"

/* Between words, in shell and in the calls of other languages. */
#define BETWEEN_WORDS " \t\r\"'`()[];|&<>,="
#define PROGRAMS_MAX 32

/* libvirt waits for its hook, and would have to answer that hook. */
static char *of_libvirt(char *const *words, size_t i)
{
	const char *name = str_base_name(words[i]);

	if (str_starts_with(name, "libvirt.open"))
		return xstrdup("libvirt.open");
	if (strcmp(name, "virsh") != 0)
		return NULL;
	for (size_t k = i + 1; words[k]; k++) {
		bool named = words[k + 1] && str_starts_with(words[k + 1], "pci_0");

		if (str_starts_with(words[k], "nodedev-"))
			return strf("virsh %s%s%s", words[k], named ? " " : "",
				    named ? words[k + 1] : "");
	}
	return xstrdup("virsh");
}

/* Drivers of boards, and of the functions beside them. */
static bool is_driver(const char *word)
{
	static const char *const names[] = { "nvidia", "nouveau", "nova_core", "vfio",
					     "snd_hda_intel" };

	return SOME_OF(names, ELEMENTS(names), kernel_word_begins(str_base_name(word), it));
}

static char *of_modules(char *const *words, size_t i)
{
	static const char *const loaders[] = { "modprobe", "rmmod", "insmod" };
	const char *name = str_base_name(words[i]);
	bool removes = false, known = SOME_OF(loaders, ELEMENTS(loaders), strcmp(name, it) == 0);

	for (size_t k = i + 1; known && words[k]; k++) {
		removes |= strcmp(words[k], "-r") == 0 || strcmp(words[k], "--remove") == 0;
		if (is_driver(words[k]))
			return strf("%s %s%s", name, removes ? "-r " : "", words[k]);
	}
	return NULL;
}

static char *of_sysfs(const char *word)
{
	static const char *const files[] = { "driver_override", "/new_id", "/remove_id", "/unbind",
					     "drivers_probe" };

	/* As of efifb, which is no board's driver. */
	if (strstr(word, "/platform/"))
		return NULL;
	if (SOME_OF(files, ELEMENTS(files), str_ends_with(word, it)))
		return xstrdup(str_base_name(word));
	if (str_ends_with(word, "/bind") && strstr(word, "driver"))
		return xstrdup("bind");
	if (strstr(word, "bus/pci/") &&
	    (str_ends_with(word, "/remove") || str_ends_with(word, "/rescan")))
		return xstrdup(str_base_name(word));
	return NULL;
}

static char *of_tools(const char *word)
{
	static const char *const tools[] = { "driverctl", "dpdk-devbind", "vfio-pci-bind" };
	const char *name = str_base_name(word);

	return SOME_OF(tools, ELEMENTS(tools), str_starts_with(name, it)) ? xstrdup(name) : NULL;
}

static void note(const char *path, size_t number, const char *what, char ***told, char ***into)
{
	if (strv_contains(*told, what) || strv_length(*into) >= SETUP_LINES_MAX)
		return;
	strv_append(told, what);
	strv_appendf(into, "%s names %.64s at line %zu", path, what, number);
}

static void read_line(const char *path, size_t number, const char *line, char ***told, char ***into,
		      char ***programs)
{
	_cleanup_strv_ char **words = NULL;

	strv_split(line, BETWEEN_WORDS, &words);
	for (size_t i = 0; words && words[i] && *words[i] != '#'; i++) {
		_cleanup_free_ char *libvirt = of_libvirt(words, i);
		_cleanup_free_ char *modules = of_modules(words, i), *sysfs = of_sysfs(words[i]);
		_cleanup_free_ char *tool = of_tools(words[i]);
		const char *found = libvirt ? libvirt : modules ? modules : sysfs ? sysfs : tool;

		if (found)
			note(path, number, found, told, into);
		if (programs && *words[i] == '/' && !strv_contains(*programs, words[i]) &&
		    strv_length(*programs) < PROGRAMS_MAX)
			strv_append(programs, words[i]);
	}
}

void hook_script_read(const char *path, const char *text, char ***into, char ***programs)
{
	_cleanup_free_ char *copy = xstrdup(text);
	_cleanup_strv_ char **told = NULL;
	char *at = copy, *line;

	for (size_t number = 1; (line = strsep(&at, "\n")); number++)
		read_line(path, number, line, &told, into, programs);
}
