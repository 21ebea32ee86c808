/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/pci/snapshot-json.h"

#include "core/base/json-struct.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

#define FUNCTIONS_MAX 65536
#define MDEVS_MAX 65536
#define TEXT_MAX (64U * 1024 * 1024)

static void bars_write(json_t *o, const char *key, const void *function)
{
	const PciFunction *f = function;

	if (!SOME_OF(f->bar_size, PCI_BARS, it > 0))
		return;
	json_set(o, key,
		 JSON_ARRAY(f->bar_size, PCI_BARS, json_integer((json_int_t)(*it & INT64_MAX))));
}

static void bars_read(JsonReader *reader, const char *key, void *of)
{
	const json_t *array = json_read_array_if_any(reader, key, PCI_BARS);
	PciFunction *function = of;

	for (size_t i = 0; i < json_array_size(array); i++) {
		const json_t *item = json_array_get(array, i);

		if (!json_is_integer(item) || json_integer_value(item) < 0) {
			json_reader_fail(reader, key, "holds something that is no size");
			return;
		}
		function->bar_size[i] = (uint64_t)json_integer_value(item);
	}
}

/* A snapshot as the document has it: the functions in one array. */
typedef struct Document {
	uint64_t taken_usec _json_(or_0);
	bool iommu;
	PciFunction *functions _json_(max FUNCTIONS_MAX);
	size_t n_functions;
	PciMdev *mdevs _json_(max MDEVS_MAX, if_any);
	size_t n_mdevs;
} Document;
LOCAL_CLEAR(Document, document_clear)
LOCAL_JSON(PciFunction, function_members)
LOCAL_JSON(PciMdev, mdev_members)
LOCAL_DOCUMENT(Document, document_members, GPUPASS_SCHEMA_SNAPSHOT)
#include "snapshot-json.inc"

char *pci_snapshot_to_json(const PciSnapshot *snapshot)
{
	/* Everything in it is the snapshot's, except for the array itself. */
	_cleanup_free_ PciFunction *functions = xcalloc(snapshot->n_functions, sizeof(PciFunction));
	const Document document = {
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
	root = json_struct_write(document_members, &document);
	return json_dumps(root, JSON_INDENT(2));
}

static int snapshot_from_root(const json_t *root, PciSnapshot *snapshot, char **ret_message)
{
	_cleanup_(document_clear) Document document = { 0 };
	int r = json_struct_read(document_members, root, NULL, &document, ret_message);

	if (r < 0)
		return r;
	pci_snapshot_adopt(snapshot, document.functions, document.n_functions);
	document.functions = NULL;
	document.n_functions = 0;
	snapshot->n_mdevs = document.n_mdevs;
	document.n_mdevs = 0;
	snapshot->mdevs = TAKE_PTR(document.mdevs);
	snapshot->iommu = document.iommu;
	snapshot->taken_usec = document.taken_usec;
	if (pci_snapshot_seal(snapshot) < 0)
		return json_refuse(ret_message, "functions holds an address twice");
	return 0;
}

int pci_snapshot_from_json(const char *text, size_t size, PciSnapshot **ret, char **ret_message)
{
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;
	_cleanup_json_ json_t *root = NULL;
	int r;

	if (size > TEXT_MAX)
		return json_refuse(ret_message, "it is larger than %u bytes", TEXT_MAX);
	r = json_parse_document(text, size, GPUPASS_SCHEMA_SNAPSHOT, &root, ret_message);
	if (r < 0)
		return r;
	snapshot = xcalloc(1, sizeof(*snapshot));
	r = snapshot_from_root(root, snapshot, ret_message);
	if (r >= 0)
		*ret = TAKE_PTR(snapshot);
	return r;
}
