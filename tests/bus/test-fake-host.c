/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stand-ins for a host, make-host and fake-worker, behave as what they stand in for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/pci/snapshot-json.h"
#include "host/launch/worker.h"
#include "host/scan/scan.h"
#include "rig/sysfs-tree.h"
#include "util/file.h"
#include "util/text.h"

#define LONG (60 * 1000000ULL)
#define DISPLAY "0000:41:00.0"

/* A directory of its own, removed with the (otherwise unused) tree around it. */
typedef struct FakeHost {
	SysfsTree *around;
	char *sysfs, *proc, *faults;
	int sysfs_fd;
	WorkerConfig worker;
} FakeHost;

static void run_make_host(const char *snapshot, const char *directory)
{
	char *argv[] = { (char[]){ "python3" },	      (char[]){ MAKE_HOST },
			 (char[]){ "--nvidia-proc" }, strf("%s/hosts/%s", FIXTURES, snapshot),
			 strf("%s", directory),	      NULL };
	int status;
	pid_t pid;

	assert_int_equal(posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fail_msg("make-host of %s fails", snapshot);
	free(argv[3]);
	free(argv[4]);
}

static void setup(FakeHost *host, const char *snapshot)
{
	_cleanup_free_ char *directory = NULL;

	*host = (FakeHost){ .around = sysfs_tree_new(NULL) };
	directory = strf("%s/host", host->around->path);
	run_make_host(snapshot, directory);
	host->sysfs = strf("%s/sys", directory);
	host->proc = strf("%s/proc", directory);
	host->sysfs_fd = open(host->sysfs, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(host->sysfs_fd >= 0);
	host->worker = (WorkerConfig){
		.program = FAKE_WORKER,
		.sysfs_dir = host->sysfs,
		.proc_dir = host->proc,
	};
}

static void teardown(FakeHost *host)
{
	close_fd(host->sysfs_fd);
	free(host->sysfs);
	free(host->proc);
	sysfs_tree_free(host->around);
}

static MoveOutcome move(const FakeHost *host, const char *driver, uint64_t timeout_usec)
{
	DriverTarget target = {
		.bdf = tree_bdf(DISPLAY),
		.driver = driver,
		.driver_override = str_equal(driver, "vfio-pci") ? driver : NULL,
	};
	MoveOutcome outcome;

	worker_move(&host->worker, &target, 1, timeout_usec, &outcome);
	return outcome;
}

static void a_fault(FakeHost *host, const char *line)
{
	tree_write(host->around, "host/faults/" DISPLAY, line);
}

static void assert_driver(const FakeHost *host, const char *driver)
{
	_cleanup_(pci_snapshot_freep) PciSnapshot *snapshot = NULL;
	Bdf bdf = tree_bdf(DISPLAY);

	assert_int_equal(scan_pci(host->sysfs_fd, &snapshot), 0);
	if (!str_equal(pci_snapshot_find(snapshot, &bdf)->driver, driver))
		fail_msg("on %s", str_or_empty(pci_snapshot_find(snapshot, &bdf)->driver));
}

static void make_host_gives_every_golden_host_back(void **state _unused_)
{
	_cleanup_close_ int fd = open(FIXTURES "/hosts", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_strv_ char **names = NULL;

	assert_int_equal(dir_list(fd, ".json", &names), 0);
	assert_true(strv_length(names) >= 5);
	for (char **name = names; *name; name++) {
		_cleanup_(pci_snapshot_freep) PciSnapshot *golden = tree_read_golden(fd, *name);
		_cleanup_(pci_snapshot_freep) PciSnapshot *scanned = NULL;
		_cleanup_free_ char *expected = pci_snapshot_to_json(golden), *found = NULL;
		FakeHost host;

		setup(&host, *name);
		assert_int_equal(scan_pci(host.sysfs_fd, &scanned), 0);
		scanned->taken_usec = 0;
		found = pci_snapshot_to_json(scanned);
		if (!str_equal(expected, found))
			fail_msg("%s: expected %s\nfound %s", *name, expected, found);
		teardown(&host);
	}
}

static void fake_worker_moves_there_and_back(void **state _unused_)
{
	MoveOutcome outcome;
	FakeHost host;

	setup(&host, "four-a6000.json");
	outcome = move(&host, "vfio-pci", LONG);
	assert_int_equal(outcome.result.error, 0);
	assert_true(outcome.result.changed);
	assert_driver(&host, "vfio-pci");
	move_outcome_clear(&outcome);
	outcome = move(&host, "vfio-pci", LONG);
	assert_int_equal(outcome.result.error, 0);
	assert_false(outcome.result.changed);
	move_outcome_clear(&outcome);
	outcome = move(&host, "nvidia", LONG);
	assert_int_equal(outcome.result.error, 0);
	assert_null(outcome.result.driver_override);
	assert_driver(&host, "nvidia");
	move_outcome_clear(&outcome);
	teardown(&host);
}

static void fake_worker_inspects_the_tree(void **state _unused_)
{
	_cleanup_(inspection_freep) Inspection *in = NULL;
	Bdf bdf = tree_bdf(DISPLAY);
	FakeHost host;

	setup(&host, "four-a6000.json");
	assert_int_equal(worker_inspect(&host.worker, &bdf, 1, INSPECT_CONFIG_ALL, LONG, &in), 0);
	assert_string_equal(in->functions[0].driver, "nvidia");
	assert_int_equal(in->functions[0].device_minor, 0);
	assert_non_null(in->functions[0].uuid);
	assert_true(in->vfio_pci);
	assert_int_equal(in->n_holders, 0);
	teardown(&host);
}

static void faults_are_played(void **state _unused_)
{
	static const struct {
		const char *fault;
		int error;
		DriverPhase phase;
		const char *driver; /* afterwards */
	} rows[] = {
		{ "fail\n", -EIO, DRIVER_PHASE_PROBE, NULL },
		{ "fail vfio-pci\n", -EIO, DRIVER_PHASE_PROBE, NULL },
		{ "fail nvidia\n", 0, DRIVER_PHASE_READ, "vfio-pci" },
		{ "no-driver\n", -ENXIO, DRIVER_PHASE_VERIFY, NULL },
		{ "crash\n", -EPROTO, DRIVER_PHASE_UNBIND, NULL },
		{ "hang 0\n", 0, DRIVER_PHASE_READ, "vfio-pci" },
		{ "explode\n", -EPROTO, DRIVER_PHASE_UNBIND, "nvidia" },
		{ "hang\n", -EPROTO, DRIVER_PHASE_UNBIND, "nvidia" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		MoveOutcome outcome;
		FakeHost host;

		setup(&host, "four-a6000.json");
		a_fault(&host, rows[i].fault);
		outcome = move(&host, "vfio-pci", LONG);
		if (outcome.result.error != rows[i].error || outcome.result.phase != rows[i].phase)
			fail_msg("row %zu: %d in %s", i, outcome.result.error,
				 driver_phase_to_string(outcome.result.phase));
		assert_driver(&host, rows[i].driver);
		move_outcome_clear(&outcome);
		teardown(&host);
	}
}

/* As in the kernel: the link is gone while the unbind hangs, and the late result comes true. */
static void a_hanging_unbind_ends_late(void **state _unused_)
{
	MoveOutcome outcome;
	FakeHost host;

	setup(&host, "four-a6000.json");
	a_fault(&host, "hang 3600 vfio-pci\n");
	outcome = move(&host, "vfio-pci", LONG / 40);
	assert_int_equal(outcome.result.error, -ETIMEDOUT);
	assert_true(outcome.still_running);
	assert_driver(&host, NULL);
	tree_remove(host.around, "host/faults/" DISPLAY);
	for (int i = 0; worker_running(outcome.pid) && i < 6000; i++)
		usleep(10000);
	assert_false(worker_running(outcome.pid));
	assert_driver(&host, "vfio-pci");
	move_outcome_clear(&outcome);
	teardown(&host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(make_host_gives_every_golden_host_back),
		cmocka_unit_test(fake_worker_moves_there_and_back),
		cmocka_unit_test(fake_worker_inspects_the_tree),
		cmocka_unit_test(faults_are_played),
		cmocka_unit_test(a_hanging_unbind_ends_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
