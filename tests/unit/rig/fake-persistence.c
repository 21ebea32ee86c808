/* SPDX-License-Identifier: GPL-2.0-or-later */
/* NVML's part of the fake host: the persistence mode of GPUs on nvidia. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "fake-host-private.h"

#define WORKER_PID 4712

/* Every Host with these operations is the first member of a FakeHost. */
static FakeHost *fake_of(Host *host)
{
	return (FakeHost *)host;
}

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
	((FakeHost *)host)->expected_work++;
	((FakeHost *)host)->expected_persistence += persistence;
}

int fake_persistence(Host *host, const Bdf *gpus, size_t n, GpuPersistence *ret)
{
	FakeHost *fake = fake_of(host);
	const FakeFault *fault = fake_enter(fake, FAKE_PERSISTENCE);

	if (fault)
		return fake_leave(fake, fault->error);
	for (size_t i = 0; i < n; i++) {
		size_t at = open_gpu(fake, &gpus[i]);

		fill(fake, at, fault_of(fake, &gpus[i], fake->nvml_fault.reads), &ret[i]);
		name_keeper(fake, at, &ret[i]);
	}
	return fake_leave(fake, 0);
}

/* It has the GPU as before, and NVML says that the mode is off, which is what it sets. */
static void keep_all_the_same(const FakeHost *fake, const Bdf *gpu, GpuPersistence *ret)
{
	*ret = (GpuPersistence){ .bdf = *gpu, .mode = PERSISTENCE_OFF };
	if (*fake->keeper_fault)
		fake_set_text(&ret->why, fake->keeper_fault);
}

static void set_one(FakeHost *fake, const Bdf *gpu, bool on, const FakeFault *all,
		    PersistenceOutcome *outcome)
{
	size_t i = open_gpu(fake, gpu);
	bool on_nvidia = str_equal(fake->snapshot->functions[i]->driver, "nvidia");
	const char *fault =
		fault_of(fake, gpu, on ? fake->nvml_fault.turns_on : fake->nvml_fault.turns_off);

	*outcome = (PersistenceOutcome){ 0 };
	if (!on && fake->kept[i] && fake->keeper_fault) {
		keep_all_the_same(fake, gpu, &outcome->gpu);
		return;
	}
	if (all)
		fault = "it fails as it was told to";
	if ((!fault || (all && all->late)) && on_nvidia && fake->persistence[i] != on) {
		fake->persistence[i] = on;
		fake->kept[i] = false;
		strv_appendf(&fake->log, "persistence %s of %s", on ? "on" : "off", BDF_TEXT(gpu));
	}
	fill(fake, i, fault, &outcome->gpu);
	if (fault && !all && fake->nvml_fault.never_returns) {
		outcome->still_running = true;
		outcome->pid = WORKER_PID;
	}
}

int fake_set_persistence(Host *host, const Bdf *gpus, size_t n, bool on,
			 _unused_ uint64_t timeout_usec, PersistenceOutcome *ret_outcomes)
{
	FakeHost *fake = fake_of(host);
	const FakeFault *fault = fake_enter(fake, FAKE_SET_PERSISTENCE);

	for (size_t i = 0; i < n; i++) {
		set_one(fake, &gpus[i], on, fault, &ret_outcomes[i]);
		pthread_mutex_unlock(&fake->lock);
		fake_pass_point(fake);
		pthread_mutex_lock(&fake->lock);
	}
	return fake_leave(fake, 0);
}

void fake_leave_driver(FakeHost *fake, size_t i)
{
	if (fake->persistence[i])
		fake_note_violation(fake, &fake->snapshot->functions[i]->bdf,
				    "left nvidia with persistence mode on", "");
	fake->persistence[i] = fake->kept[i] = false;
}
