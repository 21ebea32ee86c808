/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fence on disk: what a job holds is closed there, whoever writes meanwhile, until its end. */
#include "rig/test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rig/bdf.h"
#include "rig/stores.h"
#include "rig/temp-dir.h"
#include "util/file.h"
#include "util/text.h"

#define NOW 1700000000000000ULL
#define MINUTE 60000000ULL

/* Of the test that runs. */
static const TempDir *dir;
static FenceStore store;

static int setup(void **state)
{
	temp_dir_setup(state);
	dir = *state;
	return fence_store_open(dir->path, &store);
}

static int teardown(void **state)
{
	fence_store_close(&store);
	return temp_dir_teardown(state);
}

/* pair0 and pair1, each of one function, open and assigned to `uuid` (NULL: nobody). */
static Fence *fence_of(const char *uuid)
{
	static const char *const addresses[] = { "0000:41:00.0", "0000:a1:00.0" };
	Fence *fence = calloc(1, sizeof(Fence));

	fence->groups = calloc(2, sizeof(FenceGroup));
	for (size_t i = 0; i < 2; i++) {
		FenceGroup *group = &fence->groups[fence->n_groups++];

		group->name = strf("pair%zu", i);
		group->domain_uuid = uuid ? strdup(uuid) : NULL;
		group->functions = calloc(1, sizeof(FenceFunction));
		group->n_functions = 1;
		group->functions[0].bdf = bdf_of(addresses[i]);
	}
	return fence;
}

static Fence *on_disk(void)
{
	_cleanup_free_ char *path = strf("%s/" FENCE_FILE, dir->path), *text = NULL;
	Fence *fence = NULL;
	size_t size;

	if (file_read_at(AT_FDCWD, path, 1 << 20, &text, &size) < 0 ||
	    fence_from_json(text, size, &fence, NULL) < 0)
		return NULL;
	return fence;
}

static FenceState state_on_disk(const char *address)
{
	_cleanup_(fence_freep) Fence *fence = on_disk();
	const Bdf function = bdf_of(address);
	const FenceGroup *group;

	assert_non_null(fence);
	group = fence_find(fence, &function, NULL);
	assert_non_null(group);
	return group->state;
}

static void update(const char *uuid, uint32_t ended, uint64_t now)
{
	_cleanup_(fence_freep) Fence *fence = fence_of(uuid);

	assert_int_equal(fence_store_update(&store, fence, &ended, ended > 0, now), 0);
}

static void hold(uint32_t job, const char *group, const char *address)
{
	const Bdf function = bdf_of(address);

	assert_int_equal(fence_store_hold(&store, job, group, &function, 1, NOW), 0);
}

#define IN_A_DIRECTORY(test) TEST_WITH(test, setup, teardown)

IN_A_DIRECTORY(a_fence_that_says_nothing_new_is_written_once_a_minute)
{
	const uint64_t times[] = { NOW, NOW + 1, NOW + MINUTE - 1, NOW + MINUTE, NOW - 5 };
	const uint64_t written[] = { NOW, NOW, NOW, NOW + MINUTE, NOW - 5 };

	for (size_t i = 0; i < ELEMENTS(times); i++) {
		_cleanup_(fence_freep) Fence *fence = NULL;

		update("x", 0, times[i]);
		fence = on_disk();
		assert_int_equal(fence->written_usec, written[i]);
	}
	update("y", 0, NOW);
	{
		_cleanup_(fence_freep) Fence *fence = on_disk();

		assert_string_equal(fence->groups[0].domain_uuid, "y");
		assert_int_equal(fence->generation, 4);
	}
}

/* promise T7 */
IN_A_DIRECTORY(what_a_job_holds_is_closed_until_a_fence_after_its_end)
{
	update("x", 0, NOW);
	hold(7, "pair0", "0000:41:00.0");
	assert_int_equal(state_on_disk("0000:41:00.0"), FENCE_BUSY);
	assert_int_equal(state_on_disk("0000:a1:00.0"), FENCE_OPEN);
	/* A look that began before the job ended writes what it saw. */
	update("y", 0, NOW);
	update("z", 6, NOW);
	assert_int_equal(state_on_disk("0000:41:00.0"), FENCE_BUSY);
	hold(8, "pair1", "0000:a1:00.0");
	update("z", 7, NOW);
	assert_int_equal(state_on_disk("0000:41:00.0"), FENCE_OPEN);
	assert_int_equal(state_on_disk("0000:a1:00.0"), FENCE_BUSY);
}

IN_A_DIRECTORY(a_group_that_the_fence_does_not_know_is_closed_all_the_same)
{
	update(NULL, 0, NOW);
	hold(7, "new", "0000:c1:00.0");
	assert_int_equal(state_on_disk("0000:c1:00.0"), FENCE_BUSY);
}

/* fault D5 */
IN_A_DIRECTORY(after_a_crash_the_group_stays_closed_until_the_next_daemon_has_looked)
{
	update("x", 0, NOW);
	hold(7, "pair0", "0000:41:00.0");
	fence_store_close(&store);
	assert_int_equal(fence_store_open(dir->path, &store), 0);
	assert_int_equal(state_on_disk("0000:41:00.0"), FENCE_BUSY);
	/* A job before the first look closes its own group, and opens nobody else's. */
	hold(1, "pair1", "0000:a1:00.0");
	assert_int_equal(state_on_disk("0000:41:00.0"), FENCE_BUSY);
	assert_int_equal(state_on_disk("0000:a1:00.0"), FENCE_BUSY);
	update("x", 1, NOW);
	assert_int_equal(state_on_disk("0000:41:00.0"), FENCE_OPEN);
}

IN_A_DIRECTORY(what_cannot_be_written_stays_closed_and_is_tried_again)
{
	_cleanup_(fence_freep) Fence *fence = fence_of("y");
	const uint32_t ended = 7;
	int good;

	update("x", 0, NOW);
	hold(7, "pair0", "0000:41:00.0");
	good = store.dir_fd;
	store.dir_fd = open("/proc/self", O_RDONLY | O_DIRECTORY);
	assert_true(fence_store_update(&store, fence, &ended, 1, NOW) < 0);
	assert_true(fence_store_hold(&store, 8, "pair1", &fence->groups[1].functions[0].bdf, 1,
				     NOW) < 0);
	close(store.dir_fd);
	store.dir_fd = good;
	assert_int_equal(state_on_disk("0000:41:00.0"), FENCE_BUSY);
	/* The job that was refused holds nothing; the other one is let go of. */
	update("y", 7, NOW);
	assert_int_equal(state_on_disk("0000:41:00.0"), FENCE_OPEN);
	assert_int_equal(state_on_disk("0000:a1:00.0"), FENCE_OPEN);
}

IN_A_DIRECTORY(a_file_that_somebody_damaged_is_found_and_written_again)
{
	_cleanup_free_ char *path = strf("%s/" FENCE_FILE, dir->path), *fault = NULL;

	update("x", 0, NOW);
	assert_null(fence_store_check(&store));
	assert_int_equal(truncate(path, 40), 0);
	fault = fence_store_check(&store);
	assert_non_null(strstr(fault, "cannot be read"));
	update("x", 0, NOW);
	assert_int_equal(state_on_disk("0000:41:00.0"), FENCE_OPEN);
}
