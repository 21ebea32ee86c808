/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Microseconds, as systemd counts them. Deadlines are monotonic; only records use real time. */
#pragma once

#include <stdint.h>
#include <time.h>

#define USEC_PER_SEC 1000000ULL
#define USEC_PER_MSEC 1000ULL

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
