/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A GPU whose config space hangs its readers costs one of them, however many look. */
#include "rig/test.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job/health-look.h"

#define LOOKERS 4

/* A host with two GPUs, of which one keeps its reader for good: a process that waits. */
typedef struct Stub {
	Host host;
	HealthLook *look;
	PciFunction good, bad;
	pid_t reader; /* 0: none was started */
	unsigned asked_bad, asked_good;
} Stub;

static void read_one(Stub *stub, Ask *ask)
{
	GpuHealth *ret = &((HealthAnswer *)ask->answer)->gpu;

	ret->bdf = *ask->functions;
	if (!bdf_equal(&ret->bdf, &stub->bad.bdf)) {
		stub->asked_good++;
		ret->power_state = strdup("D0");
		return;
	}
	stub->asked_bad++;
	stub->reader = fork();
	if (stub->reader == 0) {
		for (;;)
			pause();
	}
	usleep(50000); /* its deadline, in which the others come */
	ask_refuse(ask, -ETIMEDOUT, strdup("it hangs"), NULL);
	ask->still_running = true;
	ask->pid = stub->reader;
}

static void answer(Host *host, Ask *asks, size_t n, _unused_ uint64_t timeout_usec)
{
	for (size_t i = 0; i < n; i++)
		read_one(host->machine, &asks[i]);
}

static const HostOps ops = { .ask = answer };

static int setup(void **state)
{
	Stub *stub = calloc(1, sizeof(Stub));

	assert_non_null(stub);
	stub->host = (Host){ .ops = &ops, .machine = stub };
	stub->good.bdf = (Bdf){ .bus = 0x41 };
	stub->bad.bdf = (Bdf){ .bus = 0x61 };
	stub->look = health_look_new();
	*state = stub;
	return 0;
}

static void end_reader(Stub *stub)
{
	if (stub->reader <= 0)
		return;
	kill(stub->reader, SIGKILL);
	waitpid(stub->reader, NULL, 0);
	stub->reader = 0;
}

static int teardown(void **state)
{
	Stub *stub = *state;

	end_reader(stub);
	health_look_free(stub->look);
	free(stub);
	return 0;
}

static GpuHealth *look_at_both(Stub *stub)
{
	const PciFunction *leads[] = { &stub->bad, &stub->good };
	GpuHealth *all = NULL;

	health_look(stub->look, &stub->host, leads, 2, &all);
	return all;
}

static void check(const Stub *stub, const GpuHealth *all)
{
	assert_non_null(all);
	assert_int_equal(all[0].bdf.bus, 0x61);
	assert_int_equal(all[0].error, -ETIMEDOUT);
	assert_int_equal(all[0].stuck, stub->reader);
	assert_int_equal(all[1].bdf.bus, 0x41);
	assert_string_equal(all[1].power_state, "D0");
}

static void *look_on_a_thread(void *data)
{
	return look_at_both(data);
}

TEST_WITH(many_who_look_at_once_lose_one_reader, setup, teardown)
{
	Stub *stub = *state;
	pthread_t threads[LOOKERS];

	for (size_t i = 0; i < LOOKERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, look_on_a_thread, stub), 0);
	for (size_t i = 0; i < LOOKERS; i++) {
		void *all;

		assert_int_equal(pthread_join(threads[i], &all), 0);
		check(stub, all);
		gpu_healths_free(all, 2);
	}
	assert_int_equal(stub->asked_bad, 1);
	assert_int_equal(stub->asked_good, LOOKERS);
}

TEST_WITH(once_its_reader_has_ended_it_is_asked_again, setup, teardown)
{
	Stub *stub = *state;

	for (unsigned i = 1; i <= 2; i++) {
		GpuHealth *all = look_at_both(stub);

		check(stub, all);
		gpu_healths_free(all, 2);
		assert_int_equal(stub->asked_bad, i);
		end_reader(stub);
	}
}
