/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Parses a domain's XML: all of it, or what is libvirt's own and ours. */
#include <ctype.h>
#include <libxml/SAX2.h>
#include <libxml/xmlmemory.h>

#include "core/domain/xml-bounds.h"
#include "core/domain/xml-tree.h"
#include "util/text.h"
#include "util/xalloc.h"

void xml_use_xalloc(void)
{
	xmlMemSetup(free, xmalloc, xrealloc, xstrdup);
}

static xmlParserCtxt *xml_parser_free(xmlParserCtxt *parser)
{
	if (parser)
		xmlFreeParserCtxt(parser);
	return NULL;
}
DEFINE_CLEANUP(xmlParserCtxt, xml_parser_free)

typedef enum XmlPart {
	XML_PART_LIBVIRT,  /* libvirt's own elements */
	XML_PART_IDENTITY, /* <name>, <uuid> */
	XML_PART_METADATA,
	XML_PART_QEMU, /* what QEMU is told past libvirt */
} XmlPart;

/* The state of one parse, in the parser's _private. */
typedef struct XmlParse {
	bool doctype;
	/* Of a domain that is only looked at: */
	unsigned left_out; /* the number of open elements that are not kept */
	XmlPart part;	   /* where in the domain it is */
} XmlParse;

static XmlParse *parse_of(void *data)
{
	return ((xmlParserCtxt *)data)->_private;
}

/*
 * A DOCTYPE declares entities, by which XML parsers are attacked; libvirt never writes one. The
 * parser stops at its name, so that nothing of it is read.
 */
static void refuse_doctype(void *data, _unused_ const xmlChar *name, _unused_ const xmlChar *id,
			   _unused_ const xmlChar *system_id)
{
	parse_of(data)->doctype = true;
	xmlStopParser(data);
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
 * ---- a domain that is only looked at ----
 *
 * Its tree has only libvirt's own elements, what QEMU is told past libvirt, the texts of name and
 * UUID, and our metadata. Each look reads every domain of the host this way, and one that cannot be
 * read blocks assignments of all. So no nodes are built for what a management panel, or its tenant,
 * may have written: it costs no memory, nor makes this fail, unless it is not well-formed, too long
 * or nested too deep.
 */

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

static bool is_kept(const XmlParse *parse, const xmlNode *parent, const char *href)
{
	if (!parent)
		return true; /* the root */
	if (parse->part == XML_PART_QEMU)
		return str_equal(href, QEMU_NAMESPACE);
	if (is_root(parent) || parse->part == XML_PART_LIBVIRT)
		return !href;
	/* Of metadata, ours. Of a name, libvirt takes all the text inside: XPath's string(). */
	return parse->part == XML_PART_IDENTITY || !is_root(parent->parent) || xml_is_ours(href);
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

/*
 * Of libvirt's other elements the text of one tells what a domain has: the cell of an expander,
 * <target><node>. Of QEMU's none does. libxml2 also hands on the text behind a broken start tag,
 * which has no node.
 */
static bool takes_text(void *data)
{
	const xmlNode *node = ((xmlParserCtxt *)data)->node;
	XmlPart part = parse_of(data)->part;

	return parse_of(data)->left_out == 0 &&
	       (part == XML_PART_IDENTITY || part == XML_PART_METADATA ||
		(part == XML_PART_LIBVIRT && node && xml_is(node, "node") &&
		 xml_is(node->parent, "target")));
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

/* ---- parsing ---- */

/*
 * XML_PARSE_HUGE lifts libxml2's own limits: xml-bounds.h and the check of the size replace them.
 */
static xmlDoc *parse(const char *text, bool skim, int options, char **ret_message)
{
	_cleanup_(xml_parser_freep) xmlParserCtxt *parser = NULL;
	_cleanup_(xml_doc_freep) xmlDoc *doc = NULL;
	size_t most = skim ? DOMAIN_SKIM_MAX : DOMAIN_XML_MAX, size = strnlen(text, most + 1);
	_cleanup_free_ char *thin = skim && size <= most ? xstrndup(text, size) : NULL;
	XmlParse state = { 0 };
	const char *fault;

	if (size > most) {
		*ret_message = strf("it is longer than %zu bytes", most);
		return NULL;
	}
	fault = skim ? xml_bounds_thin(thin, size) : xml_bounds_check(text, size);
	if (fault) {
		*ret_message = xstrdup(fault);
		return NULL;
	}
	parser = xmlNewParserCtxt();
	parser->_private = &state;
	parser->sax->internalSubset = refuse_doctype;
	if (skim)
		listen(parser->sax);
	doc = xmlCtxtReadMemory(parser, skim ? thin : text, (int)size, NULL, NULL,
				options | XML_PARSE_NONET | XML_PARSE_NOERROR |
					XML_PARSE_NOWARNING | XML_PARSE_HUGE);
	if (doc && xmlDocGetRootElement(doc) && !state.doctype)
		return TAKE_PTR(doc);
	*ret_message = parse_message(parser, state.doctype);
	return NULL;
}

xmlDoc *xml_parse(const char *text, int options, char **ret_message)
{
	*ret_message = NULL;
	return parse(text, false, options, ret_message);
}

static int refuse_xml(Problem **ret_problem, const char *why)
{
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		.reason = xstrdup("the domain's XML cannot be used"), .cause = xstrdup(why),
		.remedy = xstrdup(
			"look at it: virsh dumpxml; remove what other tools have put into "
			"its metadata or its description: virsh metadata --remove, virsh desc"));
}

/* 8-4-4-4-12 hex digits, copied in lower case: UUIDs are compared in this form. */
static int uuid_copy(const char *text, char uuid[DOMAIN_UUID_LENGTH + 1])
{
	if (strlen(text) != DOMAIN_UUID_LENGTH)
		return -EINVAL;
	for (size_t i = 0; i < DOMAIN_UUID_LENGTH; i++) {
		bool dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (dash ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
			return -EINVAL;
		uuid[i] = (char)tolower((unsigned char)text[i]);
	}
	uuid[DOMAIN_UUID_LENGTH] = '\0';
	return 0;
}

/* The text of a child of <domain>; NULL: no such child, or nothing but blanks in it. */
static char *child_text(const xmlNode *root, const char *name, bool strip)
{
	const xmlNode *child = xml_child(root, name);
	_cleanup_xml_char_ xmlChar *content = NULL;
	char *text;

	if (!child)
		return NULL;
	content = xmlNodeGetContent(child);
	text = strip ? str_strip((char *)content) : (char *)content;
	return text[strspn(text, " \t\r\n")] == '\0' ? NULL : xstrdup(text);
}

static int read_identity(DomainXml *xml, Problem **ret_problem)
{
	_cleanup_free_ char *uuid = child_text(xml->root, "uuid", true);

	if (!xml_is(xml->root, "domain"))
		return refuse_xml(ret_problem, "its root element is not <domain>");
	xml->name = child_text(xml->root, "name", false);
	if (!xml->name)
		return refuse_xml(ret_problem, "it has no <name>");
	if (!uuid)
		return refuse_xml(ret_problem, "it has no <uuid>");
	if (uuid_copy(uuid, xml->uuid) < 0)
		return refuse_xml(ret_problem, "its <uuid> is not a UUID");
	return 0;
}

int xml_read(const char *text, bool skim, DomainXml **ret, Problem **ret_problem)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = xcalloc(1, sizeof(*xml));
	_cleanup_free_ char *message = NULL;
	int r;

	xml->doc = parse(text, skim, 0, &message);
	if (!xml->doc)
		return refuse_xml(ret_problem, message);
	xml->root = xmlDocGetRootElement(xml->doc);
	r = read_identity(xml, ret_problem);
	if (r != 0)
		return r;
	*ret = TAKE_PTR(xml);
	return 0;
}

int domain_xml_skim(const char *text, DomainXml **ret, Problem **ret_problem)
{
	return xml_read(text, true, ret, ret_problem);
}

DomainXml *domain_xml_free(DomainXml *xml)
{
	if (xml) {
		xml_doc_free(xml->doc);
		free(xml->name);
		free(xml);
	}
	return NULL;
}
