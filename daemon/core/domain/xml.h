/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A libvirt domain's XML, read and edited as XML through libxml2, never as text. Pure: only
 * host/libvirt talks to libvirt.
 *
 * gpupass marks what it adds, so that it can later take out exactly that: hostdevs and root ports
 * have the user alias ua-gpupass-<group>-<n> , and <metadata> has an element that names each
 * group (xml-tree.h).
 */
#pragma once

#include "core/base/problem.h"
#include "core/domain/mirror-tree.h"
#include "core/domain/use.h"

#define DOMAIN_XML_NAMESPACE "urn:gpupass:domain:1"
/* What versions before 0.9 wrote. It is read like the other; a change replaces it: xml-former.c. */
#define DOMAIN_XML_FORMER_NAMESPACE "https://gpupass.org/domain/1"
#define QEMU_NAMESPACE "http://libvirt.org/schemas/domain/qemu/1.0"
/*
 * For a domain that gpupass changes. libvirtd sends and takes no text above 4 MiB
 * (REMOTE_STRING_MAX in its remote_protocol.x), so whatever it sends fits, even after a group is
 * added.
 */
#define DOMAIN_XML_MAX (8U * 1024 * 1024)
/* For a domain that is only looked at: libvirt sends no longer message (VIR_NET_MESSAGE_MAX). */
#define DOMAIN_SKIM_MAX (32U * 1024 * 1024)

typedef struct DomainXml DomainXml;

/*
 * At the start of a program: libxml2's memory is xmalloc()'s. libxml2 wants xmlMemSetup() called
 * before any other of its functions.
 */
void xml_use_xalloc(void);

/*
 * To be changed: our metadata has its name of today, also where the text has the former one.
 * PROBLEM (UnsupportedDomain): not well-formed, or without <domain> as root, <name> or <uuid>.
 */
int domain_xml_parse(const char *text, DomainXml **ret, Problem **ret_problem);
/* The same for a domain that is only looked at: libvirt's own elements and ours. */
int domain_xml_skim(const char *text, DomainXml **ret, Problem **ret_problem);
DomainXml *domain_xml_free(DomainXml *xml);
DEFINE_CLEANUP(DomainXml, domain_xml_free)

char *domain_xml_to_text(const DomainXml *xml);

const char *domain_xml_uuid(const DomainXml *xml); /* borrowed */
const char *domain_xml_name(const DomainXml *xml); /* borrowed */
/* The machine type has PCI Express (q35, virt); false for i440fx. */
bool domain_xml_is_pcie(const DomainXml *xml);
/* By ACPI; or on virt, whose guests find native PCI Express hotplug in their device tree. */
bool domain_xml_sees_hotplug(const DomainXml *xml);
/* libvirt attaches to this bus, and detaches from it: its controller has no hotplug='off'. */
bool domain_xml_bus_hotplug(const DomainXml *xml, unsigned bus);
/* The number of ports that a hotplug can use: with no device behind them. */
unsigned domain_xml_free_root_ports(const DomainXml *xml);
/* The same for i440fx: the number of empty slots of pci.0, if that takes a hotplug. */
unsigned domain_xml_free_slots(const DomainXml *xml);
/*
 * The function's hostdev shares its guest slot with another device. libvirt then refuses to
 * hot-unplug it (9.0, qemuDomainDetachDeviceLive): "cannot hot unplug … with multifunction PCI
 * guest address".
 */
bool domain_xml_in_shared_slot(const DomainXml *xml, const Bdf *function);
/* What of it keeps a guest's driver from seeing KVM, as a clause; NULL: nothing that is known. */
const char *domain_xml_hides_hypervisor(const DomainXml *xml);
/* Its QEMU is none of those that libvirt takes itself. */
bool domain_xml_has_own_emulator(const DomainXml *xml);
/* All its hostdevs are passed by iommufd: libvirt 12.2. */
bool domain_xml_has_iommufd(const DomainXml *xml);
/* All PCI hostdevs in document order, with aliases. -EBADMSG: one has no readable address. */
int domain_xml_hostdevs(const DomainXml *xml, DomainHostdev **ret, size_t *ret_n);
/*
 * The tree of all groups that have one, as the definition has it: controllers of ours, each below
 * one of ours or on pcie.0, and the functions below them. NULL: there is no controller of ours in a
 * tree. New.
 */
MirrorTree *domain_xml_mirror(const DomainXml *xml);
/* The groups that our metadata names, each once; NULL: none. Caller frees. */
char **domain_xml_groups(const DomainXml *xml);
/* Our metadata is there by the name that it had before 0.9. */
bool domain_xml_has_former(const DomainXml *xml);

/* The use of one domain, from its live XML and its definition. One of the two may be NULL. */
int domain_use_from_xml(const char *live, const char *config, DomainUse *ret,
			Problem **ret_problem);

/* The functions of one GPU that is added, in order of function; or one companion. */
typedef struct DomainXmlGpu {
	Bdf functions[8];
	size_t n_functions;
	const char *mac; /* of a NIC's VF: an <interface>, by which libvirt sets both; or NULL */
	unsigned vlan;	 /* of a VF; 0: none */
	bool names_model; /* its hostdevs name <driver model='vfio-pci'/>, which needs libvirt 10.0 */
	bool clique;	  /* its first function is in the clique that has peer access over PCIe */
} DomainXmlGpu;

/*
 * Adds the group, with managed='no', aliases and metadata. On PCI Express each GPU gets a
 * pcie-root-port with all its functions in one multifunction slot; on i440fx it gets one free slot
 * of pci.0. PROBLEM if the domain cannot have VFIO devices, has one of the functions already, or
 * has no free slot.
 *
 * `mirror`: the tree that it gets instead, which was made of this XML (core/mirror/mirror.h), and
 * has a member for each GPU; NULL: none. Its controllers have our mark, as ports have.
 */
int domain_xml_add_group(DomainXml *xml, const char *group, const DomainXmlGpu *gpus, size_t n_gpus,
			 const MirrorTree *mirror, Problem **ret_problem);

/*
 * Removes what has our marks for this group (hostdevs, root ports, its name in our metadata), and
 * any other hostdev of these functions. With the last group goes what --fit=apply and --numa=apply
 * wrote. A root port stays, without its mark, if another device uses it by now, or if
 * the guest needs it to find the other functions in its slot. *ret_changed: there was something
 * to remove.
 */
void domain_xml_remove_group(DomainXml *xml, const char *group, const Bdf *functions,
			     size_t n_functions, bool *ret_changed);

/* Removes hostdevs and ports only. Our metadata, and the additions that it lists, stay. */
void domain_xml_remove_devices(DomainXml *xml, const char *group, const Bdf *functions,
			       size_t n_functions, bool *ret_changed);
/* Removes our metadata only, whichever groups it names. False: there was none. */
bool domain_xml_unmark(DomainXml *xml);
/*
 * Our metadata names the group no more. Its notes of what --fit=apply and --numa=apply wrote go
 * with the last group that it names.
 */
void domain_xml_unname_group(DomainXml *xml, const char *group, bool *ret_changed);
/* If our metadata names `from`, makes it name `to`. */
void domain_xml_rename_group(DomainXml *xml, const char *from, const char *to);

/* One <hostdev> for a live attach, with our user alias. libvirt picks the guest address. */
char *domain_xml_hostdev(const char *group, size_t index, const Bdf *bdf);
/* The same of a VF. */
char *domain_xml_interface(const char *group, size_t index, const Bdf *bdf, const char *mac,
			   unsigned vlan);

/*
 * The MAC of a VF in the domain of this UUID: the same each time, of those that nobody sells. A
 * copy of the domain on another host, which has another `host`, has another one. Caller frees.
 */
char *domain_vf_mac(const char *uuid, const Bdf *vf, uint64_t host);

/*
 * A unified diff with three lines of context; "" if both are equal. Anybody may read it, so it
 * hides what may be secret: it shows the lines that differ, and of all other elements only their
 * names. NULL: one of the XMLs cannot be parsed, or they differ too much.
 */
char *domain_xml_diff(const char *before, const char *after);
/*
 * Equal, apart from white space between elements, the order of attributes, and by which of its two
 * names our metadata is there.
 */
bool domain_xml_equivalent(const char *a, const char *b);
