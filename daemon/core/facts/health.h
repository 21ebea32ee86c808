/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The health of a GPU without its driver: whether it answers, its PCI Express link and those of the
 * ports above it, the kernel's error counters (AER). A worker reads it, one worker for each GPU.
 */
#pragma once

#include <jansson.h>
#include <sys/types.h>

#include "core/pci/pcie-config.h"
#include "gpupass/cleanup.h"
#include "gpupass/states.h"
#include "gpupass/string-table.h"
#include "util/bdf.h"

DECLARE_STRING_TABLE(health, Health);

typedef struct HealthPort {
	Bdf bdf;
	PcieConfig config;
} HealthPort;

typedef struct GpuHealth {
	Bdf bdf;	   /* the leading function */
	int error;	   /* why the rest is empty: -ETIMEDOUT, -EPROTO …; 0: it is not */
	char *why;	   /* the same as a sentence; NULL: only the number is known. Not in JSON */
	pid_t stuck;	   /* the worker that still waits for the GPU, with -ETIMEDOUT; 0: none */
	char *power_state; /* NULL: the kernel does not say */
	PcieConfig config; /* read only in power state D0 */
	bool aer;	   /* the kernel counts errors of this function */
	uint64_t correctable, nonfatal, fatal; /* since boot */
	HealthPort *ports;		       /* ports above it, root port first */
	size_t n_ports;
} GpuHealth;

/* The lanes that the link should have: those of the board, or of the port above if it has fewer. */
unsigned gpu_health_width_expected(const GpuHealth *health);
/* The same for the speed, a code of PcieConfig. */
unsigned gpu_health_speed_expected(const GpuHealth *health);

/* *ret_reason, one sentence; "" with HEALTH_OK. `health` NULL: nobody has looked. */
Health gpu_health_judge(const GpuHealth *health, char **ret_reason);

json_t *gpu_health_to_json(const GpuHealth *health);
int gpu_health_from_json(const json_t *json, GpuHealth *ret, char **ret_message);

void gpu_health_clear(GpuHealth *health);
void gpu_healths_free(GpuHealth *items, size_t n);
/* NULL when absent. */
const GpuHealth *gpu_healths_find(const GpuHealth *items, size_t n, const Bdf *bdf);
