/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The name that our metadata had before 0.9 was a web address that nobody here owns. It stands in
 * definitions still. Whoever only looks takes both names (xml-tree.c); what is written has today's
 * alone. Only the name changes, and not the prefix, so that nothing else does.
 */
#include "core/domain/xml-tree.h"
#include "util/text.h"

/* Each note is searched for among those that are there. Gpupass writes five of them. */
#define NOTES_MAX 64

int domain_xml_parse(const char *text, DomainXml **ret, Problem **ret_problem)
{
	int r = xml_read(text, false, ret, ret_problem);

	if (r == 0)
		xml_take_former(*ret);
	return r;
}

/* ---- two elements become one ---- */

static bool has_note(const xmlNode *assignment, const char *what, const char *value)
{
	const char *its_what, *its_value;

	for (xmlNode *i = xml_first(assignment); i; i = xml_next(i))
		if (xml_is_note(i, &its_what, &its_value) && str_equal(its_what, what) &&
		    str_equal(its_value, value))
			return true;
	return false;
}

static void take_notes(const DomainXml *xml, const xmlNode *from)
{
	const char *what, *value;
	size_t n = 0;

	for (xmlNode *i = xml_first(from); i && n < NOTES_MAX; i = xml_next(i))
		if (xml_is_note(i, &what, &value)) {
			n++;
			if (!has_note(xml_assignment(xml), what, value))
				xml_note_added(xml, what, value);
		}
}

static void make_one(DomainXml *xml, const xmlNode *assignment)
{
	_cleanup_strv_ char **names = NULL;
	xmlNode *next = xml_next_assignment(assignment);

	if (!next)
		return;
	names = domain_xml_groups(xml);
	for (xmlNode *i = next; i; i = next) {
		next = xml_next_assignment(i);
		take_notes(xml, i);
		xml_remove(i);
	}
	for (char **name = names; name && *name; name++)
		xml_name_group(xml, *name);
}

/* ---- its name ---- */

static bool is_former(const xmlNs *ns)
{
	return ns && str_equal((const char *)ns->href, DOMAIN_XML_FORMER_NAMESPACE);
}

static void rename_declared(const xmlNode *node)
{
	for (xmlNs *ns = node->nsDef; ns; ns = ns->next)
		if (is_former(ns)) {
			xmlFree((xmlChar *)ns->href);
			ns->href = xmlStrdup((const xmlChar *)DOMAIN_XML_NAMESPACE);
		}
}

/* A declaration of an element around it, which others may use, stays as it is. */
static xmlNs *own_declaration(xmlNode *assignment, const xmlNs *former)
{
	for (xmlNs *ns = assignment->nsDef; ns; ns = ns->next)
		if (xmlStrEqual(ns->prefix, former->prefix))
			return ns;
	return xmlNewNs(assignment, (const xmlChar *)DOMAIN_XML_NAMESPACE, former->prefix);
}

/* True: there was something to rename. */
static bool rename_inherited(xmlNode *assignment, xmlNode *node)
{
	bool former = is_former(node->ns);

	if (former)
		node->ns = own_declaration(assignment, node->ns);
	for (xmlAttr *i = node->properties; i; i = i->next)
		if (is_former(i->ns)) {
			i->ns = own_declaration(assignment, i->ns);
			former = true;
		}
	return former;
}

static void rename_all(DomainXml *xml, xmlNode *assignment)
{
	bool inherited = false;

	for (xmlNode *i = assignment; i; i = xml_next_node(i, assignment))
		if (i->type == XML_ELEMENT_NODE) {
			rename_declared(i);
			inherited |= rename_inherited(assignment, i);
		}
	if (inherited) {
		xml_remove_namespace(assignment->parent, DOMAIN_XML_FORMER_NAMESPACE);
		xml_remove_namespace(xml->root, DOMAIN_XML_FORMER_NAMESPACE);
	}
}

void xml_take_former(DomainXml *xml)
{
	xmlNode *assignment = xml_assignment(xml);

	if (!assignment)
		return;
	make_one(xml, assignment);
	rename_all(xml, assignment);
}
