/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/setup/modprobe.h"

#include <fnmatch.h>

#include "core/setup/kernel-words.h"
#include "util/text.h"
#include "util/xalloc.h"

bool modprobe_matters(const char *setting)
{
	/* In install commands and softdeps they may be anywhere, and with a dash. */
	static const char *const about[] = { "vfio",	"pci_stub", "pci-stub",	     "nvidia",
					     "nouveau", "nova",	    "snd_hda_intel", "xhci_pci" };

	if (SOME_OF(about, ELEMENTS(about), strstr(setting, it)))
		return true;
	/* A pattern, which install commands and softdeps may have for a name. */
	return setting[strcspn(setting, "*?[")] != '\0';
}

/* Cuts the first word off *at; *ret_size 0 at the end. */
static const char *cut_word(const char **at, size_t *ret_size)
{
	const char *word = *at + strspn(*at, " \t");

	*ret_size = strcspn(word, " \t");
	*at = word + *ret_size;
	*at += strspn(*at, " \t");
	return word;
}

/* In install commands the name is a pattern (kmod_module_get_install_commands() of libkmod). */
static bool is_module(const char *command, const char *name, size_t size, const char *module)
{
	_cleanup_free_ char *pattern = NULL;

	if (strlen(module) == size && strncmp(name, module, size) == 0)
		return true;
	if (strcmp(command, "install") != 0)
		return false;
	pattern = xstrndup(name, size);
	return fnmatch(pattern, module, 0) == 0;
}

/* The setting is this command for this module: the rest of the line, "" where there is none. */
static const char *modprobe_setting(const char *setting, const char *command, const char *module)
{
	const char *at = setting, *word;
	size_t size;

	word = cut_word(&at, &size);
	if (strlen(command) != size || strncmp(word, command, size) != 0)
		return NULL;
	word = cut_word(&at, &size);
	return is_module(command, word, size, module) ? at : NULL;
}

/*
 * "/bin/false" and its like load nothing. With a second command behind them, such as "true &&
 * modprobe -i nouveau", nobody can say.
 */
static bool loads_nothing(const char *command)
{
	static const char *const names[] = { "true", "false", ":" };
	size_t size = strcspn(command, " \t");
	const char *name = command + size;

	if (command[strcspn(command, ";&|`$()<>\n")] != '\0')
		return false;
	while (name > command && name[-1] != '/')
		name--;
	size -= (size_t)(name - command);
	return SOME_OF(names, ELEMENTS(names), strlen(it) == size && strncmp(name, it, size) == 0);
}

/* Only the first one counts. */
static const char *install_command(char *const *settings, const char *module)
{
	for (char *const *line = settings; line && *line; line++) {
		const char *command = modprobe_setting(*line, "install", module);

		if (command)
			return command;
	}
	return NULL;
}

const char *modprobe_runs(char *const *settings, const char *module)
{
	const char *command = install_command(settings, module);

	return command && !loads_nothing(command) ? command : NULL;
}

bool modprobe_blocks(char *const *settings, const char *module)
{
	_cleanup_free_ char *modeset = NULL;
	const char *command = install_command(settings, module), *setting;

	for (char *const *line = settings; line && *line; line++)
		if (modprobe_setting(*line, "blacklist", module))
			return true;
	if (command && loads_nothing(command))
		return true;
	/* nouveau registers no driver then. */
	if (strcmp(module, "nouveau") != 0)
		return false;
	modeset = modprobe_value(settings, NULL, module, "modeset", &setting);
	return str_equal(modeset, "0");
}

char *modprobe_value(char *const *settings, char *const *cmdline, const char *module,
		     const char *parameter, const char **ret_setting)
{
	_cleanup_free_ char *name = strf("%s.%s", module, parameter);
	const char *last;
	char *value = NULL;

	*ret_setting = NULL;
	for (char *const *line = settings; line && *line; line++) {
		const char *options = modprobe_setting(*line, "options", module);
		_cleanup_strv_ char **words = NULL;

		if (!options)
			continue;
		words = kernel_words_split(options);
		last = kernel_words_last(words, parameter);
		if (!last)
			continue;
		free(value);
		value = xstrdup(last);
		*ret_setting = *line;
	}
	/* modprobe puts those of the command line last. */
	last = kernel_words_last(cmdline, name);
	if (last) {
		free(value);
		value = xstrdup(last);
		*ret_setting = NULL;
	}
	return value;
}
