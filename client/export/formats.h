/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `gpupass export` prints: a row for each format. */
#pragma once

#include <stdio.h>

#include "export/export.h"

/* What a format speaks of, and so what its arguments are. */
typedef enum ExportSubject {
	SUBJECT_DOMAIN,	       /* DOMAIN: the GPUs that it has */
	SUBJECT_GROUPS,	       /* [GROUP]: one, or all of the host */
	SUBJECT_HOST,	       /* all of the host */
	SUBJECT_MACHINE_GROUP, /* VMID GROUP: one, for a machine that has a number */
} ExportSubject;

typedef struct ExportFormat {
	const char *name;
	ExportSubject subject;
	/* Of the numbers that it counts GPUs with, the first and the last; 0: it counts none */
	unsigned first, last;
	void (*print)(FILE *to, const Export *e);
} ExportFormat;

/* NULL: there is no such format. */
const ExportFormat *export_format_find(const char *name);
/* "cloud-init, …": all of them. */
char *export_format_names(void);
