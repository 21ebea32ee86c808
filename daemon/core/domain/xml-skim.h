/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "core/domain/xml-tree.h"

/*
 * The same of any domain of the host, of which no more is kept than who it is, our mark, and its PCI
 * hostdevs. What somebody else has written into it costs no memory, and is nothing to fail for.
 */
xmlDoc *xml_skim(const char *text, char **ret_message);
