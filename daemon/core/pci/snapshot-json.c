/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/pci/snapshot-json.h"

#include "core/base/json-fields.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"

#define FUNCTIONS_MAX 65536
#define UPSTREAM_MAX 64
#define TEXT_MAX (64U * 1024 * 1024)

/* Leaves out members that say nothing: no driver, no NUMA node, false. */
static json_t *upstream_to_json(const PciFunction *function)
{
	_cleanup_json_ json_t *array = json_array();

	for (size_t i = 0; array && i < function->n_upstream; i++)
		if (json_array_append_new(array, json_string(BDF_TEXT(&function->upstream[i]))) < 0)
			return NULL;
	return TAKE_PTR(array);
}

static json_t *bars_to_json(const PciFunction *function)
{
	_cleanup_json_ json_t *array = json_array();

	for (size_t i = 0; array && i < PCI_BARS; i++)
		if (json_array_append_new(array, json_integer((json_int_t)(function->bar_size[i] &
									   INT64_MAX))) < 0)
			return NULL;
	return TAKE_PTR(array);
}

static bool has_bars(const PciFunction *function)
{
	for (size_t i = 0; i < PCI_BARS; i++)
		if (function->bar_size[i] > 0)
			return true;
	return false;
}

static json_t *function_to_json(const PciFunction *function)
{
	_cleanup_json_ json_t *o = json_object();
	int r = 0;

	r |= json_set_bdf(o, "bdf", &function->bdf);
	r |= json_set_hex(o, "class", function->class_code, 6);
	r |= json_set_hex(o, "vendor", function->vendor, 4);
	r |= json_set_hex(o, "device", function->device, 4);
	r |= json_set_hex(o, "subsystem_vendor", function->subsystem_vendor, 4);
	r |= json_set_hex(o, "subsystem_device", function->subsystem_device, 4);
	r |= json_set_text_if_any(o, "driver", function->driver);
	if (function->iommu_group >= 0)
		r |= json_object_set_new(o, "iommu_group", json_integer(function->iommu_group));
	if (function->numa_node >= 0)
		r |= json_object_set_new(o, "numa_node", json_integer(function->numa_node));
	r |= json_set_true_if(o, "bridge", function->bridge);
	r |= json_set_true_if(o, "boot_vga", function->boot_vga);
	r |= json_set_true_if(o, "virtual_function", function->virtual_function);
	r |= json_set_true_if(o, "has_vfs", function->has_vfs);
	r |= json_set_text_if_any(o, "physical_slot", function->physical_slot);
	r |= json_set_text_if_any(o, "reset_methods", function->reset_methods);
	r |= json_set_text_if_any(o, "power_state", function->power_state);
	if (has_bars(function))
		r |= json_object_set_new(o, "bar_size", bars_to_json(function));
	if (function->n_upstream > 0)
		r |= json_object_set_new(o, "upstream", upstream_to_json(function));
	return r < 0 ? NULL : TAKE_PTR(o);
}

char *pci_snapshot_to_json(const PciSnapshot *snapshot)
{
	_cleanup_json_ json_t *root = json_object();
	json_t *functions = json_array(); /* root below takes it, also on failure */
	int r = 0;

	for (size_t i = 0; i < snapshot->n_functions; i++)
		r |= json_array_append_new(functions, function_to_json(&snapshot->functions[i]));
	r |= json_object_set_new(root, "schema", json_string(GPUPASS_SCHEMA_SNAPSHOT));
	r |= json_object_set_new(root, "taken_usec",
				 json_integer((json_int_t)(snapshot->taken_usec & INT64_MAX)));
	r |= json_object_set_new(root, "iommu", json_boolean(snapshot->iommu));
	r |= json_object_set_new(root, "functions", functions);
	return r < 0 ? NULL : json_dumps(root, JSON_INDENT(2));
}

static void read_bars(JsonReader *reader, PciFunction *function)
{
	const json_t *array = json_read_array_if_any(reader, "bar_size", PCI_BARS);

	for (size_t i = 0; i < json_array_size(array); i++) {
		const json_t *item = json_array_get(array, i);

		if (!json_is_integer(item) || json_integer_value(item) < 0) {
			json_reader_fail(reader, "bar_size", "holds something that is no size");
			return;
		}
		function->bar_size[i] = (uint64_t)json_integer_value(item);
	}
}

static void read_upstream(JsonReader *reader, PciFunction *function)
{
	const json_t *array = json_read_array_if_any(reader, "upstream", UPSTREAM_MAX);
	size_t n = json_array_size(array);

	if (n == 0)
		return;
	function->upstream = calloc(n, sizeof(Bdf));
	if (!function->upstream) {
		reader->error = -ENOMEM;
		return;
	}
	function->n_upstream = n;
	for (size_t i = 0; i < n; i++)
		if (bdf_parse(json_string_value(json_array_get(array, i)), &function->upstream[i]) <
		    0)
			json_reader_fail(reader, "upstream", "holds something that is no address");
}

static int function_from_json(const json_t *json, size_t index, PciFunction *f, char **ret_message)
{
	static const char *const keys[] = { "bdf",
					    "class",
					    "vendor",
					    "device",
					    "subsystem_vendor",
					    "subsystem_device",
					    "driver",
					    "iommu_group",
					    "numa_node",
					    "bridge",
					    "boot_vga",
					    "virtual_function",
					    "has_vfs",
					    "physical_slot",
					    "reset_methods",
					    "power_state",
					    "bar_size",
					    "upstream",
					    NULL };
	_cleanup_free_ char *where = strf("functions[%zu]", index);
	JsonReader reader;

	if (!where)
		return -ENOMEM;
	f->iommu_group = IOMMU_GROUP_NONE;
	f->numa_node = NUMA_NODE_NONE;
	json_reader_begin(&reader, json, where, keys);
	json_read_bdf(&reader, "bdf", &f->bdf);
	f->class_code = json_read_hex(&reader, "class", 0xffffff);
	f->vendor = (uint16_t)json_read_hex(&reader, "vendor", UINT16_MAX);
	f->device = (uint16_t)json_read_hex(&reader, "device", UINT16_MAX);
	f->subsystem_vendor = (uint16_t)json_read_hex(&reader, "subsystem_vendor", UINT16_MAX);
	f->subsystem_device = (uint16_t)json_read_hex(&reader, "subsystem_device", UINT16_MAX);
	json_read_text_if_any(&reader, "driver", &f->driver);
	json_read_int_if_any(&reader, "iommu_group", &f->iommu_group);
	json_read_int_if_any(&reader, "numa_node", &f->numa_node);
	json_read_bool_if_any(&reader, "bridge", &f->bridge);
	json_read_bool_if_any(&reader, "boot_vga", &f->boot_vga);
	json_read_bool_if_any(&reader, "virtual_function", &f->virtual_function);
	json_read_bool_if_any(&reader, "has_vfs", &f->has_vfs);
	json_read_text_if_any(&reader, "physical_slot", &f->physical_slot);
	json_read_text_if_any(&reader, "reset_methods", &f->reset_methods);
	json_read_text_if_any(&reader, "power_state", &f->power_state);
	read_bars(&reader, f);
	read_upstream(&reader, f);
	return json_reader_end(&reader, ret_message);
}

static int functions_from_json(const json_t *array, PciSnapshot *snapshot, char **ret_message)
{
	size_t n = json_array_size(array);

	if (n == 0)
		return 0;
	snapshot->functions = calloc(n, sizeof(PciFunction));
	if (!snapshot->functions)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		int r;

		snapshot->n_functions = i + 1;
		r = function_from_json(json_array_get(array, i), i, &snapshot->functions[i],
				       ret_message);
		if (r < 0)
			return r;
	}
	return 0;
}

static int snapshot_from_root(const json_t *root, PciSnapshot *snapshot, char **ret_message)
{
	static const char *const keys[] = { "schema", "taken_usec", "iommu", "functions", NULL };
	const json_t *functions;
	JsonReader reader;
	int r;

	json_reader_begin(&reader, root, NULL, keys);
	json_read_number_if_any(&reader, "taken_usec", INT64_MAX, &snapshot->taken_usec);
	snapshot->iommu = json_read_bool(&reader, "iommu");
	functions = json_read_array(&reader, "functions", FUNCTIONS_MAX);
	r = json_reader_end(&reader, ret_message);
	if (r < 0)
		return r;
	r = functions_from_json(functions, snapshot, ret_message);
	if (r < 0)
		return r;
	r = pci_snapshot_seal(snapshot);
	if (r == -EEXIST) {
		if (ret_message)
			*ret_message = strf("functions holds an address twice");
		return -EBADMSG;
	}
	return r;
}

int pci_snapshot_from_json(const char *text, size_t size, PciSnapshot **ret, char **ret_message)
{
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;
	_cleanup_json_ json_t *root = NULL;
	int r;

	if (size > TEXT_MAX) {
		if (ret_message)
			*ret_message = strf("it is larger than %u bytes", TEXT_MAX);
		return -EBADMSG;
	}
	r = json_parse_document(text, size, GPUPASS_SCHEMA_SNAPSHOT, &root, ret_message);
	if (r < 0)
		return r;
	snapshot = calloc(1, sizeof(*snapshot));
	if (!snapshot)
		return -ENOMEM;
	r = snapshot_from_root(root, snapshot, ret_message);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(snapshot);
	return 0;
}
