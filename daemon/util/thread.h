/* SPDX-License-Identifier: GPL-2.0-or-later */
#pragma once

#include <pthread.h>
#include <stdbool.h>

/*
 * Starts a thread that takes no signal: the loop takes them, through signalfd, and a thread that
 * could take one would lose it. -errno: there is none.
 */
int thread_start(pthread_t *ret, void *(*run)(void *), void *userdata, bool detached);
