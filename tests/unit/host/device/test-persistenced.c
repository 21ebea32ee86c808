/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nvidia-persistenced's answers, good and bad, and what a worker makes of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/device/persistenced.h"
#include "host/wire/persistence.h"
#include "rig/temp-dir.h"
#include "util/clock.h"
#include "worker/persistence.h"

#define A "0000:41:00.0"
#define B "0000:61:00.0"
#define ID 7

static Bdf bdf(const char *text)
{
	Bdf parsed = { 0 };

	assert_int_equal(bdf_parse(text, &parsed), 0);
	return parsed;
}

/* ---- replies ---- */

/* fault P10 */
static void a_reply_is_read_strictly(_unused_ void **state)
{
	static const struct {
		uint32_t words[12];
		size_t n, extra; /* words, and bytes behind them */
		PersistencedCall call;
		int r;
		PersistenceMode mode;
		const char *why;
	} rows[] = {
		{ { ID, 1, 0, 0, 0, 0, 0, 1 }, 8, 0, PERSISTENCED_GET, 0, PERSISTENCE_ON, NULL },
		{ { ID, 1, 0, 0, 0, 0, 0, 0 }, 8, 0, PERSISTENCED_GET, 0, PERSISTENCE_OFF, NULL },
		{ { ID, 1, 0, 0, 0, 0, 0 }, 7, 0, PERSISTENCED_SET, 0, PERSISTENCE_OFF, NULL },
		/* A verifier of five bytes, which are padded. */
		{ { ID, 1, 0, 1, 5, 9, 9, 0, 0, 1 },
		  10,
		  0,
		  PERSISTENCED_GET,
		  0,
		  PERSISTENCE_ON,
		  NULL },
		/* It does not know the GPU: nothing keeps it. */
		{ { ID, 1, 0, 0, 0, 0, 2 }, 7, 0, PERSISTENCED_GET, 0, PERSISTENCE_OFF, NULL },
		{ { ID, 1, 0, 0, 0, 0, 2 }, 7, 0, PERSISTENCED_SET, -ENOTSUP, 0, "status 2" },
		{ { ID, 1, 0, 0, 0, 0, 7 },
		  7,
		  0,
		  PERSISTENCED_SET,
		  -ENOTSUP,
		  0,
		  "does not permit that" },
		{ { ID, 1, 0, 0, 0, 0, UINT32_MAX },
		  7,
		  0,
		  PERSISTENCED_GET,
		  -ENOTSUP,
		  0,
		  "status 4294967295" },
		/* Another call's, a call, denied, not accepted. */
		{ { ID + 1, 1, 0, 0, 0, 0, 0, 1 }, 8, 0, PERSISTENCED_GET, -EBADMSG, 0, NULL },
		{ { ID, 0, 0, 0, 0, 0, 0, 1 }, 8, 0, PERSISTENCED_GET, -EBADMSG, 0, NULL },
		{ { ID, 1, 1, 1, 5 }, 5, 0, PERSISTENCED_GET, -EBADMSG, 0, NULL },
		{ { ID, 1, 0, 0, 0, 3 }, 6, 0, PERSISTENCED_GET, -EBADMSG, 0, NULL },
		/* A mode that is none, or is missing; more than there should be. */
		{ { ID, 1, 0, 0, 0, 0, 0, 2 }, 8, 0, PERSISTENCED_GET, -EBADMSG, 0, NULL },
		{ { ID, 1, 0, 0, 0, 0, 0 }, 7, 0, PERSISTENCED_GET, -EBADMSG, 0, NULL },
		{ { ID, 1, 0, 0, 0, 0, 0, 1, 0 }, 9, 0, PERSISTENCED_GET, -EBADMSG, 0, NULL },
		{ { ID, 1, 0, 0, 0, 0, 0, 1 }, 8, 1, PERSISTENCED_GET, -EBADMSG, 0, NULL },
		/* A verifier that is longer than the reply, or than it may be. */
		{ { ID, 1, 0, 0, 64, 0, 0, 1 }, 8, 0, PERSISTENCED_GET, -EBADMSG, 0, NULL },
		{ { ID, 1, 0, 0, UINT32_MAX, 0, 0, 1 }, 8, 0, PERSISTENCED_GET, -EBADMSG, 0, NULL },
		{ { 0 }, 0, 0, PERSISTENCED_GET, -EBADMSG, 0, NULL },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		uint8_t bytes[13 * 4] = { 0 };
		PersistenceMode mode = PERSISTENCE_UNKNOWN;
		_cleanup_free_ char *why = NULL;
		int r;

		for (size_t k = 0; k < rows[i].n * 4; k++)
			bytes[k] = (uint8_t)(rows[i].words[k / 4] >> (24 - 8 * (k % 4)));
		r = persistenced_reply_parse(bytes, rows[i].n * 4 + rows[i].extra, ID, rows[i].call,
					     &mode, &why);
		if (r != rows[i].r || (r == 0 && mode != rows[i].mode) || !why != !rows[i].why ||
		    (why && !strstr(why, rows[i].why)))
			fail_msg("row %zu: %d, %s, %s", i, r, persistence_mode_to_string(mode),
				 str_or_empty(why));
	}
}

/* ---- a process ---- */

typedef struct Keeper {
	pid_t pid;
	char *socket;
} Keeper;

/* It has two files open, as if they were the GPUs'. */
static Keeper keeper_start(const TempDir *dir, const char *fault)
{
	Keeper keeper = { .socket = strf("%s/persistenced", dir->path) };
	_cleanup_free_ char *a = strf(A "=%s/a", dir->path), *b = strf(B "=%s/b", dir->path);
	int out[2];
	char c;

	temp_dir_write(dir, "a", "");
	temp_dir_write(dir, "b", "");
	assert_int_equal(pipe(out), 0);
	keeper.pid = fork();
	if (keeper.pid == 0) {
		dup2(out[1], STDOUT_FILENO);
		execl(FAKE_PERSISTENCED, "fake-persistenced", keeper.socket, fault, a, b, NULL);
		_exit(127);
	}
	close(out[1]);
	assert_int_equal(read(out[0], &c, 1), 1); /* of "ready" */
	return keeper;
}

static void keeper_stop(Keeper *keeper)
{
	if (keeper->pid > 0) {
		kill(keeper->pid, SIGKILL);
		waitpid(keeper->pid, NULL, 0);
	}
	free(keeper->socket);
	*keeper = (Keeper){ 0 };
}

static bool has_open(const Keeper *keeper, const TempDir *dir, const char *name)
{
	_cleanup_free_ char *file = strf("%s/%s", dir->path, name);
	bool found = false;

	for (int fd = 0; fd < 32; fd++) {
		_cleanup_free_ char *link = strf("/proc/%d/fd/%d", (int)keeper->pid, fd);
		char target[256] = "";

		found |=
			readlink(link, target, sizeof(target) - 1) > 0 && strcmp(target, file) == 0;
	}
	return found;
}

/* fault P9 */
static void it_lets_go_of_the_gpu_that_is_asked_for_and_of_no_other(void **state)
{
	_cleanup_free_ char *why = NULL;
	Bdf a = bdf(A), b = bdf(B), other = bdf("0000:99:00.0");
	Keeper keeper = keeper_start(*state, "none");
	pid_t pid = 0;

	assert_int_equal(persistenced_keeper(keeper.socket, USEC_PER_SEC * 20, &a, &pid, &why), 0);
	assert_int_equal(pid, keeper.pid);
	assert_true(has_open(&keeper, *state, "a") && has_open(&keeper, *state, "b"));
	assert_int_equal(persistenced_release(keeper.socket, USEC_PER_SEC * 20, &a, &why), 1);
	assert_false(has_open(&keeper, *state, "a"));
	assert_true(has_open(&keeper, *state, "b"));
	assert_int_equal(persistenced_keeper(keeper.socket, USEC_PER_SEC * 20, &a, &pid, &why), 0);
	assert_int_equal(pid, 0);
	assert_int_equal(persistenced_keeper(keeper.socket, USEC_PER_SEC * 20, &b, &pid, &why), 0);
	assert_int_equal(pid, keeper.pid);
	/* Twice is harmless, and so is one that it does not know. */
	assert_int_equal(persistenced_release(keeper.socket, USEC_PER_SEC * 20, &a, &why), 0);
	assert_int_equal(persistenced_release(keeper.socket, USEC_PER_SEC * 20, &other, &why), 0);
	assert_null(why);
	keeper_stop(&keeper);
}

/* fault P10 */
static void one_that_hangs_or_lies_costs_its_deadline_and_is_told(void **state)
{
	static const struct {
		const char *fault, *why;
		bool asks; /* already when it is only asked */
	} rows[] = {
		{ "deaf", "does not answer in time", true },
		{ "endless", "makes no sense", true },
		{ "rubbish", "makes no sense", true },
		{ "refuse", "does not permit that", false },
	};
	Bdf a = bdf(A);

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *why = NULL, *asked = NULL;
		Keeper keeper = keeper_start(*state, rows[i].fault);
		uint64_t timeout = USEC_PER_SEC * (strcmp(rows[i].fault, "deaf") == 0 ? 1 : 20);
		pid_t pid = 4711;

		assert_int_equal(persistenced_release(keeper.socket, timeout, &a, &why), 0);
		if (!why || !strstr(why, rows[i].why))
			fail_msg("%s: %s", rows[i].fault, str_or_empty(why));
		assert_true(has_open(&keeper, *state, "a"));
		if (rows[i].asks) {
			keeper_stop(&keeper);
			keeper = keeper_start(*state, rows[i].fault);
		}
		assert_int_equal(persistenced_keeper(keeper.socket, timeout, &a, &pid, &asked), 0);
		assert_int_equal(pid, rows[i].asks ? 0 : keeper.pid);
		assert_int_equal(asked != NULL, rows[i].asks);
		keeper_stop(&keeper);
	}
}

static void where_nobody_listens_there_is_no_keeper(void **state)
{
	const TempDir *dir = *state;
	_cleanup_free_ char *none = strf("%s/none", dir->path), *why = NULL;
	Keeper keeper = keeper_start(dir, "none");
	_cleanup_free_ char *left = strdup(keeper.socket);
	const char *paths[] = { none, left };
	Bdf a = bdf(A);

	/* A socket that it has left behind. */
	keeper_stop(&keeper);
	for (size_t i = 0; i < ELEMENTS(paths); i++) {
		pid_t pid = 4711;

		assert_int_equal(persistenced_keeper(paths[i], USEC_PER_SEC * 20, &a, &pid, &why),
				 0);
		assert_int_equal(pid, 0);
		assert_int_equal(persistenced_release(paths[i], USEC_PER_SEC * 20, &a, &why), 0);
		assert_null(why);
	}
}

/* ---- a worker ---- */

static void play(const TempDir *dir)
{
	_cleanup_free_ char *path = strf("%s/scenario", dir->path);
	_cleanup_free_ char *text = strf("gpu " A " 223010de 145910de GPU-a VBIOS -\n"
					 "gpu " B " 223010de 145910de GPU-b VBIOS -\n"
					 "persistence %s\n",
					 dir->path);

	temp_dir_write(dir, "scenario", text);
	temp_dir_write(dir, A "/persistence", "0\n");
	temp_dir_write(dir, B "/persistence", "0\n");
	assert_int_equal(setenv("FAKE_NVML_SCENARIO", path, 1), 0);
}

/* What a worker answers about A and, if it only asks, B. */
static void work(const Keeper *keeper, PersistenceMode set, GpuPersistence ret[2])
{
	Bdf gpus[] = { bdf(A), bdf(B) };
	WorkerCommand command = {
		.sysfs_dir = "/nowhere",
		.verb = WORKER_PERSISTENCE,
		.nvml = FAKE_NVML,
		.persistenced = keeper->socket,
		.functions = gpus,
		.n_functions = set == PERSISTENCE_UNKNOWN ? 2 : 1,
		.set = set,
	};
	_cleanup_free_ char *text = persistence_command(&command);

	assert_non_null(text);
	assert_int_equal(
		persistence_document_parse(text, strlen(text), gpus, command.n_functions, ret), 0);
}

static void expect(GpuPersistence *gpu, PersistenceMode mode, pid_t keeper, const char *why)
{
	if (gpu->mode != mode || gpu->kept_by != keeper || !gpu->why != !why ||
	    (why && !strstr(gpu->why, why)))
		fail_msg("%s, by %d, %s", persistence_mode_to_string(gpu->mode), (int)gpu->kept_by,
			 str_or_empty(gpu->why));
	gpu_persistence_clear(gpu);
}

/* fault P9 */
static void a_worker_says_who_keeps_a_gpu_and_makes_it_let_go(void **state)
{
	Keeper keeper = keeper_start(*state, "none");
	GpuPersistence gpus[2] = { 0 };

	play(*state);
	work(&keeper, PERSISTENCE_UNKNOWN, gpus);
	expect(&gpus[0], PERSISTENCE_ON, keeper.pid, NULL);
	expect(&gpus[1], PERSISTENCE_ON, keeper.pid, NULL);
	/* It is on already, and NVML's mode stays as it was. */
	work(&keeper, PERSISTENCE_ON, gpus);
	expect(&gpus[0], PERSISTENCE_ON, keeper.pid, NULL);
	work(&keeper, PERSISTENCE_OFF, gpus);
	expect(&gpus[0], PERSISTENCE_OFF, 0, NULL);
	assert_false(has_open(&keeper, *state, "a"));
	assert_true(has_open(&keeper, *state, "b"));
	/* Back by NVML, as what it has let go of cannot be relied on to come back by it. */
	work(&keeper, PERSISTENCE_ON, gpus);
	expect(&gpus[0], PERSISTENCE_ON, 0, NULL);
	assert_false(has_open(&keeper, *state, "a"));
	keeper_stop(&keeper);
}

/* fault P10 */
static void what_it_does_not_do_is_told_beside_what_nvml_says(void **state)
{
	Keeper keeper = keeper_start(*state, "refuse");
	GpuPersistence gpus[2] = { 0 };

	play(*state);
	work(&keeper, PERSISTENCE_OFF, gpus);
	expect(&gpus[0], PERSISTENCE_OFF, 0, "does not permit that");
	keeper_stop(&keeper);
	keeper = keeper_start(*state, "rubbish");
	work(&keeper, PERSISTENCE_UNKNOWN, gpus);
	expect(&gpus[0], PERSISTENCE_OFF, 0, "makes no sense");
	expect(&gpus[1], PERSISTENCE_OFF, 0, NULL);
	keeper_stop(&keeper);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_reply_is_read_strictly),
		cmocka_unit_test_setup_teardown(
			it_lets_go_of_the_gpu_that_is_asked_for_and_of_no_other, temp_dir_setup,
			temp_dir_teardown),
		cmocka_unit_test_setup_teardown(
			one_that_hangs_or_lies_costs_its_deadline_and_is_told, temp_dir_setup,
			temp_dir_teardown),
		cmocka_unit_test_setup_teardown(where_nobody_listens_there_is_no_keeper,
						temp_dir_setup, temp_dir_teardown),
		cmocka_unit_test_setup_teardown(a_worker_says_who_keeps_a_gpu_and_makes_it_let_go,
						temp_dir_setup, temp_dir_teardown),
		cmocka_unit_test_setup_teardown(what_it_does_not_do_is_told_beside_what_nvml_says,
						temp_dir_setup, temp_dir_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
