/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xml_skim(): a tree with only libvirt's own elements of a domain, and our metadata. Each look
 * reads every domain of the host this way, and one that cannot be read blocks assignments of all.
 * So no nodes are built for what a management panel, or its tenant, may have written.
 */
#include "core/domain/xml-skim.h"

#include <libxml/SAX2.h>
#include <string.h>

#include "core/domain/qemu-args.h"
#include "core/domain/xml-bounds.h"
#include "util/xalloc.h"

static bool is_root(const xmlNode *node)
{
	return node->parent->type != XML_ELEMENT_NODE;
}

static XmlPart part_of(const char *name, const char *href)
{
	if (href)
		return XML_PART_QEMU;
	if (strcmp(name, "metadata") == 0)
		return XML_PART_METADATA;
	return strcmp(name, "name") == 0 || strcmp(name, "uuid") == 0 ? XML_PART_IDENTITY
								      : XML_PART_LIBVIRT;
}

static bool is_qemus(const char *href)
{
	return href && strcmp(href, QEMU_XML_NAMESPACE) == 0;
}

static bool is_kept(const XmlParse *parse, const xmlNode *parent, const char *href)
{
	if (!parent)
		return true; /* the root */
	if (parse->part == XML_PART_QEMU)
		return is_qemus(href);
	if (is_root(parent) || parse->part == XML_PART_LIBVIRT)
		return !href;
	/* Of metadata, ours. Of a name, libvirt takes all the text inside: XPath's string(). */
	return parse->part == XML_PART_IDENTITY || !is_root(parent->parent) ||
	       (href && strcmp(href, DOMAIN_XML_NAMESPACE) == 0);
}

static XmlParse *parse_of(void *data)
{
	return ((xmlParserCtxt *)data)->_private;
}

static void start_element(void *data, const xmlChar *name, const xmlChar *prefix,
			  const xmlChar *href, int n_namespaces, const xmlChar **namespaces,
			  int n_attributes, int n_defaulted, const xmlChar **attributes)
{
	const xmlNode *parent = ((xmlParserCtxt *)data)->node;
	XmlParse *parse = parse_of(data);

	if (parse->left_out == 0 && parent && is_root(parent))
		parse->part = part_of((const char *)name, (const char *)href);
	if (parse->left_out > 0 || !is_kept(parse, parent, (const char *)href))
		parse->left_out++;
	else
		xmlSAX2StartElementNs(data, name, prefix, href, n_namespaces, namespaces,
				      n_attributes, n_defaulted, attributes);
}

static void end_element(void *data, const xmlChar *name, const xmlChar *prefix, const xmlChar *href)
{
	if (parse_of(data)->left_out > 0)
		parse_of(data)->left_out--;
	else
		xmlSAX2EndElementNs(data, name, prefix, href);
}

/* No text of libvirt's other elements, nor of QEMU's, tells what a domain has. */
static bool takes_text(void *data)
{
	XmlPart part = parse_of(data)->part;

	return parse_of(data)->left_out == 0 &&
	       (part == XML_PART_IDENTITY || part == XML_PART_METADATA);
}

static void characters(void *data, const xmlChar *text, int length)
{
	if (takes_text(data))
		xmlSAX2Characters(data, text, length);
}

static void cdata(void *data, const xmlChar *text, int length)
{
	if (takes_text(data))
		xmlSAX2CDataBlock(data, text, length);
}

static void listen(xmlSAXHandler *sax)
{
	sax->startElementNs = start_element;
	sax->endElementNs = end_element;
	sax->characters = sax->ignorableWhitespace = characters;
	sax->cdataBlock = cdata;
	sax->comment = NULL;
	sax->processingInstruction = NULL;
}

xmlDoc *xml_skim(const char *text, char **ret_message)
{
	_cleanup_(xml_parser_freep) xmlParserCtxt *parser = NULL;
	_cleanup_free_ char *thin = NULL;
	const char *fault;
	size_t size;

	*ret_message = NULL;
	if (xml_check_size(text, DOMAIN_SKIM_MAX, &size, ret_message) < 0)
		return NULL;
	thin = xstrndup(text, size);
	fault = xml_bounds_thin(thin, size);
	if (fault) {
		*ret_message = xstrdup(fault);
		return NULL;
	}
	parser = xmlNewParserCtxt();
	listen(parser->sax);
	return xml_parse_prepared(parser, thin, size, 0, ret_message);
}
