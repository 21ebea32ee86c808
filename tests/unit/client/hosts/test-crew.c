/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process for each of many: they run side by side, each has its limits, and what it started ends
 * with it. Order is shown by what processes wait for, never by how long something takes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "gpupass/cleanup.h"
#include "hosts/crew.h"

#define SECOND UINT64_C(1000000)
/* What must not happen takes so long to be noticed. */
#define FOR_EVER (120 * SECOND)
#define HOSTS 6

/* What all processes see. */
typedef struct Shared {
	atomic_int begun, running, most, child;
	atomic_bool seen[HOSTS];
} Shared;

typedef struct Scene {
	Shared *shared;
	size_t at_once;
} Scene;

static Scene scene_new(size_t at_once)
{
	Shared *shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
			      MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(shared != MAP_FAILED);
	return (Scene){ .shared = shared, .at_once = at_once };
}

static void scene_free(Scene *scene)
{
	munmap(scene->shared, sizeof(*scene->shared));
}

static void rest(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

static void hang(void)
{
	for (;;)
		pause();
}

static CrewPlan plan_of(ProcessRun *run, void *userdata, size_t n, uint64_t limit_usec)
{
	return (CrewPlan){ .run = run,
			   .userdata = userdata,
			   .n = n,
			   .at_once = HOSTS,
			   .limit_usec = limit_usec,
			   .out_max = 1 << 20,
			   .all_max = 2 << 20 };
}

static void says(int fd, const char *text)
{
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		_exit(99);
}

/* ---- side by side ---- */

/* Ends when all others have begun. */
static int meet(void *userdata, size_t i, int out)
{
	Scene *scene = userdata;

	atomic_fetch_add(&scene->shared->begun, 1);
	while (atomic_load(&scene->shared->begun) < HOSTS)
		rest();
	says(out, (char[]){ (char)('a' + i), '\0' });
	return (int)i;
}

static void all_run_at_once_and_answer_in_their_order(_unused_ void **state)
{
	_cleanup_(scene_free) Scene scene = scene_new(HOSTS);
	CrewPlan plan = plan_of(meet, &scene, HOSTS, FOR_EVER);
	CrewResult *results;

	assert_int_equal(crew_run(&plan, &results), 0);
	for (size_t i = 0; i < HOSTS; i++) {
		assert_int_equal(results[i].error, 0);
		assert_int_equal(results[i].status, (int)i);
		assert_int_equal(results[i].out_size, 1);
		assert_string_equal(results[i].out, ((char[]){ (char)('a' + i), '\0' }));
	}
	crew_results_free(results, HOSTS);
}

/* So many at once have been seen, and never more; each of them waits for its fellows. */
static int crowd(void *userdata, _unused_ size_t i, _unused_ int out)
{
	Scene *scene = userdata;
	Shared *s = scene->shared;
	int running = atomic_fetch_add(&s->running, 1) + 1, most = atomic_load(&s->most);

	while (running > most && !atomic_compare_exchange_weak(&s->most, &most, running))
		;
	while (atomic_load(&s->most) < (int)scene->at_once)
		rest();
	atomic_fetch_sub(&s->running, 1);
	return 0;
}

static void no_more_run_than_are_allowed(_unused_ void **state)
{
	_cleanup_(scene_free) Scene scene = scene_new(2);
	CrewPlan plan = plan_of(crowd, &scene, HOSTS, FOR_EVER);
	CrewResult *results;

	plan.at_once = 2;
	assert_int_equal(crew_run(&plan, &results), 0);
	for (size_t i = 0; i < HOSTS; i++)
		assert_int_equal(results[i].error, 0);
	assert_int_equal(atomic_load(&scene.shared->most), 2);
	crew_results_free(results, HOSTS);
}

/* ---- limits ---- */

/* promise R2 */
/* The first hangs until its time is over, when the others have long ended. */
static int first_hangs(void *userdata, size_t i, int out)
{
	Scene *scene = userdata;

	if (i == 0)
		hang();
	says(out, "here");
	atomic_fetch_add(&scene->shared->begun, 1);
	return 0;
}

static void one_that_hangs_stops_no_other(_unused_ void **state)
{
	_cleanup_(scene_free) Scene scene = scene_new(1);
	CrewPlan plan = plan_of(first_hangs, &scene, 3, 5 * SECOND);
	CrewResult *results;

	/* One after another: the others have their turn after it. */
	plan.at_once = 1;
	assert_int_equal(crew_run(&plan, &results), 0);
	assert_int_equal(results[0].error, -ETIMEDOUT);
	for (size_t i = 1; i < 3; i++) {
		assert_int_equal(results[i].error, 0);
		assert_string_equal(results[i].out, "here");
	}
	crew_results_free(results, 3);
}

static int flood(_unused_ void *userdata, size_t i, int out)
{
	char block[4096];

	memset(block, 'x', sizeof(block));
	if (i == 1) {
		says(out, "little");
		return 0;
	}
	for (;;)
		if (write(out, block, sizeof(block)) < 0)
			return 1;
}

static void one_that_says_too_much_is_ended(_unused_ void **state)
{
	CrewPlan plan = plan_of(flood, NULL, 2, FOR_EVER);
	CrewResult *results;

	assert_int_equal(crew_run(&plan, &results), 0);
	assert_int_equal(results[0].error, -EFBIG);
	assert_true(results[0].out_size <= plan.out_max + 65536);
	assert_int_equal(results[1].error, 0);
	assert_string_equal(results[1].out, "little");
	crew_results_free(results, 2);
}

static int fill(_unused_ void *userdata, _unused_ size_t i, int out)
{
	char block[4096];

	memset(block, 'x', sizeof(block));
	for (size_t n = 0; n < 128; n++)
		if (write(out, block, sizeof(block)) != sizeof(block))
			return 1;
	return 0;
}

static void all_together_have_a_limit_too(_unused_ void **state)
{
	CrewPlan plan = plan_of(fill, NULL, HOSTS, FOR_EVER);
	size_t kept = 0, n_ended = 0;
	CrewResult *results;

	/* Each says half a megabyte, which it may. */
	assert_int_equal(crew_run(&plan, &results), 0);
	for (size_t i = 0; i < HOSTS; i++) {
		n_ended += results[i].error == -EFBIG;
		kept += results[i].error == 0 ? results[i].out_size : 0;
	}
	assert_true(n_ended > 0 && kept <= plan.all_max);
	crew_results_free(results, HOSTS);
}

/* ---- standard error ---- */

static int complain(_unused_ void *userdata, size_t i, int out)
{
	for (size_t n = 0; i == 0 && n < 3000; n++)
		says(STDERR_FILENO, "a line of a banner\n");
	says(STDERR_FILENO, "Connection refused\n");
	says(out, "x");
	/* It is nobody's terminal, and nothing comes from it. */
	return read(STDIN_FILENO, (char[1]){ 0 }, 1) == 0 ? 7 : 8;
}

static void the_end_of_standard_error_is_kept(_unused_ void **state)
{
	CrewPlan plan = plan_of(complain, NULL, 2, FOR_EVER);
	CrewResult *results;

	assert_int_equal(crew_run(&plan, &results), 0);
	for (size_t i = 0; i < 2; i++) {
		const char *end = "Connection refused\n";

		assert_int_equal(results[i].error, 0);
		assert_int_equal(results[i].status, 7);
		assert_true(results[i].err_size <= 4096);
		assert_int_equal(results[i].err_size, strlen(results[i].err));
		assert_string_equal(results[i].err + results[i].err_size - strlen(end), end);
	}
	assert_string_equal(results[1].err, "Connection refused\n");
	crew_results_free(results, 2);
}

/* ---- ends ---- */

/* As ssh: it has standard error open, and ends for nobody. */
static int leave_child(void *userdata, _unused_ size_t i, int out)
{
	Scene *scene = userdata;
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGTERM, SIG_IGN);
		close(out);
		hang();
	}
	atomic_store(&scene->shared->child, pid);
	says(out, "done");
	return 0;
}

static int hang_with_child(void *userdata, size_t i, int out)
{
	leave_child(userdata, i, out);
	hang();
	return 0;
}

/* init, or whoever takes its place, reaps it. */
static void wait_until_gone(pid_t pid)
{
	char path[64], state = '?';

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	for (;;) {
		_cleanup_fclose_ FILE *f = fopen(path, "re");

		if (!f || fscanf(f, "%*d (%*[^)]) %c", &state) != 1 || state == 'Z')
			return;
		rest();
	}
}

static void what_it_started_ends_with_it(_unused_ void **state)
{
	static ProcessRun *const runs[] = { leave_child, hang_with_child };

	for (size_t i = 0; i < ELEMENTS(runs); i++) {
		_cleanup_(scene_free) Scene scene = scene_new(1);
		CrewPlan plan = plan_of(runs[i], &scene, 1, i == 0 ? FOR_EVER : SECOND);
		CrewResult *results;

		assert_int_equal(crew_run(&plan, &results), 0);
		assert_int_equal(results[0].error, i == 0 ? 0 : -ETIMEDOUT);
		wait_until_gone(atomic_load(&scene.shared->child));
		crew_results_free(results, 1);
	}
}

static int die(_unused_ void *userdata, _unused_ size_t i, _unused_ int out)
{
	raise(SIGKILL);
	return 0;
}

static void one_that_dies_is_told_from_one_that_ends(_unused_ void **state)
{
	CrewPlan plan = plan_of(die, NULL, 1, FOR_EVER);
	CrewResult *results;

	assert_int_equal(crew_run(&plan, &results), 0);
	assert_int_equal(results[0].error, 0);
	assert_int_equal(results[0].status, -1);
	assert_int_equal(results[0].out_size, 0);
	crew_results_free(results, 1);
}

/* promise R3 */
/* Whoever interrupts gpupass leaves nothing behind. */
static void all_end_with_their_parent(_unused_ void **state)
{
	_cleanup_(scene_free) Scene scene = scene_new(1);
	CrewPlan plan = plan_of(hang_with_child, &scene, 1, FOR_EVER);
	pid_t parent = fork();

	assert_true(parent >= 0);
	if (parent == 0) {
		CrewResult *results;

		_exit(crew_run(&plan, &results) < 0);
	}
	while (atomic_load(&scene.shared->child) == 0)
		rest();
	kill(parent, SIGKILL);
	wait_until_gone(atomic_load(&scene.shared->child));
}

static void without_descriptors_each_says_so(_unused_ void **state)
{
	CrewPlan plan = plan_of(die, NULL, 3, FOR_EVER);
	struct rlimit saved, few;
	CrewResult *results;
	int next = dup(STDIN_FILENO), r;

	close(next);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &saved), 0);
	few = saved;
	/* Those of sd-event, and no pipe. */
	few.rlim_cur = (rlim_t)next + 3;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	r = crew_run(&plan, &results);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &saved), 0);
	assert_int_equal(r, 0);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(results[i].error, -EMFILE);
	crew_results_free(results, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_run_at_once_and_answer_in_their_order),
		cmocka_unit_test(no_more_run_than_are_allowed),
		cmocka_unit_test(one_that_hangs_stops_no_other),
		cmocka_unit_test(one_that_says_too_much_is_ended),
		cmocka_unit_test(all_together_have_a_limit_too),
		cmocka_unit_test(the_end_of_standard_error_is_kept),
		cmocka_unit_test(what_it_started_ends_with_it),
		cmocka_unit_test(one_that_dies_is_told_from_one_that_ends),
		cmocka_unit_test(all_end_with_their_parent),
		cmocka_unit_test(without_descriptors_each_says_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
