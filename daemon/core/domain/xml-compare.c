/* SPDX-License-Identifier: GPL-2.0-or-later */
/* domain_xml_equivalent(): finds the differences that matter to libvirt. */
#include <string.h>

#include "core/domain/xml-tree.h"
#include "core/domain/xml.h"
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
