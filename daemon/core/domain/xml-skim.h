/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "core/domain/xml-tree.h"

/*
 * xml_parse() for any domain of the host. The tree has only libvirt's own elements, what QEMU is
 * told past libvirt, the texts of name and UUID, and our metadata. What others have written costs
 * no memory, nor makes this fail, unless it is not well-formed, too long or nested too deep.
 */
xmlDoc *xml_skim(const char *text, char **ret_message);
