/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/domain/xml-tune.h"

#include "core/domain/xml-tree.h"
#include "core/pci/host-facts.h"
#include "util/text.h"

#include "xml-tune.inc"

#define ADDED_NUMATUNE "numatune"
#define ADDED_CPUSET "vcpu-cpuset"
#define ADDED_BITS "maxphysaddr"
#define ADDED_WINDOW "firmware-window"
#define ADDED_NAMESPACE "qemu-namespace"

static const char *mode_of(const FitTune *tune)
{
	return tune->interleave ? "interleave" : "preferred";
}

void xml_note_added(const DomainXml *xml, const char *what, const char *value)
{
	xmlNode *assignment = xml_assignment(xml), *added = xml_append(assignment, "added");

	xmlSetNs(added, assignment->ns);
	xml_set(added, "what", "%s", what);
	xml_set(added, "value", "%s", value);
}

/* ---- adding ---- */

static void add_numatune(DomainXml *xml, const FitTune *tune)
{
	_cleanup_free_ char *value = strf("%s %s", mode_of(tune), tune->nodeset);
	xmlNode *vcpu = xml_child(xml->root, "vcpu"), *memory;
	xmlNode *numatune = xml_child(xml->root, "numatune");

	if (!numatune)
		numatune = vcpu ? xml_insert_after(vcpu, "numatune")
				: xml_append(xml->root, "numatune");
	memory = xml_append(numatune, "memory");
	xml_set(memory, "mode", "%s", mode_of(tune));
	xml_set(memory, "nodeset", "%s", tune->nodeset);
	xml_note_added(xml, ADDED_NUMATUNE, value);
}

static void add_cpuset(DomainXml *xml, const FitTune *tune)
{
	xmlNode *vcpu = xml_child(xml->root, "vcpu");

	if (!vcpu)
		return;
	xml_set(vcpu, "cpuset", "%s", tune->cpuset);
	xml_note_added(xml, ADDED_CPUSET, tune->cpuset);
}

static void add_bits(DomainXml *xml)
{
	xmlNode *cpu = xml_child(xml->root, "cpu");

	if (!cpu)
		return;
	xml_set(xml_append(cpu, "maxphysaddr"), "mode", "passthrough");
	xml_note_added(xml, ADDED_BITS, "passthrough");
}

static void add_argument(xmlNode *commandline, const char *value)
{
	xmlNode *argument = xml_append(commandline, "arg");

	xmlSetNs(argument, commandline->ns);
	xml_set(argument, "value", "%s", value);
}

static xmlNode *find_commandline(const DomainXml *xml)
{
	return xml_child_of(xml->root, QEMU_NAMESPACE, "commandline");
}

xmlNs *xml_declare_qemu(DomainXml *xml)
{
	const xmlChar *href = (const xmlChar *)QEMU_NAMESPACE;
	xmlNs *ns = xmlSearchNsByHref(xml->doc, xml->root, href);

	if (ns)
		return ns;
	/* A prefix may be another namespace's there. */
	ns = xmlNewNs(xml->root, href, (const xmlChar *)"qemu");
	if (!ns)
		ns = xmlNewNs(xml->root, href, (const xmlChar *)"gpupass-qemu");
	if (ns)
		xml_note_added(xml, ADDED_NAMESPACE, "qemu");
	return ns;
}

/*
 * libvirt has <sysinfo type='fwcfg'>, but refuses names under opt/ovmf/ there. So this one is
 * passed to QEMU as an argument.
 */
static int add_window(DomainXml *xml, const FitTune *tune)
{
	_cleanup_free_ char *value =
		strf("name=" MMIO_WINDOW_KEY ",string=%llu", (unsigned long long)tune->mmio_mb);
	xmlNode *commandline = find_commandline(xml);
	xmlNs *ns = xml_declare_qemu(xml);

	if (!ns)
		return -EEXIST;
	if (!commandline) {
		commandline = xml_append(xml->root, "commandline");
		xmlSetNs(commandline, ns);
	}
	add_argument(commandline, "-fw_cfg");
	add_argument(commandline, value);
	xml_note_added(xml, ADDED_WINDOW, value);
	return 0;
}

int domain_xml_tune(DomainXml *xml, const FitTune *tune)
{
	if (!xml_assignment(xml))
		return -EINVAL;
	if (tune->nodeset)
		add_numatune(xml, tune);
	if (tune->cpuset)
		add_cpuset(xml, tune);
	if (tune->passthrough)
		add_bits(xml);
	return tune->mmio_mb > 0 ? add_window(xml, tune) : 0;
}

/* ---- removing ---- */

/* Also removes white space left in an empty parent: "<cpu mode='host-model'/>" as it was. */
static void remove_child(xmlNode *child)
{
	xmlNode *parent = child->parent;

	xml_remove(child);
	while (xml_is_empty(parent) && parent->children) {
		xmlNode *blank = parent->children;

		xmlUnlinkNode(blank);
		xmlFreeNode(blank);
	}
}

/* libvirt rewrites sets: "0,1" comes back as "0-1". */
static bool same_set(const char *a, const char *b)
{
	CpuSet x, y;

	if (str_equal(a, b))
		return true;
	return a && b && cpu_set_parse(a, &x) == 0 && cpu_set_parse(b, &y) == 0 &&
	       cpu_set_within(&x, &y) && cpu_set_within(&y, &x);
}

static bool remove_numatune(DomainXml *xml, const char *value)
{
	xmlNode *numatune = xml_child(xml->root, "numatune");
	xmlNode *memory = xml_child(numatune, "memory");
	const char *mode = xml_attribute(memory, "mode");

	if (!mode || !str_starts_with(value, mode) || value[strlen(mode)] != ' ')
		return false;
	if (!same_set(xml_attribute(memory, "nodeset"), value + strlen(mode) + 1))
		return false;
	remove_child(memory);
	xml_remove_if_empty(numatune);
	return true;
}

static bool remove_cpuset(DomainXml *xml, const char *value)
{
	xmlNode *vcpu = xml_child(xml->root, "vcpu");

	if (!same_set(xml_attribute(vcpu, "cpuset"), value))
		return false;
	return xmlUnsetProp(vcpu, (const xmlChar *)"cpuset") == 0;
}

static bool remove_bits(DomainXml *xml, const char *value)
{
	xmlNode *bits = xml_child(xml_child(xml->root, "cpu"), "maxphysaddr");

	if (!xml_attribute_is(bits, "mode", value) || xml_attribute(bits, "limit"))
		return false;
	remove_child(bits);
	return true;
}

static bool remove_window(DomainXml *xml, const char *value)
{
	xmlNode *commandline = find_commandline(xml), *previous = NULL;

	for (xmlNode *i = xml_first(commandline); i; previous = i, i = xml_next(i)) {
		if (!xml_attribute_is(i, "value", value) || !previous ||
		    !xml_attribute_is(previous, "value", "-fw_cfg"))
			continue;
		xml_remove(previous);
		remove_child(i);
		xml_remove_if_empty(commandline);
		return true;
	}
	return false;
}

static bool remove_added(DomainXml *xml, const char *what, const char *value)
{
	if (str_equal(what, ADDED_NUMATUNE))
		return remove_numatune(xml, value);
	if (str_equal(what, ADDED_CPUSET))
		return remove_cpuset(xml, value);
	if (str_equal(what, ADDED_BITS))
		return remove_bits(xml, value);
	if (str_equal(what, ADDED_WINDOW))
		return remove_window(xml, value);
	return false;
}

bool xml_is_note(const xmlNode *node, const char **ret_what, const char **ret_value)
{
	if (!str_equal((const char *)node->name, "added"))
		return false;
	*ret_what = xml_attribute(node, "what");
	*ret_value = xml_attribute(node, "value");
	return *ret_what && *ret_value;
}

void domain_xml_tuned(const DomainXml *xml, bool *ret_fit, bool *ret_numa)
{
	const xmlNode *assignment = xml_assignment(xml);
	const char *what, *value;

	*ret_fit = *ret_numa = false;
	for (xmlNode *i = xml_first(assignment); i; i = xml_next(i)) {
		if (!xml_is_note(i, &what, &value))
			continue;
		*ret_fit |= str_equal(what, ADDED_BITS) || str_equal(what, ADDED_WINDOW);
		*ret_numa |= str_equal(what, ADDED_NUMATUNE) || str_equal(what, ADDED_CPUSET);
	}
}

/* While anything uses it, the note stays: what was written for another group may be in it. */
bool xml_undeclare_qemu(DomainXml *xml)
{
	xmlNode *assignment = xml_assignment(xml);
	const char *what, *value;

	for (xmlNode *i = xml_first(assignment); i; i = xml_next(i))
		if (xml_is_note(i, &what, &value) && str_equal(what, ADDED_NAMESPACE) &&
		    xml_remove_namespace(xml->root, QEMU_NAMESPACE)) {
			xml_remove(i);
			xml_remove_if_empty(assignment);
			return true;
		}
	return false;
}

void domain_xml_untune(DomainXml *xml, bool *ret_changed)
{
	xmlNode *assignment = xml_assignment(xml);
	bool changed = false;

	for (xmlNode *i = xml_first(assignment), *next; i; i = next) {
		const char *what, *value;

		next = xml_next(i);
		if (!xml_is_note(i, &what, &value) || str_equal(what, ADDED_NAMESPACE))
			continue;
		remove_added(xml, what, value);
		xml_remove(i);
		changed = true;
	}
	if (changed)
		xml_remove_if_empty(assignment);
	/* Last, when nothing of ours uses it any more. */
	*ret_changed = xml_undeclare_qemu(xml) || changed;
}
