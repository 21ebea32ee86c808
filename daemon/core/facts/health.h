/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The health of a GPU without its driver: whether it answers, its PCI Express link and those of the
 * ports above it, the kernel's error counters (AER). A worker reads it, one worker for each GPU.
 */
#pragma once

#include <sys/types.h>

#include "core/base/json-struct.h"
#include "core/pci/pcie-config.h"
#include "gpupass/cleanup.h"
#include "gpupass/states.h"
#include "gpupass/string-table.h"
#include "util/bdf.h"

DECLARE_STRING_TABLE(health, Health);

#define HEALTH_PORTS_MAX 64

DECLARE_JSON_OF(PcieConfig, pcie_config_members, type, speed, speed_max, width, width_max,
		acs_capability, acs_control, read, all_ones, pcie, acs, ats, ats_on)

typedef struct HealthPort {
	Bdf bdf;
	PcieConfig config _json_(table pcie_config_members);
} HealthPort;
DECLARE_JSON(HealthPort, health_port_members)

typedef struct GpuHealth {
	Bdf bdf;		/* the leading function */
	int error _json_(no);	/* why the rest is empty: -ETIMEDOUT, -EPROTO …; 0: it is not */
	char *why _json_(no);	/* the same as a sentence; NULL: only the number is known */
	pid_t stuck _json_(no); /* the worker that still waits, with -ETIMEDOUT; 0: none */
	HealthPort *ports _json_(max HEALTH_PORTS_MAX); /* ports above it, root port first */
	size_t n_ports;
	char *power_state _json_(if_any);		     /* NULL: the kernel does not say */
	PcieConfig config _json_(table pcie_config_members); /* read only in power state D0 */
	bool aer;			       /* the kernel counts errors of this function */
	uint64_t correctable, nonfatal, fatal; /* since boot */
} GpuHealth;
DECLARE_CLEAR(GpuHealth, gpu_health_clear)
DECLARE_JSON(GpuHealth, gpu_health_members)

/* The lanes that the link should have: those of the board, or of the port above if it has fewer. */
unsigned gpu_health_width_expected(const GpuHealth *health);
/* The same for the speed, a code of PcieConfig. */
unsigned gpu_health_speed_expected(const GpuHealth *health);

/* *ret_reason, one sentence; "" with HEALTH_OK. `health` NULL: nobody has looked. */
Health gpu_health_judge(const GpuHealth *health, char **ret_reason);

int gpu_health_from_json(const json_t *json, GpuHealth *ret, char **ret_message);

DECLARE_FREE_LIST(GpuHealth, gpu_healths_free)
/* NULL when absent. */
DECLARE_FIND(GpuHealth, gpu_healths_find)
