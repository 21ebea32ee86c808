/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/persistence.h"

#include <errno.h>
#include <string.h>

#include "host/device/nvml.h"
#include "host/wire/persistence.h"

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

char *persistence_command(const WorkerCommand *command)
{
	size_t n = command->n_functions;
	GpuPersistence *gpus = calloc(n + 1, sizeof(GpuPersistence));
	_cleanup_free_ char *why = NULL;
	char *document = NULL;
	Nvml *nvml = NULL;
	int r;

	if (!gpus)
		return NULL;
	r = nvml_open(command->nvml, &nvml, &why);
	r = r < 0 ? tell_all(command, why, gpus) : ask(nvml, command, gpus);
	/*
	 * Closes NVML before the answer is written, because the reader may unbind the GPUs at once.
	 */
	nvml_close(nvml);
	if (r >= 0)
		document = persistence_document(gpus, n);
	persistence_list_free(gpus, n);
	return document;
}
