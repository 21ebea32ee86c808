/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/domain/source.h"

DEFINE_STRING_TABLE(domain_source, DomainSource, DOMAIN_SOURCES)

const char *domain_source_silence(DomainSource source)
{
	switch (source) {
	case DOMAINS_LIBVIRT:
		return "libvirt does not answer";
	case DOMAINS_PROXMOX:
		return "the files of Proxmox VE cannot be read";
	case DOMAINS_NONE:
	case DOMAIN_SOURCE_MAX_:
		break;
	}
	return "the domains of this host are not known";
}

bool domain_source_is_none(const char *uri)
{
	return strcmp(uri, "none") == 0;
}
