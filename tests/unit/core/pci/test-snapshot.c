/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "rig/host-model.h"

#define WRAP(functions)                                                                            \
	"{\"schema\":\"org.gpupass1.snapshot/1\",\"taken_usec\":5,\"iommu\":true,"                 \
	"\"functions\":[" functions "]}"
#define IDS                                                                                        \
	"\"class\":\"030000\",\"vendor\":\"10de\",\"device\":\"2204\",\"subsystem_vendor\":"       \
	"\"1458\",\"subsystem_device\":\"403b\""
#define PLAIN "{\"bdf\":\"0000:41:00.0\"," IDS "}"
/* What replacing a member does not bring about: see test-core-plan-documents. */
TEST(bad_snapshots_are_refused_with_the_place)
{
	static const struct {
		const char *text;
		int error;
		const char *message;
	} rows[] = {
		{ WRAP(PLAIN "," PLAIN), -EBADMSG, "an address twice" },
		{ WRAP("{\"bdf\":\"41:00\"," IDS "}"), -EBADMSG, "functions[0].bdf is not a PCI" },
		{ WRAP("{\"bdf\":\"41:00.0\"," IDS ",\"bar_size\":[1,2,3,4,5,6,7,8]}"), -EBADMSG,
		  "functions[0].bar_size has more" },
		{ WRAP("{\"bdf\":\"41:00.0\",\"bdf\":\"41:00.1\"," IDS "}"), -EBADMSG, "line" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *message = NULL;
		PciSnapshot *snapshot = NULL;
		int r = pci_snapshot_from_json(rows[i].text, strlen(rows[i].text), &snapshot,
					       &message);

		if (r != rows[i].error || snapshot || !message || !strstr(message, rows[i].message))
			fail_msg("row %zu: %d, %s", i, r, str_or_empty(message));
	}
}

TEST(seal_sorts_and_find_finds)
{
	static const char *const unsorted[] = { "0000:81:00.0", "10000:01:00.0", "0000:01:00.1",
						"0000:01:00.0", "0000:41:00.0" };
	_cleanup_(host_done) HostModel h = host_new();

	assert_int_equal(pci_snapshot_seal(h.snapshot), 0);
	assert_null(pci_snapshot_find(h.snapshot, &(Bdf){ 0 }));
	for (size_t i = 0; i < ELEMENTS(unsorted); i++)
		host_function(&h, unsorted[i], 0x060400, (uint16_t)i, NULL);
	assert_int_equal(pci_snapshot_seal(h.snapshot), 0);
	for (size_t i = 0; i < ELEMENTS(unsorted); i++) {
		Bdf bdf = bdf_of(unsorted[i]);

		assert_int_equal(pci_snapshot_find(h.snapshot, &bdf)->device, i);
	}
	assert_null(pci_snapshot_find(h.snapshot, &(Bdf){ .bus = 0x42 }));
	host_function(&h, "0000:41:00.0", 0x060400, 9, NULL);
	assert_int_equal(pci_snapshot_seal(h.snapshot), -EEXIST);
}

TEST(virtual_functions_are_listed_also_in_what_replaces_a_part)
{
	_cleanup_(pci_snapshot_freep) PciSnapshot *after = NULL;
	const Bdf gone = bdf_of("0000:41:00.4"), new = bdf_of("0000:41:00.5");
	PciFunction *functions = xcalloc(1, sizeof(*functions));
	_cleanup_(host_done) HostModel h = host_new();

	host_function(&h, "0000:41:00.4", 0x030200, 0x2235, NULL)->virtual_function = true;
	host_function(&h, "0000:41:00.6", 0x030200, 0x2235, NULL)->virtual_function = true;
	host_function(&h, "0000:41:00.0", 0x030200, 0x2235, NULL);
	assert_int_equal(pci_snapshot_seal(h.snapshot), 0);
	assert_int_equal(h.snapshot->n_virtuals, 2);
	functions[0] = (PciFunction){ .bdf = new, .virtual_function = true };
	after = pci_snapshot_replace(h.snapshot, (const Bdf[]){ gone, new }, 2, functions, 1);
	assert_int_equal(after->n_virtuals, 2);
	assert_true(bdf_equal(&after->virtuals[0]->bdf, &new));
	assert_int_equal(after->virtuals[1]->bdf.function, 6);
}

TEST(only_nvidia_display_classes_are_gpus)
{
	static const struct {
		uint16_t vendor;
		uint32_t class_code;
		bool gpu;
	} rows[] = {
		{ 0x10de, 0x030000, true },  { 0x10de, 0x030200, true },
		{ 0x10de, 0x038000, true },  { 0x10de, 0x0302ff, true },
		{ 0x10de, 0x040300, false }, { 0x10de, 0x068000, false },
		{ 0x10de, 0x030100, false }, { 0x1002, 0x030000, false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		PciFunction f = { .vendor = rows[i].vendor, .class_code = rows[i].class_code };

		if (pci_function_is_nvidia_gpu(&f) != rows[i].gpu)
			fail_msg("row %zu", i);
	}
}

TEST(nvswitches_are_known_by_class_and_id)
{
	static const struct {
		uint32_t class_code;
		uint16_t device;
		bool nvswitch;
	} rows[] = {
		{ 0x068000, 0x1ac2, true },  { 0x068000, 0x1ae8, true },
		{ 0x068000, 0x1af0, true },  { 0x068000, 0x1aff, true },
		{ 0x068000, 0x22a0, true },  { 0x068000, 0x22a7, true },
		{ 0x068000, 0x22a8, false }, { 0x068000, 0x1aef, false },
		{ 0x068000, 0x0361, false }, { 0x030200, 0x22a3, false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		PciFunction f = { .vendor = PCI_VENDOR_NVIDIA,
				  .class_code = rows[i].class_code,
				  .device = rows[i].device };

		if (pci_function_is_nvswitch(&f) != rows[i].nvswitch)
			fail_msg("row %zu: %04x", i, rows[i].device);
	}
}
