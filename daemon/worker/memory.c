/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/memory.h"

#include <fcntl.h>

#include "host/device/memory-mmio.h"
#include "host/wire/memory.h"
#include "util/file.h"

/* As long as gpu-admin-tools waits. */
#define POLL_MSEC 5000U

char *memory_command(const WorkerCommand *command)
{
	size_t n = command->n_functions;
	_cleanup_free_ MemoryReport *reports = calloc(n + 1, sizeof(MemoryReport));
	_cleanup_close_ int sysfs_fd = -1;
	char *text = NULL;

	if (!reports || dir_open_at(AT_FDCWD, command->sysfs_dir, false, &sysfs_fd) < 0)
		return NULL;
	if (memory_mmio_poll(sysfs_fd, command->functions, n, POLL_MSEC, reports) >= 0)
		text = memory_document(reports, n);
	for (size_t i = 0; i < n; i++)
		memory_report_clear(&reports[i]);
	return text;
}
