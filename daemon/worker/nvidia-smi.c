/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/nvidia-smi.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/launch/child.h"
#include "util/text.h"
#include "util/xalloc.h"

/* nvidia-installer and the distributions have it there, or a link to it. */
#define PROGRAM "/usr/bin/nvidia-smi"
/*
 * It initialises GPUs that nobody has open, which takes a second or two each. Less than a worker
 * has (core/group/policy.h), so that what NVML says afterwards is still told.
 */
#define DEADLINE_SEC 20U
#define OUTPUT_MAX 4096U
#define TOLD_MAX 200U

static int find_program(const char *root, char **ret, char **ret_why)
{
	_cleanup_free_ char *path = strf("%s" PROGRAM, str_or_empty(root));
	struct stat st;

	if (!root || stat(path, &st) < 0)
		*ret_why = strf("%s is not there; it comes with NVIDIA's driver, in a package of "
				"its own or in nvidia-utils",
				path);
	else if (!S_ISREG(st.st_mode) || (st.st_uid != 0 && st.st_uid != geteuid()) ||
		 (st.st_mode & (S_IWGRP | S_IWOTH)))
		*ret_why = strf("%s is not run: others than root may write to it", path);
	else
		*ret = TAKE_PTR(path);
	return *ret ? 0 : -ENOENT;
}

/* The alarm goes on past execve(), and takes no right to send signals, which the part lacks. */
static int execute(const void *data)
{
	char *const *argv = data;
	char *const environment[] = { (char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin",
				      (char *)"LC_ALL=C", NULL };

	signal(SIGPIPE, SIG_DFL);
	alarm(DEADLINE_SEC);
	if (dup2(STDOUT_FILENO, STDERR_FILENO) >= 0)
		execve(argv[0], argv, environment);
	return 127;
}

/* How it failed, with the first line that it printed. */
static char *failure_text(const Child *child)
{
	_cleanup_free_ char *how = NULL, *line = NULL;
	const char *said = str_or_empty(child->output);
	size_t n = strcspn(said, "\n");
	_cleanup_free_ char *first = xstrndup(said, n < TOLD_MAX ? n : TOLD_MAX);

	if (child->signal == SIGALRM)
		how = strf("did not end within %u s", DEADLINE_SEC);
	else if (child->error < 0)
		how = strf("printed more than %u bytes", OUTPUT_MAX);
	else if (child->signal != 0)
		how = strf("was ended by signal %d", child->signal);
	else
		how = strf("failed with exit status %d", child->status);
	line = str_printable(first);
	return strf("nvidia-smi %s%s%s", how, *line ? ": " : "", line);
}

int nvidia_smi_persistence_off(const char *root, const Bdf *gpu, char **ret_why)
{
	_cleanup_(children_freep) Children *children = NULL;
	_cleanup_free_ char *path = NULL, *address = xstrdup(BDF_TEXT(gpu));
	int r = find_program(root, &path, ret_why);
	char *argv[] = { path, (char *)"-i", address, (char *)"-pm", (char *)"0", NULL };
	const Child *child;

	if (r < 0)
		return r;
	children = children_new(1, OUTPUT_MAX);
	r = children_fork(children, 0, execute, argv);
	if (r < 0)
		return r;
	/*
	 * One that its alarm does not end waits in the kernel, and may do it later. So nothing is
	 * answered before its end, as with a call of NVML's that does not return.
	 */
	children_wait(children, UINT64_MAX);
	child = &children->items[0];
	if (child->status == 0 && child->error == 0)
		return 0;
	*ret_why = failure_text(child);
	return 0;
}
