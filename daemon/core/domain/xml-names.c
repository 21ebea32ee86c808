/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/domain/xml-names.h"

#include <string.h>

#include "core/domain/xml.h"
#include "util/text.h"

#define ALSO "also"

xmlNode *xml_assignment(const DomainXml *xml)
{
	for (xmlNode *i = xml_first(xml_child(xml->root, "metadata")); i; i = xml_next(i))
		if (i->ns && str_equal((const char *)i->ns->href, DOMAIN_XML_NAMESPACE) &&
		    str_equal((const char *)i->name, "assignment"))
			return i;
	return NULL;
}

/* NULL: it names none. */
static const char *group_of(const xmlNode *element)
{
	const char *group = xml_attribute(element, "group");

	return str_is_empty(group) ? NULL : group;
}

static bool is_also(const xmlNode *assignment, const xmlNode *node)
{
	return str_equal((const char *)node->name, ALSO) && node->ns &&
	       str_equal((const char *)node->ns->href, (const char *)assignment->ns->href) &&
	       group_of(node);
}

/* The next element that names a group: our own first, `after` NULL, then each <also> in it. */
static xmlNode *next_named(const DomainXml *xml, const xmlNode *after)
{
	xmlNode *assignment = xml_assignment(xml), *i;

	if (!assignment)
		return NULL;
	if (!after && group_of(assignment))
		return assignment;
	for (i = !after || after == assignment ? xml_first(assignment) : xml_next(after); i;
	     i = xml_next(i))
		if (is_also(assignment, i))
			return i;
	return NULL;
}

static xmlNode *find_named(const DomainXml *xml, const char *group)
{
	xmlNode *i = NULL;

	for (size_t n = 0; n < XML_NAMES_MAX && (i = next_named(xml, i)); n++)
		if (str_equal(group_of(i), group))
			return i;
	return NULL;
}

bool xml_names_only(const DomainXml *xml, const char *group)
{
	const xmlNode *first = next_named(xml, NULL);

	return first && str_equal(group_of(first), group) && !next_named(xml, first);
}

char **domain_xml_groups(const DomainXml *xml)
{
	char **groups = NULL;
	const xmlNode *i = NULL;

	for (size_t n = 0; n < XML_NAMES_MAX && (i = next_named(xml, i)); n++)
		if (!strv_contains(groups, group_of(i)))
			strv_append(&groups, group_of(i));
	return groups;
}

/* ---- editing ---- */

/* In libvirt's order: the domain's description, then <metadata>, then its resources. */
static xmlNode *metadata_new(xmlNode *root)
{
	const char *before[] = { "name", "uuid", "genid", "title", "description" };
	xmlNode *after = NULL;

	for (xmlNode *i = xml_first(root); i; i = xml_next(i))
		for (size_t k = 0; k < ELEMENTS(before); k++)
			if (xml_is(i, before[k]))
				after = i;
	return after ? xml_insert_after(after, "metadata") : xml_append(root, "metadata");
}

static xmlNode *assignment_new(DomainXml *xml)
{
	xmlNode *metadata = xml_child(xml->root, "metadata");
	xmlNode *assignment;

	if (!metadata)
		metadata = metadata_new(xml->root);
	assignment = xml_append(metadata, "assignment");
	xmlSetNs(assignment, xmlNewNs(assignment, (const xmlChar *)DOMAIN_XML_NAMESPACE,
				      (const xmlChar *)"gpupass"));
	return assignment;
}

void xml_name_group(DomainXml *xml, const char *group)
{
	xmlNode *element = xml_assignment(xml), *also;

	if (find_named(xml, group))
		return;
	if (!element)
		element = assignment_new(xml);
	if (group_of(element)) {
		also = xml_append(element, ALSO);
		xmlSetNs(also, element->ns);
		element = also;
	}
	xml_set(element, "group", "%s", group);
}

bool domain_xml_unmark(DomainXml *xml)
{
	xmlNode *assignment = xml_assignment(xml), *metadata;

	if (!assignment)
		return false;
	metadata = assignment->parent;
	xml_remove(assignment);
	xml_remove_if_empty(metadata);
	return true;
}

void domain_xml_rename_group(DomainXml *xml, const char *from, const char *to)
{
	xmlNode *element = find_named(xml, from);

	if (element)
		xml_set(element, "group", "%s", to);
}

void domain_xml_unname_group(DomainXml *xml, const char *group, bool *ret_changed)
{
	xmlNode *element, *assignment;

	*ret_changed = false;
	while ((element = find_named(xml, group))) {
		*ret_changed = true;
		if (xml_names_only(xml, group)) {
			domain_xml_unmark(xml);
			continue;
		}
		assignment = xml_assignment(xml);
		/* Then the next one takes the place that older versions read. */
		if (element == assignment) {
			element = next_named(xml, assignment);
			xml_set(assignment, "group", "%s", group_of(element));
		}
		xml_remove(element);
		xml_remove_if_empty(assignment);
	}
}
