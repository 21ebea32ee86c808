/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/domain/xml-tree.h"

#include <libxml/xmlsave.h>
#include <stdarg.h>
#include <string.h>

#include "core/domain/xml-bounds.h"
#include "util/text.h"
#include "util/xalloc.h"

/*
 * i440fx: slot 0 is the host bridge; slot 1 is the PIIX3, some functions of which libvirt does not
 * list; slot 2 is kept free by libvirt for the primary display.
 */
#define FIRST_FREE_SLOT 3

static const char *text_of(const xmlChar *s)
{
	return (const char *)s;
}

static const xmlChar *xml_of(const char *s)
{
	return (const xmlChar *)s;
}

/*
 * A DOCTYPE declares entities, by which XML parsers are attacked; libvirt never writes one. The
 * parser stops at its name, so that nothing of it is read.
 */
static void refuse_doctype(void *data, _unused_ const xmlChar *name, _unused_ const xmlChar *id,
			   _unused_ const xmlChar *system_id)
{
	xmlParserCtxt *parser = data;
	XmlParse *parse = parser->_private;

	parse->doctype = true;
	xmlStopParser(parser);
}

/* The message has only libxml2's own words and names of elements and attributes. */
static bool tells_no_content(const xmlError *error)
{
	switch (error->code) {
	case XML_ERR_TAG_NAME_MISMATCH:
	case XML_ERR_ATTRIBUTE_REDEFINED:
	case XML_ERR_UNDECLARED_ENTITY:
	case XML_ERR_INVALID_CHAR: /* the bytes are on the next line, which is left out */
	case XML_ERR_INVALID_ENCODING:
		return true;
	default:
		return !error->str1 && !error->str2;
	}
}

/*
 * Whoever made the request reads the error. libxml2 quotes pieces of the text in its messages, and
 * the text may have passwords.
 */
static char *parse_message(const xmlParserCtxt *parser, bool doctype)
{
	const xmlError *error = xmlCtxtGetLastError((void *)parser);
	_cleanup_free_ char *what = NULL;

	if (doctype)
		return xstrdup("it has a DOCTYPE, which a libvirt domain never has");
	if (!error || !error->message)
		return xstrdup("it is not XML");
	if (!tells_no_content(error))
		return strf("line %d: it is not well-formed (libxml2's error %d)", error->line,
			    error->code);
	what = xstrndup(error->message, strcspn(error->message, "\n"));
	return strf("line %d: %s", error->line, str_strip(what));
}

/*
 * XML_PARSE_HUGE lifts libxml2's own limits: xml-bounds.h and the check of the size replace them.
 */
xmlDoc *xml_parse_prepared(xmlParserCtxt *parser, const char *text, size_t size, int options,
			   char **ret_message)
{
	_cleanup_(xml_doc_freep) xmlDoc *doc = NULL;
	XmlParse parse = { 0 };

	parser->_private = &parse;
	parser->sax->internalSubset = refuse_doctype;
	doc = xmlCtxtReadMemory(parser, text, (int)size, NULL, NULL,
				options | XML_PARSE_NONET | XML_PARSE_NOERROR |
					XML_PARSE_NOWARNING | XML_PARSE_HUGE);
	if (doc && xmlDocGetRootElement(doc) && !parse.doctype)
		return TAKE_PTR(doc);
	*ret_message = parse_message(parser, parse.doctype);
	return NULL;
}

int xml_check_size(const char *text, size_t max, size_t *ret, char **ret_message)
{
	*ret = strnlen(text, max + 1);
	if (*ret <= max)
		return 0;
	*ret_message = strf("it is longer than %zu bytes", max);
	return -E2BIG;
}

xmlDoc *xml_parse(const char *text, int options, char **ret_message)
{
	_cleanup_(xml_parser_freep) xmlParserCtxt *parser = NULL;
	const char *fault;
	size_t size;

	*ret_message = NULL;
	if (xml_check_size(text, DOMAIN_XML_MAX, &size, ret_message) < 0)
		return NULL;
	fault = xml_bounds_check(text, size);
	if (fault) {
		*ret_message = xstrdup(fault);
		return NULL;
	}
	parser = xmlNewParserCtxt();
	return xml_parse_prepared(parser, text, size, options, ret_message);
}

static xmlNode *element_from(xmlNode *node)
{
	while (node && node->type != XML_ELEMENT_NODE)
		node = node->next;
	return node;
}

xmlNode *xml_first(const xmlNode *parent)
{
	return parent ? element_from(parent->children) : NULL;
}

xmlNode *xml_next(const xmlNode *node)
{
	return element_from(node->next);
}

bool xml_is(const xmlNode *node, const char *name)
{
	return node->type == XML_ELEMENT_NODE && !node->ns &&
	       strcmp(text_of(node->name), name) == 0;
}

xmlNode *xml_child(const xmlNode *parent, const char *name)
{
	for (xmlNode *i = parent ? parent->children : NULL; i; i = i->next)
		if (xml_is(i, name))
			return i;
	return NULL;
}

const char *xml_attribute(const xmlNode *node, const char *name)
{
	const xmlAttr *attribute = xmlHasNsProp(node, xml_of(name), NULL);

	if (!attribute)
		return NULL;
	/* Without a DTD there are no entities left to resolve: the value is one text node. */
	return attribute->children ? text_of(attribute->children->content) : "";
}

bool xml_attribute_is(const xmlNode *node, const char *name, const char *value)
{
	return str_equal(xml_attribute(node, name), value);
}

int xml_number(const xmlNode *node, const char *name, unsigned max, unsigned *ret)
{
	const char *value = xml_attribute(node, name);
	unsigned long long number = 0;
	int r;

	if (!value)
		return -ENOENT;
	r = str_to_unsigned(value, 0, max, &number);
	if (r < 0)
		return r;
	*ret = (unsigned)number;
	return 0;
}

bool xml_is_pci_hostdev(const xmlNode *node)
{
	return xml_is(node, "hostdev") && xml_attribute_is(node, "mode", "subsystem") &&
	       xml_attribute_is(node, "type", "pci");
}

const char *xml_mdev_uuid(const xmlNode *hostdev)
{
	const xmlNode *address = xml_child(xml_child(hostdev, "source"), "address");

	if (!address || !xml_is(hostdev, "hostdev") ||
	    !xml_attribute_is(hostdev, "mode", "subsystem") ||
	    !xml_attribute_is(hostdev, "type", "mdev"))
		return NULL;
	return xml_attribute(address, "uuid");
}

bool xml_is_pci_controller(const xmlNode *node)
{
	return xml_is(node, "controller") && xml_attribute_is(node, "type", "pci");
}

int xml_address(const xmlNode *address, Bdf *ret)
{
	unsigned segment = 0, bus, slot, function = 0;
	int r;

	r = xml_number(address, "domain", UINT32_MAX, &segment);
	if (r < 0 && r != -ENOENT)
		return r;
	r = xml_number(address, "bus", UINT8_MAX, &bus);
	if (r < 0)
		return r;
	r = xml_number(address, "slot", 0x1f, &slot);
	if (r < 0)
		return r;
	r = xml_number(address, "function", 7, &function);
	if (r < 0 && r != -ENOENT)
		return r;
	*ret = (Bdf){
		.segment = segment,
		.bus = (uint8_t)bus,
		.device = (uint8_t)slot,
		.function = (uint8_t)function,
	};
	return 0;
}

int xml_host_address(const xmlNode *hostdev, Bdf *ret)
{
	const xmlNode *source = xml_child(hostdev, "source");
	const xmlNode *address = xml_child(source, "address");

	return address && xml_address(address, ret) == 0 ? 0 : -EBADMSG;
}

int xml_guest_address(const xmlNode *device, Bdf *ret)
{
	const xmlNode *address = xml_child(device, "address");

	if (!address || !xml_attribute_is(address, "type", "pci"))
		return -ENOENT;
	return xml_address(address, ret) == 0 ? 0 : -ENOENT;
}

const char *xml_alias(const xmlNode *device)
{
	const xmlNode *alias = xml_child(device, "alias");

	return alias ? xml_attribute(alias, "name") : NULL;
}

void xml_used_slots(const DomainXml *xml, bool used[PCI_SLOTS])
{
	for (size_t i = 0; i < PCI_SLOTS; i++)
		used[i] = i < FIRST_FREE_SLOT;
	for (xmlNode *i = xml_first(xml_child(xml->root, "devices")); i; i = xml_next(i)) {
		Bdf guest;

		if (xml_guest_address(i, &guest) == 0 && guest.bus == 0)
			used[guest.device] = true;
	}
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

/* The next node of the tree in document order, without recursion: `root` may be deep. */
static const xmlNode *next_node(const xmlNode *node, const xmlNode *root)
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
	for (const xmlNode *i = element; i; i = next_node(i, element))
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
	text = xstrdup(text_of(xmlBufferContent(buffer)));
	xmlBufferFree(buffer);
	return text;
}
