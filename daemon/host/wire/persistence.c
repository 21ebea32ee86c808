/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/wire/persistence.h"

#include <errno.h>
#include <string.h>

#include "core/base/json-struct.h"
#include "gpupass/dbus.h"

#define VERB "persistence"
#define REASON_MAX 512
#define GPUS_MAX 64

static const JsonMember gpu_members[] = {
	JSON_BDF_AS(GpuPersistence, bdf, "address"),
	JSON_ENUM_IF_ANY(GpuPersistence, mode, PersistenceMode, PERSISTENCE_MODES,
			 "is neither on nor off"),
	JSON_ENUM_IF_ANY(GpuPersistence, mig, MigMode, MIG_MODES, "is neither on nor off"),
	JSON_ENUM_IF_ANY(GpuPersistence, mig_pending, MigMode, MIG_MODES, "is neither on nor off"),
	JSON_TEXT_IF_ANY_AS(GpuPersistence, why, "reason"),
	JSON_NUMBER_OR_0(GpuPersistence, kept_by, INT32_MAX),
	JSON_END,
};

typedef struct Answer {
	char *verb;
	GpuPersistence *gpus;
	size_t n_gpus;
} Answer;

static const JsonMember answer_members[] = {
	JSON_SCHEMA(GPUPASS_SCHEMA_WORKER),
	JSON_TEXT(Answer, verb),
	JSON_ARRAY(Answer, gpus, GpuPersistence, gpu_members, GPUS_MAX),
	JSON_END,
};

char *persistence_document(const GpuPersistence *gpus, size_t n)
{
	const Answer answer = {
		.verb = (char *)VERB,
		.gpus = (GpuPersistence *)gpus,
		.n_gpus = n,
	};

	return json_struct_text(answer_members, &answer);
}

static bool is_about(const GpuPersistence *gpu, const Bdf *asked)
{
	return bdf_equal(&gpu->bdf, asked) &&
	       (gpu->mode != PERSISTENCE_UNKNOWN || (gpu->why && gpu->kept_by == 0)) &&
	       (!gpu->why || strlen(gpu->why) <= REASON_MAX);
}

int persistence_document_parse(const char *text, size_t size, const Bdf *gpus, size_t n,
			       GpuPersistence *ret)
{
	Answer answer = { 0 };
	int r = json_struct_parse(answer_members, text, size, &answer);

	if (r >= 0 && (strcmp(answer.verb, VERB) != 0 || answer.n_gpus != n))
		r = -EBADMSG;
	for (size_t i = 0; r >= 0 && i < n; i++)
		r = is_about(&answer.gpus[i], &gpus[i]) ? 0 : -EBADMSG;
	if (r >= 0 && n > 0) {
		memcpy(ret, answer.gpus, n * sizeof(GpuPersistence));
		memset(answer.gpus, 0, n * sizeof(GpuPersistence));
	}
	json_struct_clear(answer_members, &answer);
	return r;
}
