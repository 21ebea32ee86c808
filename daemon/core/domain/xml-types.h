/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all of the files here must agree on about a domain's XML. */
#pragma once

#define DOMAIN_XML_NAMESPACE "https://gpupass.org/domain/1"
/*
 * Of a domain that is to be changed. libvirtd sends and takes no text of more than 4 MiB
 * (REMOTE_STRING_MAX in its remote_protocol.x), so that whatever comes from it fits, also with a group
 * added.
 */
#define DOMAIN_XML_MAX (8U * 1024 * 1024)
/* Of one that is only looked at: no message of libvirt's is longer (VIR_NET_MESSAGE_MAX). */
#define DOMAIN_SKIM_MAX (32U * 1024 * 1024)

typedef struct DomainXml DomainXml;
