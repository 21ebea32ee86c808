/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Persistence mode as NVML tells and takes it, by itself and by a worker. */
#include "rig/test.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "host/launch/worker-find.h"
#include "rig/nvml-scenario.h"
#include "rig/real-host.h"
#include "util/clock.h"

#define LOST "GPU is lost (NVML error 15)"
/* No other test's: what they run beside is found by its command line. */
#define A "0000:c5:00.0"
#define B "0000:c6:00.0"
#define GPUS                                                                                       \
	"gpu " A " 223010de 145910de GPU-a6000aaa-0001 94.02.5c.00.02 -\n"                         \
	"gpu " B " 223010de 145910de GPU-a6000bbb-0002 94.02.5c.00.02 -\n"

static void put_mode(const TempDir *dir, const char *gpu, const char *mode)
{
	_cleanup_free_ char *name = strf("%s/persistence", gpu);

	temp_dir_write(dir, name, mode);
}

static void check_mode(const TempDir *dir, const char *gpu, char mode)
{
	_cleanup_free_ char *name = strf("%s/persistence", gpu);
	_cleanup_free_ char *found = temp_dir_read(dir, name);

	if (!found || *found != mode)
		fail_msg("%s has mode %s", gpu, str_or_empty(found));
}

/* `why` NULL: there is no reason. */
static void check_answer(size_t row, const GpuPersistence *gpu, PersistenceMode mode,
			 const char *why)
{
	if (gpu->mode != mode || !gpu->why != !why || (why && !strstr(gpu->why, why)))
		fail_msg("row %zu: %s, %s", row, persistence_mode_to_string(gpu->mode),
			 str_or_empty(gpu->why));
}

/* Both GPUs, with modes that stay, and what else there is. */
static char *gpus_with(const TempDir *dir, const char *more)
{
	return strf(GPUS "persistence %s\n%s", dir->path, more);
}

/* ---- NVML ---- */

/* fault P2 */
/* What is set is what is read afterwards, not what a call returned. */
WITH_DIR(a_mode_is_read_or_set_and_read_again_or_it_is_said_why_not)
{
	enum { READ, OFF, ON };
	static const struct {
		int what;
		const char *scenario, *file;
		PersistenceMode mode;
		const char *why; /* NULL: none */
		char left;
	} rows[] = {
		{ READ, "", "0\n", PERSISTENCE_OFF, NULL, '0' },
		{ READ, "", "1\n", PERSISTENCE_ON, NULL, '1' },
		{ READ, "", "2\n", PERSISTENCE_UNKNOWN, "NVML reports a persistence mode 2", '2' },
		{ READ, "", "-1\n", PERSISTENCE_UNKNOWN, "NVML reports a persistence mode -1",
		  '-' },
		{ READ, "persistence get 3\n", "1\n", PERSISTENCE_UNKNOWN, "(NVML error 3)", '1' },
		{ READ, "persistence get 15\n", "1\n", PERSISTENCE_UNKNOWN, LOST, '1' },
		{ READ, "locate " A " 15\n", "1\n", PERSISTENCE_UNKNOWN, LOST, '1' },
		{ ON, "", "0\n", PERSISTENCE_ON, NULL, '1' },
		{ OFF, "", "1\n", PERSISTENCE_OFF, NULL, '0' },
		/* So already: nothing is set, so that what cannot be set does not matter. */
		{ ON, "persistence set 4\n", "1\n", PERSISTENCE_ON, NULL, '1' },
		{ OFF, "persistence set 4\n", "0\n", PERSISTENCE_OFF, NULL, '0' },
		{ OFF, "persistence set 4\n", "1\n", PERSISTENCE_ON, "(NVML error 4)", '1' },
		{ OFF, "persistence deaf\n", "1\n", PERSISTENCE_ON,
		  "NVML reports success, but the mode has not changed", '1' },
		{ OFF, "persistence get 15\n", "1\n", PERSISTENCE_UNKNOWN, LOST, '1' },
		{ OFF, "locate " A " 15\n", "1\n", PERSISTENCE_UNKNOWN, LOST, '1' },
	};
	Bdf a = tree_bdf(A);

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(gpu_persistence_clear) GpuPersistence gpu = { 0 };
		_cleanup_free_ char *text = gpus_with(dir, rows[i].scenario), *why = NULL;
		_cleanup_(nvml_closep) Nvml *nvml = NULL;

		put_mode(dir, A, rows[i].file);
		play(dir, text);
		assert_int_equal(nvml_open(FAKE_NVML, &nvml, &why), 0);
		if (rows[i].what == READ)
			nvml_persistence(nvml, &a, &gpu);
		else
			nvml_set_persistence(nvml, &a, rows[i].what == ON, &gpu);
		check_answer(i, &gpu, rows[i].mode, rows[i].why);
		assert_true(bdf_equal(&gpu.bdf, &a));
		check_mode(dir, A, rows[i].left);
	}
}

/* ---- workers ---- */

static WorkerConfig worker_of_gpus(const TempDir *dir, const char *more, char **ret_library)
{
	_cleanup_free_ char *text = gpus_with(dir, more);

	return worker_with(dir, text, ret_library);
}

WITH_DIR(a_worker_reads_all_and_sets_each)
{
	const Bdf gpus[] = { tree_bdf(A), tree_bdf(B), tree_bdf("0000:a1:00.0") };
	_cleanup_free_ char *library = NULL;
	WorkerConfig config = worker_of_gpus(dir, "", &library);
	GpuPersistence set[3] = { 0 };
	GpuPersistence read[3] = { 0 };

	put_mode(dir, A, "1\n");
	put_mode(dir, B, "0\n");
	host_persistence(WORKERS_UNTIL(&config, LONG), gpus, 3, read);
	assert_int_equal(read[0].mode, PERSISTENCE_ON);
	assert_int_equal(read[1].mode, PERSISTENCE_OFF);
	assert_int_equal(read[2].mode, PERSISTENCE_UNKNOWN);
	assert_string_equal(read[2].why, "Unknown ?[31mError (NVML error 6)");

	host_set_persistence(WORKERS(&config), gpus, 3, true, LONG, set);
	assert_int_equal(set[0].mode, PERSISTENCE_ON);
	assert_int_equal(set[1].mode, PERSISTENCE_ON);
	assert_int_equal(set[2].mode, PERSISTENCE_UNKNOWN);
	assert_non_null(set[2].why);
	check_mode(dir, A, '1');
	check_mode(dir, B, '1');
	for (size_t i = 0; i < 3; i++) {
		gpu_persistence_clear(&read[i]);
		gpu_persistence_clear(&set[i]);
	}
}

/* fault P2 */
TEST(a_worker_without_nvml_says_why_of_each)
{
	const Bdf gpus[] = { tree_bdf(A), tree_bdf(B) };
	WorkerConfig config = {
		.program = WORKER, .sysfs_dir = "/", .proc_dir = "/proc", .nvml = "/nonexistent"
	};
	GpuPersistence read[2] = { 0 };

	host_persistence(WORKERS_UNTIL(&config, LONG), gpus, 2, read);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(read[i].mode, PERSISTENCE_UNKNOWN);
		assert_true(str_starts_with(read[i].why, "NVML cannot be loaded"));
		gpu_persistence_clear(&read[i]);
	}
}

/* ---- nvidia-smi, which turns the mode off ---- */

#define ITS_FILE "/" A "/persistence"

/* faults P4, P10 */
/* Whatever it says: what is told is what NVML reads, and NVML sets what is still on. */
WITH_DIR(what_nvidia_smi_did_is_what_is_read_afterwards)
{
	static const struct {
		const char *script; /* NULL: there is none */
		mode_t mode;
		const char *scenario;
		PersistenceMode is;
		const char *why;
		char left;
	} rows[] = {
		{ "[ \"$*\" = \"-i " A
		  " -pm 0\" ] && [ \"$LC_ALL\" = C ] && [ -z \"$HOME\" ] || exit 3\n"
		  "echo 0 >${0%/usr/*}" ITS_FILE,
		  0755, "persistence set 4\n", PERSISTENCE_OFF, NULL, '0' },
		{ NULL, 0, "", PERSISTENCE_ON, "/usr/bin/nvidia-smi is not there", '1' },
		{ "echo 0 >${0%/usr/*}" ITS_FILE, 0777, "", PERSISTENCE_ON,
		  "others than root may write to it", '1' },
		{ "echo No way; exit 4", 0755, "persistence set 4\n", PERSISTENCE_ON,
		  "nvidia-smi failed with exit status 4: No way", '1' },
		/* It does not turn off what nvidia-persistenced does not know. */
		{ "echo No way; exit 4", 0755, "", PERSISTENCE_OFF, "No way", '0' },
		{ "printf '\\033[31m\\377\\n' >&2; exit 1", 0755, "", PERSISTENCE_OFF,
		  "failed with exit status 1: ?[31m?", '0' },
		{ "while :; do echo x; done", 0755, "", PERSISTENCE_OFF,
		  "printed more than 4096 bytes: x", '0' },
		{ "kill -9 $$", 0755, "", PERSISTENCE_OFF, "was ended by signal 9", '0' },
		/* It says that it has. */
		{ "exit 0", 0755, "persistence deaf\n", PERSISTENCE_ON,
		  "NVML reports success, but the mode has not changed", '1' },
		{ "exit 0", 0755, "", PERSISTENCE_OFF, NULL, '0' },
		{ "exec sleep 1000", 0755, "persistence set 4\n", PERSISTENCE_ON,
		  "nvidia-smi did not end within 20 s", '1' },
	};
	Bdf a = tree_bdf(A);

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *library = NULL, *text = NULL;
		_cleanup_(gpu_persistence_clear) GpuPersistence set = { 0 };
		WorkerConfig config = worker_of_gpus(dir, rows[i].scenario, &library);

		config.root_dir = dir->path;
		put_mode(dir, A, "1\n");
		unlinkat(dir->fd, "usr/bin/nvidia-smi", 0);
		text = strf("#!/bin/sh\n%s\n", str_or_empty(rows[i].script));
		if (rows[i].script) {
			temp_dir_write(dir, "usr/bin/nvidia-smi", text);
			assert_int_equal(fchmodat(dir->fd, "usr/bin/nvidia-smi", rows[i].mode, 0),
					 0);
		}
		host_set_persistence(WORKERS(&config), &a, 1, false, LONG, &set);
		check_answer(i, &set, rows[i].is, rows[i].why);
		check_mode(dir, A, rows[i].left);
	}
}

/* ---- nvidia-persistenced ---- */

static int listen_there(const TempDir *dir)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s/run/nvidia-persistenced/socket",
		 dir->path);
	temp_dir_write(dir, "run/nvidia-persistenced/socket", "");
	unlink(address.sun_path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 8), 0);
	return fd;
}

/* fault P9 */
/* Who listens, and not who says so; of a GPU without NVML it would not be turned on again. */
WITH_DIR(nvidia_persistenced_is_who_listens_on_its_socket)
{
	const Bdf gpus[] = { tree_bdf(A), tree_bdf("0000:a1:00.0") };
	_cleanup_free_ char *library = NULL;
	WorkerConfig config = worker_of_gpus(dir, "", &library);
	GpuPersistence read[2] = { 0 };
	int fd = -1;

	config.root_dir = dir->path;
	put_mode(dir, A, "0\n");
	/* None; it listens; a socket that it has left behind. */
	for (unsigned i = 0; i < 3; i++) {
		host_persistence(WORKERS_UNTIL(&config, LONG), gpus, 2, read);
		assert_int_equal(read[0].mode, PERSISTENCE_OFF);
		assert_int_equal(read[0].kept_by, i == 1 ? getpid() : 0);
		assert_int_equal(read[1].kept_by, 0);
		for (size_t k = 0; k < 2; k++)
			gpu_persistence_clear(&read[k]);
		if (i == 0)
			fd = listen_there(dir);
		else
			fd = close_fd(fd);
	}
}

/* fault P5 */
/* It may still set the mode, so no other job gets that GPU; the job's message names the worker. */
WITH_DIR(a_worker_that_hangs_while_it_sets_is_left_and_found)
{
	const Bdf gpus[] = { tree_bdf(A), tree_bdf(B) };
	_cleanup_free_ char *library = NULL;
	WorkerConfig config = worker_of_gpus(dir, "hang persistence\n", &library);
	GpuPersistence set[2] = { 0 }, again = { 0 };
	int pid = 0, earlier = 0;

	put_mode(dir, A, "1\n");
	host_set_persistence(WORKERS(&config), gpus, 1, false, USEC_PER_SEC / 2, set);
	assert_int_equal(set[0].mode, PERSISTENCE_UNKNOWN);
	assert_int_equal(
		sscanf(set[0].why, "gpupass-worker (pid %d) did not answer within 5", &pid), 1);
	assert_int_equal(worker_find(&config, LOCK_FUNCTION, &gpus[0]), pid);
	assert_int_equal(worker_find(&config, LOCK_FUNCTION, &gpus[1]), 0);
	assert_int_equal(worker_find(&config, LOCK_PERSISTENCE, NULL), 0);

	host_set_persistence(WORKERS(&config), gpus, 1, true, LONG, &again);
	assert_int_equal(sscanf(again.why, "process %d, which was started earlier, is", &earlier),
			 1);
	assert_int_equal(earlier, pid);
	end_worker(pid);
	assert_int_equal(worker_find(&config, LOCK_FUNCTION, &gpus[0]), 0);
	check_mode(dir, A, '1');
	gpu_persistence_clear(&set[0]);
	gpu_persistence_clear(&again);
}

/* fault P3 */
WITH_DIR(a_worker_that_hangs_while_it_reads_costs_its_deadline)
{
	const Bdf gpus[] = { tree_bdf(A) };
	_cleanup_free_ char *library = NULL;
	WorkerConfig config = worker_of_gpus(dir, "hang init\n", &library);
	_cleanup_(gpu_persistence_clear) GpuPersistence read = { 0 };
	uint64_t begin = now_monotonic();
	int pid = 0, again = 0;

	host_persistence(WORKERS_UNTIL(&config, USEC_PER_SEC / 2), gpus, 1, &read);
	assert_true(now_monotonic() - begin < 20 * USEC_PER_SEC);
	assert_int_equal(read.mode, PERSISTENCE_UNKNOWN);
	assert_int_equal(sscanf(read.why, "gpupass-worker (pid %d) did not answer within", &pid),
			 1);
	/* It writes nothing: no job has to wait for it. But a second one would only wait beside
	 * it. */
	assert_int_equal(worker_find(&config, LOCK_FUNCTION, &gpus[0]), 0);
	assert_int_equal(worker_find(&config, LOCK_PERSISTENCE, NULL), pid);
	gpu_persistence_clear(&read);
	host_persistence(WORKERS_UNTIL(&config, LONG), gpus, 1, &read);
	assert_int_equal(
		sscanf(read.why, "process %d, which was started earlier, is still", &again), 1);
	assert_int_equal(again, pid);
	end_worker(pid);
	assert_int_equal(worker_find(&config, LOCK_PERSISTENCE, NULL), 0);
}

/* ---- beside moves ---- */

static void *move_slowly(void *data)
{
	const DriverTarget target = { .bdf = tree_bdf(B), .driver = "vfio-pci" };
	RealHost *host = data;
	MoveOutcome outcome;

	(void)host_move(&host->host, &target, 1, LONG, &outcome);
	move_outcome_clear(&outcome);
	return NULL;
}

/* NVML may open GPUs that it was not asked about, and one that is open is not to be unbound. */
WITH_DIR(nvml_is_not_asked_while_a_gpu_moves)
{
	WorkerConfig config = { .program = BAD_WORKER,
				.sysfs_dir = dir->path,
				.proc_dir = "/proc" };
	_cleanup_(gpu_persistence_clear) GpuPersistence set = { 0 };
	_cleanup_(gpu_persistence_clear) GpuPersistence read = { 0 };
	uint64_t begin;
	pthread_t mover;
	RealHost host;
	Bdf a = tree_bdf(A);

	assert_int_equal(real_host_init(&host, &config), 0);
	host.worker.sysfs_dir = bad_worker_mode("slow-500"); /* each worker takes half a second */
	begin = now_monotonic();
	assert_int_equal(pthread_create(&mover, NULL, move_slowly, &host), 0);
	while (worker_find(&host.worker, LOCK_FUNCTION, &(Bdf){ 0, 0x61, 0, 0 }) == 0 &&
	       now_monotonic() - begin < USEC_PER_SEC / 2)
		usleep(1000);
	host_persistence(&host.host, &a, 1, &read);
	host_set_persistence(&host.host, &a, 1, false, USEC_PER_SEC, &set);
	assert_int_equal(pthread_join(mover, NULL), 0);
	assert_true(now_monotonic() - begin >= 3 * USEC_PER_SEC / 2);
	real_host_done(&host);
}
