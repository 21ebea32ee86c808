/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writing into a definition what lets it fit (core/fit/fit.h), and taking exactly that out again.
 * What was added is told in our element in <metadata>, one child for each:
 *   <gpupass:added what="numatune" value="preferred 0"/>
 * What an operator has changed since is the operator's, and stays.
 */
#pragma once

#include "core/domain/xml.h"

#define QEMU_NAMESPACE "http://libvirt.org/schemas/domain/qemu/1.0"
#define MMIO_WINDOW_KEY "opt/ovmf/X-PciMmio64Mb"

/* What can be written into a definition so that it fits; 0 and NULL where nothing is to be. */
typedef struct FitTune {
	char *nodeset; /* <numatune><memory nodeset=…/> */
	char *cpuset;  /* <vcpu cpuset=…> */
	bool interleave;
	bool passthrough; /* <maxphysaddr mode='passthrough'/> */
	uint64_t mmio_mb; /* fw_cfg opt/ovmf/X-PciMmio64Mb */
} FitTune;

void fit_tune_clear(FitTune *tune);

/* After domain_xml_add_group(). -ENOMEM, or -EINVAL when our metadata is not there. */
int domain_xml_tune(DomainXml *xml, const FitTune *tune);
/* Our metadata tells of something that --fit=apply, --numa=apply wrote, be it still there or not. */
void domain_xml_tuned(const DomainXml *xml, bool *ret_fit, bool *ret_numa);
/* Before our metadata goes. */
void domain_xml_untune(DomainXml *xml, bool *ret_changed);
