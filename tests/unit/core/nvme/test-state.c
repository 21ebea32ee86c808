/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "core/nvme/state.h"
#include "util/xalloc.h"

static NvmeNamespace one = { .id = 1, .attached = true, .blocks = 1000 };

#define WITH(namespaces_, n, sanitize_, lock_, ...)                                                \
	{                                                                                          \
		.model = (char *)"M", .serial = (char *)"S", .firmware = (char *)"F",              \
		.namespaces = (namespaces_), .n_namespaces = (n), .sanitize = (sanitize_),         \
		.lock = (lock_), __VA_ARGS__                                                       \
	}
#define STATE(...) WITH(&one, 1, NVME_SANITIZE_NONE, NVME_LOCK_OFF, __VA_ARGS__)
#define SPACES(ns, n, ...) WITH(ns, n, NVME_SANITIZE_NONE, NVME_LOCK_OFF, __VA_ARGS__)

typedef struct FaultRow {
	NvmeState state;
	const char *fault;
} FaultRow;

static char *not_read[] = { (char *)"its list of namespaces: Input/output error", NULL };
static NvmeNamespace protected = { .id = 3, .attached = true, .write_protected = true };
static NvmeNamespace shared = { .id = 4, .attached = true, .shared = true };
static NvmeNamespace formatted = { .id = 5, .attached = true, .format_percent = 7 };

static const FaultRow faults[] = {
	{ STATE(), "" },
	{ WITH(&one, 1, NVME_SANITIZE_DONE, NVME_LOCK_NONE), "" },
	{ STATE(.critical_warning = 1), "its spare blocks are used up" },
	{ STATE(.critical_warning = 8), "its media is read-only" },
	{ STATE(.critical_warning = 0x80), "SMART warns of what is not known here" },
	{ WITH(&one, 1, NVME_SANITIZE_NONE, NVME_LOCK_LOCKED), "it is locked (TCG)" },
	{ WITH(&one, 1, NVME_SANITIZE_NONE, NVME_LOCK_ENABLED),
	  "somebody has enabled its lock (TCG): it is locked after its power was off" },
	{ WITH(&one, 1, NVME_SANITIZE_NONE, NVME_LOCK_UNKNOWN),
	  "whether somebody has locked it (TCG) is not known" },
	{ WITH(&one, 1, NVME_SANITIZE_RUNS, NVME_LOCK_OFF), "a sanitize is in progress" },
	{ WITH(&one, 1, NVME_SANITIZE_FAILED, NVME_LOCK_OFF), "its last sanitize has failed" },
	{ WITH(&one, 1, NVME_SANITIZE_UNKNOWN, NVME_LOCK_OFF),
	  "whether a sanitize is in progress is not known" },
	{ STATE(.shared = true), "its subsystem may have other ports, controllers or functions, "
				 "which reach the same namespaces" },
	{ STATE(.firmware_next = 2), "its next reset activates the firmware in slot 2" },
	{ SPACES(&protected, 1), "namespace 3 is write-protected" },
	{ SPACES(&shared, 1), "namespace 4 may be shared with other controllers" },
	{ SPACES(&formatted, 1), "namespace 5 is being formatted" },
	{ STATE(.unread = not_read), "not known: its list of namespaces: Input/output error" },
};

/* promise M9 */
TEST(what_keeps_it_from_everybody_is_told)
{
	for (size_t i = 0; i < ELEMENTS(faults); i++) {
		_cleanup_strv_ char **lines = NULL;
		_cleanup_free_ char *text = NULL;

		nvme_state_faults(&faults[i].state, &lines);
		text = strv_join(lines, "; ");
		assert_string_equal(text, faults[i].fault);
	}
}

static NvmeNamespace larger = { .id = 1, .attached = true, .blocks = 2000 };
static NvmeNamespace other_format = { .id = 1, .attached = true, .blocks = 1000, .format = 1 };
static NvmeNamespace taken_off = { .id = 1, .blocks = 1000 };
static NvmeNamespace another[] = { { .id = 1, .attached = true, .blocks = 1000 }, { .id = 2 } };
static char *slots[] = { (char *)"1: F", (char *)"2: G", NULL };

#define NAMED(m, s, f)                                                                             \
	{                                                                                          \
		.model = (char *)(m), .serial = (char *)(s), .firmware = (char *)(f),              \
		.namespaces = &one, .n_namespaces = 1                                              \
	}

static const FaultRow changes[] = {
	{ STATE(), "" },
	{ STATE(.critical_warning = 1, .used_percent = 5), "" },
	{ NAMED("N", "S", "F"), "its model is N, and was M" },
	{ NAMED("M", "T", "F"), "its serial number is T, and was S" },
	{ NAMED("M", "S", "G"), "its firmware is G, and was F" },
	{ STATE(.firmware_slots = slots), "its list of firmware slots is 1: F, 2: G, and was " },
	{ SPACES(NULL, 0), "namespace 1 is gone" },
	{ SPACES(&larger, 1), "namespace 1 has another size or LBA format" },
	{ SPACES(&other_format, 1), "namespace 1 has another size or LBA format" },
	{ SPACES(&taken_off, 1), "namespace 1 is no longer attached" },
	{ SPACES(another, 2), "namespace 2 is new" },
};

/* promise M9 */
TEST(what_a_tenant_has_changed_is_told)
{
	NvmeState before = STATE();

	for (size_t i = 0; i < ELEMENTS(changes); i++) {
		_cleanup_strv_ char **lines = NULL;
		_cleanup_free_ char *text = NULL;

		nvme_state_differences(&before, &changes[i].state, &lines);
		text = strv_join(lines, "; ");
		assert_string_equal(text, changes[i].fault);
	}
}

/* Feature 1 (TPer) comes first; the byte behind the second header is Locking's. */
static void fill(uint8_t data[72], uint8_t bits)
{
	static const uint8_t tper[] = { 0, 1, 0x10, 4, 1, 0, 0, 0 };
	const uint8_t locking[] = { 0, 2, 0x10, 4, bits, 0, 0, 0 };

	memset(data, 0, 72);
	data[3] = 60;
	memcpy(data + 48, tper, sizeof(tper));
	memcpy(data + 56, locking, sizeof(locking));
}

TEST(the_lock_is_read_of_the_discovery)
{
	uint8_t data[72];

	fill(data, 0x01);
	assert_int_equal(nvme_lock_parse(data, sizeof(data)), NVME_LOCK_OFF);
	fill(data, 0x03);
	assert_int_equal(nvme_lock_parse(data, sizeof(data)), NVME_LOCK_ENABLED);
	fill(data, 0x07);
	assert_int_equal(nvme_lock_parse(data, sizeof(data)), NVME_LOCK_LOCKED);
	fill(data, 0x00);
	assert_int_equal(nvme_lock_parse(data, sizeof(data)), NVME_LOCK_NONE);
	data[3] = 52; /* the list ends before Locking */
	assert_int_equal(nvme_lock_parse(data, sizeof(data)), NVME_LOCK_NONE);
}

TEST(a_discovery_that_is_cut_off_says_nothing)
{
	uint8_t data[72];

	fill(data, 0x01);
	assert_int_equal(nvme_lock_parse(data, 63), NVME_LOCK_UNKNOWN);
	assert_int_equal(nvme_lock_parse(data, 3), NVME_LOCK_UNKNOWN);
	data[3] = 59;
	assert_int_equal(nvme_lock_parse(data, sizeof(data)), NVME_LOCK_UNKNOWN);
	fill(data, 0x01);
	data[59] = 0;
	data[3] = 56;
	assert_int_equal(nvme_lock_parse(data, sizeof(data)), NVME_LOCK_UNKNOWN);
	memset(data, 0, sizeof(data)); /* all zeros: no answer */
	assert_int_equal(nvme_lock_parse(data, sizeof(data)), NVME_LOCK_UNKNOWN);
}
