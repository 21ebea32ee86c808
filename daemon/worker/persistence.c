/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "host/device/nvml.h"
#include "util/text.h"
#include "util/xalloc.h"
#include "worker/nvidia-smi.h"

/* NVPD_SOCKET_PATH of nvpd_defs.h (NVIDIA/nvidia-persistenced), past /var. */
#define PERSISTENCED_SOCKET "/run/nvidia-persistenced/socket"

/* "" for this host. NULL: another tree than /sys is a test's, and has only what it names. */
static const char *root_of(const WorkerCommand *command)
{
	if (strcmp(command->root_dir, "/") != 0)
		return command->root_dir;
	return strcmp(command->sysfs_dir, "/sys") == 0 ? "" : NULL;
}

/*
 * nvidia-persistenced: the process that called listen() there. The kernel says so, and what it says
 * of itself does not count. 0: nobody listens, or it takes no connection, and is a holder like any
 * other then.
 */
static pid_t persistenced_pid(const char *root)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct ucred peer = { 0 };
	socklen_t size = sizeof(peer);
	int n = snprintf(address.sun_path, sizeof(address.sun_path), "%s" PERSISTENCED_SOCKET,
			 str_or_empty(root));

	if (!root || fd < 0 || n < 0 || (size_t)n >= sizeof(address.sun_path) ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return 0;
	return peer.pid;
}

/* `set`: unknown, to read it only. */
static void ask(const Nvml *nvml, const WorkerCommand *command, PersistenceMode set,
		GpuPersistence *gpus)
{
	for (size_t i = 0; i < command->n_functions; i++) {
		const Bdf *bdf = &command->functions[i];

		if (set == PERSISTENCE_UNKNOWN)
			nvml_persistence(nvml, bdf, &gpus[i]);
		else
			nvml_set_persistence(nvml, bdf, set == PERSISTENCE_ON, &gpus[i]);
	}
}

/* Without NVML the reason is the same for all. */
static void tell_all(const WorkerCommand *command, const char *why, GpuPersistence *gpus)
{
	for (size_t i = 0; i < command->n_functions; i++)
		gpus[i] = (GpuPersistence){ .bdf = command->functions[i], .why = xstrdup(why) };
}

static void ask_nvml(const WorkerCommand *command, PersistenceMode set, GpuPersistence *gpus)
{
	_cleanup_free_ char *why = NULL;
	Nvml *nvml = NULL;

	if (nvml_open(command->nvml, &nvml, &why) < 0)
		tell_all(command, why, gpus);
	else
		ask(nvml, command, set, gpus);
	/*
	 * Closes NVML before the answer is written, because the reader may unbind the GPUs at once.
	 */
	nvml_close(nvml);
}

/*
 * nvidia-smi, and then NVML if the mode is still on: NVML has set it where a GPU came back beside
 * nvidia-persistenced, or after that was started.
 */
static int turn_off(const WorkerCommand *command, GpuPersistence *gpu)
{
	_cleanup_free_ char *why = NULL;
	int r = nvidia_smi_persistence_off(root_of(command), &command->functions[0], &why);

	if (r < 0 && r != -ENOENT)
		return r;
	ask_nvml(command, r < 0 ? PERSISTENCE_UNKNOWN : PERSISTENCE_OFF, gpu);
	if (why) {
		free(gpu->why);
		gpu->why = TAKE_PTR(why);
	}
	return 0;
}

/* On is NVML's: nvidia-persistenced fails from the second GPU on when all have been away. */
static int work(const WorkerCommand *command, GpuPersistence *gpus)
{
	pid_t pid;

	if (command->set == PERSISTENCE_OFF)
		return turn_off(command, gpus);
	ask_nvml(command, command->set, gpus);
	if (command->set == PERSISTENCE_ON)
		return 0;
	/* Without NVML the mode could not be turned on again. */
	pid = persistenced_pid(root_of(command));
	for (size_t i = 0; i < command->n_functions; i++)
		gpus[i].kept_by = gpus[i].mode == PERSISTENCE_UNKNOWN ? 0 : pid;
	return 0;
}

int persistence_modes(const WorkerCommand *command, void *ret_answer)
{
	PersistenceAnswer *answer = ret_answer;

	answer->n_gpus = command->n_functions;
	answer->gpus = xcalloc(answer->n_gpus + 1, sizeof(GpuPersistence));
	return work(command, answer->gpus);
}
