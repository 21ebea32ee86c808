/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/command.h"

#include <fcntl.h>
#include <sys/utsname.h>

#include "gpupass/errors.h"
#include "host/device/examine.h"
#include "host/device/inspect.h"
#include "host/device/machine-files.h"
#include "host/device/memory-mmio.h"
#include "host/net/nic.h"
#include "host/net/vf.h"
#include "host/nvme/use.h"
#include "host/wire/request.h"
#include "mover/command.h"
#include "util/file.h"
#include "util/heap.h"
#include "util/text.h"
#include "util/xalloc.h"

/* As long as gpu-admin-tools waits. */
#define MEMORY_POLL_MSEC 5000U

static char *move_or_reset(const WorkerCommand *command, QuestionId id)
{
	_cleanup_free_ char *gpus = strf("%s/driver/nvidia/gpus", command->proc_dir);
	MoverCommand mover = {
		.reset = id == ASK_RESET,
		.vfs = id == ASK_VFS,
		.number = (unsigned)command->number,
		.autoprobe = (unsigned)command->autoprobe,
		.slot = command->slot,
		.target = command->target,
	};

	mover.target.bdf = command->functions[0];
	heap_reserve(MOVE_MEMORY_BYTES);
	return mover_command_run(&mover, command->ops, command->sysfs_dir, gpus);
}

/* The running kernel's modules; -1 when there are none to read. */
static int open_modules(void)
{
	_cleanup_free_ char *path = NULL;
	struct utsname name;
	int fd = -1;

	if (uname(&name) < 0)
		return -1;
	path = strf("/lib/modules/%s", name.release);
	return dir_open_at(AT_FDCWD, path, false, &fd) >= 0 ? fd : -1;
}

static void close_roots(Roots *roots)
{
	close_fd(roots->sysfs_fd);
	close_fd(roots->proc_fd);
	close_fd(roots->root_fd);
	close_fd(roots->modules_fd);
}

#define _cleanup_roots_ _cleanup_(close_roots)

static int open_roots(const WorkerCommand *command, Roots *ret)
{
	int r;

	*ret = (Roots){ -1, -1, -1, open_modules() };
	r = dir_open_at(AT_FDCWD, command->sysfs_dir, false, &ret->sysfs_fd);
	if (r >= 0)
		r = dir_open_at(AT_FDCWD, command->proc_dir, false, &ret->proc_fd);
	return r < 0 ? r : dir_open_at(AT_FDCWD, command->root_dir, false, &ret->root_fd);
}

static int inspect(const WorkerCommand *command, void *ret)
{
	QuestionId id = question_id(command->question);
	InspectAnswer *answer = ret;
	_cleanup_roots_ Roots roots;
	int r = open_roots(command, &roots);

	if (r >= 0 && id == ASK_CONFIG)
		r = inspect_config(&roots, command->functions, command->n_functions,
				   command->awake ? INSPECT_CONFIG_AWAKE : INSPECT_CONFIG_ALL,
				   &answer->inspection);
	else if (r >= 0)
		r = (id == ASK_GLANCE ? inspect_glance : inspect_functions)(
			&roots, command->functions, command->n_functions, &answer->inspection);
	answer->head.error = r < 0 ? r : 0;
	return 0;
}

static int examine(const WorkerCommand *command, void *ret)
{
	_cleanup_roots_ Roots roots;
	int r = open_roots(command, &roots);
	HealthAnswer *health = ret;
	HostAnswer *host = ret;

	if (r >= 0 && question_id(command->question) == ASK_SETUP)
		host->host = examine_setup(&roots);
	else if (r >= 0)
		r = examine_gpu(&roots, &command->functions[0], command->functions + 1,
				command->n_functions - 1, &health->gpu);
	((AnswerHead *)ret)->error = r < 0 ? r : 0;
	return 0;
}

static int look_at_nics(const WorkerCommand *command, void *ret)
{
	_cleanup_roots_ Roots roots;
	const Netlink *netlink = command->netlink ? command->netlink : &netlink_of_kernel;
	NicsAnswer *answer = ret;
	int r = open_roots(command, &roots);

	answer->nics = xcalloc(command->n_functions + 1, sizeof(NicUse));
	for (size_t i = 0; r >= 0 && i < command->n_functions; i++) {
		NicUse *use = &answer->nics[answer->n_nics++];

		use->bdf = command->functions[i];
		if (question_id(command->question) == ASK_NICS)
			r = nic_look(&roots, netlink, use);
		else if (nic_vf_look(&roots, netlink, true, use) == 0)
			r = -EINVAL;
	}
	while (r < 0 && answer->n_nics > 0)
		nic_use_clear(&answer->nics[--answer->n_nics]);
	answer->head.error = r < 0 ? r : 0;
	return 0;
}

static int read_machines(const WorkerCommand *command, void *ret)
{
	_cleanup_(machines_freep) Machines *machines = NULL;
	MachinesAnswer *answer = ret;
	_cleanup_roots_ Roots roots;
	int r = open_roots(command, &roots);

	if (r >= 0)
		r = machine_files_read(roots.root_fd, roots.proc_fd, &machines);
	answer->head.error = r < 0 ? r : 0;
	if (r < 0)
		return 0;
	answer->machines = TAKE_PTR(machines->items);
	answer->n_machines = machines->n_items;
	machines->n_items = 0;
	return 0;
}

static int look_at_nvmes(const WorkerCommand *command, void *ret)
{
	size_t n = command->n_functions;
	NvmeAnswer *answer = ret;
	_cleanup_roots_ Roots roots;
	int r = open_roots(command, &roots);

	answer->uses = xcalloc(n, sizeof(NvmeUse));
	for (size_t i = 0; r >= 0 && i < n; i++) {
		r = nvme_use_read(&roots, nvme_open_disk, &command->functions[i],
				  !command->no_labels, &answer->uses[i]);
		answer->n_uses += r >= 0;
	}
	answer->head.error = r < 0 ? r : 0;
	return 0;
}

static int poll_memory(const WorkerCommand *command, void *ret)
{
	_cleanup_close_ int sysfs_fd = -1;
	MemoryAnswer *answer = ret;
	int r = dir_open_at(AT_FDCWD, command->sysfs_dir, false, &sysfs_fd);

	if (r < 0)
		return r;
	answer->n_boards = command->n_functions;
	answer->boards = xcalloc(answer->n_boards + 1, sizeof(MemoryReport));
	memory_mmio_poll(sysfs_fd, command->functions, answer->n_boards, MEMORY_POLL_MSEC,
			 answer->boards);
	return 0;
}

/* -errno: there is no answer, where it has no place for an error. */
static int (*const answers[QUESTION_MAX_])(const WorkerCommand *command, void *ret_answer) = {
	[ASK_INSPECT] = inspect,
	[ASK_GLANCE] = inspect,
	[ASK_CONFIG] = inspect,
	[ASK_NICS] = look_at_nics,
	[ASK_RULES] = look_at_nics,
	[ASK_SETUP] = examine,
	[ASK_HEALTH] = examine,
	[ASK_MACHINES] = read_machines,
	[ASK_MEMORY] = poll_memory,
	[ASK_NVME] = look_at_nvmes,
	[ASK_LINKS] = probe_links,
	[ASK_REGISTERS] = probe_links,
	[ASK_PERSISTENCE] = persistence_modes,
	[ASK_SET_PERSISTENCE] = persistence_modes,
};

static int follow_uevents(void)
{
	int r = uevents_follow(STDOUT_FILENO);

	if (r < 0)
		fprintf(stderr, "gpupass-worker: cannot follow PCI devices: %s\n", strerror(-r));
	return r < 0 ? GPUPASS_EXIT_FAILED : GPUPASS_EXIT_DONE;
}

int worker_command_run(const WorkerCommand *command)
{
	QuestionId id = question_id(command->question);
	_cleanup_free_ char *text = NULL;

	if (id == ASK_UEVENTS)
		return follow_uevents();
	if (!str_equal(command->question->part, PART_MOVER))
		return worker_answer(command, answers[id]);
	text = move_or_reset(command, id);
	return text ? worker_tell(command->question, text) : GPUPASS_EXIT_FAILED;
}
