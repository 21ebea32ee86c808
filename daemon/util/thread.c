/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "util/thread.h"

#include <signal.h>

int thread_start(pthread_t *ret, void *(*run)(void *), void *userdata, bool detached)
{
	pthread_attr_t attributes;
	sigset_t all, before;
	int r = pthread_attr_init(&attributes);

	if (r != 0)
		return -r;
	if (detached)
		pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	/* A thread starts with its creator's mask, so it never runs with a signal open. */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(ret, &attributes, run, userdata);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attributes);
	return -r;
}
