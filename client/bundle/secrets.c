/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bundle/secrets.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "util/json.h"
#include "util/xalloc.h"

#define DEPTH_MAX 64
#define HEX_ID_MIN 32
/* login.defs(5): UID_MIN and UID_MAX, as distributions set them. */
#define UID_FIRST 1000
#define UID_LAST 60000

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
	{ "board_serial", SECRET_SERIAL }, { "user", SECRET_USER },
	{ "user_name", SECRET_USER },
};

/* Members with words of gpupass, of the kernel and of NVIDIA's tools. */
static const char *const spared[] = {
	"blocked", "driver",	     "gpupass_groups", "group",		"id",
	"kind",	   "libvirt_daemon", "link",	       "maker",		"modules",
	"pcie",	   "power_state",    "provenance",     "reset_methods", "severity",
	"state",   "status",	     "title",	       "type",		"verdict",
	"way",
};

static bool in_word(char c)
{
	return isalnum((unsigned char)c) || (unsigned char)c >= 0x80;
}

static size_t match_form(const char *form, const char *at)
{
	size_t n = strlen(form);

	for (size_t i = 0; i < n; i++)
		if (form[i] == 'x' ? !isxdigit((unsigned char)at[i]) : at[i] != form[i])
			return 0;
	return in_word(at[n]) ? 0 : n;
}

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

static void add_member(StandIns *into, const char *key, const json_t *value)
{
	for (size_t i = 0; i < ELEMENTS(members); i++)
		if (strcmp(members[i].key, key) == 0)
			stand_ins_add(into, members[i].kind, json_string_value(value));
}

/* {"name": …} or a name, of whatever has a domain. */
static void add_domains(StandIns *into, const json_t *value)
{
	const json_t *item;
	size_t i;

	stand_ins_add(into, SECRET_DOMAIN, json_string_value(value));
	stand_ins_add(into, SECRET_DOMAIN, json_string_value(json_object_get(value, "name")));
	json_array_foreach (value, i, item)
		add_domains(into, item);
}

static void spare_words(StandIns *into, const json_t *value)
{
	const char *text = json_string_value(value);
	_cleanup_strv_ char **words = NULL;

	if (text)
		strv_split(text, " ,;:()\"'", &words);
	for (char **word = words; word && *word; word++)
		stand_ins_spare(into, *word);
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
	size_t i;

	stand_ins_spare(into, key);
	if (is_domains(key))
		return;
	for (i = 0; i < ELEMENTS(spared); i++)
		if (strcmp(spared[i], key) == 0)
			spare = spare_words;
	spare(into, value);
	json_array_foreach (value, i, item)
		spare(into, item);
}

static int search(StandIns *into, const json_t *value, unsigned depth)
{
	const char *key;
	json_t *member;
	size_t i;
	int r;

	if (depth > DEPTH_MAX)
		return -ELOOP;
	if (json_is_string(value))
		secrets_of_text(into, json_string_value(value));
	json_array_foreach (value, i, member) {
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
			add_domains(into, member);
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
	for (size_t i = 0; i < ELEMENTS(members); i++)
		if (str_equal(members[i].key, key))
			return true;
	return is_domains(key);
}

/* `key`: of the member that it is, or is in an array of. */
static json_t *replace_in(const StandIns *s, const char *key, const json_t *value)
{
	const char *text = json_string_value(value), *name, *inner;
	json_t *member, *copy;
	size_t i;

	if (text) {
		_cleanup_free_ char *clean = NULL;

		name = is_name(key) ? stand_ins_name(s, text) : NULL;
		clean = name ? xstrdup(name) : stand_ins_replace(s, text);
		return json_text(clean);
	}
	if (json_is_array(value)) {
		copy = json_array();
		json_array_foreach (value, i, member)
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

void secrets_of_passwd(StandIns *into, const char *passwd)
{
	for (const char *line = passwd; *line;) {
		add_user(into, line);
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
}
