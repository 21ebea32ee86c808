/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake-part.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "host/wire/request.h"
#include "util/text.h"
#include "util/xalloc.h"

#define CONNECTIONS_MAX 256U

typedef struct FakeConnection {
	FakePart *part;
	int fd;
	pthread_t thread;
} FakeConnection;

/* Request after request, as long as there are any. */
static void *serve(void *userdata)
{
	FakeConnection *connection = userdata;
	FakePart *part = connection->part;
	int r;

	do {
		_cleanup_strv_ char **words = NULL;

		r = request_next(connection->fd, -1, &words);
		if (r > 0) {
			free(atomic_exchange(&part->request, strv_join(words, " ")));
			part->last = (unsigned)(connection - part->connections);
			part->n_requests++;
			part->answer(connection->fd, words, part->userdata);
		}
	} while (r > 0);
	close(connection->fd);
	part->n_ended++;
	return NULL;
}

/* Ends when the listening socket is shut down. */
static void *accept_all(void *userdata)
{
	FakePart *part = userdata;
	int fd;

	while ((fd = accept4(part->listen_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		FakeConnection *connection = &part->connections[part->n_connections];

		if (part->n_connections == CONNECTIONS_MAX)
			abort();
		*connection = (FakeConnection){ .part = part, .fd = fd };
		/* Before it is served, or who has its answer might not find it counted. */
		part->n_connections++;
		if (pthread_create(&connection->thread, NULL, serve, connection) != 0)
			abort();
	}
	return NULL;
}

FakePart *fake_part_new(const char *directory, const char *name, FakeAnswer answer, void *userdata)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	FakePart *part = xcalloc(1, sizeof(*part));

	part->answer = answer;
	part->userdata = userdata;
	part->path = strf("%s/%s", directory, name);
	part->connections = xcalloc(CONNECTIONS_MAX, sizeof(FakeConnection));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", part->path);
	part->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(part->listen_fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(part->listen_fd, 16) < 0 ||
	    pthread_create(&part->thread, NULL, accept_all, part) != 0)
		abort();
	return part;
}

void fake_part_free(FakePart *part)
{
	shutdown(part->listen_fd, SHUT_RDWR);
	pthread_join(part->thread, NULL);
	for (unsigned i = 0; i < part->n_connections; i++)
		pthread_join(part->connections[i].thread, NULL);
	close(part->listen_fd);
	unlink(part->path);
	free(part->path);
	free(part->request);
	free(part->connections);
	free(part);
}

void fake_part_await(const atomic_uint *counter, unsigned n)
{
	while (*counter < n)
		usleep(1000);
}
