/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/launch/call.h"

#include <errno.h>
#include <string.h>

#include "host/launch/launch.h"
#include "util/text.h"

char **worker_arguments_begin(const WorkerConfig *config, const char *verb)
{
	char **argv = NULL;

	strv_append(&argv, config->program);
	strv_appendf(&argv, "--sysfs=%s", config->sysfs_dir);
	strv_appendf(&argv, "--proc=%s", config->proc_dir);
	strv_appendf(&argv, "--root=%s", config->root_dir ? config->root_dir : "/");
	strv_append(&argv, verb);
	return argv;
}

/*
 * systemd also has the connection of a part open, until it has seen the end of the process, which
 * may take time; and one connection is for all functions of a batch.
 */
static bool has_answered(const Child *child)
{
	return child->adopted && child->size > 0 && child->output[child->size - 1] == '\n';
}

/* Why there is no answer to parse; 0 if there is one. */
int worker_child_error(const Child *child)
{
	if (child->running && !has_answered(child))
		return -ETIMEDOUT;
	if (child->error < 0)
		return -EBADMSG; /* more than any answer has, or unreadable */
	/* An unknown exit status does not count against the answer. */
	if (child->signal != 0 || child->status > 0)
		return -EPROTO;
	if (child->adopted && child->size == 0)
		return -EPROTO;
	return child->output ? 0 : -EBADMSG;
}

int worker_run_one(const WorkerConfig *config, const char *part, char *const *argv,
		   size_t output_max, uint64_t timeout_usec, Children **ret)
{
	_cleanup_(children_freep) Children *children = children_new(1, output_max);
	int r = launch_one(config, part, children, 0, argv);

	if (r < 0)
		return r;
	launch_wait(config, children, timeout_usec);
	*ret = TAKE_PTR(children);
	return 0;
}
