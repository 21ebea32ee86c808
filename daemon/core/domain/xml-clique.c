/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Peer access over PCIe. A guest's driver lets boards reach each other's memory if both have the
 * capability "P2P" with the same clique (hypervisor.c in NVIDIA's open kernel modules). QEMU gives
 * it to a device vfio-pci by a property that libvirt has no element for:
 *
 *   <qemu:override>
 *     <qemu:device alias='ua-gpupass-pair0-0'>
 *       <qemu:frontend>
 *         <qemu:property name='x-nv-gpudirect-clique' type='unsigned' value='0'/>
 */
#include "core/domain/ref.h"
#include "core/domain/xml-tree.h"
#include "util/text.h"
#include "util/xalloc.h"

/* libvirt writes one, whatever it was given. */
static xmlNode *find_override(const DomainXml *xml)
{
	return xml_child_of(xml->root, QEMU_NAMESPACE, "override");
}

int xml_check_cliques(const DomainXml *xml, const char *stem, Problem **ret_problem)
{
	for (const xmlNode *i = xml_first(find_override(xml)); i; i = xml_next(i)) {
		const char *alias = xml_attribute(i, "alias");

		if (!alias_is(alias, stem, ""))
			continue;
		return problem_refuse(
			ret_problem, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
			.reason = strf("%s has a <qemu:override> of its own for %s", xml->name,
				       alias),
			.cause = xstrdup("peer access over PCIe would have to change it"),
			.remedy = strf("take it out (virsh edit %s), or do without peer access",
				       domain_ref_word(xml->name, xml->uuid)));
	}
	return 0;
}

static xmlNode *append_of(xmlNode *parent, xmlNs *ns, const char *name)
{
	xmlNode *node = xml_append(parent, name);

	xmlSetNs(node, ns);
	return node;
}

int xml_add_clique(DomainXml *xml, const char *alias)
{
	xmlNode *override = find_override(xml);
	xmlNs *ns = xml_declare_qemu(xml);
	xmlNode *device, *property;

	if (!ns)
		return -EEXIST;
	if (!override)
		override = append_of(xml->root, ns, "override");
	device = append_of(override, ns, "device");
	xml_set(device, "alias", "%s", alias);
	property = append_of(append_of(device, ns, "frontend"), ns, "property");
	xml_set(property, "name", "%s", QEMU_CLIQUE_PROPERTY);
	xml_set(property, "type", "unsigned");
	xml_set(property, "value", "0");
	return 0;
}

/* With what is empty by that. What somebody added beside ours stays. */
static bool remove_below(xmlNode *parent)
{
	bool changed = false;

	for (xmlNode *i = xml_first(parent), *next; i; i = next) {
		bool ours = xml_is_clique(i);

		next = xml_next(i);
		changed |= ours || remove_below(i);
		if (ours)
			xml_remove(i);
	}
	if (changed)
		xml_remove_if_empty(parent);
	return changed;
}

bool xml_remove_cliques(DomainXml *xml, const char *stem)
{
	xmlNode *override = find_override(xml);
	bool changed = false;

	for (xmlNode *i = xml_first(override), *next; i; i = next) {
		next = xml_next(i);
		if (!alias_is(xml_attribute(i, "alias"), stem, "") || !remove_below(i))
			continue;
		changed = true;
		if (xml_is_empty(i))
			xml_remove(i);
	}
	if (changed) {
		xml_remove_if_empty(override);
		xml_undeclare_qemu(xml);
	}
	return changed;
}

/* ---- what takes the effect from it ---- */

static bool is_cpu(const char *argument)
{
	return str_equal(argument, "-cpu") || str_equal(argument, "--cpu");
}

/*
 * The driver looks at the capability only if CPUID tells of a hypervisor that it knows (p2p_caps.c
 * and hypervisor.c there). Of other processors it is not known.
 */
const char *domain_xml_hides_hypervisor(const DomainXml *xml)
{
	const xmlNode *features = xml_child(xml->root, "features"), *cpu;
	const xmlNode *type = xml_child(xml_child(xml->root, "os"), "type");

	if (!xml_attribute_is(type, "arch", "x86_64"))
		return "its guest is not of x86_64";
	if (!xml_attribute_is(xml->root, "type", "kvm"))
		return "its hypervisor is not KVM";
	if (xml_attribute_is(xml_child(xml_child(features, "kvm"), "hidden"), "state", "on"))
		return "it hides KVM from its guest: <kvm><hidden state='on'/>";
	if (xml_attribute_is(xml_child(xml_child(features, "hyperv"), "vendor_id"), "state", "on"))
		return "it gives its guest another hypervisor's name: <hyperv><vendor_id/>";
	if (xml_some_argument(xml, is_cpu))
		return "its <qemu:commandline> has -cpu, which may hide its hypervisor";
	cpu = xml_child(xml->root, "cpu");
	for (const xmlNode *i = xml_first(cpu); i; i = xml_next(i))
		if (xml_is(i, "feature") && xml_attribute_is(i, "name", "hypervisor") &&
		    xml_attribute_is(i, "policy", "disable"))
			return "it hides its hypervisor: <feature policy='disable' "
			       "name='hypervisor'/>";
	return NULL;
}

/* libvirt writes its own choice into each definition (virQEMUCapsFindBinaryForArch()). */
bool domain_xml_has_own_emulator(const DomainXml *xml)
{
	static const char *const usual[] = { "", "/usr/bin/qemu-system-x86_64", "/usr/bin/kvm",
					     "/usr/libexec/qemu-kvm", NULL };
	xmlNode *emulator = xml_child(xml_child(xml->root, "devices"), "emulator");
	_cleanup_xml_char_ xmlChar *path = emulator ? xmlNodeGetContent(emulator) : NULL;

	return path && !strv_contains((char *const *)usual, (const char *)path);
}

bool domain_xml_has_iommufd(const DomainXml *xml)
{
	return xml_attribute_is(xml_child(xml->root, "iommufd"), "enabled", "yes");
}
