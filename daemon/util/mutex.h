/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A mutex that is held to the end of its block, however that is left. */
#pragma once

#include <pthread.h>

#include "gpupass/cleanup.h"

static inline _unused_ pthread_mutex_t *mutex_lock(pthread_mutex_t *mutex)
{
	pthread_mutex_lock(mutex);
	return mutex;
}

static inline _unused_ void mutex_unlockp(pthread_mutex_t **mutex)
{
	pthread_mutex_unlock(*mutex);
}

/* One a block. */
#define MUTEX_HOLD(mutex)                                                                          \
	_cleanup_(mutex_unlockp) _unused_ pthread_mutex_t *mutex_held_ = mutex_lock(mutex)
