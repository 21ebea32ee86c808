/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stands in for gpupass-worker where the host is a tree of plain files (make-host): same command
 * line, same answers, but it plays the kernel, too. Faults are asked for by a file
 * TREE/../faults/BDF, TREE being --sysfs, which holds one line:
 *   fail [DRIVER]           probing gives an I/O error
 *   no-driver [DRIVER]      probing reports success and binds nothing
 *   hang SECONDS [DRIVER]   the unbind returns so much later, or when the file is removed;
 *                           the driver link is gone meanwhile
 *   crash [DRIVER]          the worker dies in the unbind
 *   reset-fail              the reset gives an I/O error
 * and by a file TREE/../faults/VERB or VERB--OPTION, with one of the ways of rig/bad-answers.h, or:
 *   never                   it does not answer until the file is removed
 * What the kernel says of network devices and RDMA is TREE/../netlink: its messages in a row.
 * With DRIVER only moves to that driver are concerned: "fail nvidia" spoils giving back.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpupass/errors.h"
#include "rig/bad-answers.h"
#include "rig/netlink-replay.h"
#include "rig/sysfs-kernel.h"
#include "util/file.h"
#include "util/text.h"
#include "worker/command.h"

/*
 * Half of what a start costs with the address sanitizer, several times in each job, is its search
 * for leaks; the code of the worker has unit tests for that.
 */
const char *__asan_default_options(void); /* NOLINT: the sanitizer's name */
const char *__asan_default_options(void)  /* NOLINT: the sanitizer's name */
{
	return "detect_leaks=0";
}

#define SECONDS_MAX 3600
#define NETLINK_MAX (1U << 20)
#define LOOKS_PER_SECOND 50

typedef struct Fault {
	bool probe_fails;
	bool crashes;
	bool reset_fails;
	unsigned seconds;
	char *path; /* of its file */
	SysfsKernel kernel;
} Fault;

static int wrong_fault(const char *path)
{
	fprintf(stderr, "fake-worker: %s: no fault that I know\n", path);
	return -EINVAL;
}

static void in_unbind(void *userdata)
{
	const Fault *fault = userdata;

	if (fault->crashes)
		raise(SIGKILL);
	for (unsigned i = 0; i < fault->seconds * LOOKS_PER_SECOND; i++) {
		if (access(fault->path, F_OK) < 0)
			break;
		usleep(1000000 / LOOKS_PER_SECOND);
	}
}

/* words: the fault's name, its number where it has one, and perhaps a driver. */
static int apply_fault(char *const *words, const char *driver, Fault *fault)
{
	size_t n = strv_length(words), used = 1;
	unsigned long long seconds = 0;
	const char *name = n > 0 ? words[0] : "";

	if (strcmp(name, "hang") == 0) {
		if (n < 2 || str_to_unsigned(words[1], 10, SECONDS_MAX, &seconds) < 0)
			return wrong_fault(fault->path);
		used = 2;
	}
	if (n > used + 1)
		return wrong_fault(fault->path);
	if (n > used && !str_equal(words[used], driver))
		return 0; /* another driver's */
	if (strcmp(name, "fail") == 0)
		fault->probe_fails = true;
	else if (strcmp(name, "reset-fail") == 0)
		fault->reset_fails = true;
	else if (strcmp(name, "no-driver") == 0)
		fault->kernel.deaf_probes = UINT32_MAX;
	else if (strcmp(name, "hang") == 0)
		fault->seconds = (unsigned)seconds;
	else if (strcmp(name, "crash") == 0)
		fault->crashes = true;
	else
		return wrong_fault(fault->path);
	fault->kernel.while_unbinding = in_unbind;
	fault->kernel.userdata = fault;
	return 0;
}

static int read_fault(const WorkerCommand *command, Fault *fault)
{
	_cleanup_free_ char *line = NULL;
	_cleanup_strv_ char **words = NULL;
	int r;

	fault->path = strf("%s/../faults/%s", command->sysfs_dir, BDF_TEXT(command->functions));
	r = file_read_line_at(AT_FDCWD, fault->path, &line);
	if (r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	strv_split(line, " ", &words);
	return apply_fault(words, command->target.driver, fault);
}

static int fake_write(void *userdata, int sysfs_fd, const char *path, const char *value)
{
	Fault *fault = userdata;
	DriverOps kernel = sysfs_kernel_ops(&fault->kernel);
	const char *name = strrchr(path, '/');

	if (fault->probe_fails && name &&
	    (strcmp(name, "/drivers_probe") == 0 || strcmp(name, "/bind") == 0))
		return -EIO;
	if (fault->reset_fails && name && strcmp(name, "/reset") == 0)
		return -EIO;
	return kernel.write(kernel.userdata, sysfs_fd, path, value);
}

static void fake_wait(void *userdata _unused_, unsigned milliseconds)
{
	usleep(milliseconds * 1000);
}

static bool moves(const WorkerCommand *command)
{
	QuestionId id = question_id(command->question);

	return id == ASK_MOVE || id == ASK_RESET;
}

/* Whether TREE/../faults/VERB[OPTION] has told it how. */
static bool answer_badly(const WorkerCommand *command)
{
	const Question *q = command->question;
	_cleanup_free_ char *path =
		strf("%s/../faults/%s%s", command->sysfs_dir, q->verb, str_or_empty(q->option));
	_cleanup_free_ char *way = NULL;

	if (file_read_line_at(AT_FDCWD, path, &way) < 0)
		return false;
	while (str_equal(way, "never") && access(path, F_OK) == 0)
		usleep(1000000 / LOOKS_PER_SECOND);
	return bad_answer(way, q->verb);
}

/* Freed by the end of the process. */
static void read_netlink(const WorkerCommand *command, NetlinkReplay *ret)
{
	_cleanup_free_ char *path = strf("%s/../netlink", command->sysfs_dir);
	char *messages = NULL;

	*ret = (NetlinkReplay){ .netlink = { netlink_replay } };
	if (file_read_at(AT_FDCWD, path, NETLINK_MAX, &messages, &ret->size) >= 0)
		ret->messages = messages;
}

const Program worker_program = { "fake-worker", "", "0" };

int main(int argc, char **argv)
{
	_cleanup_(worker_command_clear) WorkerCommand command = { 0 };
	Fault fault = { 0 };
	NetlinkReplay netlink;
	DriverOps ops = { .write = fake_write, .wait = fake_wait, .userdata = &fault };
	int status;

	signal(SIGPIPE, SIG_IGN);
	if (!worker_command_parse(argc, argv, &command, &status))
		return status;
	if (answer_badly(&command))
		return GPUPASS_EXIT_DONE;
	if (moves(&command) && read_fault(&command, &fault) < 0)
		return GPUPASS_EXIT_FAILED;
	command.ops = &ops;
	read_netlink(&command, &netlink);
	command.netlink = &netlink.netlink;
	status = worker_command_run(&command);
	sysfs_kernel_clear(&fault.kernel);
	free(fault.path);
	return status;
}
