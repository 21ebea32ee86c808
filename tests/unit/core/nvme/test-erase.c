/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include "core/nvme/erase.h"
#include "util/xalloc.h"

static NvmeNamespace one = { .id = 1, .attached = true, .blocks = 1000 };
static NvmeNamespace both[] = { { .id = 1, .attached = true }, { .id = 2 } };
static NvmeNamespace detached = { .id = 2, .blocks = 1000 };

#define WITH(namespaces_, n, sanitize_, lock_, ...)                                                \
	{                                                                                          \
		.model = (char *)"M", .serial = (char *)"S", .firmware = (char *)"F",              \
		.namespaces = (namespaces_), .n_namespaces = (n), .sanitize = (sanitize_),         \
		.lock = (lock_), __VA_ARGS__                                                       \
	}
#define STATE(...) WITH(&one, 1, NVME_SANITIZE_NONE, NVME_LOCK_OFF, __VA_ARGS__)
#define SPACES(ns, n, ...) WITH(ns, n, NVME_SANITIZE_NONE, NVME_LOCK_OFF, __VA_ARGS__)

typedef struct ChoiceRow {
	const char *what;
	NvmeState state;
	NvmeWay way;
	const char *reasons;
} ChoiceRow;

static const ChoiceRow choices[] = {
	{ "a sanitize by key is first",
	  STATE(.sanitizes_crypto = true, .sanitizes_block = true, .formats = true,
		.formats_crypto = true),
	  NVME_WAY_SANITIZE_CRYPTO, "" },
	{ "one of blocks is next",
	  STATE(.sanitizes_block = true, .formats = true, .formats_crypto = true),
	  NVME_WAY_SANITIZE_BLOCK, "" },
	{ "a format by key", STATE(.formats = true, .formats_crypto = true), NVME_WAY_FORMAT_CRYPTO,
	  "" },
	{ "a format of user data", STATE(.formats = true), NVME_WAY_FORMAT_USER, "" },
	{ "nothing at all", STATE(), NVME_WAY_NONE, "it can neither sanitize nor format" },
	{ "a format would leave out what is in no namespace",
	  STATE(.formats = true, .has_free = true), NVME_WAY_NONE,
	  "a part of it is in no namespace, and a format leaves that part out" },
	{ "a sanitize does not", STATE(.sanitizes_block = true, .has_free = true),
	  NVME_WAY_SANITIZE_BLOCK, "" },
	{ "a format would leave out a namespace", SPACES(&detached, 1, .formats = true),
	  NVME_WAY_NONE,
	  "namespace 2 is not attached, and a format leaves it out; it has no namespace that "
	  "could be formatted" },
	{ "unless it reaches all", SPACES(both, 2, .formats = true, .erases_all = true),
	  NVME_WAY_FORMAT_USER, "" },
	{ "nothing to format", SPACES(NULL, 0, .formats = true), NVME_WAY_NONE,
	  "it has no namespace that could be formatted" },
};

/* promise M8 */
TEST(the_way_that_reaches_most_is_chosen)
{
	for (size_t i = 0; i < ELEMENTS(choices); i++) {
		_cleanup_strv_ char **reasons = NULL;
		_cleanup_free_ char *text = NULL;
		NvmeWay way = nvme_erase_choose(&choices[i].state, &reasons);

		text = strv_join(reasons, "; ");
		if (way != choices[i].way || strcmp(text, choices[i].reasons) != 0)
			fail_msg("%s: %s, %s", choices[i].what, nvme_way_to_string(way), text);
	}
}

TEST(the_deadline_is_by_what_the_device_says)
{
	NvmeState now = STATE(.estimates = { .crypto_sec = 10, .block_sec = 1000 });

	assert_int_equal(nvme_erase_limit_sec(&now, NVME_WAY_SANITIZE_CRYPTO), 80);
	assert_int_equal(nvme_erase_limit_sec(&now, NVME_WAY_SANITIZE_BLOCK), 2060);
	assert_int_equal(nvme_erase_limit_sec(&now, NVME_WAY_FORMAT_USER), 7200);
	assert_int_equal(nvme_erase_limit_sec(&now, NVME_WAY_FORMAT_CRYPTO), 600);
	now.estimates = (NvmeEstimates){ .block_sec = UINT32_MAX };
	assert_int_equal(nvme_erase_limit_sec(&now, NVME_WAY_SANITIZE_CRYPTO), 600);
	assert_int_equal(nvme_erase_limit_sec(&now, NVME_WAY_SANITIZE_BLOCK), 86400);
}

typedef struct EndRow {
	NvmeWay way;
	NvmeSanitize sanitize;
	bool erased;
	NvmeEraseEnd end;
} EndRow;

/* promise M8 */
TEST(an_erase_is_done_only_where_the_device_says_that_nothing_was_written_since)
{
	static const EndRow rows[] = {
		{ NVME_WAY_SANITIZE_BLOCK, NVME_SANITIZE_DONE, true, NVME_ERASE_DONE },
		/* A tenant's own, with new data behind it. */
		{ NVME_WAY_SANITIZE_BLOCK, NVME_SANITIZE_DONE, false, NVME_ERASE_DUE },
		{ NVME_WAY_SANITIZE_BLOCK, NVME_SANITIZE_RUNS, false, NVME_ERASE_RUNS },
		{ NVME_WAY_SANITIZE_BLOCK, NVME_SANITIZE_FAILED, true, NVME_ERASE_FAILED },
		{ NVME_WAY_SANITIZE_BLOCK, NVME_SANITIZE_NONE, true, NVME_ERASE_DUE },
		{ NVME_WAY_SANITIZE_BLOCK, NVME_SANITIZE_UNKNOWN, true, NVME_ERASE_DUE },
		/* Of a format nobody can say afterwards that it ended. */
		{ NVME_WAY_FORMAT_USER, NVME_SANITIZE_DONE, true, NVME_ERASE_DUE },
		{ NVME_WAY_FORMAT_USER, NVME_SANITIZE_RUNS, false, NVME_ERASE_RUNS },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		NvmeState now =
			WITH(&one, 1, rows[i].sanitize, NVME_LOCK_OFF, .erased = rows[i].erased);

		assert_int_equal(nvme_erase_judge(&now, rows[i].way), rows[i].end);
	}
}

TEST(a_format_in_progress_is_seen)
{
	NvmeNamespace ns = { .id = 1, .format_percent = 40 };
	NvmeState now = SPACES(&ns, 1);

	assert_int_equal(nvme_erase_judge(&now, NVME_WAY_FORMAT_USER), NVME_ERASE_RUNS);
}

#define NODES(...) ((char *[]){ __VA_ARGS__, NULL })

/* promise M5 */
TEST(one_whose_disks_are_not_all_there_is_not_whole)
{
	static char disk[] = "/dev/nvme0n1", part[] = "/dev/nvme0n1p1", second[] = "/dev/nvme0n2";
	static char live[] = "live", connecting[] = "connecting", unread[] = "what it is: EAGAIN";
	NvmeNamespace three[] = { one, { .id = 2, .attached = true }, { .id = 3 } };
	NvmeState single = STATE(), several = SPACES(three, 3), empty = SPACES(NULL, 0);
	NvmeState silent = SPACES(NULL, 0, .unread = NODES(unread));
	NvmeState busy = STATE(.unread = NODES(unread));
	const struct {
		char *state, **nodes;
		const NvmeState *says;
		bool whole;
	} rows[] = {
		{ live, NODES(disk, part), &single, true },
		{ live, NODES(disk, second), &several, true },
		{ live, NODES(NULL), &empty, true },
		/* A sanitize that runs leaves it few words, but its namespaces. */
		{ live, NODES(disk), &busy, true },
		{ live, NODES(NULL), &single, false },
		{ live, NODES(disk, part), &several, false },
		{ live, NODES(disk), &silent, false },
		{ live, NODES(disk), NULL, false },
		{ connecting, NODES(disk), &single, false },
		{ NULL, NODES(NULL), &empty, false },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		NvmeUse use = { .state = rows[i].state, .nodes = rows[i].nodes };

		assert_int_equal(nvme_use_is_whole(&use, rows[i].says), rows[i].whole);
	}
	assert_false(nvme_use_is_whole(NULL, &single));
}

TEST(progress_is_of_a_sanitize_under_way)
{
	NvmeState now =
		WITH(&one, 1, NVME_SANITIZE_RUNS, NVME_LOCK_OFF, .sanitize_progress = 32768);

	assert_int_equal(nvme_erase_permille(&now), 500);
	now.sanitize_progress = 65535;
	assert_int_equal(nvme_erase_permille(&now), 999);
	now.sanitize = NVME_SANITIZE_DONE;
	assert_int_equal(nvme_erase_permille(&now), 0);
}
