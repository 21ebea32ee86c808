/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/launch/worker-examine.h"

#include <errno.h>

#include "host/launch/call.h"
#include "host/launch/launch.h"
#include "host/wire/document.h"
#include "util/text.h"

#define EXAMINE_OUTPUT_MAX 1048576U

static int start(const WorkerConfig *config, const PciFunction *lead, Children *children, size_t i)
{
	_cleanup_strv_ char **argv = worker_arguments_begin(config, "examine");

	strv_append(&argv, BDF_TEXT(&lead->bdf));
	for (size_t k = 0; k < lead->n_upstream; k++)
		strv_append(&argv, BDF_TEXT(&lead->upstream[k]));
	return launch_one(config, PART_CONFIG, children, i, argv);
}

static int parse_host(const Child *child, Examination **ret)
{
	int r = worker_child_error(child);

	return r < 0 ? r : worker_examine_host_parse(child->output, child->size, ret);
}

static int start_setup(const WorkerConfig *config, Children *children)
{
	_cleanup_strv_ char **argv = worker_arguments_begin(config, "examine");

	strv_append(&argv, "--without-image");
	return launch_one(config, PART_EXAMINER, children, 0, argv);
}

/* By a program of its own, also where it is a child. */
static int start_image(const WorkerConfig *config, const char *known_image, Children *children)
{
	WorkerConfig other = *config;
	_cleanup_strv_ char **argv = NULL;

	other.program = config->initramfs;
	argv = worker_arguments_begin(&other, "image");
	if (known_image)
		strv_appendf(&argv, "--known-image=%s", known_image);
	return launch_one(config, PART_INITRAMFS, children, 1, argv);
}

/* Two, side by side: what unpacks the image sees nothing else of the host. */
int worker_examine_host(const WorkerConfig *config, const char *known_image, uint64_t timeout_usec,
			Examination **ret)
{
	_cleanup_(examination_freep) Examination *setup = NULL, *image = NULL;
	_cleanup_(children_freep) Children *children = children_new(2, EXAMINE_OUTPUT_MAX);
	int r = start_setup(config, children);

	if (r >= 0)
		r = start_image(config, known_image, children);
	if (r < 0)
		return r;
	launch_wait(config, children, timeout_usec);
	r = parse_host(&children->items[0], &setup);
	if (r >= 0)
		r = parse_host(&children->items[1], &image);
	if (r < 0)
		return r;
	initramfs_free(setup->image);
	setup->image = TAKE_PTR(image->image);
	*ret = TAKE_PTR(setup);
	return 0;
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

void worker_examine_gpus(const WorkerConfig *config, const PciFunction *const *leads, size_t n,
			 uint64_t timeout_usec, GpuHealth *ret)
{
	_cleanup_(children_freep) Children *children = children_new(n, EXAMINE_OUTPUT_MAX);

	for (size_t i = 0; i < n; i++)
		ret[i] = (GpuHealth){
			.bdf = leads[i]->bdf,
			.error = start(config, leads[i], children, i),
		};
	launch_wait(config, children, timeout_usec);
	for (size_t i = 0; i < n; i++)
		if (child_started(&children->items[i]))
			fill(&children->items[i], &ret[i]);
}
