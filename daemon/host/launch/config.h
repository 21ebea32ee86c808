/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which program the workers are, on which host, and how they are started. */
#pragma once

typedef struct UnitOps UnitOps; /* unit.h */

typedef struct WorkerConfig {
	const char *program;   /* path of gpupass-worker; for units it has to be absolute */
	const char *sysfs_dir; /* "/sys" */
	const char *proc_dir;  /* "/proc" */
	const char *root_dir;  /* "/"; NULL: likewise */
	const UnitOps *units;  /* &systemd_units; NULL: all workers are children */
	/* There is no unit to be had, so that a child was started; on the caller's thread. */
	void (*fell_back)(const char *why, void *userdata);
	void *userdata;
	const char *nvml; /* path of NVML's library; NULL: where the loader finds it */
} WorkerConfig;
