/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * domain_xml_diff(): shows people what a plan changes in a definition. The definition was read with
 * VIR_DOMAIN_XML_SECURE, because it is defined again. It may have secrets in many places: passwords
 * of <graphics>, arguments of QEMU, other tools' metadata, a description. So the diff shows only
 * what is known to be no secret: lines that differ, which gpupass wrote, and names of elements.
 */
/* domain_xml_equivalent(): finds the differences that matter to libvirt. */

#include "core/domain/xml-tree.h"
#include "core/domain/xml-tune.h"
#include "core/domain/xml.h"
#include "util/text-diff.h"
#include "util/text.h"
#include "util/xalloc.h"

/* What a line is made for, and so how much of the element it has. */
typedef enum Detail {
	FOR_KEY,     /* comparison: all that gpupass may change. Never shown */
	FOR_CHANGED, /* showing a line that differs */
	FOR_BESIDE,  /* showing a line of context */
} Detail;

static const char *name_of(const xmlNode *node)
{
	return (const char *)node->name;
}

static bool is_of(const xmlNode *node, const char *namespace)
{
	return node->ns && str_equal((const char *)node->ns->href, namespace);
}

/* gpupass never changes the inside of such an element, so it is not compared. */
static bool is_closed(const xmlNode *node)
{
	static const char *const texts[] = { "title", "description", "sysinfo", "seclabel", NULL };

	if (node->ns)
		return !xml_is_in_ours(node) && !is_of(node, QEMU_NAMESPACE);
	return strv_contains((char *const *)texts, name_of(node));
}

/* Any other argument may be a password: -object secret,data=… */
static bool is_our_argument(const char *value)
{
	return value && (str_equal(value, "-fw_cfg") ||
			 str_starts_with(value, "name=" MMIO_WINDOW_KEY ",") ||
			 str_starts_with(value, DOMAIN_ALIAS_PREFIX));
}

static bool shows_attribute(const xmlNode *node, const xmlAttr *attribute, Detail detail)
{
	static const char *const harmless[] = { "type",	 "device", "model", "mode",
						"index", "port",   NULL };
	const char *name = (const char *)attribute->name;

	if (detail == FOR_KEY)
		return true;
	if (attribute->ns || strcmp(name, "passwd") == 0)
		return false;
	if (is_of(node, QEMU_NAMESPACE))
		return detail == FOR_CHANGED &&
		       (xml_is_clique(node) || is_our_argument(xml_attribute(node, name)));
	return detail == FOR_CHANGED || (!node->ns && strv_contains((char *const *)harmless, name));
}

static bool shows_text(const xmlNode *node, Detail detail)
{
	static const char *const harmless[] = { "name", "uuid", "memory", "currentMemory",
						"vcpu", "type", NULL };

	return detail == FOR_KEY ||
	       (!node->ns && strv_contains((char *const *)harmless, name_of(node)));
}

static void print_escaped(FILE *f, const char *text)
{
	_cleanup_xml_char_ xmlChar *escaped = xmlEncodeSpecialChars(NULL, (const xmlChar *)text);

	for (const xmlChar *c = escaped; *c; c++)
		if (*c == '\n')
			fputs("&#10;", f);
		else
			fputc(*c, f);
}

static void print_name(FILE *f, const xmlNode *node)
{
	if (node->ns && node->ns->prefix)
		fprintf(f, "%s:", (const char *)node->ns->prefix);
	fputs(name_of(node), f);
}

static void print_attributes(FILE *f, const xmlNode *node, Detail detail)
{
	for (const xmlNs *i = detail == FOR_BESIDE ? NULL : node->nsDef; i; i = i->next) {
		fprintf(f, " xmlns%s%s=\"", i->prefix ? ":" : "",
			i->prefix ? (const char *)i->prefix : "");
		print_escaped(f, i->href ? (const char *)i->href : "");
		fputc('"', f);
	}
	for (const xmlAttr *i = node->properties; i; i = i->next) {
		if (!shows_attribute(node, i, detail))
			continue;
		fprintf(f, " %s=\"", (const char *)i->name);
		print_escaped(f, i->children ? (const char *)i->children->content : "");
		fputc('"', f);
	}
}

static void print_text(FILE *f, const xmlNode *node, Detail detail)
{
	if (is_closed(node) || !shows_text(node, detail)) {
		fputs("...", f);
		return;
	}
	for (const xmlNode *i = node->children; i; i = i->next)
		if (i->type == XML_TEXT_NODE || i->type == XML_CDATA_SECTION_NODE)
			print_escaped(f, (const char *)i->content);
}

/* The first line of an element: its only one, unless it opens for child elements. */
static void print_element(FILE *f, const xmlNode *node, Detail detail, bool opens)
{
	fputc('<', f);
	print_name(f, node);
	if (!is_closed(node))
		print_attributes(f, node, detail);
	if (xml_is_empty(node)) {
		fputs("/>", f);
		return;
	}
	fputc('>', f);
	if (opens)
		return;
	print_text(f, node, detail);
	fputs("</", f);
	print_name(f, node);
	fputc('>', f);
}

static char *line_of(const xmlNode *node, unsigned depth, Detail detail, bool opens)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = xmemstream(&text, &size);

	fprintf(f, "%*s", (int)depth * 2, "");
	print_element(f, node, detail, opens);
	xmemstream_end(&f);
	return text;
}

/* Takes the texts. */
static void add_line(DiffLines *lines, char *key, char *changed, char *beside)
{
	/* The array doubles its size: an XML has many lines. */
	size_t n = lines->n_items;

	if ((n & (n - 1)) == 0)
		lines->items = xreallocarray(lines->items, n ? 2 * n : 1, sizeof(DiffLine));
	lines->items[lines->n_items++] =
		(DiffLine){ .key = key, .changed = changed, .beside = beside };
}

static void add_end(DiffLines *lines, const xmlNode *node, unsigned depth)
{
	const char *prefix = node->ns ? (const char *)node->ns->prefix : NULL;
	_cleanup_free_ char *line = strf("%*s</%s%s%s>", (int)depth * 2, "", str_or_empty(prefix),
					 prefix ? ":" : "", name_of(node));

	add_line(lines, xstrdup(line), xstrdup(line), xstrdup(line));
}

/* Recursion is bounded: xml-bounds.h refuses documents that are too deep. */
static void add_element(DiffLines *lines, const xmlNode *node, unsigned depth)
{
	bool opens = !is_closed(node) && xml_first(node);

	add_line(lines, line_of(node, depth, FOR_KEY, opens),
		 line_of(node, depth, FOR_CHANGED, opens), line_of(node, depth, FOR_BESIDE, opens));
	if (!opens)
		return;
	for (const xmlNode *i = xml_first(node); i; i = xml_next(i))
		add_element(lines, i, depth + 1);
	add_end(lines, node, depth);
}

static int read_lines(const char *text, DiffLines *ret)
{
	_cleanup_(xml_doc_freep) xmlDoc *doc = NULL;
	_cleanup_free_ char *message = NULL;

	doc = xml_parse(text, 0, &message);
	if (!doc)
		return -EBADMSG;
	add_element(ret, xmlDocGetRootElement(doc), 0);
	return 0;
}

char *domain_xml_diff(const char *before, const char *after)
{
	_cleanup_(diff_lines_clear) DiffLines from = { 0 }, to = { 0 };

	if (read_lines(before, &from) < 0 || read_lines(after, &to) < 0)
		return NULL;
	return text_diff_lines(&from, &to);
}

static bool same_name(const xmlNode *a, const xmlNode *b)
{
	if (!xmlStrEqual(a->name, b->name) || !a->ns != !b->ns)
		return false;
	return !a->ns || xmlStrEqual(a->ns->href, b->ns->href);
}

static size_t count_attributes(const xmlNode *node)
{
	size_t n = 0;

	for (const xmlAttr *i = node->properties; i; i = i->next)
		n++;
	return n;
}

static const xmlChar *attribute_value(const xmlAttr *attribute)
{
	return attribute->children ? attribute->children->content : (const xmlChar *)"";
}

static bool is_named_as(const xmlAttr *a, const xmlAttr *b)
{
	return xmlStrEqual(a->name, b->name) &&
	       xmlStrEqual(a->ns ? a->ns->href : NULL, b->ns ? b->ns->href : NULL);
}

/* The order is mostly the same; an attribute is searched for only if it is elsewhere. */
static bool same_attributes(const xmlNode *a, const xmlNode *b)
{
	const xmlAttr *opposite = b->properties;

	if (count_attributes(a) != count_attributes(b))
		return false;
	for (const xmlAttr *i = a->properties; i; i = i->next, opposite = opposite->next) {
		const xmlAttr *other = opposite;

		if (!is_named_as(i, other))
			other = xmlHasNsProp(b, i->name, i->ns ? i->ns->href : NULL);
		if (!other || !xmlStrEqual(attribute_value(i), attribute_value(other)))
			return false;
	}
	return true;
}

static bool is_text(const xmlNode *node)
{
	return node->type == XML_TEXT_NODE || node->type == XML_CDATA_SECTION_NODE;
}

/* White space is content only in an element that has no child elements. */
static const xmlNode *skip_white(const xmlNode *node, bool beside_elements)
{
	while (beside_elements && node && is_text(node) && xmlIsBlankNode(node))
		node = node->next;
	return node;
}

static bool same_node(const xmlNode *a, const xmlNode *b);

static bool same_children(const xmlNode *a, const xmlNode *b)
{
	bool in_a = xml_first(a) != NULL, in_b = xml_first(b) != NULL;
	const xmlNode *i = skip_white(a->children, in_a);
	const xmlNode *j = skip_white(b->children, in_b);

	while (i && j) {
		if (!same_node(i, j))
			return false;
		i = skip_white(i->next, in_a);
		j = skip_white(j->next, in_b);
	}
	return !i && !j;
}

/* Recursion is bounded: xml-bounds.h refuses documents that are too deep. */
static bool same_node(const xmlNode *a, const xmlNode *b)
{
	if (is_text(a) && is_text(b))
		return xmlStrEqual(a->content, b->content);
	if (a->type != b->type)
		return false;
	if (a->type != XML_ELEMENT_NODE) /* a comment or processing instruction */
		return xmlStrEqual(a->name, b->name) && xmlStrEqual(a->content, b->content);
	return same_name(a, b) && same_attributes(a, b) && same_children(a, b);
}

static xmlDoc *parse_for_comparison(const char *text)
{
	_cleanup_free_ char *message = NULL;
	xmlDoc *doc = xml_parse(text, 0, &message);

	if (doc)
		xml_take_former(&(DomainXml){ .doc = doc, .root = xmlDocGetRootElement(doc) });
	return doc;
}

bool domain_xml_equivalent(const char *a, const char *b)
{
	_cleanup_(xml_doc_freep) xmlDoc *one = parse_for_comparison(a);
	_cleanup_(xml_doc_freep) xmlDoc *other = parse_for_comparison(b);

	return one && other && same_node(xmlDocGetRootElement(one), xmlDocGetRootElement(other));
}
