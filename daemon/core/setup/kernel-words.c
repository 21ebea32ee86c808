/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/setup/kernel-words.h"

#include <ctype.h>

#include "util/text.h"
#include "util/xalloc.h"

/* A no-break space of Latin-1 is a blank, too (lib/ctype.c). */
static bool is_blank(char c)
{
	return isspace((unsigned char)c) || (unsigned char)c == 0xa0;
}

/*
 * As next_arg() in the kernel's lib/cmdline.c: quotes keep blanks in a word, and are taken off at
 * both ends of the word or of its value. In place; *at moves on. NULL: there is no more.
 */
static char *next_word(char **at)
{
	char *word = *at, *end, *equals = NULL;
	bool quoted, inside;

	while (is_blank(*word))
		word++;
	if (!*word)
		return NULL;
	inside = quoted = *word == '"';
	word += quoted;
	for (end = word; *end && (inside || !is_blank(*end)); end++) {
		if (*end == '=' && end != word && !equals)
			equals = end;
		if (*end == '"')
			inside = !inside;
	}
	*at = *end ? end + 1 : end;
	*end = '\0';
	if (equals && equals[1] == '"') {
		memmove(equals + 1, equals + 2, (size_t)(end - equals) - 1);
		end--;
		quoted = true;
	}
	if (quoted && end > word && end[-1] == '"')
		end[-1] = '\0';
	return word;
}

char **kernel_words_split(const char *text)
{
	_cleanup_free_ char *copy = xstrdup(text);
	char **words = NULL, *at = copy;

	for (char *word = next_word(&at); word && strcmp(word, "--") != 0; word = next_word(&at))
		strv_append(&words, word);
	return words;
}

static char fold(char c)
{
	return c == '-' ? '_' : c;
}

bool kernel_word_begins(const char *word, const char *prefix)
{
	for (; *prefix; word++, prefix++)
		if (fold(*word) != fold(*prefix))
			return false;
	return true;
}

const char *kernel_word_value(const char *word, const char *name)
{
	size_t n = strlen(name);

	return kernel_word_begins(word, name) && word[n] == '=' ? word + n + 1 : NULL;
}

const char *kernel_words_last(char *const *words, const char *name)
{
	const char *last = NULL;

	for (char *const *word = words; word && *word; word++) {
		const char *value = kernel_word_value(*word, name);

		if (value)
			last = value;
	}
	return last;
}

bool kernel_list_has(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
		if (strcspn(at, ",") == n && strncmp(at, name, n) == 0)
			return true;
	return false;
}

/* Of modules whose driver a parameter keeps away: that, and the function that registers it. */
static const struct {
	const char *module, *parameter, *function;
} switches[] = {
	{ "nouveau", "nouveau.modeset", "nouveau_drm_init" },
	{ "nvidia", NULL, "nvidia_init_module" },
};

static bool is_switched_off(char *const *words, const char *module)
{
	for (size_t i = 0; i < ELEMENTS(switches); i++) {
		const char *value = NULL;
		char *end;

		if (strcmp(switches[i].module, module) != 0)
			continue;
		if (switches[i].parameter)
			value = kernel_words_last(words, switches[i].parameter);
		if (value && strtol(value, &end, 0) == 0 && end != value)
			return true;
		/* It speaks where the driver's own parameter does not (nouveau_drm_init()). */
		if (switches[i].parameter && !value && strv_contains(words, "nomodeset"))
			return true;
		/* Each of these words adds to the kernel's list (init/main.c). */
		for (char *const *word = words; word && *word; word++) {
			value = kernel_word_value(*word, "initcall_blacklist");
			if (value && kernel_list_has(value, switches[i].function))
				return true;
		}
	}
	return false;
}

/*
 * The kernel compares module_blacklist= to the byte with names that have underscores (blacklisted()
 * in kernel/module/main.c), and libkmod modprobe.blacklist= alike (kcmdline_parse_result()): with a
 * dash they block nothing.
 */
bool kernel_words_block(char *const *words, const char *module)
{
	const char *list = kernel_words_last(words, "module_blacklist");

	if ((list && kernel_list_has(list, module)) || is_switched_off(words, module))
		return true;
	for (char *const *word = words; word && *word; word++) {
		list = kernel_word_value(*word, "modprobe.blacklist");
		if (list && kernel_list_has(list, module))
			return true;
	}
	return false;
}
