/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "xml-mutator.h"

#include <libxml/parser.h>
#include <libxml/tree.h>

#include "core/domain/xml-tune.h"
#include "core/domain/xml.h"
#include "fuzz.h"

#define NODES_MAX 4096
#define CHANGES_MAX 6

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

#define UUID "3f0c9a52-6c2b-4a62-9a0e-0c1d5b8f4242"
#define OURS " xmlns:gpupass='" DOMAIN_XML_NAMESPACE "'"
#define QEMU " xmlns:qemu='" QEMU_NAMESPACE "'"
#define HOSTDEV(managed, bus, function, rest)                                                      \
	"<hostdev mode='subsystem' type='pci' managed='" managed "'><source><address domain='0' "  \
	"bus='" bus "' slot='0' function='" function "'/></source>" rest "</hostdev>"
#define GUEST(bus, slot, function)                                                                 \
	"<address type='pci' domain='0x0000' bus='" bus "' slot='" slot "' function='" function    \
	"'/>"
#define PORT(index, rest)                                                                          \
	"<controller type='pci' index='" index "' model='pcie-root-port'>" rest "</controller>"

/* Begins a new document, where the old one cannot be parsed. */
static const char *const documents[] = {
	"<domain type='kvm'><name>a</name><uuid>" UUID "</uuid><os><type machine='q35'>hvm</type>"
	"</os><vcpu>4</vcpu><cpu mode='host-passthrough'/><devices/></domain>",
	"<domain type='qemu'" QEMU ">\n  <name>b</name>\n  <uuid>" UUID "</uuid>\n  <os>\n    "
	"<type machine='pc'>hvm</type>\n  </os>\n  <devices>\n    <emulator>/x</emulator>\n  "
	"</devices>\n  <qemu:commandline>\n    <qemu:arg value='-object'/>\n  "
	"</qemu:commandline>\n</domain>\n",
};

/* Pieces of domains. Those of <devices> come first. */
static const char *const pieces[] = {
	HOSTDEV("no", "0x41", "0", ""),
	HOSTDEV("yes", "0x41", "1", "<alias name='hostdev0'/>" GUEST("1", "0", "0")),
	HOSTDEV("no", "0x61", "0x0", "<alias name='ua-gpupass-pair0-0'/>" GUEST("0x05", "0", "0")),
	HOSTDEV("no", "9", "0", "<alias name='ua-gpupass-pair0-7'/>"),
	HOSTDEV("no", "9", "1", "<alias name='ua-gpupass-a_db__c-0'/>" GUEST("0", "3", "1")),
	HOSTDEV("no", "256", "8", ""),
	"<hostdev mode='subsystem' type='usb'><source><vendor id='0x1'/></source></hostdev>",
	PORT("1", "<alias name='ua-gpupass-pair0-port0'/>"),
	PORT("5", "<alias name='ua-gpupass-pair0-port1'/>" GUEST("0", "2", "0")),
	PORT("255", GUEST("0", "0x02", "1")),
	PORT("0x7", "<alias name='pci.7'/>"),
	"<controller type='pci' model='pcie-root-port'/>",
	"<controller type='usb' index='90'/>",
	"<interface type='network'>" GUEST("0x06", "0x00", "0x0") "</interface>",
	"<graphics type='vnc' passwd='" XML_SECRET "' port='1'/>",
	"<shmem secret='" XML_SECRET "' name='a'><model type='ivshmem-plain'/></shmem>",
	"<alias name='ua-gpupass-pair0-3'/>",
	"<metadata><gpupass:assignment" OURS " group='pair0'/></metadata>",
	"<metadata><x:y xmlns:x='urn:x' a='" XML_SECRET "'>" XML_SECRET "</x:y></metadata>",
	"<g:assignment xmlns:g='" DOMAIN_XML_NAMESPACE "' group='a.b_c'><g:added "
	"what='numatune' value='preferred 1'/><g:added what='qemu-namespace' value='qemu'/>"
	"</g:assignment>",
	"<f:assignment xmlns:f='" DOMAIN_XML_FORMER_NAMESPACE "' group='pair0'><f:also "
	"group='pair1'/><f:added what='vcpu-cpuset' value='8-15'/></f:assignment>",
	"<metadata xmlns:f='" DOMAIN_XML_FORMER_NAMESPACE "'><f:assignment group='a' f:x='y'/>"
	"</metadata>",
	"<gpupass:added" OURS " what='firmware-window' "
	"value='name=opt/ovmf/X-PciMmio64Mb,string=262144'/>",
	"<gpupass:added" OURS " what='vcpu-cpuset' value='8-15'/>",
	"<gpupass:added" OURS " what='maxphysaddr' value='passthrough'/>",
	"<qemu:commandline" QEMU "><qemu:arg value='-fw_cfg'/><qemu:arg "
	"value='name=opt/ovmf/X-PciMmio64Mb,string=262144'/></qemu:commandline>",
	"<qemu:commandline" QEMU "><qemu:arg value='secret,data=" XML_SECRET "'/>"
	"</qemu:commandline>",
	"<numatune><memory mode='preferred' nodeset='1'/></numatune>",
	"<vcpu cpuset='8,9-15' placement='static'>4</vcpu>",
	"<cpu mode='host-model'><maxphysaddr mode='passthrough' limit='39'/></cpu>",
	"<description>" XML_SECRET " &lt;hostdev/&gt;</description>",
	"<devices/>",
	"<devices><emulator>/usr/bin/kvm</emulator></devices>",
	"<domain><name>inner</name></domain>",
	"<features><acpi/></features>",
	"<!-- " XML_SECRET " -->",
	"<?gpupass " XML_SECRET "?>",
	"<![CDATA[<" XML_SECRET ">]]>",
	"<a:b xmlns:a='urn:a' xmlns:b='urn:b' b:c='1' a:c='2' c='3'/>",
	" \n\t ",
	"&#13;&amp;&#x20AC;",
};

/* Values of attributes, and of texts of elements. */
static const char *const values[] = {
	"",
	"0",
	"1",
	"0x41",
	"0x61",
	"010",
	"9",
	"31",
	"255",
	"256",
	"-1",
	"yes",
	"no",
	"pci",
	"usb",
	"q35",
	"pc",
	"virt",
	"kvm",
	"qemu",
	"xen",
	"on",
	"pair0",
	"a.b_c",
	"8-15",
	"^3",
	"preferred",
	"0x7",
	"0x1f",
	"0x20",
	"0x10000",
	"off",
	UUID,
	"name",
	"0-0",
	"passthrough",
	"0,1-3",
	"host-passthrough",
	"ua-gpupass-pair0-0",
	"ua-gpupass-pair0-port0",
	"ua-gpupass-a_db__c-18446744073709551616",
	"ua-gpupass-pair0-00",
	"\xe2\x80\xae\n\"'<&>",
	"name=opt/ovmf/X-PciMmio64Mb,string=1",
	"ua-gpupass-",
};

static const char *const names[] = {
	"mode",	  "type",	   "managed", "domain", "bus",	     "slot",	  "function",
	"name",	  "group",	   "index",   "model",	"what",	     "value",	  "nodeset",
	"cpuset", "multifunction", "machine", "limit",	"xml:space", "placement",
};

typedef struct Draw {
	uint32_t state;
} Draw;

static uint32_t draw(Draw *d, size_t below)
{
	d->state = d->state * 1664525U + 1013904223U;
	return (uint32_t)((uint64_t)(d->state >> 8) * below >> 24);
}

static const xmlChar *draw_from(Draw *d, const char *const *list, size_t n)
{
	return (const xmlChar *)list[draw(d, n)];
}

static void collect(xmlNode *node, xmlNode **nodes, size_t *n)
{
	for (; node; node = node->next) {
		if (*n == NODES_MAX)
			return;
		nodes[(*n)++] = node;
		if (node->type == XML_ELEMENT_NODE)
			collect(node->children, nodes, n);
	}
}

/* Any node, or any element; the root when none is met soon. */
static xmlNode *draw_node(Draw *d, xmlDoc *doc, bool element)
{
	xmlNode *nodes[NODES_MAX];
	size_t n = 0;

	collect(xmlDocGetRootElement(doc), nodes, &n);
	for (unsigned tries = 0; n > 0 && tries < 8; tries++) {
		xmlNode *node = nodes[draw(d, n)];

		if (!element || node->type == XML_ELEMENT_NODE)
			return node;
	}
	return xmlDocGetRootElement(doc);
}

/* Puts it there as the last child, the first, or a sibling. */
static void place(Draw *d, xmlNode *anchor, xmlNode *node)
{
	xmlNode *placed;

	if (anchor->parent->type == XML_DOCUMENT_NODE || draw(d, 2) == 0)
		placed = anchor->type == XML_ELEMENT_NODE ? xmlAddChild(anchor, node) : NULL;
	else
		placed = xmlAddPrevSibling(anchor, node);
	if (!placed)
		xmlFreeNode(node);
}

static void add_piece(Draw *d, xmlDoc *doc, xmlNode *anchor)
{
	const char *piece = pieces[draw(d, ELEMENTS(pieces))];
	xmlNode *list = NULL;

	if (xmlParseBalancedChunkMemory(doc, NULL, NULL, 0, (const xmlChar *)piece, &list) != 0) {
		xmlFreeNodeList(list);
		return;
	}
	for (xmlNode *next; list; list = next) {
		next = list->next;
		xmlUnlinkNode(list);
		place(d, anchor, list);
	}
}

static xmlNode *find_devices(xmlDoc *doc)
{
	xmlNode *root = xmlDocGetRootElement(doc);

	for (xmlNode *i = root->children; i; i = i->next)
		if (i->type == XML_ELEMENT_NODE && strcmp((const char *)i->name, "devices") == 0)
			return i;
	return root;
}

static void set_attribute(Draw *d, xmlNode *node)
{
	const xmlChar *value = draw_from(d, values, ELEMENTS(values));
	xmlAttr *attribute = node->properties;

	for (size_t n = draw(d, 4); attribute && n > 0; n--)
		attribute = attribute->next;
	if (!attribute || draw(d, 3) == 0)
		xmlSetProp(node, draw_from(d, names, ELEMENTS(names)), value);
	else if (draw(d, 6) == 0)
		xmlRemoveProp(attribute);
	else
		xmlSetProp(node, attribute->name, value);
}

static void change(Draw *d, xmlDoc *doc)
{
	xmlNode *node = draw_node(d, doc, draw(d, 3) != 0), *copy;
	bool is_root = node == xmlDocGetRootElement(doc);

	switch (draw(d, 8)) {
	case 0:
		if (!is_root) {
			xmlUnlinkNode(node);
			xmlFreeNode(node);
		}
		break;
	case 1:
		copy = is_root ? NULL : xmlDocCopyNode(node, doc, 1);
		if (copy)
			place(d, draw_node(d, doc, true), copy);
		break;
	case 2:
		if (node->type == XML_ELEMENT_NODE && draw(d, 2))
			xmlNodeSetName(node, draw_node(d, doc, true)->name);
		else if (node->type != XML_ELEMENT_NODE || !xmlFirstElementChild(node))
			xmlNodeSetContent(node, (const xmlChar *)"");
		break;
	case 3:
	case 4:
		add_piece(d, doc, find_devices(doc));
		break;
	case 5:
		add_piece(d, doc, node);
		break;
	default:
		if (node->type == XML_ELEMENT_NODE)
			set_attribute(d, node);
	}
}

static xmlDoc *parse(const char *text, size_t size)
{
	return xmlReadMemory(text, (int)size, NULL, NULL,
			     XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	Draw d = { seed };
	xmlDoc *doc = draw(&d, 4) == 0 ? NULL : parse((const char *)data, size);
	xmlBuffer *buffer;
	size_t n;

	if (!doc && draw(&d, 8) != 0)
		return LLVMFuzzerMutate(data, size, max_size);
	if (!doc) {
		const char *text = documents[draw(&d, ELEMENTS(documents))];

		doc = parse(text, strlen(text));
	}
	for (size_t i = 1 + draw(&d, CHANGES_MAX); i > 0; i--)
		change(&d, doc);
	buffer = xmlBufferCreate();
	xmlNodeDump(buffer, doc, xmlDocGetRootElement(doc), 0, 0);
	n = (size_t)xmlBufferLength(buffer);
	if (n > 0 && n <= max_size)
		memcpy(data, xmlBufferContent(buffer), n);
	xmlBufferFree(buffer);
	xmlFreeDoc(doc);
	return n > 0 && n <= max_size ? n : LLVMFuzzerMutate(data, size, max_size);
}
