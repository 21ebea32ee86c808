/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gpupass-bind could not bind at boot, from its report (schema org.gpupass1.boot/1). */
#pragma once

#include "gpupass/cleanup.h"
#include "util/bdf.h"

/* The most assigned functions that a report may have. */
#define BOOT_FAULTS_MAX 4096

typedef struct BootFault {
	Bdf bdf;
	char *outcome;		     /* "taken", "changed", "missing", "failed" */
	char *detail _json_(if_any); /* NULL: none */
} BootFault;

typedef struct BootFaults {
	BootFault *items _json_(as "functions", max BOOT_FAULTS_MAX);
	size_t n_items;
} BootFaults;
DECLARE_FREE(BootFaults, boot_faults_free)

/*
 * Keeps the functions of the report that were neither bound nor reserved. As json_parse_document():
 * -EBADMSG or -EPROTO with *ret_message.
 */
int boot_faults_parse(const char *text, size_t size, BootFaults **ret, char **ret_message);

const BootFault *boot_faults_find(const BootFaults *faults, const Bdf *bdf); /* NULL: none */
/* "taken: nvidia was first" */
char *boot_fault_text(const BootFault *fault);
