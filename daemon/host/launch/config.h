/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The workers' program, the host that they work on, and the way they are started. */
#pragma once

typedef struct UnitOps UnitOps; /* unit.h */

typedef struct WorkerConfig {
	const char *program;   /* path of gpupass-worker; absolute if units are used */
	const char *sysfs_dir; /* "/sys" */
	const char *proc_dir;  /* "/proc" */
	const char *root_dir;  /* "/"; NULL means the same */
	const UnitOps *units;  /* &systemd_units; NULL: all workers are children */
	/* Called when no unit could be started, so that a child was; on the caller's thread. */
	void (*fell_back)(const char *why, void *userdata);
	void *userdata;
	const char *nvml; /* path of NVML's library; NULL: where the loader finds it */
} WorkerConfig;
