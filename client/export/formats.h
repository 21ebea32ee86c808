/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What `gpupass export` prints: a row for each format. */
#pragma once

#include <stdio.h>

#include "export/guest.h"

typedef struct ExportFormat {
	const char *name;
	/* The format is printed whole, or -ENOMEM comes before the first byte. */
	int (*print)(FILE *to, const ExportGuest *guest);
} ExportFormat;

/* NULL: there is no such format. */
const ExportFormat *export_format_find(const char *name);
/* "cloud-init, …": all of them. NULL when memory is out. */
char *export_format_names(void);
