/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * xml_skim(): a tree with only those elements of a domain that say which functions it has. Each
 * look reads every domain of the host this way, and one that cannot be read blocks assignments of
 * all. So no nodes are built for what a management panel, or its tenant, may have written.
 */
#include "core/domain/xml-skim.h"

#include <libxml/SAX2.h>
#include <string.h>

#include "core/domain/qemu-args.h"
#include "core/domain/xml-bounds.h"

static bool is_one_of(const char *name, const char *const *names)
{
	for (; *names; names++)
		if (strcmp(name, *names) == 0)
			return true;
	return false;
}

static bool is_root(const xmlNode *node)
{
	return node->parent->type != XML_ELEMENT_NODE;
}

static bool is_kept(const xmlNode *parent, const char *name, const char *href)
{
	static const char *const parts[] = { "name", "uuid", "metadata", "devices", NULL };
	static const char *const past[] = { "commandline", "override", NULL };
	bool is_qemu = href && strcmp(href, QEMU_XML_NAMESPACE) == 0;

	if (!parent)
		return true; /* the root */
	if (is_root(parent))
		return is_qemu ? is_one_of(name, past) : !href && is_one_of(name, parts);
	if (!is_root(parent->parent))
		return true; /* inside an element that is kept */
	/* libvirt takes all the text inside: XPath's string(). */
	if (xml_is(parent, "name") || xml_is(parent, "uuid"))
		return true;
	if (xml_is(parent, "metadata"))
		return href && strcmp(href, DOMAIN_XML_NAMESPACE) == 0;
	return is_qemu && parent->ns;
}

/* libxml2 gives five pointers for each attribute: name, prefix, URI, value and its end. */
static bool has_type(const xmlChar **attributes, int n, const char *type)
{
	for (int i = 0; i < n; i++) {
		const xmlChar **a = attributes + 5 * (size_t)i;

		if (strcmp((const char *)a[0], "type") == 0 && !a[1] &&
		    (size_t)(a[4] - a[3]) == strlen(type) && memcmp(a[3], type, strlen(type)) == 0)
			return true;
	}
	return false;
}

/* xml_takes_pci_function(), as far as its tag tells. */
static bool may_take_function(const xmlNode *parent, const char *name, const xmlChar **attributes,
			      int n)
{
	if (!parent || is_root(parent) || !is_root(parent->parent) || !xml_is(parent, "devices"))
		return false;
	if (strcmp(name, "interface") == 0)
		return has_type(attributes, n, "hostdev");
	if (strcmp(name, "disk") == 0)
		return has_type(attributes, n, "nvme");
	return strcmp(name, "hostdev") == 0;
}

static unsigned *left_out(void *data)
{
	XmlParse *parse = ((xmlParserCtxt *)data)->_private;

	return &parse->left_out;
}

static void start_element(void *data, const xmlChar *name, const xmlChar *prefix,
			  const xmlChar *href, int n_namespaces, const xmlChar **namespaces,
			  int n_attributes, int n_defaulted, const xmlChar **attributes)
{
	const xmlParserCtxt *parser = data;

	if (*left_out(data) > 0 ||
	    (!is_kept(parser->node, (const char *)name, (const char *)href) &&
	     (href ||
	      !may_take_function(parser->node, (const char *)name, attributes, n_attributes))))
		(*left_out(data))++;
	else
		xmlSAX2StartElementNs(data, name, prefix, href, n_namespaces, namespaces,
				      n_attributes, n_defaulted, attributes);
}

static void end_element(void *data, const xmlChar *name, const xmlChar *prefix, const xmlChar *href)
{
	if (*left_out(data) > 0)
		(*left_out(data))--;
	else
		xmlSAX2EndElementNs(data, name, prefix, href);
}

static void characters(void *data, const xmlChar *text, int length)
{
	if (*left_out(data) == 0)
		xmlSAX2Characters(data, text, length);
}

static void cdata(void *data, const xmlChar *text, int length)
{
	if (*left_out(data) == 0)
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
	thin = strndup(text, size);
	if (!thin)
		return NULL;
	fault = xml_bounds_thin(thin, size);
	if (fault) {
		*ret_message = strdup(fault);
		return NULL;
	}
	parser = xmlNewParserCtxt();
	if (!parser)
		return NULL;
	listen(parser->sax);
	return xml_parse_prepared(parser, thin, size, 0, ret_message);
}
