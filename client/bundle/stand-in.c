/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bundle/stand-in.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

DEFINE_STRING_TABLE(secret_kind, SecretKind, SECRET_KINDS)

/* How deep a document may be nested; those of the daemon have a handful of levels. */
#define DEPTH_MAX 64

typedef struct Secret {
	char *word;
	char *escaped; /* as systemd writes it in the name of a unit; NULL: the same */
	char *stand_in;
	SecretKind kind;
} Secret;

struct StandIns {
	Secret *items;
	size_t n_items;
	size_t count[SECRET_KIND_MAX_];
};

int stand_ins_new(StandIns **ret)
{
	StandIns *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	*ret = s;
	return 0;
}

StandIns *stand_ins_free(StandIns *s)
{
	for (size_t i = 0; s && i < s->n_items; i++) {
		free(s->items[i].word);
		free(s->items[i].escaped);
		free(s->items[i].stand_in);
	}
	if (s)
		free(s->items);
	free(s);
	return NULL;
}

/* systemd-escape(1). libvirt names a guest's unit machine-qemu\x2d1\x2dNAME.scope. */
static int escape(const char *word, char **ret)
{
	_cleanup_free_ char *text = calloc(4, strlen(word) + 1);
	char *at = text;
	bool same = true;

	if (!text)
		return -ENOMEM;
	for (const char *c = word; *c; c++) {
		if (isalnum((unsigned char)*c) || strchr(":_.", *c)) {
			*at++ = *c;
			continue;
		}
		at += sprintf(at, "\\x%02x", (unsigned char)*c);
		same = false;
	}
	*ret = same ? NULL : TAKE_PTR(text);
	return 0;
}

/*
 * Words of the documents themselves. A host or a domain of this name is told by them from no other;
 * with a stand-in, doctor would not say the same of the facts as it says in its report.
 */
static bool is_ordinary(SecretKind kind, const char *word)
{
	static const char *const words[] = {
		"board", "bridge", "domain", "driver",	"gpu",	   "gpus",   "group", "guest",
		"host",	 "iommu",  "kernel", "libvirt", "linux",   "memory", "none",  "nvidia",
		"pci",	 "qemu",   "reset",  "root",	"systemd", "user",   "vfio",
	};

	if (kind != SECRET_DOMAIN && kind != SECRET_HOST && kind != SECRET_USER)
		return false;
	for (size_t i = 0; i < ELEMENTS(words); i++)
		if (strcasecmp(words[i], word) == 0)
			return true;
	return false;
}

int stand_ins_add(StandIns *s, SecretKind kind, const char *word)
{
	Secret *bigger, *item;

	if (str_is_empty(word) || is_ordinary(kind, word))
		return 0;
	for (size_t i = 0; i < s->n_items; i++)
		if (strcasecmp(s->items[i].word, word) == 0)
			return 0;
	bigger = reallocarray(s->items, s->n_items + 1, sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	s->items = bigger;
	item = &s->items[s->n_items];
	*item = (Secret){ .kind = kind, .word = strdup(word) };
	if (!item->word || escape(word, &item->escaped) < 0) {
		free(item->word);
		return -ENOMEM;
	}
	s->n_items++;
	return 0;
}

/* What reads the text again wants a UUID, an address or digits there. */
static char *make_stand_in(const Secret *secret, size_t n)
{
	int length = (int)strlen(secret->word);

	switch (secret->kind) {
	case SECRET_UUID:
		return strf("00000000-0000-4000-8000-%012zx", n);
	case SECRET_PCIE_SERIAL:
		return strf("00-00-00-00-00-00-%02zx-%02zx", n >> 8 & 0xff, n & 0xff);
	case SECRET_MAC:
		return strf("02:00:00:00:%02zx:%02zx", n >> 8 & 0xff, n & 0xff);
	case SECRET_HEX:
		return strf("%0*zx", length, n);
	default:
		return strf("%s-%04zu", secret_kind_to_string(secret->kind), n);
	}
}

static int compare_words(const void *a, const void *b)
{
	return strcasecmp(((const Secret *)a)->word, ((const Secret *)b)->word);
}

static int compare_lengths(const void *a, const void *b)
{
	size_t x = strlen(((const Secret *)a)->word), y = strlen(((const Secret *)b)->word);

	return x != y ? (x < y) - (x > y) : compare_words(a, b);
}

int stand_ins_settle(StandIns *s)
{
	if (s->n_items == 0)
		return 0;
	qsort(s->items, s->n_items, sizeof(*s->items), compare_words);
	for (size_t i = 0; i < s->n_items; i++) {
		Secret *secret = &s->items[i];

		secret->stand_in = make_stand_in(secret, ++s->count[secret->kind]);
		if (!secret->stand_in)
			return -ENOMEM;
	}
	/* A word may be a part of another one: the longest counts. */
	qsort(s->items, s->n_items, sizeof(*s->items), compare_lengths);
	return 0;
}

size_t stand_ins_count(const StandIns *s, SecretKind kind)
{
	return s->count[kind];
}

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

/* Also behind "\x2d": see escape(). */
static bool begins_here(const char *text, const char *at)
{
	if (at == text || !in_word(at[-1]))
		return true;
	return at - text >= 4 && at[-4] == '\\' && at[-3] == 'x' &&
	       isxdigit((unsigned char)at[-2]) && isxdigit((unsigned char)at[-1]);
}

static size_t match(const char *word, const char *at)
{
	size_t n = word ? strlen(word) : 0;

	return n > 0 && strncasecmp(word, at, n) == 0 && !in_word(at[n]) ? n : 0;
}

static const Secret *find_at(const StandIns *s, const char *text, const char *at, size_t *ret)
{
	if (!begins_here(text, at))
		return NULL;
	for (size_t i = 0; i < s->n_items; i++) {
		*ret = match(s->items[i].word, at);
		if (*ret == 0)
			*ret = match(s->items[i].escaped, at);
		if (*ret > 0)
			return &s->items[i];
	}
	return NULL;
}

char *stand_ins_replace(const StandIns *s, const char *text)
{
	_cleanup_free_ char *out = NULL;
	size_t size = 0, n = 0;
	FILE *f = open_memstream(&out, &size);
	bool failed;

	if (!f)
		return NULL;
	for (const char *at = text; *at; at += n) {
		const Secret *secret = find_at(s, text, at, &n);

		if (secret) {
			fputs(secret->stand_in, f);
			continue;
		}
		fputc(*at, f);
		n = 1;
	}
	failed = ferror(f) != 0;
	return fclose(f) != 0 || failed ? NULL : TAKE_PTR(out);
}

static json_t *replace_in(const StandIns *s, const json_t *value, unsigned depth)
{
	_cleanup_(json_decrefp) json_t *copy = NULL;
	_cleanup_free_ char *text = NULL;
	const char *key;
	json_t *member;
	size_t i;
	int r = 0;

	if (depth > DEPTH_MAX)
		return NULL;
	if (json_is_string(value)) {
		text = stand_ins_replace(s, json_string_value(value));
		return text ? json_string(text) : NULL;
	}
	if (json_is_array(value)) {
		copy = json_array();
		json_array_foreach (value, i, member)
			r |= json_array_append_new(copy, replace_in(s, member, depth + 1));
	} else if (json_is_object(value)) {
		copy = json_object();
		json_object_foreach ((json_t *)value, key, member)
			r |= json_object_set_new(copy, key,
						 strcmp(key, "schema") == 0
							 ? json_deep_copy(member)
							 : replace_in(s, member, depth + 1));
	} else {
		copy = json_deep_copy(value);
	}
	return r < 0 ? NULL : TAKE_PTR(copy);
}

json_t *stand_ins_replace_json(const StandIns *s, const json_t *document)
{
	return replace_in(s, document, 0);
}
