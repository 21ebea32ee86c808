/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <errno.h>
#include <string.h>

#include "host/launch/worker-find.h"
#include "rig/expect-json.h"
#include "rig/nvml-scenario.h"
#include "util/clock.h"

#define A "0000:41:00.0"
#define B "0000:61:00.0"
#define GPU_A "gpu " A " 223010de 145910de GPU-a6000aaa-0001 94.02.5c.00.02 1562321010543\n"
#define GPU_B "gpu " B " 223010de 145910de GPU-a6000bbb-0002 94.02.5c.00.02 -\n"
#define BRIDGED                                                                                    \
	GPU_A GPU_B "link " A " 0 up 00000000:61:00.0\nlink " A " 1 up 00000000:61:00.0\n"         \
		    "link " A " 2 up 00000000:61:00.0\nlink " A " 3 up 00000000:61:00.0\n"         \
		    "link " B " 0 up 00000000:41:00.0\nlink " B " 1 up 00000000:41:00.0\n"         \
		    "link " B " 2 up 00000000:41:00.0\nlink " B " 3 up 00000000:41:00.0\n"
/* The first GPU's sighting, or *ret_why. */
static int look(const char *scenario, const TempDir *dir, Sighting *ret, char **ret_why)
{
	_cleanup_(nvml_closep) Nvml *nvml = NULL;
	Bdf a = tree_bdf(A);
	int r;

	play(dir, scenario);
	r = nvml_open(FAKE_NVML, &nvml, ret_why);
	return r < 0 ? r : nvml_look(nvml, &a, ret, ret_why);
}

#define TO_61(links) "'peers': [{'address': '0000:61:00.0', 'links': " links "}]"
#define UP(link, peer) "link " A " " link " up " peer "\n"

static const struct {
	const char *what, *scenario, *wanted;
} boards[] = {
	ROW("identity and peers", BRIDGED,
	    "{'address': '" A "', " TO_61(
		    "4") ", 'inactive': 0, 'other': 0, 'vendor': '10de', "
			 "'device': '2230', 'subsystem_device': '1459', 'uuid': 'GPU-a6000aaa-0001', "
			 "'vbios': '94.02.5c.00.02', 'board_serial': '1562321010543', 'mig': null, "
			 "'mig_pending': null}"),
	ROW("odd identities are not known", "gpu " A " 223010de 145910de GPU\x01\xff - -\n",
	    "{'uuid': null, 'vbios': null, 'board_serial': null}"),
	ROW("MIG mode, where a board has it", BRIDGED "mig " A " 0 1\n",
	    "{'mig': 'off', 'mig_pending': 'on'}"),
	ROW("a number that NVML does not have", BRIDGED "mig " A " 7 0\n",
	    "{'mig': null, 'mig_pending': 'off'}"),
	ROW("no links", GPU_A, "{'peers': [], 'inactive': 0, 'other': 0}"),
	ROW("links that are down", GPU_A "link " A " 0 down\nlink " A " 1 down\n",
	    "{'peers': [], 'inactive': 2, 'other': 0}"),
	ROW("an H100 PCIe leads 12 of its 18 out",
	    GPU_A UP("0", "00000000:61:00.0") UP("17", "00000000:61:00.0"),
	    "{" TO_61("2") ", 'inactive': 0, 'other': 0}"),
	ROW("two peers", GPU_A UP("0", "00000000:61:00.0") UP("1", "00000000:a1:00.0"),
	    "{'peers': [{'links': 1}, {}], 'inactive': 0, 'other': 0}"),
	ROW("a switch", GPU_A "link " A " 0 switch\n" UP("1", "0000:61:00.0"),
	    "{" TO_61("1") ", 'inactive': 0, 'other': 1}"),
	ROW("behind Intel VMD", GPU_A UP("0", "00010000:e1:00.0"),
	    "{'peers': [{'address': '10000:e1:00.0', 'links': 1}], 'inactive': 0, 'other': 0}"),
};

WITH_DIR(a_board_tells_its_identity_and_its_links_as_what_they_are)
{
	for (size_t i = 0; i < ELEMENTS(boards); i++) {
		_cleanup_(sighting_clear) Sighting s = { 0 };
		_cleanup_free_ char *why = NULL;

		assert_int_equal(look(boards[i].scenario, dir, &s, &why), 0);
		expect_json(boards[i].what, json_struct_write(sighting_members, &s),
			    boards[i].wanted);
	}
}

WITH_DIR(half_a_picture_is_none)
{
	static const struct {
		const char *scenario, *why;
		int error;
	} rows[] = {
		{ GPU_A "link " A " 0 up 00000000:61:00.0\nlink " A " 1 error 15\n",
		  "the state of link 1 cannot be read: GPU is lost (NVML error 15)", -ENODATA },
		{ GPU_A "link " A " 0 type-error 999\n",
		  "the far end's kind of link 0 cannot be read: Unknown ?[31mError", -ENODATA },
		{ GPU_A "link " A " 0 peer-error 999\n", "the far end of link 0 cannot be read",
		  -ENODATA },
		{ GPU_A "link " A " 0 state 7\n",
		  "link 0 is neither active nor inactive, but in a state that is not known "
		  "(NVML's state 7)",
		  -ENODATA },
		{ GPU_A "link " A " 0 state 2\n", "but asleep (NVML's state 2)", -ENODATA },
		{ GPU_A "link " A " 0 up rubbish\n", "link 0 leads to \"rubbish\"", -ENODATA },
		{ GPU_A "link " A " 0 up 00000000:61:00.0:and:much:more:than:fits\n",
		  "link 0 leads to \"00000000:61:00.0:and", -ENODATA },
		{ GPU_A "link " A " 0 up 00000000:41:00.0\n", "which is not another GPU",
		  -ENODATA },
		{ GPU_A "locate " A " 15\n", "GPU is lost (NVML error 15)", -ENODATA },
		{ GPU_B, "(NVML error 6)", -ENODATA },
		{ "init 18\n",
		  "NVML does not start: Driver/library version mismatch (NVML error 18)", -EIO },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(sighting_clear) Sighting s = { 0 };
		_cleanup_free_ char *why = NULL;
		int r = look(rows[i].scenario, dir, &s, &why);

		if (r != rows[i].error || !why || !strstr(why, rows[i].why) || s.n_peers != 0)
			fail_msg("row %zu: %d, %s", i, r, str_or_empty(why));
	}
}

WITH_DIR(a_library_that_never_ends_its_links_is_left)
{
	_cleanup_(sighting_clear) Sighting s = { 0 };
	_cleanup_free_ char *why = NULL;

	/* Number 0x41 is beyond those asked for, so that no link leads to the GPU itself. */
	assert_int_equal(look(GPU_A "endless\n", dir, &s, &why), 0);
	assert_int_equal(s.n_peers, SIGHTING_LINKS_MAX);
}

/* fault L8 */
TEST(a_library_that_is_not_there_or_is_another_is_told)
{
	static const struct {
		const char *library, *why;
		int error;
	} rows[] = {
		{ "/nonexistent/libnvidia-ml.so.1", "NVML cannot be loaded: /nonexistent",
		  -ENOENT },
		{ "libm.so.6", "NVML has no nvmlInit_v2", -ENOSYS },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *why = NULL;
		Nvml *nvml = NULL;

		assert_int_equal(nvml_open(rows[i].library, &nvml, &why), rows[i].error);
		assert_null(nvml);
		if (!strstr(why, rows[i].why))
			fail_msg("row %zu: %s", i, why);
	}
}

/* ---- by a worker ---- */

/* fault L8 */
WITH_DIR(a_worker_answers_of_each_board)
{
	const Bdf functions[] = { tree_bdf(A), tree_bdf(B), tree_bdf("0000:a1:00.0") };
	_cleanup_(probe_answer_clear) ProbeAnswer answer = { 0 };
	_cleanup_free_ char *library = NULL;
	WorkerConfig config = worker_with(dir, BRIDGED, &library);

	assert_int_equal(host_probe(WORKERS(&config), functions, 3, false, LONG, &answer, NULL), 0);
	assert_null(answer.error);
	assert_int_equal(answer.boards->n_items, 2);
	assert_string_equal(answer.boards->items[1].source, "NVML 550.54.15");
	assert_int_equal(answer.boards->items[1].peers[0].links, 4);
	assert_int_equal(answer.n_unseen, 1);
	assert_int_equal(answer.unseen[0].bdf.bus, 0xa1);
	assert_string_equal(answer.unseen[0].reason, "Unknown ?[31mError (NVML error 6)");
}

/* fault L8 */
TEST(a_worker_without_nvml_says_why)
{
	const Bdf functions[] = { tree_bdf(A) };
	_cleanup_(probe_answer_clear) ProbeAnswer answer = { 0 };
	WorkerConfig config = {
		.program = WORKER, .sysfs_dir = "/", .proc_dir = "/proc", .nvml = "/nonexistent"
	};

	assert_int_equal(host_probe(WORKERS(&config), functions, 1, false, LONG, &answer, NULL), 0);
	assert_true(str_starts_with(answer.error, "NVML cannot be loaded"));
}

/* fault L7 */
WITH_DIR(a_worker_that_hangs_in_nvml_is_left_and_found)
{
	static const char *const where[] = { "hang init\n", BRIDGED "hang link\n" };
	const Bdf functions[] = { tree_bdf(A) };

	for (size_t i = 0; i < ELEMENTS(where); i++) {
		_cleanup_(probe_answer_clear) ProbeAnswer answer = { 0 };
		_cleanup_free_ char *library = NULL;
		WorkerConfig config = worker_with(dir, where[i], &library);
		uint64_t begin = now_monotonic();
		pid_t pid;

		assert_int_equal(worker_find(&config, LOCK_PROBE, NULL), 0);
		assert_int_equal(host_probe(WORKERS(&config), functions, 1, false, USEC_PER_SEC / 2,
					    &answer, NULL),
				 -ETIMEDOUT);
		assert_true(now_monotonic() - begin < 20 * USEC_PER_SEC);
		pid = worker_find(&config, LOCK_PROBE, NULL);
		assert_true(pid > 0);
		end_worker(pid);
		assert_int_equal(worker_find(&config, LOCK_PROBE, NULL), 0);
	}
}
