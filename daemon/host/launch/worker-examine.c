/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/launch/worker-examine.h"

#include <errno.h>

#include "host/launch/call.h"
#include "host/wire/document.h"
#include "util/text.h"

#define EXAMINE_OUTPUT_MAX 1048576U

static int examine_arguments(const WorkerConfig *config, const char *known_image,
			     const PciFunction *lead, char ***ret)
{
	_cleanup_strv_ char **argv = NULL;
	int r = worker_arguments_begin(config, "examine", &argv);

	if (r >= 0)
		r = strv_appendf(&argv, "--root=%s", config->root_dir ? config->root_dir : "/");
	if (r >= 0 && known_image)
		r = strv_appendf(&argv, "--known-image=%s", known_image);
	if (r >= 0 && lead)
		r = strv_append(&argv, BDF_TEXT(&lead->bdf));
	for (size_t i = 0; r >= 0 && lead && i < lead->n_upstream; i++)
		r = strv_append(&argv, BDF_TEXT(&lead->upstream[i]));
	if (r < 0)
		return r;
	*ret = TAKE_PTR(argv);
	return 0;
}

static int start(const WorkerConfig *config, const PciFunction *lead, Children *children, size_t i)
{
	_cleanup_strv_ char **argv = NULL;
	int r = examine_arguments(config, NULL, lead, &argv);

	return r < 0 ? r : children_start(children, i, argv);
}

int worker_examine_host(const WorkerConfig *config, const char *known_image, uint64_t timeout_usec,
			Examination **ret)
{
	_cleanup_(children_freep) Children *children = NULL;
	_cleanup_strv_ char **argv = NULL;
	const Child *child;
	int r = examine_arguments(config, known_image, NULL, &argv);

	if (r >= 0)
		r = children_run_one(argv, EXAMINE_OUTPUT_MAX, timeout_usec, &children);
	if (r < 0)
		return r;
	child = &children->items[0];
	r = worker_child_error(child);
	return r < 0 ? r : worker_examine_host_parse(child->output, child->size, ret);
}

static void fill(const Child *child, GpuHealth *health)
{
	Bdf bdf = health->bdf;
	int r = worker_child_error(child);

	if (r >= 0)
		r = worker_examine_gpu_parse(child->output, child->size, &bdf, health);
	if (r < 0) {
		health->error = r;
		health->stuck = child->running ? child->pid : 0;
	}
}

int worker_examine_gpus(const WorkerConfig *config, const PciFunction *const *leads, size_t n,
			uint64_t timeout_usec, GpuHealth *ret)
{
	_cleanup_(children_freep) Children *children = NULL;
	int r = children_new(n, EXAMINE_OUTPUT_MAX, &children);

	if (r < 0)
		return r;
	for (size_t i = 0; i < n; i++)
		ret[i] = (GpuHealth){
			.bdf = leads[i]->bdf,
			.error = start(config, leads[i], children, i),
		};
	children_wait(children, timeout_usec);
	for (size_t i = 0; i < n; i++)
		if (children->items[i].pid != 0)
			fill(&children->items[i], &ret[i]);
	return 0;
}
