/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bundle/stand-in.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "gpupass/states.h"
#include "util/grow.h"
#include "util/json.h"

DEFINE_STRING_TABLE(secret_kind, SecretKind, SECRET_KINDS)

typedef struct Secret {
	char *word;
	char *escaped; /* as systemd writes it in the name of a unit; NULL: the same */
	char *stand_in;
	SecretKind kind;
	bool ordinary; /* also a word of the texts: it has its stand-in where a member is a name */
} Secret;

struct StandIns {
	Secret *items;
	size_t n_items;
	json_t *spared; /* a set of words in lower case */
	size_t count[SECRET_KIND_MAX_];
};

StandIns *stand_ins_new(void)
{
	StandIns *s = xcalloc(1, sizeof(*s));

	s->spared = json_object();
	return s;
}

StandIns *stand_ins_free(StandIns *s)
{
	for (size_t i = 0; s && i < s->n_items; i++) {
		free(s->items[i].word);
		free(s->items[i].escaped);
		free(s->items[i].stand_in);
	}
	if (s) {
		json_decref(s->spared);
		free(s->items);
	}
	free(s);
	return NULL;
}

/*
 * systemd-escape(1); NULL: it stays the same. libvirt names a guest's unit
 * machine-qemu\x2d1\x2dNAME.scope.
 */
static char *escape(const char *word)
{
	_cleanup_free_ char *text = xcalloc(4, strlen(word) + 1);
	char *at = text;
	bool same = true;

	for (const char *c = word; *c; c++) {
		if (isalnum((unsigned char)*c) || strchr(":_.", *c)) {
			*at++ = *c;
			continue;
		}
		at += sprintf(at, "\\x%02x", (unsigned char)*c);
		same = false;
	}
	return same ? NULL : TAKE_PTR(text);
}

/*
 * Words of the texts themselves: of another one, such a name could not be told there. What the
 * documents have for keys, states and drivers comes beside them (stand_ins_spare()).
 */
static const char ordinary[] =
#define X(enumerator, name) " " name
	GPUPASS_GROUP_STATES(X) GPUPASS_PROVENANCES(X) GPUPASS_JOB_STATES(X) GPUPASS_STEP_STATES(
		X) GPUPASS_OPERATIONS(X) GPUPASS_HEALTHS(X) GPUPASS_VERDICTS(X)
#undef X
		" a all an and are as at be board boards boot bridge bus by can cannot daemon device"
		" devices domain domains driver fail file for from function functions gpu gpupass"
		" gpupassd gpus group groups has have host hostdev hostdevs i40e in iommu is it job"
		" kernel kvm libvirt libvirtd link links linux memory module name no not nouveau nvidia"
		" nvlink of off on or pass pci pci-stub pcie pcieport process qemu reset root see"
		" service shut snd_hda_intel starts systemd that the to unit user vfio vfio-pci virsh vm"
		" warn was which with xhci_hcd"
		" ";

static bool is_ordinary(const char *word)
{
	size_t n = strlen(word);

	for (const char *at = ordinary; (at = strstr(at, word)); at++)
		if (at > ordinary && at[-1] == ' ' && at[n] == ' ' && !strchr(word, ' '))
			return true;
	return false;
}

/* "7", "10de": of an address, an id, a count. */
static bool is_number(const char *word)
{
	size_t n = strlen(word), digits = strspn(word, "0123456789");
	size_t hex = strspn(word, "0123456789abcdefABCDEF");

	return digits == n || (hex == n && (n == 2 || n == 4) && strpbrk(word, "0123456789"));
}

static char *lower(const char *word)
{
	char *copy = xstrdup(word);

	for (char *c = copy; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	return copy;
}

static void set_ordinary(const StandIns *s, Secret *secret)
{
	_cleanup_free_ char *word = lower(secret->word);

	if (secret->kind > SECRET_SERIAL)
		return; /* known by its form */
	secret->ordinary = (secret->kind != SECRET_SERIAL || strlen(word) <= 4) && is_number(word);
	secret->ordinary |= secret->kind != SECRET_SERIAL && is_ordinary(word);
	secret->ordinary |= json_object_get(s->spared, word) != NULL;
}

void stand_ins_spare(StandIns *s, const char *word)
{
	_cleanup_free_ char *key = lower(word);

	json_set(s->spared, key, json_true());
}

void stand_ins_add(StandIns *s, SecretKind kind, const char *word)
{
	if (str_is_empty(word))
		return;
	for (size_t i = 0; i < s->n_items; i++)
		if (strcasecmp(s->items[i].word, word) == 0)
			return;
	*GROW(s->items, s->n_items) =
		(Secret){ .kind = kind, .word = xstrdup(word), .escaped = escape(word) };
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

void stand_ins_settle(StandIns *s)
{
	if (s->n_items == 0)
		return;
	qsort(s->items, s->n_items, sizeof(*s->items), compare_words);
	for (size_t i = 0; i < s->n_items; i++) {
		Secret *secret = &s->items[i];

		secret->stand_in = make_stand_in(secret, ++s->count[secret->kind]);
		set_ordinary(s, secret);
	}
	/* A word may be a part of another one: the longest counts. */
	qsort(s->items, s->n_items, sizeof(*s->items), compare_lengths);
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
		if (s->items[i].ordinary)
			continue;
		*ret = match(s->items[i].word, at);
		if (*ret == 0)
			*ret = match(s->items[i].escaped, at);
		if (*ret > 0)
			return &s->items[i];
	}
	return NULL;
}

/* A PCI address or a pair of ids, of which no part is a name. */
static size_t skip_address(const char *text, const char *at)
{
	static const char *const forms[] = { "xxxx:xx:xx.x", "xx:xx.x", "xxxx:xxxx" };

	if (at != text && in_word(at[-1]))
		return 0;
	for (size_t i = 0; i < ELEMENTS(forms); i++) {
		size_t n = 0;

		while (forms[i][n] &&
		       (forms[i][n] == 'x' ? isxdigit((unsigned char)at[n]) : at[n] == forms[i][n]))
			n++;
		if (!forms[i][n] && !in_word(at[n]))
			return n;
	}
	return 0;
}

const char *stand_ins_name(const StandIns *s, const char *name)
{
	for (size_t i = 0; i < s->n_items; i++)
		if (strcasecmp(s->items[i].word, name) == 0)
			return s->items[i].stand_in;
	return NULL;
}

char *stand_ins_replace(const StandIns *s, const char *text)
{
	char *out = NULL;
	size_t size = 0, n = 0;
	FILE *f = xmemstream(&out, &size);

	for (const char *at = text; *at; at += n) {
		size_t address = skip_address(text, at);
		const Secret *secret = address > 0 ? NULL : find_at(s, text, at, &n);

		if (secret) {
			fputs(secret->stand_in, f);
			continue;
		}
		n = address > 0 ? address : 1;
		fwrite(at, 1, n, f);
	}
	xmemstream_end(&f);
	return out;
}
