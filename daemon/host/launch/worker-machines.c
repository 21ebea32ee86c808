/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/launch/worker-machines.h"

#include "host/launch/call.h"
#include "host/wire/machines.h"
#include "util/text.h"

#define OUTPUT_MAX (16U * 1024 * 1024)

int worker_machines(const WorkerConfig *config, uint64_t timeout_usec, Machines **ret)
{
	_cleanup_(children_freep) Children *children = NULL;
	_cleanup_strv_ char **argv = worker_arguments_begin(config, "machines");
	int r = worker_run_one(config, PART_EXAMINER, argv, OUTPUT_MAX, timeout_usec, &children);

	if (r >= 0)
		r = worker_child_error(&children->items[0]);
	return r < 0 ? r
		     : machines_document_parse(children->items[0].output, children->items[0].size,
					       ret);
}
