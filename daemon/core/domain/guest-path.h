/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "core/domain/xml.h"

/*
 * Where the guest sees the host's function that the domain has, in the form of pci_function_path():
 * "0000:e7:00.0/00.0/01.0/00.0", or "0000:00:05.0" on a root bus. Firmware gives other buses their
 * numbers, libvirt only indices. NULL: not known. New.
 */
char *domain_xml_guest_path(const DomainXml *xml, const Bdf *host);
