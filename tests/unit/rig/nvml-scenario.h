/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The fake NVML (tests/nvml) with a scenario, in this process and in a worker. */
#pragma once

#include <signal.h>
#include <unistd.h>

#include "host/device/nvml.h"
#include "rig/temp-dir.h"
#include "rig/worker-model.h"

static inline void play(const TempDir *dir, const char *scenario)
{
	_cleanup_free_ char *path = strf("%s/scenario", dir->path);

	temp_dir_write(dir, "scenario", scenario);
	assert_int_equal(setenv("FAKE_NVML_SCENARIO", path, 1), 0);
}

/* A worker's environment is empty: the scenario stands beside the library. */
static inline WorkerConfig worker_with(const TempDir *dir, const char *scenario, char **ret_library)
{
	*ret_library = strf("%s/libnvidia-ml.so.1", dir->path);
	unlink(*ret_library);
	assert_int_equal(symlink(FAKE_NVML, *ret_library), 0);
	temp_dir_write(dir, "libnvidia-ml.so.1.scenario", scenario);
	return (WorkerConfig){
		.program = WORKER, .sysfs_dir = dir->path, .proc_dir = "/proc", .nvml = *ret_library
	};
}

static inline void end_worker(pid_t pid)
{
	kill(pid, SIGKILL);
	while (kill(pid, 0) == 0)
		usleep(1000);
}
