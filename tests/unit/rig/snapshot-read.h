/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads the snapshots that gpupassd writes: golden hosts, and those in bug reports. */
#pragma once

#include <stdint.h>

#include "core/pci/snapshot-json.h"
#include "util/json.h"
#include "util/xalloc.h"

static inline int snapshot_read_bars(const json_t *json, size_t number, PciFunction *function,
				     char **ret_message)
{
	const json_t *sizes = json_object_get(json, "bar_size");

	if (sizes && !json_is_array(sizes))
		return json_refuse(ret_message, "functions[%zu].bar_size is not an array", number);
	if (json_array_size(sizes) > PCI_BARS)
		return json_refuse(ret_message, "functions[%zu].bar_size has more than %d", number,
				   PCI_BARS);
	for (size_t i = 0; i < json_array_size(sizes); i++) {
		const json_t *size = json_array_get(sizes, i);

		if (!json_is_integer(size) || json_integer_value(size) < 0)
			return json_refuse(
				ret_message,
				"functions[%zu].bar_size holds something that is no size", number);
		function->bar_size[i] = (uint64_t)json_integer_value(size);
	}
	return 0;
}

static inline int snapshot_of_document(const json_t *root, SnapshotDocument *document,
				       PciSnapshot *snapshot, char **ret_message)
{
	const json_t *functions = json_object_get(root, "functions");
	int r = json_struct_read(snapshot_document_members, root, NULL, document, ret_message);

	for (size_t i = 0; r >= 0 && i < document->n_functions; i++)
		r = snapshot_read_bars(json_array_get(functions, i), i, &document->functions[i],
				       ret_message);
	if (r < 0)
		return r;
	pci_snapshot_adopt(snapshot, document->functions, document->n_functions);
	document->functions = NULL;
	document->n_functions = 0;
	snapshot->n_mdevs = document->n_mdevs;
	document->n_mdevs = 0;
	snapshot->mdevs = TAKE_PTR(document->mdevs);
	snapshot->iommu = document->iommu;
	snapshot->taken_usec = document->taken_usec;
	if (pci_snapshot_seal(snapshot) < 0)
		return json_refuse(ret_message, "functions holds an address twice");
	return 0;
}

static inline int pci_snapshot_from_json(const char *text, size_t size, PciSnapshot **ret,
					 char **ret_message)
{
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = xcalloc(1, sizeof(*snapshot));
	_cleanup_json_ json_t *root = NULL;
	SnapshotDocument document = { 0 };
	int r;

	r = json_parse_document(text, size, GPUPASS_SCHEMA_SNAPSHOT, &root, ret_message);
	if (r < 0)
		return r;
	r = snapshot_of_document(root, &document, snapshot, ret_message);
	json_struct_clear(snapshot_document_members, &document);
	if (r >= 0)
		*ret = TAKE_PTR(snapshot);
	return r;
}
