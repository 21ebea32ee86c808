/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The modalias of a PCI function: all its ids and its class in one read. */
#pragma once

#include "core/pci/pci-snapshot.h"

/*
 * "pci:v000010DEd00002204sv000010DEsd00001467bc03sc00i00", with nothing before or after. Sets the
 * ids and class of *into; on -EINVAL they stay as they were.
 */
int modalias_parse(const char *text, PciFunction *into);
