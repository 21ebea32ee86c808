/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "core/domain/use.h"
#include "core/domain/xml-tree.h"

/* domain_xml_hostdevs(), but on -EBADMSG *ret_bad is the hostdev whose address cannot be read. */
int xml_read_hostdevs(const DomainXml *xml, DomainHostdev **ret, size_t *ret_n,
		      const xmlNode **ret_bad);
