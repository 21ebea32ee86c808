/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/persistence.h"

#include <errno.h>
#include <string.h>

#include "host/device/nvml.h"
#include "host/device/persistenced.h"
#include "host/wire/persistence.h"
#include "util/clock.h"

/*
 * All questions to nvidia-persistenced together take no longer than this, and neither does the one
 * that makes it let go: it closes the device file, which shuts the GPU down. Less than a worker has
 * (host/host.c), so that what NVML says is still told.
 */
#define ASK_USEC (4 * USEC_PER_SEC)
#define RELEASE_USEC (10 * USEC_PER_SEC)

/* NULL: there is none. Another tree than /sys is a test's, and has only what it names. */
static const char *socket_of(const WorkerCommand *command)
{
	if (command->persistenced)
		return command->persistenced;
	return strcmp(command->sysfs_dir, "/sys") == 0 ? PERSISTENCED_SOCKET : NULL;
}

/* Once it does not answer sensibly, it is not asked any more. */
static int note_keepers(const WorkerCommand *command, GpuPersistence *gpus)
{
	uint64_t begin = now_monotonic();
	const char *path = socket_of(command);
	int r = 0;

	for (size_t i = 0; path && r >= 0 && i < command->n_functions; i++) {
		uint64_t spent = now_monotonic() - begin;
		_cleanup_free_ char *why = NULL;
		pid_t keeper = 0;

		if (spent >= ASK_USEC)
			break;
		r = persistenced_keeper(path, ASK_USEC - spent, &gpus[i].bdf, &keeper, &why);
		if (why) {
			/* What NVML said of a mode that is not known is better known. */
			if (!gpus[i].why)
				gpus[i].why = TAKE_PTR(why);
			break;
		}
		/* Without NVML the mode could not be turned on again. */
		if (r < 0 || keeper == 0 || gpus[i].mode == PERSISTENCE_UNKNOWN)
			continue;
		gpus[i].mode = PERSISTENCE_ON;
		gpus[i].kept_by = keeper;
	}
	return r;
}

static int ask(const Nvml *nvml, const WorkerCommand *command, GpuPersistence *gpus)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < command->n_functions; i++) {
		const Bdf *bdf = &command->functions[i];

		r = command->set == PERSISTENCE_UNKNOWN
			    ? nvml_persistence(nvml, bdf, &gpus[i])
			    : nvml_set_persistence(nvml, bdf, command->set == PERSISTENCE_ON,
						   &gpus[i]);
	}
	return r;
}

/* Without NVML the reason is the same for all. */
static int tell_all(const WorkerCommand *command, const char *why, GpuPersistence *gpus)
{
	for (size_t i = 0; i < command->n_functions; i++) {
		gpus[i] = (GpuPersistence){
			.bdf = command->functions[i],
			.why = why ? strdup(why) : NULL,
		};
		if (!gpus[i].why)
			return -ENOMEM;
	}
	return 0;
}

static int ask_nvml(const WorkerCommand *command, GpuPersistence *gpus)
{
	_cleanup_free_ char *why = NULL;
	Nvml *nvml = NULL;
	int r = nvml_open(command->nvml, &nvml, &why);

	r = r < 0 ? tell_all(command, why, gpus) : ask(nvml, command, gpus);
	/*
	 * Closes NVML before the answer is written, because the reader may unbind the GPUs at once.
	 */
	nvml_close(nvml);
	return r;
}

/* Beside nvidia-persistenced NVML's mode stays as it is: it was not what kept the GPU. */
static int set_on(const WorkerCommand *command, const char *path, GpuPersistence *gpu)
{
	_cleanup_free_ char *why = NULL;
	pid_t keeper = 0;
	int r = 0;

	if (path)
		r = persistenced_keeper(path, ASK_USEC, &command->functions[0], &keeper, &why);
	if (r < 0 || keeper == 0)
		return r < 0 ? r : ask_nvml(command, gpu);
	*gpu = (GpuPersistence){
		.bdf = command->functions[0],
		.mode = PERSISTENCE_ON,
		.kept_by = keeper,
	};
	return 0;
}

/*
 * Off: nvidia-persistenced lets go first, since NVML's call does not make it (dra-driver-nvidia-gpu
 * issue 1037). On is NVML's: nvidia-persistenced fails from the second GPU on when all have been
 * away (the same issue).
 */
static int work(const WorkerCommand *command, GpuPersistence *gpus)
{
	const char *path = socket_of(command);
	_cleanup_free_ char *why = NULL;
	int r = 0;

	if (command->set == PERSISTENCE_ON)
		return set_on(command, path, gpus);
	if (command->set == PERSISTENCE_OFF && path)
		r = persistenced_release(path, RELEASE_USEC, &command->functions[0], &why);
	if (r >= 0)
		r = ask_nvml(command, gpus);
	if (r >= 0 && why && !gpus[0].why)
		gpus[0].why = TAKE_PTR(why);
	return r < 0 || command->set != PERSISTENCE_UNKNOWN ? r : note_keepers(command, gpus);
}

char *persistence_command(const WorkerCommand *command)
{
	size_t n = command->n_functions;
	GpuPersistence *gpus = calloc(n + 1, sizeof(GpuPersistence));
	char *document = NULL;

	if (!gpus)
		return NULL;
	if (work(command, gpus) >= 0)
		document = persistence_document(gpus, n);
	persistence_list_free(gpus, n);
	return document;
}
