/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words of the kernel's command line, and of the options that modprobe hands to a module: "NAME" or
 * "NAME=VALUE", without the quotes. Dash and underscore are the same in names.
 */
#pragma once

#include <stdbool.h>

/* Up to "--", behind which they are init's. */
char **kernel_words_split(const char *text);

/* The name begins with this prefix. */
bool kernel_word_begins(const char *word, const char *prefix);
/* The value, if the word has this name and a value; NULL otherwise. */
const char *kernel_word_value(const char *word, const char *name);
/* Whether a value of several, "noats,realloc", has this one; `list` may be NULL. */
bool kernel_list_has(const char *list, const char *name);
/* The last such value, which is the one that counts with nearly all parameters. */
const char *kernel_words_last(char *const *words, const char *name);

/*
 * A word of the command line keeps the module from being loaded by the alias of a device, or from
 * registering a driver. `module` has underscores.
 */
bool kernel_words_block(char *const *words, const char *module);
