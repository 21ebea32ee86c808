/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The workers' program, the host that they work on, and the way they are started. */
#pragma once

typedef struct WorkerConfig {
	const char *program;   /* path of gpupass-worker */
	const char *initramfs; /* of gpupass-initramfs; for who examines a host */
	const char *eraser;    /* of gpupass-eraser; for who has NVMes */
	const char *sysfs_dir; /* "/sys" */
	const char *proc_dir;  /* "/proc" */
	const char *root_dir;  /* "/"; NULL means the same */
	/*
	 * Where the parts listen (part.h), and where they leave their locks. Both NULL: all workers
	 * are children. Parts work on this host: on /sys, /proc and /.
	 */
	const char *parts_dir;
	const char *locks_dir;
	/* There was no such part, so that a child was started. Called on the caller's thread. */
	void (*fell_back)(const char *why, void *userdata);
	void *userdata;
	struct ReadyParts
		*ready;	  /* parts that wait for a request (ready.h); NULL: none; borrowed */
	const char *nvml; /* path of NVML's library; NULL: where the loader finds it */
	struct WorkerChildren *children; /* worker-find.h; NULL: looked for in /proc each time */
} WorkerConfig;
