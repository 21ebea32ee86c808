/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <errno.h>
#include <string.h>

#include "host/launch/call.h"
#include "host/launch/launch.h"
#include "host/launch/worker.h"
#include "host/wire/document.h"
#include "util/text.h"

/* There are as many holders as host/device/holders.c lists, with names as long as others like. */
#define OUTPUT_MAX 4194304U

/* Which of the two questions: one part sees processes, the other one config space. */
typedef enum Question { ALL_AT_ONCE, HOLDERS, CONFIG_SPACE } Question;

typedef struct Look {
	const Bdf *functions;
	size_t n;
	InspectConfig config_space;
	bool glance;
} Look;

static char **arguments(const WorkerConfig *config, Question question, const Look *look)
{
	InspectConfig config_space = look->config_space;
	char **argv =
		worker_arguments_begin(config, question == CONFIG_SPACE ? "config" : "inspect");

	if (question != CONFIG_SPACE && look->glance)
		strv_append(&argv, "--glance");
	if (question == ALL_AT_ONCE && config_space != INSPECT_CONFIG_NOT)
		strv_append(&argv, "--capabilities");
	if (question != HOLDERS && config_space == INSPECT_CONFIG_AWAKE)
		strv_append(&argv, "--awake");
	for (size_t i = 0; i < look->n; i++)
		strv_append(&argv, BDF_TEXT(&look->functions[i]));
	return argv;
}

static int parse(const Child *child, const Bdf *functions, size_t n, Inspection **ret)
{
	int r = worker_child_error(child);

	return r < 0 ? r
		     : worker_inspect_document_parse(child->output, child->size, functions, n, ret);
}

/* What config space says of one function, into what else is known of it. */
static void take_config(FunctionFacts *from, FunctionFacts *into)
{
	into->serial_number = TAKE_PTR(from->serial_number);
	into->link_speed = TAKE_PTR(from->link_speed);
	into->link_speed_max = TAKE_PTR(from->link_speed_max);
	into->link_width = from->link_width;
	into->link_width_max = from->link_width_max;
	into->config_all_ones = from->config_all_ones;
	into->left_asleep = from->left_asleep;
}

/* The second answer may say nothing but what its part is there for. */
static int merge(const Children *children, const Bdf *functions, size_t n, Inspection **ret)
{
	_cleanup_(inspection_freep) Inspection *in = NULL, *config = NULL;
	int r = parse(&children->items[0], functions, n, &in);

	if (r >= 0 && children->n_items > 1)
		r = parse(&children->items[1], functions, n, &config);
	if (r < 0)
		return r;
	for (size_t i = 0; config && i < n; i++) {
		free(in->functions[i].serial_number);
		free(in->functions[i].link_speed);
		free(in->functions[i].link_speed_max);
		take_config(&config->functions[i], &in->functions[i]);
	}
	*ret = TAKE_PTR(in);
	return 0;
}

/* Two parts, side by side; or one child for both. */
static int ask(const WorkerConfig *config, const Look *look, uint64_t timeout_usec,
	       Inspection **ret)
{
	bool by_parts = config->parts_dir;
	size_t n = by_parts && look->config_space != INSPECT_CONFIG_NOT ? 2 : 1;
	_cleanup_(children_freep) Children *children = children_new(n, OUTPUT_MAX);
	int r = 0;

	for (size_t i = 0; r >= 0 && i < n; i++) {
		Question question = !by_parts ? ALL_AT_ONCE : i == 0 ? HOLDERS : CONFIG_SPACE;
		_cleanup_strv_ char **argv = arguments(config, question, look);

		r = launch_one(config, i == 0 ? PART_INSPECTOR : PART_CONFIG, children, i, argv);
	}
	if (r < 0)
		return r;
	launch_wait(config, children, timeout_usec);
	return merge(children, look->functions, look->n, ret);
}

int worker_inspect(const WorkerConfig *config, const Bdf *functions, size_t n,
		   InspectConfig config_space, uint64_t timeout_usec, Inspection **ret)
{
	const Look look = { .functions = functions, .n = n, .config_space = config_space };

	return ask(config, &look, timeout_usec, ret);
}

int worker_glance(const WorkerConfig *config, const Bdf *functions, size_t n,
		  InspectConfig config_space, uint64_t timeout_usec, Inspection **ret)
{
	const Look look = {
		.functions = functions,
		.n = n,
		.config_space = config_space,
		.glance = true,
	};

	return ask(config, &look, timeout_usec, ret);
}
