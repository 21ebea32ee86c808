/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading and editing libxml2's tree in the terms of a libvirt domain. */
#pragma once

#include <libxml/parser.h>
#include <libxml/tree.h>

#include "core/base/bdf.h"
#include "core/domain/xml-types.h"
#include "gpupass/cleanup.h"

#define DOMAIN_UUID_LENGTH 36
#define PCI_SLOTS 32

struct DomainXml {
	xmlDoc *doc;
	xmlNode *root; /* <domain> */
	char *name;
	char uuid[DOMAIN_UUID_LENGTH + 1];
};

#define _cleanup_xml_char_ _cleanup_(xml_charp)
static inline _unused_ void xml_charp(xmlChar **s)
{
	if (*s)
		xmlFree(*s);
}

static inline _unused_ xmlDoc *xml_doc_free(xmlDoc *doc)
{
	if (doc)
		xmlFreeDoc(doc);
	return NULL;
}
DEFINE_CLEANUP(xmlDoc, xml_doc_free)

static inline _unused_ xmlParserCtxt *xml_parser_free(xmlParserCtxt *parser)
{
	if (parser)
		xmlFreeParserCtxt(parser);
	return NULL;
}
DEFINE_CLEANUP(xmlParserCtxt, xml_parser_free)

/*
 * Parses bounded text without network, entities or a DTD, and without a word on stderr. NULL with
 * *ret_message ("line 5: …") set; both NULL when memory is out.
 */
xmlDoc *xml_parse(const char *text, int options, char **ret_message);
/* Of one parse; the parser's _private. */
typedef struct XmlParse {
	bool doctype;
	unsigned left_out; /* xml_skim(): elements that are open and not kept */
} XmlParse;

/* What both do: -E2BIG with a message, and the parse itself, with a parser made ready. */
int xml_check_size(const char *text, size_t max, size_t *ret, char **ret_message);
xmlDoc *xml_parse_prepared(xmlParserCtxt *parser, const char *text, size_t size, int options,
			   char **ret_message);

/* The elements in `parent`, which may be NULL, one after another. */
xmlNode *xml_first(const xmlNode *parent);
xmlNode *xml_next(const xmlNode *node);
/* Elements of no namespace, which is where libvirt's own are. */
xmlNode *xml_child(const xmlNode *parent, const char *name);
bool xml_is(const xmlNode *node, const char *name);
/* Our element in <metadata>; NULL: none. */
xmlNode *xml_assignment(const DomainXml *xml);

/* The group it names, borrowed; NULL: none. */
const char *xml_group(const DomainXml *xml);

/* Borrowed; NULL when absent. */
const char *xml_attribute(const xmlNode *node, const char *name);
bool xml_attribute_is(const xmlNode *node, const char *name, const char *value);
/* As libvirt reads numbers: decimal, 0x hex, 0 octal. -ENOENT, -EINVAL, -ERANGE. */
int xml_number(const xmlNode *node, const char *name, unsigned max, unsigned *ret);

/* <hostdev mode='subsystem' type='pci'> */
bool xml_is_pci_hostdev(const xmlNode *node);
bool xml_is_pci_controller(const xmlNode *node);
/* The address on the host. -EBADMSG when there is none, or none that could be. */
int xml_host_address(const xmlNode *hostdev, Bdf *ret);
/* The device's place in the guest; -ENOENT when it has no (readable) PCI address. */
int xml_guest_address(const xmlNode *device, Bdf *ret);
/* <alias name=…/>, borrowed; NULL: none. */
const char *xml_alias(const xmlNode *device);

/* Slots of the guest's bus 0 that nothing more can be put into. */
void xml_used_slots(const DomainXml *xml, bool used[PCI_SLOTS]);

/* Appends an element, indented as its surroundings are; NULL when memory is out. */
xmlNode *xml_append(xmlNode *parent, const char *name);
/* The same, but behind the sibling `after`. */
xmlNode *xml_insert_after(xmlNode *after, const char *name);
/* Sets an attribute; -ENOMEM. */
int xml_set(xmlNode *node, const char *name, const char *format, ...) _printf_(3, 4);
/* Takes the node out, with the white space that indents it. */
void xml_remove(xmlNode *node);
/*
 * Takes the declaration of a namespace out of the element, unless something in it is of that namespace:
 * libxml2's elements and attributes, however deep, keep a pointer to the declaration. The one place
 * where a namespace is freed alone. True: it was there, and is gone.
 */
bool xml_remove_namespace(xmlNode *element, const char *href);
/* No element and no text but white space inside. */
bool xml_is_empty(const xmlNode *node);

/* The whole document in UTF-8, without an XML declaration. */
char *xml_to_text(xmlDoc *doc, int options);
