/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Adds to a definition what makes the domain fit its GPUs (core/fit/fit.h), and removes exactly
 * that again. Our element in <metadata> lists each addition in a child:
 *   <gpupass:added what="numatune" value="preferred 0"/>
 * An addition that an operator has changed since is left alone.
 */
#pragma once

#include "core/domain/xml.h"

#define MMIO_WINDOW_KEY "opt/ovmf/X-PciMmio64Mb"

/* What to add to a definition so that the domain fits; 0 and NULL: nothing. */
typedef struct FitTune {
	char *nodeset; /* <numatune><memory nodeset=…/> */
	char *cpuset;  /* <vcpu cpuset=…> */
	bool interleave;
	bool passthrough; /* <maxphysaddr mode='passthrough'/> */
	uint64_t mmio_mb; /* fw_cfg opt/ovmf/X-PciMmio64Mb */
} FitTune;
DECLARE_CLEAR(FitTune, fit_tune_clear)

/*
 * Call after domain_xml_add_group(). -EINVAL: the XML has no metadata of ours; -EEXIST: it uses the
 * prefixes qemu and gpupass-qemu for other namespaces.
 */
int domain_xml_tune(DomainXml *xml, const FitTune *tune);
/*
 * Our metadata lists additions of --fit=apply, --numa=apply, whether they are still there or not.
 */
void domain_xml_tuned(const DomainXml *xml, bool *ret_fit, bool *ret_numa);
/* Removes the listed additions that still have their value. Call before our metadata is removed. */
void domain_xml_untune(DomainXml *xml, bool *ret_changed);
