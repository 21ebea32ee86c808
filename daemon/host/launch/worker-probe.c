/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/launch/worker-probe.h"

#include <errno.h>

#include "host/launch/call.h"
#include "host/launch/worker-find.h"
#include "util/text.h"

#define OUTPUT_MAX 1048576U

static char **arguments(const WorkerConfig *config, const Bdf *functions, size_t n, bool mmio)
{
	char **argv = worker_arguments_begin(config, "probe");

	if (config->nvml)
		strv_appendf(&argv, "--nvml=%s", config->nvml);
	if (mmio)
		strv_append(&argv, "--mmio");
	for (size_t i = 0; i < n; i++)
		strv_append(&argv, BDF_TEXT(&functions[i]));
	return argv;
}

int worker_probe(const WorkerConfig *config, const Bdf *functions, size_t n, bool mmio,
		 uint64_t timeout_usec, ProbeAnswer *ret, pid_t *ret_pid)
{
	_cleanup_(children_freep) Children *children = NULL;
	_cleanup_strv_ char **argv = arguments(config, functions, n, mmio);
	const Child *child;
	int r;

	worker_question_begins(config, WORKER_PROBES);
	r = worker_run_one(config, mmio ? PART_CONFIG : PART_PROBER, argv, OUTPUT_MAX, timeout_usec,
			   &children);
	worker_question_ends(config, WORKER_PROBES, r >= 0 && !children->items[0].adopted);
	if (r < 0)
		return r;
	child = &children->items[0];
	*ret_pid = child->running && child->adopted ? worker_find_probe(config) : child->pid;
	r = worker_child_error(child);
	if (r < 0)
		return r;
	return probe_document_parse(child->output, child->size, functions, n,
				    mmio ? WAY_MMIO : WAY_NVML, ret);
}
