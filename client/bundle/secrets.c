/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bundle/secrets.h"

#include <ctype.h>

#include "base/text.h"
#include "gpupass/states.h"
#include "util/grow.h"
#include "util/json.h"

#define DEPTH_MAX 64
#define HEX_ID_MIN 32
/* A name this long may have been cut: that of its unit has 64 characters, with "qemu-1-". */
#define UNIT_CUT_MIN 40
/* login.defs(5): UID_MIN and UID_MAX, as distributions set them. */
#define UID_FIRST 1000
#define UID_LAST 60000

typedef struct Secret {
	char *word;
	char *stand_in;
	SecretKind kind;
	bool ordinary; /* also a word of the texts: it has its stand-in where a member is a name */
} Secret;

struct StandIns {
	Secret *items;
	size_t n_items;
	json_t *spared; /* a set of words in lower case */
	char *system;	/* NULL: not told */
	size_t count[SECRET_KIND_MAX_];
};

StandIns *stand_ins_new(void)
{
	StandIns *s = xcalloc(1, sizeof(*s));

	s->spared = json_object();
	return s;
}

#include "secrets.inc"

/*
 * Words of the texts themselves: of another one, such a name could not be told there. What the
 * documents have for keys, states and drivers comes beside them (spare_word()).
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

static void set_ordinary(const StandIns *s, Secret *secret)
{
	_cleanup_free_ char *word = text_lower(secret->word);

	if (secret->kind > SECRET_SERIAL)
		return; /* known by its form */
	secret->ordinary = (secret->kind != SECRET_SERIAL || strlen(word) <= 4) && is_number(word);
	secret->ordinary |= secret->kind != SECRET_SERIAL && is_ordinary(word);
	secret->ordinary |= secret->kind == SECRET_USER && str_equal(word, s->system);
	secret->ordinary |= json_object_get(s->spared, word) != NULL;
}

/*
 * A word that the texts have in any case. It stays there, as their ordinary words and numbers do,
 * even if somebody has it for a name.
 */
static void spare_word(StandIns *s, const char *word)
{
	_cleanup_free_ char *key = text_lower(word);

	json_set(s->spared, key, json_true());
}

void stand_ins_add(StandIns *s, SecretKind kind, const char *word)
{
	if (str_is_empty(word))
		return;
	if (SOME(s->items, s->n_items, strcasecmp(it->word, word) == 0))
		return;
	*GROW(s->items, s->n_items) = (Secret){ .kind = kind, .word = xstrdup(word) };
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
	EACH (Secret, secret, s->items, s->n_items) {
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

static size_t match(const char *word, const char *at)
{
	size_t n = strlen(word);

	return strncasecmp(word, at, n) == 0 && !in_word(at[n]) ? n : 0;
}

static const Secret *find_at(const StandIns *s, const char *text, const char *at, size_t *ret)
{
	if (at != text && in_word(at[-1]))
		return NULL;
	for (size_t i = 0; i < s->n_items; i++) {
		if (s->items[i].ordinary)
			continue;
		*ret = match(s->items[i].word, at);
		if (*ret > 0)
			return &s->items[i];
	}
	return NULL;
}

/* The length of a word of this form, where x is a hex digit; 0: it is none. */
static size_t match_form(const char *form, const char *at)
{
	size_t n = strlen(form);

	for (size_t i = 0; i < n; i++)
		if (form[i] == 'x' ? !isxdigit((unsigned char)at[i]) : at[i] != form[i])
			return 0;
	return in_word(at[n]) ? 0 : n;
}

/* A PCI address or a pair of ids, of which no part is a name. */
static size_t skip_address(const char *text, const char *at)
{
	static const char *const addresses[] = { "xxxx:xx:xx.x", "xx:xx.x", "xxxx:xxxx" };

	if (at != text && in_word(at[-1]))
		return 0;
	for (size_t i = 0; i < ELEMENTS(addresses); i++)
		if (match_form(addresses[i], at) > 0)
			return match_form(addresses[i], at);
	return 0;
}

#define UNIT_DASH "\\x2d"
#define UNIT_BEGIN "machine-qemu" UNIT_DASH
#define UNIT_END ".scope"

/* The length of the name in that of a guest's unit, "machine-qemu\x2d1\x2dNAME.scope". */
static size_t find_unit(const char *at, const char **ret)
{
	const char *stop = at + strcspn(at, " \n/\"'"), *end = NULL;

	if (!str_starts_with(at, UNIT_BEGIN))
		return 0;
	/* The last one: a name may have it, too. */
	for (const char *next = at; (next = strstr(next, UNIT_END)) && next < stop; next++)
		end = next;
	if (!end)
		return 0;
	at += strlen(UNIT_BEGIN);
	at += strspn(at, "0123456789");
	at += str_starts_with(at, UNIT_DASH) ? strlen(UNIT_DASH) : 0;
	*ret = at;
	return at < end ? (size_t)(end - at) : 0;
}

/*
 * What libvirt leaves of a name there: letters, digits, and '-' and '.' one at a time, without
 * those at the end, to 64 characters of the whole (virDomainMachineNameAppendValid()). systemd
 * escapes '-'.
 */
static char *reduce_name(const char *name, size_t n)
{
	char *text = xcalloc(n + 1, 1), *at = text;

	for (size_t i = 0; i < n; i++) {
		bool escaped = str_starts_with(name + i, UNIT_DASH);
		char c = escaped ? '-' : name[i];

		i += escaped ? strlen(UNIT_DASH) - 1 : 0;
		if (isalnum((unsigned char)c) ||
		    (strchr("-.", c) && at > text && isalnum((unsigned char)at[-1])))
			*at++ = c;
	}
	if (at > text && !isalnum((unsigned char)at[-1]))
		at[-1] = '\0';
	return text;
}

/* One that is not known gets none of its own. */
static const char *name_for_unit(const StandIns *s, const char *unit, size_t n)
{
	_cleanup_free_ char *wanted = reduce_name(unit, n);
	size_t k = strlen(wanted);

	EACH (const Secret, secret, s->items, s->n_items) {
		_cleanup_free_ char *name = NULL;

		if (secret->kind != SECRET_DOMAIN)
			continue;
		name = reduce_name(secret->word, strlen(secret->word));
		if (strncasecmp(name, wanted, k) == 0 && (name[k] == '\0' || k >= UNIT_CUT_MIN))
			return secret->stand_in;
	}
	return secret_kind_to_string(SECRET_DOMAIN);
}

/* What stands in for this name, borrowed; NULL: it is no word to replace. */
static const char *name_for(const StandIns *s, const char *name)
{
	const Secret *secret = FIND(s->items, s->n_items, strcasecmp(it->word, name) == 0);

	return secret ? secret->stand_in : NULL;
}

char *stand_ins_replace(const StandIns *s, const char *text)
{
	char *out = NULL;
	const char *unit = NULL;
	size_t size = 0, n = 0;
	FILE *f = xmemstream(&out, &size);

	for (const char *at = text; *at; at += n) {
		size_t address = skip_address(text, at), of_unit = find_unit(at, &unit);
		const Secret *secret = find_at(s, text, at, &n);

		if (of_unit > 0) {
			fwrite(at, 1, (size_t)(unit - at), f);
			fputs(name_for_unit(s, unit, of_unit), f);
			n = (size_t)(unit - at) + of_unit;
		} else if (secret && n > address) { /* IPv6 may begin as a pair of ids does */
			fputs(secret->stand_in, f);
		} else {
			n = address > 0 ? address : 1;
			fwrite(at, 1, n, f);
		}
	}
	xmemstream_end(&f);
	return out;
}

/* ---- finding the words ---- */

static const struct {
	SecretKind kind;
	const char *form; /* x: a hex digit */
} forms[] = {
	{ SECRET_UUID, "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx" },
	{ SECRET_PCIE_SERIAL, "xx-xx-xx-xx-xx-xx-xx-xx" },
	{ SECRET_MAC, "xx:xx:xx:xx:xx:xx" },
	{ SECRET_MAC, "xx-xx-xx-xx-xx-xx" },
};

static const struct {
	const char *key;
	SecretKind kind;
} members[] = {
	{ "domain_name", SECRET_DOMAIN },  { "host", SECRET_HOST },
	{ "hostname", SECRET_HOST },	   { "serial_number", SECRET_SERIAL },
	{ "board_serial", SECRET_SERIAL }, { "serial", SECRET_SERIAL },
	{ "user", SECRET_USER },	   { "user_name", SECRET_USER },
	{ "part_name", SECRET_DISK },	   { "part_uuid", SECRET_DISK },
	{ "labels", SECRET_DISK },	   { "aliases", SECRET_DISK },
};

/* Members with words of gpupass, of the kernel and of NVIDIA's tools. */
static const char *const spared[] = {
	"blocked", "driver",	     "gpupass_groups", "group",		"id",
	"kind",	   "libvirt_daemon", "link",	       "maker",		"modules",
	"pcie",	   "power_state",    "provenance",     "reset_methods", "severity",
	"state",   "status",	     "title",	       "type",		"verdict",
	"way",
};

static void add_part(StandIns *into, SecretKind kind, const char *at, size_t n)
{
	_cleanup_free_ char *word = xstrndup(at, n);

	stand_ins_add(into, kind, word);
}

/* A word that begins here, by its form. */
static void add_form(StandIns *into, const char *at)
{
	size_t hex = strspn(at, "0123456789abcdefABCDEF");

	for (size_t i = 0; i < ELEMENTS(forms); i++) {
		size_t n = match_form(forms[i].form, at);

		if (n > 0) {
			add_part(into, forms[i].kind, at, n);
			return;
		}
	}
	if (hex >= HEX_ID_MIN && !in_word(at[hex]))
		add_part(into, SECRET_HEX, at, hex);
}

/* "GPU Board Serial Number: 1650522003820" */
static void add_serial(StandIns *into, const char *at)
{
	static const char label[] = "serial number";
	size_t n = 0;

	if (strncasecmp(at, label, strlen(label)) != 0)
		return;
	at += strlen(label);
	at += strspn(at, " \t:=");
	while (in_word(at[n]) || at[n] == '-')
		n++;
	for (size_t i = 0; i < n; i++)
		if (isdigit((unsigned char)at[i])) {
			add_part(into, SECRET_SERIAL, at, n);
			break;
		}
}

static void add_home(StandIns *into, const char *at)
{
	static const char directory[] = "/home/";

	if (!str_starts_with(at, directory))
		return;
	at += strlen(directory);
	add_part(into, SECRET_USER, at, strcspn(at, "/ \t\n:;,'\")"));
}

void secrets_of_text(StandIns *into, const char *text)
{
	for (const char *at = text; *at; at++) {
		bool begins = at == text || !in_word(at[-1]);

		if (*at == '/')
			add_home(into, at);
		else if (begins && isxdigit((unsigned char)*at))
			add_form(into, at);
		else if (begins && (*at == 's' || *at == 'S'))
			add_serial(into, at);
	}
}

/* A name, {"name": …}, or a list of them. FAT's UUID, of a disk, has a form of its own. */
static void add_names(StandIns *into, SecretKind kind, const json_t *value)
{
	const json_t *item;

	stand_ins_add(into, kind, json_string_value(value));
	stand_ins_add(into, kind, json_string_value(json_object_get(value, "name")));
	stand_ins_add(into, kind, json_string_value(json_object_get(value, "uuid")));
	for (size_t i = 0; (item = json_array_get(value, i)); i++)
		add_names(into, kind, item);
}

static void add_member(StandIns *into, const char *key, const json_t *value)
{
	for (size_t i = 0; i < ELEMENTS(members); i++)
		if (strcmp(members[i].key, key) == 0)
			add_names(into, members[i].kind, value);
}

static void spare_words(StandIns *into, const json_t *value)
{
	const char *text = json_string_value(value);
	_cleanup_strv_ char **words = NULL;

	if (text)
		strv_split(text, " ,;:()\"'", &words);
	for (char **word = words; word && *word; word++)
		spare_word(into, *word);
}

static bool is_domains(const char *key)
{
	return key && (strcmp(key, "domain") == 0 || strcmp(key, "domains") == 0);
}

/* The name of a group, say; what has a UUID is a domain. */
static void spare_name(StandIns *into, const json_t *value)
{
	if (!json_object_get(value, "uuid"))
		spare_words(into, json_object_get(value, "name"));
}

/* The documents' own words: their members, the values of some, and names that are no domain's. */
static void spare_member(StandIns *into, const char *key, const json_t *value)
{
	void (*spare)(StandIns *, const json_t *) = spare_name;
	const json_t *item;

	spare_word(into, key);
	if (is_domains(key) || str_equal(key, "labels"))
		return;
	if (SOME_OF(spared, ELEMENTS(spared), strcmp(it, key) == 0))
		spare = spare_words;
	spare(into, value);
	for (size_t i = 0; (item = json_array_get(value, i)); i++)
		spare(into, item);
}

static int search(StandIns *into, const json_t *value, unsigned depth)
{
	const char *key;
	json_t *member;
	int r;

	if (depth > DEPTH_MAX)
		return -ELOOP;
	if (json_is_string(value))
		secrets_of_text(into, json_string_value(value));
	for (size_t i = 0; (member = json_array_get(value, i)); i++) {
		r = search(into, member, depth + 1);
		if (r < 0)
			return r;
	}
	json_object_foreach ((json_t *)value, key, member) {
		/* First by its form, which says more than the key. */
		r = search(into, member, depth + 1);
		if (r < 0)
			return r;
		spare_member(into, key, member);
		add_member(into, key, member);
		if (is_domains(key))
			add_names(into, SECRET_DOMAIN, member);
	}
	return 0;
}

int secrets_of_json(StandIns *into, const json_t *document)
{
	return search(into, document, 0);
}

/* ---- replacing them ---- */

static bool is_name(const char *key)
{
	return SOME(members, ELEMENTS(members), str_equal(it->key, key)) || is_domains(key);
}

/* `key`: of the member that it is, or is in an array of. */
static json_t *replace_in(const StandIns *s, const char *key, const json_t *value)
{
	const char *text = json_string_value(value), *name, *inner;
	json_t *member, *copy;

	if (text) {
		_cleanup_free_ char *clean = NULL;

		name = is_name(key) ? name_for(s, text) : NULL;
		clean = name ? xstrdup(name) : stand_ins_replace(s, text);
		return json_text(clean);
	}
	if (json_is_array(value)) {
		copy = json_array();
		for (size_t i = 0; (member = json_array_get(value, i)); i++)
			json_append(copy, replace_in(s, key, member));
	} else if (json_is_object(value)) {
		copy = json_object();
		json_object_foreach ((json_t *)value, inner, member) {
			bool of_domain = is_domains(key) && strcmp(inner, "name") == 0;

			json_set(copy, inner,
				 strcmp(inner, "schema") == 0
					 ? json_deep_copy(member)
					 : replace_in(s, of_domain ? key : inner, member));
		}
	} else {
		copy = json_deep_copy(value);
	}
	return copy;
}

json_t *secrets_replace_json(const StandIns *s, const json_t *document)
{
	return replace_in(s, NULL, document);
}

void secrets_of_host(StandIns *into, const char *node_name)
{
	size_t n = strcspn(node_name, ".");

	stand_ins_add(into, SECRET_HOST, node_name);
	if (node_name[n] == '.') {
		add_part(into, SECRET_HOST, node_name, n);
		stand_ins_add(into, SECRET_HOST, node_name + n + 1);
	}
}

static void add_user(StandIns *into, const char *line)
{
	size_t name = strcspn(line, ":\n");
	const char *uid = line + name;
	unsigned long number;

	/* NAME:PASSWORD:UID: */
	for (int i = 0; i < 2; i++) {
		if (*uid != ':')
			return;
		uid++;
		uid += i == 0 ? strcspn(uid, ":\n") : 0;
	}
	number = strtoul(uid, NULL, 10);
	if (number >= UID_FIRST && number <= UID_LAST)
		add_part(into, SECRET_USER, line, name);
}

void secrets_of_system(StandIns *into, const char *id)
{
	free(into->system);
	into->system = text_lower(id);
}

void secrets_of_passwd(StandIns *into, const char *passwd)
{
	for (const char *line = passwd; *line;) {
		add_user(into, line);
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
}
