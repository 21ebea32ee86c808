/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/domain/xml-bounds.h"

#include <stdint.h>
#include <string.h>

/*
 * libvirt parses a definition, and metadata that is set alone, with libxml2's limit of 256. It then
 * puts the metadata two levels deep into the definition, so libvirt can send a little more than
 * 256.
 */
#define DEPTH_MAX 512
/*
 * In comparisons. 20,000 attributes in one element take 3 s, and an assign parses about ten times.
 */
#define COST_MAX UINT64_C(200000000)
/* In metadata, where ours is three deep, and has few attributes. */
#define THIN_DEPTH 8
#define THIN_ATTRIBUTES 256

/* domain/metadata, domain/devices/disk/address */
#define PART_DEPTH 2
#define GUEST_ADDRESS_DEPTH 4

typedef struct Scan {
	char *at, *end;
	bool thin;
	bool metadata; /* in <metadata> of the domain */
	bool devices;  /* in its <devices> */
	bool deep_address;
	unsigned depth;
	uint64_t cost;
} Scan;

static bool looking_at(const Scan *s, const char *what)
{
	size_t n = strlen(what);

	return (size_t)(s->end - s->at) >= n && memcmp(s->at, what, n) == 0;
}

static void skip_past(Scan *s, const char *what)
{
	size_t n = strlen(what);
	char *found = memmem(s->at, (size_t)(s->end - s->at), what, n);

	s->at = found ? found + n : s->end;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Skips to the '>' that ends the tag, past any '>' in values. Returns the number of attributes. */
static size_t skip_attributes(Scan *s)
{
	size_t n = 0;
	char quote = '\0';

	for (; s->at < s->end && (quote || *s->at != '>'); s->at++) {
		if (quote) {
			if (*s->at == quote)
				quote = '\0';
		} else if (*s->at == '"' || *s->at == '\'') {
			quote = *s->at;
			n++;
		}
	}
	return n;
}

/* Keeps newlines, and so the line numbers in error messages. */
static void blank(char *from, const char *to)
{
	for (; from < to; from++)
		if (*from != '\n')
			*from = ' ';
}

static bool is_name(const char *from, const char *to, const char *name)
{
	return (size_t)(to - from) == strlen(name) && memcmp(from, name, (size_t)(to - from)) == 0;
}

static void scan_tag(Scan *s)
{
	char *name = s->at, *from;
	size_t n;
	bool empty;

	while (s->at < s->end && *s->at != '>' && *s->at != '/' && !is_space(*s->at))
		s->at++;
	from = s->at;
	n = skip_attributes(s);
	empty = s->at < s->end && s->at[-1] == '/';
	s->depth++;
	if (s->depth == PART_DEPTH) {
		s->metadata = is_name(name, from, "metadata");
		s->devices = is_name(name, from, "devices");
	}
	s->deep_address |=
		!(s->devices && s->depth == GUEST_ADDRESS_DEPTH) && is_name(name, from, "address");
	if (s->thin && s->metadata && (s->depth > THIN_DEPTH || n > THIN_ATTRIBUTES))
		blank(from, s->at - empty);
	else
		s->cost += (uint64_t)n * n / 2;
	if (empty)
		s->depth--;
}

/* libxml2 refuses what is not well-formed; here the scan only has to end. */
static const char *xml_bounds_scan(Scan *s)
{
	while ((s->at = memchr(s->at, '<', (size_t)(s->end - s->at)))) {
		if (looking_at(s, "<!--")) {
			s->at += strlen("<!--");
			skip_past(s, "-->");
		} else if (looking_at(s, "<![CDATA[")) {
			skip_past(s, "]]>");
		} else if (looking_at(s, "<?")) {
			skip_past(s, "?>");
		} else if (looking_at(s, "<!") || looking_at(s, "</")) {
			if (s->at[1] == '/' && s->depth > 0)
				s->depth--;
			skip_past(s, ">");
		} else {
			s->at++;
			scan_tag(s);
		}
		if (s->depth > DEPTH_MAX)
			return "Excessive depth: its elements are nested more than 512 deep";
		if (s->cost > COST_MAX)
			return "its elements have too many attributes";
	}
	return NULL;
}

const char *xml_bounds_check(const char *text, size_t size)
{
	/* The cast is safe: xml_bounds_scan() writes only if .thin is set. */
	Scan s = { .at = (char *)text, .end = (char *)text + size };

	return xml_bounds_scan(&s);
}

const char *xml_bounds_thin(char *text, size_t size)
{
	Scan s = { .at = text, .end = text + size, .thin = true };

	return xml_bounds_scan(&s);
}

bool xml_bounds_deep_address(const char *text, size_t size)
{
	Scan s = { .at = (char *)text, .end = (char *)text + size };

	return xml_bounds_scan(&s) || s.deep_address;
}
