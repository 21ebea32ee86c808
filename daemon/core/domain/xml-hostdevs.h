/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "core/domain/use.h"
#include "core/domain/xml-tree.h"

/*
 * Where libvirt has a PCI address of the host: <source><address> in these elements, at any depth.
 * tests/check-libvirt-schema compares them with libvirt's own schemas.
 * X(element, type, which element's type tells that the address is PCI)
 */
#define XML_HOST_PLACES(X)                                                                         \
	X("hostdev", "pci", ITSELF)                                                                \
	X("interface", "hostdev", ADDRESS)                                                         \
	X("disk", "nvme", SOURCE)                                                                  \
	X("backingStore", "nvme", SOURCE) /* of a disk, a mirror or another one */                 \
	X("mirror", "nvme", SOURCE)                                                                \
	X("dataStore", "nvme", SOURCE) /* since 11.0, in the source itself */                      \
	X("nvram", "nvme", SOURCE)     /* <os><nvram>: QEMU's driver refuses it by now */

/* The function that an SCSI host is on, which stays with the host: <adapter><parentaddr>. */
#define XML_HOST_PARENT "parentaddr"

/* domain_xml_hostdevs(), but on -EBADMSG *ret_bad is the element whose address cannot be read. */
int xml_read_hostdevs(const DomainXml *xml, DomainHostdev **ret, size_t *ret_n,
		      const xmlNode **ret_bad);
