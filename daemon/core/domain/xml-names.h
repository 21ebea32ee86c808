/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Our element in a domain's <metadata>, and the groups that it names:
 *
 *   <gpupass:assignment xmlns:gpupass="https://gpupass.org/domain/1" group="pair0">
 *     <gpupass:also group="pair1"/>
 *   </gpupass:assignment>
 *
 * There is one element, whatever the number of groups: libvirt keeps one of each namespace
 * (virXMLNodeSanitizeNamespaces()). A version that knew one group a domain reads the first.
 */
#pragma once

#include "core/domain/xml-tree.h"

/* As many count. Others may write there, too. */
#define XML_NAMES_MAX 64

/* Our element; NULL: there is none. */
xmlNode *xml_assignment(const DomainXml *xml);

/* The element names no group but this one. */
bool xml_names_only(const DomainXml *xml, const char *group);
/* Adds the group, and the element where it is missing. */
void xml_name_group(DomainXml *xml, const char *group);
