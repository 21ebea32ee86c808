/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Excerpts of the journal, read with the rights of the caller: who may not read the journal gets
 * none of it by way of the daemon either. Bounded in lines, bytes and time.
 */
#pragma once

#include <stdbool.h>

typedef enum JournalPart {
	JOURNAL_GPUPASS, /* gpupassd, its parts and gpupass-bind: what they logged last */
	JOURNAL_KERNEL, /* of this boot: what the kernel said last about the boards and the IOMMU */
} JournalPart;

/*
 * *ret_text: lines "2026-01-31T14:02:11Z message", oldest first; "" where there are none.
 * `devices`: the addresses that matter. -errno: the journal cannot be read.
 */
int journal_excerpt(JournalPart part, char *const *devices, char **ret_text);

/* Whether a line of the kernel is about one of these functions, NVIDIA's driver, or the IOMMU. */
bool journal_kernel_line_matters(const char *line, char *const *devices);
