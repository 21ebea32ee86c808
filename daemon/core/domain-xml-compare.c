/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Telling apart what libvirt would, and showing the difference to people. */
#include <string.h>

#include <libxml/xmlsave.h>

#include "core/text-diff.h"
#include "core/xml-tree.h"
#include "util/text.h"

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

static bool same_attributes(const xmlNode *a, const xmlNode *b)
{
	if (count_attributes(a) != count_attributes(b))
		return false;
	for (const xmlAttr *i = a->properties; i; i = i->next) {
		const xmlAttr *other = xmlHasNsProp(b, i->name, i->ns ? i->ns->href : NULL);

		if (!other || !xmlStrEqual(attribute_value(i), attribute_value(other)))
			return false;
	}
	return true;
}

static bool is_text(const xmlNode *node)
{
	return node->type == XML_TEXT_NODE || node->type == XML_CDATA_SECTION_NODE;
}

/* White space counts as content only where there are no elements beside it. */
static const xmlNode *skip_white(const xmlNode *node)
{
	while (node && is_text(node) && xmlIsBlankNode(node) &&
	       xmlChildElementCount(node->parent) > 0)
		node = node->next;
	return node;
}

/* Recursion is bounded: libxml2 refuses documents deeper than 256 elements. */
static bool same_node(const xmlNode *a, const xmlNode *b)
{
	const xmlNode *i, *j;

	if (is_text(a) && is_text(b))
		return xmlStrEqual(a->content, b->content);
	if (a->type != b->type)
		return false;
	if (a->type != XML_ELEMENT_NODE) /* a comment or processing instruction */
		return xmlStrEqual(a->name, b->name) && xmlStrEqual(a->content, b->content);
	if (!same_name(a, b) || !same_attributes(a, b))
		return false;
	i = skip_white(a->children);
	j = skip_white(b->children);
	while (i && j) {
		if (!same_node(i, j))
			return false;
		i = skip_white(i->next);
		j = skip_white(j->next);
	}
	return !i && !j;
}

bool domain_xml_equivalent(const char *a, const char *b)
{
	_cleanup_(xml_doc_freep) xmlDoc *one = NULL;
	_cleanup_(xml_doc_freep) xmlDoc *other = NULL;
	_cleanup_free_ char *why_one = NULL;
	_cleanup_free_ char *why_other = NULL;

	one = xml_parse(a, 0, &why_one);
	other = xml_parse(b, 0, &why_other);
	return one && other && same_node(xmlDocGetRootElement(one), xmlDocGetRootElement(other));
}

/*
 * The definition was read with VIR_DOMAIN_XML_SECURE, because it is defined again; the difference is
 * for everybody's eyes. What that flag adds are the passwords of <graphics>.
 */
static void leave_out_passwords(xmlNode *node)
{
	for (xmlNode *child = xml_first(node); child; child = xml_next(child)) {
		if (xml_is(child, "graphics"))
			xmlUnsetProp(child, (const xmlChar *)"passwd");
		leave_out_passwords(child);
	}
}

/* One form for both sides, so that quotes and line breaks do not show up as changes. */
static char *canonical(const char *text)
{
	_cleanup_(xml_doc_freep) xmlDoc *doc = NULL;
	_cleanup_free_ char *message = NULL;

	doc = xml_parse(text, XML_PARSE_NOBLANKS, &message);
	if (!doc)
		return message ? strdup(text) : NULL;
	leave_out_passwords(xmlDocGetRootElement(doc));
	return xml_to_text(doc, XML_SAVE_FORMAT);
}

char *domain_xml_diff(const char *before, const char *after)
{
	_cleanup_free_ char *from = canonical(before);
	_cleanup_free_ char *to = canonical(after);

	return from && to ? text_diff(from, to) : NULL;
}
