/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is exported, as plain values. Who fills it cleans its texts (export/text.h), so that no
 * format can forget to: a name has letters, digits, '.', '_' and '-', a model also " ,/()+".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "base/address.h"

/* What the host gave one guest. */
typedef struct ExportGuest {
	const char *domain_uuid;
	const char *distribution; /* auto, debian, ubuntu, rhel */
	char **models;		  /* of its GPUs, each once */
	unsigned n_gpus;
	char **links; /* active ones that each GPU should have, least first; as numbers */
} ExportGuest;

typedef struct ExportGpu {
	Address *functions; /* at least one; the GPU itself first, the lowest */
	size_t n_functions;
	char *name; /* as pci.ids has it; or the model */
	unsigned vendor_id, device_id;
	unsigned nvlink_generation; /* 0: none, or not known */
	uint64_t bar_bytes;	    /* of all BARs together; 0: not known */
} ExportGpu;

typedef struct ExportGroup {
	char *name, *model;
	unsigned links; /* that each GPU has to each other one */
	bool held;	/* gpupass has assigned it to a domain */
	ExportGpu *gpus;
	size_t n_gpus; /* at least one */
} ExportGroup;

typedef struct Export {
	ExportGuest guest;   /* SUBJECT_DOMAIN */
	ExportGroup *groups; /* whole ones, with all their GPUs; otherwise */
	size_t n_groups;
	char **left_out;  /* names of those that are not whole, or not known to be */
	unsigned machine; /* SUBJECT_MACHINE_GROUP */
	unsigned first;	  /* of the numbers that the format counts GPUs with */
} Export;

/* Of all groups. */
size_t export_gpus(const Export *e);
/* The i-th, counted through all groups. NULL: there are fewer. */
const ExportGpu *export_gpu(const Export *e, size_t i);
void export_clear(Export *e);
