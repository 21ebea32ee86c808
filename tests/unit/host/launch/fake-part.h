/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Listens as systemd does for one of the daemon's parts, and answers each request by a function,
 * connections side by side, the requests of one in their order.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

/*
 * Called on a thread of the connection. When it returns and the other side has no other request, or
 * `fd` was shut down, the connection is closed.
 */
typedef void (*FakeAnswer)(int fd, char *const *words, void *userdata);

typedef struct FakePart {
	FakeAnswer answer;
	void *userdata;
	char *path;
	int listen_fd;
	pthread_t thread;
	struct FakeConnection *connections;
	atomic_uint n_connections, n_ended; /* how many there were, and have ended */
	atomic_uint n_requests;
	atomic_uint last;	 /* which connection the last request came by, from 0 */
	_Atomic(char *) request; /* its words, with a blank between two */
} FakePart;

FakePart *fake_part_new(const char *directory, const char *name, FakeAnswer answer, void *userdata);
/* Waits for the answers, and for the callers to close their ends. */
void fake_part_free(FakePart *part);
/* Until as many connections were made, or have ended. */
void fake_part_await(const atomic_uint *counter, unsigned n);
