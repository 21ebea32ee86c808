/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gpupass-bind could not bind at boot, from its report (schema org.gpupass1.boot/1). */
#pragma once

#include "gpupass/cleanup.h"
#include "util/bdf.h"

typedef struct BootFault {
	Bdf bdf;
	char *outcome; /* "taken", "changed", "missing", "failed" */
	char *detail;  /* NULL: none */
} BootFault;

typedef struct BootFaults {
	BootFault *items;
	size_t n_items;
} BootFaults;

/*
 * Keeps the functions of the report that were neither bound nor reserved. As json_parse_document():
 * -EBADMSG or -EPROTO with *ret_message.
 */
int boot_faults_parse(const char *text, size_t size, BootFaults **ret, char **ret_message);

const BootFault *boot_faults_find(const BootFaults *faults, const Bdf *bdf); /* NULL: none */
/* "taken: nvidia was first" */
char *boot_fault_text(const BootFault *fault);

BootFaults *boot_faults_free(BootFaults *faults);
DEFINE_CLEANUP(BootFaults, boot_faults_free)
