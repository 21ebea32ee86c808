/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Snapshots as JSON (schema org.gpupass1.snapshot/1): bug reports, and golden hosts in tests, which
 * read them (tests/unit/rig/snapshot-read.h).
 */
#pragma once

#include "core/base/json-struct.h"
#include "core/pci/pci-snapshot.h"
#include "gpupass/dbus.h"

/* The functions in one array. */
typedef struct SnapshotDocument {
	uint64_t taken_usec _json_(or_0);
	bool iommu;
	PciFunction *functions _json_(max 65536);
	size_t n_functions;
	PciMdev *mdevs _json_(max 65536, if_any);
	size_t n_mdevs;
} SnapshotDocument;
DECLARE_JSON(PciFunction, snapshot_function_members)
DECLARE_JSON(PciMdev, snapshot_mdev_members)
DECLARE_DOCUMENT(SnapshotDocument, snapshot_document_members, GPUPASS_SCHEMA_SNAPSHOT)

char *pci_snapshot_to_json(const PciSnapshot *snapshot);
