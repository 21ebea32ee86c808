/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/domain/xml.h"

#include <ctype.h>
#include <libxml/xmlmemory.h>
#include <string.h>

#include "core/domain/xml-skim.h"
#include "core/domain/xml-tree.h"
#include "util/text.h"
#include "util/xalloc.h"

void xml_use_xalloc(void)
{
	xmlMemSetup(free, xmalloc, xrealloc, xstrdup);
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

static int domain_xml_read(const char *text, bool skim, DomainXml **ret, Problem **ret_problem)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = xcalloc(1, sizeof(*xml));
	_cleanup_free_ char *message = NULL;
	int r;

	xml->doc = skim ? xml_skim(text, &message) : xml_parse(text, 0, &message);
	if (!xml->doc)
		return refuse_xml(ret_problem, message);
	xml->root = xmlDocGetRootElement(xml->doc);
	r = read_identity(xml, ret_problem);
	if (r != 0)
		return r;
	*ret = TAKE_PTR(xml);
	return 0;
}

int domain_xml_parse(const char *text, DomainXml **ret, Problem **ret_problem)
{
	return domain_xml_read(text, false, ret, ret_problem);
}

int domain_xml_skim(const char *text, DomainXml **ret, Problem **ret_problem)
{
	return domain_xml_read(text, true, ret, ret_problem);
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

char *domain_xml_to_text(const DomainXml *xml)
{
	return xml_to_text(xml->doc, 0);
}

const char *domain_xml_uuid(const DomainXml *xml)
{
	return xml->uuid;
}

const char *domain_xml_name(const DomainXml *xml)
{
	return xml->name;
}

static const char *machine_of(const DomainXml *xml)
{
	const xmlNode *type = xml_child(xml_child(xml->root, "os"), "type");

	return type ? str_or_empty(xml_attribute(type, "machine")) : "";
}

static bool is_virt(const DomainXml *xml)
{
	const char *machine = machine_of(xml);

	return str_equal(machine, "virt") || str_starts_with(machine, "virt-");
}

bool domain_xml_is_pcie(const DomainXml *xml)
{
	for (xmlNode *i = xml_first(xml_child(xml->root, "devices")); i; i = xml_next(i)) {
		unsigned index = 0;

		/* libvirt adds the root complex to every definition that it parses. */
		if (xml_is_pci_controller(i) && xml_number(i, "index", UINT8_MAX, &index) == 0 &&
		    index == 0)
			return xml_attribute_is(i, "model", "pcie-root");
	}
	return strstr(machine_of(xml), "q35") || is_virt(xml);
}

bool domain_xml_sees_hotplug(const DomainXml *xml)
{
	return xml_child(xml_child(xml->root, "features"), "acpi") || is_virt(xml);
}

bool domain_xml_bus_hotplug(const DomainXml *xml, unsigned bus)
{
	for (xmlNode *i = xml_first(xml_child(xml->root, "devices")); i; i = xml_next(i)) {
		const xmlNode *target = xml_child(i, "target");
		unsigned index;

		if (xml_is_pci_controller(i) && xml_number(i, "index", UINT8_MAX, &index) == 0 &&
		    index == bus && target && xml_attribute_is(target, "hotplug", "off"))
			return false;
	}
	return true;
}

static bool is_hotplug_port(const xmlNode *device)
{
	const xmlNode *target = xml_child(device, "target");

	/* The downstream port of a switch takes a hotplug, too. */
	if (!xml_is_pci_controller(device) ||
	    (!xml_attribute_is(device, "model", "pcie-root-port") &&
	     !xml_attribute_is(device, "model", "pcie-switch-downstream-port")))
		return false;
	return !target || !xml_attribute_is(target, "hotplug", "off");
}

unsigned domain_xml_free_root_ports(const DomainXml *xml)
{
	const xmlNode *devices = xml_child(xml->root, "devices");
	bool port[UINT8_MAX + 1] = { false };
	unsigned n = 0;

	for (xmlNode *i = xml_first(devices); i; i = xml_next(i)) {
		unsigned index;

		if (is_hotplug_port(i) && xml_number(i, "index", UINT8_MAX, &index) == 0)
			port[index] = true;
	}
	for (xmlNode *i = xml_first(devices); i; i = xml_next(i)) {
		Bdf guest;

		if (xml_guest_address(i, &guest) == 0)
			port[guest.bus] = false;
	}
	for (size_t i = 0; i < ELEMENTS(port); i++)
		n += port[i];
	return n;
}

unsigned domain_xml_free_slots(const DomainXml *xml)
{
	bool used[PCI_SLOTS];
	unsigned n = 0;

	if (!domain_xml_bus_hotplug(xml, 0))
		return 0;
	xml_used_slots(xml, used);
	for (size_t i = 0; i < PCI_SLOTS; i++)
		n += !used[i];
	return n;
}
