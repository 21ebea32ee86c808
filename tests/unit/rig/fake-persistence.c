/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NVML's part of the fake host: the persistence mode of GPUs on nvidia. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "fake-host-private.h"
#include "util/xalloc.h"

#define WORKER_PID 4712

/* Who asks opens the GPU: nobody may do that while a driver's remove() runs on it. */
static size_t open_gpu(FakeHost *fake, const Bdf *gpu)
{
	size_t i = fake_find_function(fake, gpu);

	assert_true(i != SIZE_MAX);
	if (fake->stuck[i])
		fake_note_violation(fake, gpu, "was touched again", "");
	return i;
}

/* Who asks learns of nvidia-persistenced, if it runs, and of NVML's mode, which it does not set. */
static void name_keeper(const FakeHost *fake, size_t i, GpuPersistence *ret)
{
	if (ret->mode == PERSISTENCE_ON && fake->kept[i])
		ret->mode = PERSISTENCE_OFF;
	for (size_t k = 0; ret->mode != PERSISTENCE_UNKNOWN && k < fake->snapshot->n_functions; k++)
		if (fake->kept[k])
			ret->kept_by = FAKE_KEEPER_PID;
}

static void fill(const FakeHost *fake, size_t i, const char *fault, GpuPersistence *ret)
{
	bool known = str_equal(fake->snapshot->functions[i]->driver, "nvidia") && !fake->gone[i];

	*ret = (GpuPersistence){ .bdf = fake->snapshot->functions[i]->bdf };
	if (fault || !known)
		fake_set_text(&ret->why, fault ? fault : "Not Found (NVML error 6)");
	else
		ret->mode = fake->persistence[i] ? PERSISTENCE_ON : PERSISTENCE_OFF;
}

static const char *fault_of(FakeHost *fake, const Bdf *gpu, bool applies)
{
	const FakeNvmlFault *fault = &fake->nvml_fault;

	if (!applies || !fault->bdf || !str_equal(fault->bdf, BDF_TEXT(gpu)))
		return NULL;
	if (fault->never_returns)
		fake_hold(fake, fault->bdf, "gpupass-worker");
	return fault->why;
}

void fake_expect_work(Host *host, bool persistence)
{
	((FakeHost *)host->machine)->expected_work++;
	((FakeHost *)host->machine)->expected_persistence += persistence;
}

/* For so many GPUs; NULL where all fail. */
static GpuPersistence *begin(const FakeFault *fault, Ask *ask)
{
	PersistenceAnswer *answer = ask->answer;

	if (fault && ask->id == ASK_PERSISTENCE) {
		ask_refuse(ask, fault->error, xstrdup("it fails as it was told to"), NULL);
		return NULL;
	}
	answer->n_gpus = ask->n;
	answer->gpus = xcalloc(ask->n, sizeof(GpuPersistence));
	return answer->gpus;
}

void fake_persistence(FakeHost *fake, const FakeFault *fault, Ask *ask)
{
	GpuPersistence *gpus = begin(fault, ask);

	for (size_t i = 0; gpus && i < ask->n; i++) {
		size_t at = open_gpu(fake, &ask->functions[i]);

		fill(fake, at, fault_of(fake, &ask->functions[i], fake->nvml_fault.reads),
		     &gpus[i]);
		name_keeper(fake, at, &gpus[i]);
	}
}

/* It has the GPU as before, and NVML says that the mode is off, which is what it sets. */
static void keep_all_the_same(const FakeHost *fake, const Bdf *gpu, GpuPersistence *ret)
{
	*ret = (GpuPersistence){ .bdf = *gpu, .mode = PERSISTENCE_OFF };
	if (*fake->keeper_fault)
		fake_set_text(&ret->why, fake->keeper_fault);
}

void fake_set_persistence(FakeHost *fake, const FakeFault *all, Ask *ask)
{
	const Bdf *gpu = ask->functions;
	GpuPersistence *now = begin(all, ask);
	size_t i = open_gpu(fake, gpu);
	bool on = str_equal(ask->before, "--set=on");
	bool on_nvidia = str_equal(fake->snapshot->functions[i]->driver, "nvidia");
	const char *fault =
		fault_of(fake, gpu, on ? fake->nvml_fault.turns_on : fake->nvml_fault.turns_off);

	if (!on && fake->kept[i] && fake->keeper_fault) {
		keep_all_the_same(fake, gpu, now);
		return;
	}
	if (all)
		fault = "it fails as it was told to";
	if ((!fault || (all && all->late)) && on_nvidia && fake->persistence[i] != on) {
		fake->persistence[i] = on;
		fake->kept[i] = false;
		strv_appendf(&fake->log, "persistence %s of %s", on ? "on" : "off", BDF_TEXT(gpu));
	}
	fill(fake, i, fault, now);
	if (fault && !all && fake->nvml_fault.never_returns) {
		answer_clear(question(ask->id), ask->answer);
		ask_refuse(ask, -ETIMEDOUT, xstrdup(fault), NULL);
		ask->still_running = true;
		ask->pid = WORKER_PID;
	}
}

void fake_leave_driver(FakeHost *fake, size_t i)
{
	if (fake->persistence[i])
		fake_note_violation(fake, &fake->snapshot->functions[i]->bdf,
				    "left nvidia with persistence mode on", "");
	fake->persistence[i] = fake->kept[i] = false;
}
