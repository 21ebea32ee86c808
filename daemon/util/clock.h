/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Microseconds, as systemd counts them. Deadlines are monotonic; only records use real time. */
#pragma once

#include <stdint.h>
#include <time.h>

#define USEC_PER_SEC UINT64_C(1000000)
#define USEC_PER_MSEC UINT64_C(1000)

static inline uint64_t clock_usec(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * USEC_PER_SEC + (uint64_t)t.tv_nsec / 1000;
}

static inline uint64_t now_monotonic(void)
{
	return clock_usec(CLOCK_MONOTONIC);
}

static inline uint64_t now_realtime(void)
{
	return clock_usec(CLOCK_REALTIME);
}

/* For pthread_cond_clockwait(), nanosleep() and others. */
static inline struct timespec clock_timespec(uint64_t usec)
{
	return (struct timespec){
		.tv_sec = (time_t)(usec / USEC_PER_SEC),
		.tv_nsec = (long)(usec % USEC_PER_SEC) * 1000,
	};
}
