/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/run.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "gpupass/errors.h"
#include "host/device/driver-ops.h"
#include "host/device/examine.h"
#include "host/device/inspect.h"
#include "host/device/machine-files.h"
#include "host/device/reset.h"
#include "host/wire/document.h"
#include "host/wire/machines.h"
#include "util/file.h"
#include "util/heap.h"
#include "util/text.h"
#include "worker/memory.h"
#include "worker/persistence.h"
#include "worker/probe.h"
#include "worker/uevents.h"

static void move(const WorkerCommand *command, const DriverOps *ops, DriverResult *ret)
{
	_cleanup_free_ char *gpus = strf("%s/driver/nvidia/gpus", command->proc_dir);
	DriverOps here = ops ? *ops : *driver_real_ops();
	_cleanup_close_ int sysfs_fd = -1;
	int r = dir_open_at(AT_FDCWD, command->sysfs_dir, false, &sysfs_fd);

	here.gpus_dir = gpus;
	if (r < 0)
		*ret = (DriverResult){ .error = r, .phase = DRIVER_PHASE_READ };
	else
		driver_move_with(&here, sysfs_fd, &command->target, ret);
}

static void reset(const WorkerCommand *command, const DriverOps *ops, ResetReport *ret)
{
	_cleanup_close_ int sysfs_fd = -1;
	DriverOps real = *driver_real_ops();
	int r = dir_open_at(AT_FDCWD, command->sysfs_dir, false, &sysfs_fd);

	if (r < 0) {
		*ret = (ResetReport){
			.bdf = command->target.bdf,
			.result = RESET_FAILED,
			.error = r,
		};
		return;
	}
	/* The files of /dev/vfio belong to /sys and to no other tree. */
	if (strcmp(command->sysfs_dir, "/sys") != 0)
		real.hot_reset = NULL;
	if (!ops)
		ops = &real;
	if (command->slot)
		slot_reset_with(ops, sysfs_fd, &command->target.bdf, ret);
	else
		function_reset_with(ops, sysfs_fd, &command->target.bdf, ret);
}

/* The running kernel's modules; -1 when there are none to read. */
static int open_modules(void)
{
	_cleanup_free_ char *path = NULL;
	struct utsname name;
	int fd = -1;

	if (uname(&name) < 0)
		return -1;
	path = strf("/lib/modules/%s", name.release);
	return dir_open_at(AT_FDCWD, path, false, &fd) >= 0 ? fd : -1;
}

static InspectConfig config_space(const WorkerCommand *command)
{
	if (!command->capabilities && command->verb != WORKER_CONFIG)
		return INSPECT_CONFIG_NOT;
	return command->awake ? INSPECT_CONFIG_AWAKE : INSPECT_CONFIG_ALL;
}

static int inspect(const WorkerCommand *command, Inspection **ret)
{
	_cleanup_close_ int sysfs_fd = -1, proc_fd = -1, modules_fd = open_modules();
	InspectRoots roots;
	int r;

	r = dir_open_at(AT_FDCWD, command->sysfs_dir, false, &sysfs_fd);
	if (r >= 0)
		r = dir_open_at(AT_FDCWD, command->proc_dir, false, &proc_fd);
	if (r < 0)
		return r;
	roots = (InspectRoots){
		.sysfs_fd = sysfs_fd,
		.proc_fd = proc_fd,
		.modules_fd = modules_fd,
	};
	if (command->verb == WORKER_CONFIG)
		return inspect_config(&roots, command->functions, command->n_functions,
				      config_space(command), ret);
	return (command->glance ? inspect_glance : inspect_functions)(
		&roots, command->functions, command->n_functions, config_space(command), ret);
}

static int examine(const WorkerCommand *command, Examination **ret_host, GpuHealth *ret_gpu)
{
	_cleanup_close_ int sysfs_fd = -1, proc_fd = -1, root_fd = -1;
	ExamineRoots roots;
	int r;

	r = dir_open_at(AT_FDCWD, command->proc_dir, false, &proc_fd);
	if (r >= 0)
		r = dir_open_at(AT_FDCWD, command->root_dir, false, &root_fd);
	if (r >= 0)
		r = dir_open_at(AT_FDCWD, command->sysfs_dir, false, &sysfs_fd);
	if (r < 0)
		return r;
	roots = (ExamineRoots){ .sysfs_fd = sysfs_fd, .proc_fd = proc_fd, .root_fd = root_fd };
	if (command->n_functions == 0) {
		*ret_host = examine_setup(&roots);
		return 0;
	}
	return examine_gpu(&roots, &command->functions[0], command->functions + 1,
			   command->n_functions - 1, ret_gpu);
}

static int read_machines(const WorkerCommand *command, Machines **ret)
{
	_cleanup_close_ int proc_fd = -1, root_fd = -1;
	int r = dir_open_at(AT_FDCWD, command->proc_dir, false, &proc_fd);

	if (r >= 0)
		r = dir_open_at(AT_FDCWD, command->root_dir, false, &root_fd);
	return r < 0 ? r : machine_files_read(root_fd, proc_fd, ret);
}

static char *machines_answer(const WorkerCommand *command)
{
	_cleanup_(machines_freep) Machines *machines = NULL;
	int r = read_machines(command, &machines);

	return machines_document(machines, r);
}

static char *examine_answer(const WorkerCommand *command)
{
	_cleanup_(examination_freep) Examination *host = NULL;
	_cleanup_(gpu_health_clear) GpuHealth gpu = { 0 };
	int r = examine(command, &host, &gpu);

	return worker_examine_document(r, host, r == 0 && !host ? &gpu : NULL);
}

static char *answer(const WorkerCommand *command, const DriverOps *ops)
{
	_cleanup_(inspection_freep) Inspection *inspection = NULL;
	_cleanup_(driver_result_clear) DriverResult result = { 0 };
	_cleanup_(reset_report_clear) ResetReport report = { 0 };
	int r;

	switch (command->verb) {
	case WORKER_MOVE:
		move(command, ops, &result);
		return worker_move_document(&command->target.bdf, &result);
	case WORKER_RESET:
		reset(command, ops, &report);
		return worker_reset_document(&report);
	case WORKER_PROBE:
		return probe_command(command);
	case WORKER_INSPECT:
	case WORKER_CONFIG:
		r = inspect(command, &inspection);
		return worker_inspect_document(r, inspection);
	case WORKER_EXAMINE:
		return examine_answer(command);
	case WORKER_PERSISTENCE:
		return persistence_command(command);
	case WORKER_MEMORY:
		return memory_command(command);
	case WORKER_MACHINES:
		return machines_answer(command);
	case WORKER_UEVENTS: /* has no document */
		break;
	}
	return NULL;
}

static int follow_uevents(void)
{
	int r = uevents_follow(STDOUT_FILENO);

	if (r < 0)
		fprintf(stderr, "gpupass-worker: cannot follow PCI devices: %s\n", strerror(-r));
	return r < 0 ? GPUPASS_EXIT_FAILED : GPUPASS_EXIT_DONE;
}

int worker_command_run(const WorkerCommand *command, const DriverOps *ops)
{
	_cleanup_free_ char *text = NULL;

	if (command->verb == WORKER_UEVENTS)
		return follow_uevents();
	if (command->verb == WORKER_MOVE || command->verb == WORKER_RESET)
		heap_reserve(MOVE_MEMORY_BYTES);
	text = answer(command, ops);
	if (!text) {
		fputs("gpupass-worker: cannot answer\n", stderr);
		return GPUPASS_EXIT_FAILED;
	}
	if (puts(text) != EOF && fflush(stdout) != EOF)
		return GPUPASS_EXIT_DONE;
	/* A reader that has given up has closed its end. The log should have that. */
	if (errno != EPIPE || command->verb == WORKER_INSPECT)
		return GPUPASS_EXIT_FAILED;
	fprintf(stderr, "gpupass-worker: nobody waits any more for this answer: %s\n", text);
	return GPUPASS_EXIT_DONE;
}
