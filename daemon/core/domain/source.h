/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where gpupassd reads which domains there are, and which PCI functions each has. */
#pragma once

#include <stdbool.h>

#include "gpupass/string-table.h"

#define DOMAIN_SOURCES(X)                                                                          \
	X(DOMAINS_LIBVIRT, "libvirt")                                                              \
	X(DOMAINS_PROXMOX, "proxmox") /* Uri=none and Guests=yes: by files in /etc/pve */          \
	X(DOMAINS_NONE, "none")	      /* Uri=none: nobody tells; gpupass knows of no domain */

DECLARE_ENUM(domain_source, DomainSource, DOMAIN_SOURCES, DOMAIN_SOURCE_MAX_);

/* "libvirt does not answer": why domains are not known, while they are not. */
const char *domain_source_silence(DomainSource source);
/* What Uri= says if there is no libvirt. */
bool domain_source_is_none(const char *uri);
