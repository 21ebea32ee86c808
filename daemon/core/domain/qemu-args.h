/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include "core/domain/use.h"
#include "core/domain/xml-tree.h"

/*
 * Adds to `use` the functions of the host that the domain gets past libvirt, by
 * <qemu:commandline> or <qemu:override>, and says in use->unclear what of these cannot be judged.
 */
void xml_read_arguments(const DomainXml *xml, DomainUse *use);
