/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Edits a domain's XML. xml-add.c adds a group to it, xml-remove.c takes it out again. */
#include <libxml/xmlsave.h>
#include <stdarg.h>

#include "core/domain/xml-tree.h"
#include "util/text.h"
#include "util/xalloc.h"

static const xmlChar *xml_of(const char *s)
{
	return (const xmlChar *)s;
}

static bool is_blank(const xmlNode *node)
{
	return node && xmlIsBlankNode(node);
}

static xmlNode *new_line(xmlDoc *doc, unsigned depth)
{
	_cleanup_free_ char *s = strf("\n%*s", (int)depth * 2, "");

	return xmlNewDocText(doc, xml_of(s));
}

static unsigned depth_of(const xmlNode *node)
{
	unsigned depth = 0;

	for (; node && node->type == XML_ELEMENT_NODE; node = node->parent)
		depth++;
	return depth;
}

static xmlNode *indent_before(xmlNode *node)
{
	xmlAddPrevSibling(node, new_line(node->doc, depth_of(node->parent)));
	return node;
}

static xmlNode *new_element(const xmlNode *where, const char *name)
{
	return xmlNewDocNode(where->doc, NULL, xml_of(name), NULL);
}

/* The first element of its parent: adds a line break before it, and one before the closing tag. */
static xmlNode *append_first(xmlNode *parent, const char *name)
{
	xmlNode *node = xmlAddChild(parent, new_element(parent, name));

	xmlAddNextSibling(node, new_line(parent->doc, depth_of(parent) - 1));
	return indent_before(node);
}

xmlNode *xml_append(xmlNode *parent, const char *name)
{
	xmlNode *last = parent->last;

	if (!last)
		return append_first(parent, name);
	if (!is_blank(last)) /* the XML has no line breaks here: add none */
		return xmlAddChild(parent, new_element(parent, name));
	return indent_before(xmlAddPrevSibling(last, new_element(parent, name)));
}

xmlNode *xml_insert_after(xmlNode *after, const char *name)
{
	xmlNode *node = xmlAddNextSibling(after, new_element(after, name));

	return is_blank(after->prev) ? indent_before(node) : node;
}

void xml_set(xmlNode *node, const char *name, const char *format, ...)
{
	_cleanup_free_ char *value = NULL;
	va_list ap;

	va_start(ap, format);
	value = vstrf(format, ap);
	va_end(ap);
	xmlSetProp(node, xml_of(name), xml_of(value));
}

void xml_remove(xmlNode *node)
{
	xmlNode *blank = node->prev;

	if (is_blank(blank)) {
		xmlUnlinkNode(blank);
		xmlFreeNode(blank);
	}
	xmlUnlinkNode(node);
	xmlFreeNode(node);
}

static bool refers_to(const xmlNode *node, const xmlNs *ns)
{
	if (node->type != XML_ELEMENT_NODE)
		return false;
	if (node->ns == ns)
		return true;
	for (const xmlAttr *i = node->properties; i; i = i->next)
		if (i->ns == ns)
			return true;
	return false;
}

xmlNode *xml_next_node(xmlNode *node, const xmlNode *root)
{
	if (node->type == XML_ELEMENT_NODE && node->children)
		return node->children;
	while (node != root && !node->next)
		node = node->parent;
	return node == root ? NULL : node->next;
}

bool xml_remove_namespace(xmlNode *element, const char *href)
{
	xmlNs **at = &element->nsDef, *gone;

	while (*at && !xmlStrEqual((*at)->href, xml_of(href)))
		at = &(*at)->next;
	gone = *at;
	if (!gone)
		return false;
	for (xmlNode *i = element; i; i = xml_next_node(i, element))
		if (refers_to(i, gone))
			return false;
	*at = gone->next;
	gone->next = NULL;
	xmlFreeNs(gone);
	return true;
}

bool xml_is_empty(const xmlNode *node)
{
	for (const xmlNode *i = node->children; i; i = i->next)
		if (!is_blank(i))
			return false;
	return true;
}

void xml_remove_if_empty(xmlNode *node)
{
	if (!xml_is_empty(node))
		return;
	if (node->properties || node->nsDef)
		xmlNodeSetContent(node, NULL);
	else
		xml_remove(node);
}

/*
 * By itself libxml2 lets a buffer grow by what is added, a few kilobytes, and may move all of it
 * each time. Since 2.14 it doubles the buffer, and takes no wishes.
 */
static xmlBuffer *new_buffer(void)
{
	xmlBuffer *buffer = xmlBufferCreate();

#if LIBXML_VERSION < 21400
	xmlBufferSetAllocationScheme(buffer, XML_BUFFER_ALLOC_DOUBLEIT);
#endif
	return buffer;
}

char *xml_to_text(xmlDoc *doc, int options)
{
	xmlBuffer *buffer = new_buffer();
	xmlSaveCtxt *save =
		xmlSaveToBuffer(buffer, "UTF-8", options | XML_SAVE_NO_DECL | XML_SAVE_AS_XML);
	char *text;

	if (xmlSaveDoc(save, doc) < 0 || xmlSaveClose(save) < 0)
		impossible("libxml2 cannot write what it has read, so this process ends");
	text = xstrdup((const char *)xmlBufferContent(buffer));
	xmlBufferFree(buffer);
	return text;
}

char *domain_xml_to_text(const DomainXml *xml)
{
	return xml_to_text(xml->doc, 0);
}

/* ---- marks ---- */

/* What of the alias, which may be NULL, is behind this stem and kind; NULL: they are not its. */
static const char *alias_rest(const char *alias, const char *stem, const char *kind)
{
	size_t n = strlen(stem);

	return alias && strncmp(alias, stem, n) == 0 && str_starts_with(alias + n, kind)
		       ? alias + n + strlen(kind)
		       : NULL;
}

static bool is_number(const char *text)
{
	return *text && text[strspn(text, "0123456789")] == '\0';
}

bool alias_is(const char *alias, const char *stem, const char *kind)
{
	const char *rest = alias_rest(alias, stem, kind);

	return rest && is_number(rest);
}

void xml_mark(xmlNode *device, const char *stem, const char *kind, unsigned long number)
{
	xml_set(xml_append(device, "alias"), "name", "%s%s%lu", stem, kind, number);
}

/* One pass, since others choose the aliases of a domain, and may choose many. */
unsigned long xml_free_mark(const xmlNode *devices, const char *stem, const char *kind,
			    unsigned long from)
{
	_cleanup_free_ bool *taken = NULL;
	unsigned long long number;
	size_t n = 0, at = 0;

	for (xmlNode *i = xml_first(devices); i; i = xml_next(i))
		n++;
	taken = xcalloc(n + 1, sizeof(bool));
	for (xmlNode *i = xml_first(devices); i; i = xml_next(i)) {
		const char *rest = alias_rest(xml_alias(i), stem, kind);

		if (rest && str_to_unsigned(rest, 10, ULONG_MAX, &number) == 0 && number >= from &&
		    number - from < n)
			taken[number - from] = true;
	}
	while (taken[at])
		at++;
	return from + at;
}

size_t alias_other_stem(const char *alias, const char *stem)
{
	const char *tail, *number;

	if (!alias || !str_starts_with(alias, DOMAIN_ALIAS_PREFIX) || alias_is(alias, stem, "") ||
	    alias_is(alias, stem, DOMAIN_ALIAS_PORT))
		return 0;
	tail = strrchr(alias, '-') + 1;
	number = str_starts_with(tail, DOMAIN_ALIAS_PORT) ? tail + strlen(DOMAIN_ALIAS_PORT) : tail;
	if (!is_number(number) || tail == alias + strlen(DOMAIN_ALIAS_PREFIX))
		return 0;
	return (size_t)(tail - alias);
}

/* ---- our element in <metadata> ---- */

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

	if (xml_find_named(xml, group))
		return;
	if (!element)
		element = assignment_new(xml);
	if (!str_is_empty(xml_attribute(element, "group"))) {
		also = xml_append(element, XML_ALSO);
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
	xmlNode *element = xml_find_named(xml, from);

	if (element)
		xml_set(element, "group", "%s", to);
}

void domain_xml_unname_group(DomainXml *xml, const char *group, bool *ret_changed)
{
	xmlNode *element, *assignment;

	*ret_changed = false;
	while ((element = xml_find_named(xml, group))) {
		*ret_changed = true;
		if (xml_names_only(xml, group)) {
			domain_xml_unmark(xml);
			continue;
		}
		assignment = xml_assignment(xml);
		/* Then the next one takes the place that older versions read. */
		if (element == assignment) {
			element = xml_next_named(xml, assignment);
			xml_set(assignment, "group", "%s", xml_attribute(element, "group"));
		}
		xml_remove(element);
		xml_remove_if_empty(assignment);
	}
}
