/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/pci/snapshot-json.h"

#include "util/json.h"
#include "util/xalloc.h"

static void bars_write(json_t *o, const char *key, const void *function)
{
	const PciFunction *f = function;

	if (!SOME_OF(f->bar_size, PCI_BARS, it > 0))
		return;
	json_set(o, key,
		 JSON_ARRAY(f->bar_size, PCI_BARS, json_integer((json_int_t)(*it & INT64_MAX))));
}

#include "snapshot-json.inc"

char *pci_snapshot_to_json(const PciSnapshot *snapshot)
{
	/* Everything in it is the snapshot's, except for the array itself. */
	_cleanup_free_ PciFunction *functions = xcalloc(snapshot->n_functions, sizeof(PciFunction));
	const SnapshotDocument document = {
		.functions = functions,
		.n_functions = snapshot->n_functions,
		.mdevs = snapshot->mdevs,
		.n_mdevs = snapshot->n_mdevs,
		.iommu = snapshot->iommu,
		.taken_usec = snapshot->taken_usec,
	};
	_cleanup_json_ json_t *root = NULL;

	for (size_t i = 0; i < snapshot->n_functions; i++)
		functions[i] = *snapshot->functions[i];
	root = json_struct_write(snapshot_document_members, &document);
	return json_dumps(root, JSON_INDENT(2));
}
