/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads and edits libxml2's tree, in terms of a libvirt domain. */
#pragma once

#include <libxml/parser.h>
#include <libxml/tree.h>

#include "core/domain/xml.h"
#include "gpupass/cleanup.h"
#include "util/bdf.h"
#include "util/domain-devices.h"

#define DOMAIN_UUID_LENGTH 36
#define PCI_SLOTS 32
/* Behind it are those that q35 has of its own: USB, sound, the ISA bridge. */
#define PCI_LAST_PORT_SLOT 0x1a

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

/*
 * Parses text of bounded size and cost, without network, entities or a DTD; writes nothing to
 * stderr. On failure returns NULL and sets *ret_message ("line 5: …").
 */
xmlDoc *xml_parse(const char *text, int options, char **ret_message);
/* A domain as its text has it: our metadata has whichever name it has there. */
int xml_read(const char *text, bool skim, DomainXml **ret, Problem **ret_problem);

/* Iterate over the child elements of `parent`, which may be NULL. */
xmlNode *xml_first(const xmlNode *parent);
xmlNode *xml_next(const xmlNode *node);
/* Only elements without a namespace, as libvirt's own are. */
xmlNode *xml_child(const xmlNode *parent, const char *name);
bool xml_is(const xmlNode *node, const char *name);
/* An element of that namespace. */
bool xml_is_of(const xmlNode *node, const char *namespace, const char *name);
xmlNode *xml_child_of(const xmlNode *parent, const char *namespace, const char *name);
/* The first of <devices>; NULL: there is none. */
xmlNode *xml_devices(const DomainXml *xml);
/* "pc-q35-7.2"; "": not said. Borrowed. */
const char *xml_machine(const DomainXml *xml);
/* Borrowed; NULL when absent, also of no node. */
const char *xml_attribute(const xmlNode *node, const char *name);
bool xml_attribute_is(const xmlNode *node, const char *name, const char *value);
/* A number as libvirt reads it: decimal, 0x hex, 0 octal. -ENOENT, -EINVAL, -ERANGE. */
int xml_number(const xmlNode *node, const char *name, unsigned max, unsigned *ret);

/* <hostdev mode='subsystem' type='pci'> */
bool xml_is_pci_hostdev(const xmlNode *node);
/* That, or <interface type='hostdev'>. */
bool xml_is_pci_device(const xmlNode *node);
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

/*
 * Adds to `use` the functions of the host that the domain gets past libvirt, by
 * <qemu:commandline> or <qemu:override>, and says in use->unclear what of these cannot be judged.
 */
void xml_read_arguments(const DomainXml *xml, DomainUse *use);
/* One of <qemu:commandline>'s is such. */
bool xml_some_argument(const DomainXml *xml, bool (*is)(const char *argument));

/*
 * The first index, as bus number of addresses, that no controller or device uses. libvirt gives
 * controllers without an index the lowest free numbers, so as many numbers are skipped as there are
 * such controllers.
 */
unsigned xml_free_index(const DomainXml *xml);
/* The slots of the guest's bus 0 that are used or reserved. */
void xml_used_slots(const DomainXml *xml, bool used[PCI_SLOTS]);
/* One of these for a port or an expander, which it is marked as used by; 0: there is none. */
unsigned xml_take_slot(bool used[PCI_SLOTS]);

/* Appends an element, indented like those around it. */
xmlNode *xml_append(xmlNode *parent, const char *name);
/* The same, but after the sibling `after`. */
xmlNode *xml_insert_after(xmlNode *after, const char *name);
/* Sets an attribute. */
void xml_set(xmlNode *node, const char *name, const char *format, ...) _printf_(3, 4);
/* Removes the node, and the white space that indents it. */
void xml_remove(xmlNode *node);
/* The next node inside of `root` in document order, without recursion: it may be deep. */
xmlNode *xml_next_node(xmlNode *node, const xmlNode *root);
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

/*
 * The namespace of QEMU's elements, which is declared and noted in our <metadata>, if it is not
 * there. NULL: its prefixes are other namespaces'. Call when our metadata is there.
 */
xmlNs *xml_declare_qemu(DomainXml *xml);
/* Takes the declaration out again, if it is noted and nothing is in the namespace. True: it was. */
bool xml_undeclare_qemu(DomainXml *xml);

/* The whole document in UTF-8, without an XML declaration. */
char *xml_to_text(xmlDoc *doc, int options);

/*
 * ---- our element in <metadata>, and the groups that it names ----
 *
 *
 *   <gpupass:assignment xmlns:gpupass="urn:gpupass:domain:1" group="pair0">
 *     <gpupass:also group="pair1"/>
 *   </gpupass:assignment>
 *
 * There is one element, whatever the number of groups: libvirt keeps one of each namespace
 * (virXMLNodeSanitizeNamespaces()). A version that knew one group a domain reads the first. Where
 * an older version, or a person, has put one by the former name beside it, both are read as one.
 */

/* As many count. Others may write there, too. */
#define XML_NAMES_MAX 64

/* This is our namespace, by either of its names; and the node is in it. */
bool xml_is_ours(const char *href);
bool xml_is_in_ours(const xmlNode *node);
/* Our element, the first; NULL: there is none. */
xmlNode *xml_assignment(const DomainXml *xml);
/* One more, of the other name; NULL: there is none. */
xmlNode *xml_next_assignment(const xmlNode *assignment);

#define XML_ALSO "also"
/* The next element that names a group: our own first, `after` NULL, then each <also> in it. */
xmlNode *xml_next_named(const DomainXml *xml, const xmlNode *after);
xmlNode *xml_find_named(const DomainXml *xml, const char *group);
/* The element names no group but this one. */
bool xml_names_only(const DomainXml *xml, const char *group);
/* Adds the group, and the element where it is missing. */
void xml_name_group(DomainXml *xml, const char *group);
/* Notes an addition of --fit=apply, --numa=apply: xml-tune.h. Our element is there. */
void xml_note_added(const DomainXml *xml, const char *what, const char *value);
/* The element is such a note. */
bool xml_is_note(const xmlNode *node, const char **ret_what, const char **ret_value);

/* ---- xml-former.c ---- */

/* Of our elements, by whichever name, makes one of today's name that says the same. */
void xml_take_former(DomainXml *xml);

/* ---- peer access over PCIe: xml-clique.c ---- */

#define QEMU_CLIQUE_PROPERTY "x-nv-gpudirect-clique"

/*
 * A property of an override that puts its device into our clique, which is 0. In xml-tree.c: the
 * hook reads it, and must link nothing that writes.
 */
bool xml_is_clique(const xmlNode *property);
/* PROBLEM: an alias with this stem has an override of somebody's. */
int xml_check_cliques(const DomainXml *xml, const char *stem, Problem **ret_problem);
/* Of the hostdev with this alias. -EEXIST: as xml_declare_qemu(). */
int xml_add_clique(DomainXml *xml, const char *alias);
/* Those of the group with this stem of aliases. True: there were some. */
bool xml_remove_cliques(DomainXml *xml, const char *stem);

/*
 * ---- what marks that gpupass has added a device ----
 *
 * The user aliases ua-gpupass-<group>-<n> on hostdevs, ua-gpupass-<group>-port<n> on root ports.
 * util/domain-devices.h has their form.
 */

/* `alias`, which may be NULL, is this stem, then `kind`, then a number. */
bool alias_is(const char *alias, const char *stem, const char *kind);
/* The length of the stem of another group than this one's that `alias`, or NULL, has; 0: none. */
size_t alias_other_stem(const char *alias, const char *stem);

/* Gives a device that has none the alias <stem><kind><number>. */
void xml_mark(xmlNode *device, const char *stem, const char *kind, unsigned long number);
/*
 * The first number from `from` on that no alias has: they are unique in a domain, and an earlier
 * assignment may have left one, on a root port.
 */
unsigned long xml_free_mark(const xmlNode *devices, const char *stem, const char *kind,
			    unsigned long from);
