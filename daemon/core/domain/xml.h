/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A libvirt domain's XML, read and edited as XML through libxml2, never as text. Pure: libvirt
 * itself is host/libvirt's.
 *
 * What gpupass adds is marked so that exactly that can be taken out again: hostdevs and root
 * ports carry the user alias ua-gpupass-<group>-<n> (xml-marks.h), and <metadata> an element
 *   <gpupass:assignment xmlns:gpupass="https://gpupass.org/domain/1" group="pair0"/>
 */
#pragma once

#include "core/base/problem.h"
#include "core/domain/use.h"
#include "core/domain/xml-types.h"

/* PROBLEM (UnsupportedDomain) when it is not well-formed, has no <domain> root or no UUID. */
int domain_xml_parse(const char *text, DomainXml **ret, Problem **ret_problem);
/* The same for a domain that is only looked at, from the tree of xml_skim(). */
int domain_xml_skim(const char *text, DomainXml **ret, Problem **ret_problem);
DomainXml *domain_xml_free(DomainXml *xml);
DEFINE_CLEANUP(DomainXml, domain_xml_free)

char *domain_xml_to_text(const DomainXml *xml);

const char *domain_xml_uuid(const DomainXml *xml); /* borrowed */
const char *domain_xml_name(const DomainXml *xml); /* borrowed */
/* The machine type is PCI Express (q35, virt); false for i440fx. */
bool domain_xml_is_pcie(const DomainXml *xml);
bool domain_xml_has_acpi(const DomainXml *xml);
/* pcie-root-ports with nothing behind them: what a hotplug can use. */
unsigned domain_xml_free_root_ports(const DomainXml *xml);
/* The same for i440fx: slots of pci.0 with nothing in them. */
unsigned domain_xml_free_slots(const DomainXml *xml);
/*
 * A hostdev of this function shares its guest slot with another device. libvirt (9.0,
 * qemuDomainDetachDeviceLive) refuses to hot-unplug it then: "cannot hot unplug … with
 * multifunction PCI guest address".
 */
bool domain_xml_in_shared_slot(const DomainXml *xml, const Bdf *function);
/* PCI hostdevs, in document order; aliases included. -EBADMSG on an address that is none. */
int domain_xml_hostdevs(const DomainXml *xml, DomainHostdev **ret, size_t *ret_n);
/* The group our metadata names; NULL: none. Caller frees. */
char *domain_xml_group(const DomainXml *xml);

/*
 * Reads a live XML (may be NULL) and a definition (may be NULL) of one domain into its use.
 */
int domain_use_from_xml(const char *live, const char *config, DomainUse *ret,
			Problem **ret_problem);

/* One GPU's functions, in function order, for adding. */
typedef struct DomainXmlGpu {
	Bdf functions[8];
	size_t n_functions;
} DomainXmlGpu;

/*
 * Adds the group: on PCI Express one pcie-root-port a GPU with its functions in one multifunction
 * slot; on i440fx all functions of a GPU in one free slot of pci.0; managed='no', aliases,
 * metadata. PROBLEM when a function is there already, our metadata names another group, or no
 * slot is free.
 */
int domain_xml_add_group(DomainXml *xml, const char *group, const DomainXmlGpu *gpus, size_t n_gpus,
			 Problem **ret_problem);

/*
 * Takes out what carries our marks for this group (hostdevs, root ports, metadata) and any other
 * hostdev of these functions. A root port that something else now uses, or without which the guest
 * would not find its slot's other functions, stays and loses its mark. Returns 0 also when there
 * was nothing; *ret_changed says.
 */
int domain_xml_remove_group(DomainXml *xml, const char *group, const Bdf *functions,
			    size_t n_functions, bool *ret_changed);

/* The same of hostdevs and ports alone: our metadata and what it tells of stay. */
int domain_xml_remove_devices(DomainXml *xml, const char *group, const Bdf *functions,
			      size_t n_functions, bool *ret_changed);
/* Our metadata alone goes, whatever it names. False: there was none. */
bool domain_xml_unmark(DomainXml *xml);
/* Our metadata names `to` where it named `from`. */
int domain_xml_rename_group(DomainXml *xml, const char *from, const char *to);

/* One <hostdev> for a live attach, with its user alias; libvirt picks the address. */
char *domain_xml_hostdev(const char *group, size_t index, const Bdf *bdf);

/*
 * Line diff in unified form with three lines of context; "" when equal. For everybody's eyes: what
 * differs is shown, and of everything else, which may be somebody's secret, only the names of
 * elements. NULL: there is none to show, because memory is out, one of them is not understood, or they
 * are too far apart.
 */
char *domain_xml_diff(const char *before, const char *after);
/* Equal but for white space between elements and the order of attributes. */
bool domain_xml_equivalent(const char *a, const char *b);
