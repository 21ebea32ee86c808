/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A domain's XML: its type, our namespace, and its largest sizes. */
#pragma once

#define DOMAIN_XML_NAMESPACE "https://gpupass.org/domain/1"
/*
 * For a domain that gpupass changes. libvirtd sends and takes no text above 4 MiB
 * (REMOTE_STRING_MAX in its remote_protocol.x), so whatever it sends fits, even after a group is
 * added.
 */
#define DOMAIN_XML_MAX (8U * 1024 * 1024)
/* For a domain that is only looked at: libvirt sends no longer message (VIR_NET_MESSAGE_MAX). */
#define DOMAIN_SKIM_MAX (32U * 1024 * 1024)

typedef struct DomainXml DomainXml;
