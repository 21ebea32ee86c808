/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads and edits libxml2's tree, in terms of a libvirt domain. */
#pragma once

#include <libxml/parser.h>
#include <libxml/tree.h>

#include "core/domain/xml-types.h"
#include "gpupass/cleanup.h"
#include "util/bdf.h"

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
 * Parses text of bounded size and cost, without network, entities or a DTD; writes nothing to
 * stderr. On failure returns NULL and sets *ret_message ("line 5: …").
 */
xmlDoc *xml_parse(const char *text, int options, char **ret_message);
typedef enum XmlPart {
	XML_PART_LIBVIRT,  /* libvirt's own elements */
	XML_PART_IDENTITY, /* <name>, <uuid> */
	XML_PART_METADATA,
	XML_PART_QEMU, /* what QEMU is told past libvirt */
} XmlPart;

/* The state of one parse, in the parser's _private. */
typedef struct XmlParse {
	bool doctype;
	/* xml_skim(): */
	unsigned left_out; /* the number of open elements that are not kept */
	XmlPart part;	   /* where in the domain it is */
} XmlParse;

/* For xml_parse() and xml_skim(): the size check (-E2BIG with a message), and the parse itself. */
int xml_check_size(const char *text, size_t max, size_t *ret, char **ret_message);
xmlDoc *xml_parse_prepared(xmlParserCtxt *parser, const char *text, size_t size, int options,
			   char **ret_message);

/* Iterate over the child elements of `parent`, which may be NULL. */
xmlNode *xml_first(const xmlNode *parent);
xmlNode *xml_next(const xmlNode *node);
/* Only elements without a namespace, as libvirt's own are. */
xmlNode *xml_child(const xmlNode *parent, const char *name);
bool xml_is(const xmlNode *node, const char *name);
/* Borrowed; NULL when absent. */
const char *xml_attribute(const xmlNode *node, const char *name);
bool xml_attribute_is(const xmlNode *node, const char *name, const char *value);
/* A number as libvirt reads it: decimal, 0x hex, 0 octal. -ENOENT, -EINVAL, -ERANGE. */
int xml_number(const xmlNode *node, const char *name, unsigned max, unsigned *ret);

/* <hostdev mode='subsystem' type='pci'> */
bool xml_is_pci_hostdev(const xmlNode *node);
/* The vGPU that <hostdev mode='subsystem' type='mdev'> names, borrowed; NULL: it is none. */
const char *xml_mdev_uuid(const xmlNode *hostdev);
bool xml_is_pci_controller(const xmlNode *node);
/*
 * What <address> says. libvirt writes bus and slot always; a missing segment or function is 0.
 * -ENOENT, -EINVAL, -ERANGE
 */
int xml_address(const xmlNode *address, Bdf *ret);
/* The address on the host. -EBADMSG: there is none, or it is not valid. */
int xml_host_address(const xmlNode *hostdev, Bdf *ret);
/* The address in the guest. -ENOENT: there is none, it is not PCI, or it is not valid. */
int xml_guest_address(const xmlNode *device, Bdf *ret);
/* <alias name=…/>, borrowed; NULL: none. */
const char *xml_alias(const xmlNode *device);

/* The slots of the guest's bus 0 that are used or reserved. */
void xml_used_slots(const DomainXml *xml, bool used[PCI_SLOTS]);

/* Appends an element, indented like those around it. */
xmlNode *xml_append(xmlNode *parent, const char *name);
/* The same, but after the sibling `after`. */
xmlNode *xml_insert_after(xmlNode *after, const char *name);
/* Sets an attribute. */
void xml_set(xmlNode *node, const char *name, const char *format, ...) _printf_(3, 4);
/* Removes the node, and the white space that indents it. */
void xml_remove(xmlNode *node);
/*
 * Removes the declaration of a namespace from the element, unless the element, an attribute or
 * anything inside is in that namespace: in libxml2 these point to the declaration. Nowhere else is
 * a namespace freed on its own. True: it was there and is gone.
 */
bool xml_remove_namespace(xmlNode *element, const char *href);
/* There is nothing but white space inside. */
bool xml_is_empty(const xmlNode *node);
/* With attributes, which are somebody's, it stays, without the white space inside. */
void xml_remove_if_empty(xmlNode *node);

/* The whole document in UTF-8, without an XML declaration. */
char *xml_to_text(xmlDoc *doc, int options);
