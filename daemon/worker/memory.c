/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/memory.h"

#include <fcntl.h>

#include "host/device/memory-mmio.h"
#include "host/wire/memory.h"
#include "util/file.h"
#include "util/xalloc.h"

/* As long as gpu-admin-tools waits. */
#define POLL_MSEC 5000U

char *memory_command(const WorkerCommand *command)
{
	size_t n = command->n_functions;
	_cleanup_free_ MemoryReport *reports = xcalloc(n + 1, sizeof(MemoryReport));
	_cleanup_close_ int sysfs_fd = -1;
	char *text;

	if (dir_open_at(AT_FDCWD, command->sysfs_dir, false, &sysfs_fd) < 0)
		return NULL;
	memory_mmio_poll(sysfs_fd, command->functions, n, POLL_MSEC, reports);
	text = memory_document(reports, n);
	for (size_t i = 0; i < n; i++)
		memory_report_clear(&reports[i]);
	return text;
}
