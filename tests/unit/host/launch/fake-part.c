/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "fake-part.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "host/wire/request.h"
#include "util/text.h"

#define CONNECTIONS_MAX 256U

typedef struct Connection {
	FakePart *part;
	int fd;
	pthread_t thread;
} Connection;

struct FakePart {
	FakeAnswer answer;
	void *userdata;
	char *path;
	int listen_fd;
	pthread_t thread;
	Connection connections[CONNECTIONS_MAX];
	pthread_mutex_t lock; /* for what follows */
	pthread_cond_t changed;
	unsigned n_connections, n_ended;
	unsigned requests;
	char *request; /* read once it was answered, when there is no other */
	unsigned last; /* the connection that it came by */
};

static void note_request(Connection *connection, char **words)
{
	FakePart *part = connection->part;

	pthread_mutex_lock(&part->lock);
	free(part->request);
	part->request = strv_join(words, " ");
	part->last = (unsigned)(connection - part->connections);
	part->requests++;
	pthread_mutex_unlock(&part->lock);
}

/* Request after request, as long as there are any. */
static void *serve(void *userdata)
{
	Connection *connection = userdata;
	FakePart *part = connection->part;
	int r;

	do {
		_cleanup_strv_ char **words = NULL;

		r = request_next(connection->fd, -1, &words);
		if (r > 0) {
			note_request(connection, words);
			part->answer(connection->fd, words, part->userdata);
		}
	} while (r > 0);
	close(connection->fd);
	pthread_mutex_lock(&part->lock);
	part->n_ended++;
	pthread_cond_broadcast(&part->changed);
	pthread_mutex_unlock(&part->lock);
	return NULL;
}

/* Ends when the listening socket is shut down. */
static void *accept_all(void *userdata)
{
	FakePart *part = userdata;
	int fd;

	while ((fd = accept4(part->listen_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		Connection *connection = &part->connections[part->n_connections];

		if (part->n_connections == CONNECTIONS_MAX)
			abort();
		*connection = (Connection){ .part = part, .fd = fd };
		/* Before it is served, or who has its answer might not find it counted. */
		pthread_mutex_lock(&part->lock);
		part->n_connections++;
		pthread_cond_broadcast(&part->changed);
		pthread_mutex_unlock(&part->lock);
		if (pthread_create(&connection->thread, NULL, serve, connection) != 0)
			abort();
	}
	return NULL;
}

FakePart *fake_part_new(const char *directory, const char *name, FakeAnswer answer, void *userdata)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	FakePart *part = calloc(1, sizeof(*part));

	if (!part)
		abort();
	*part = (FakePart){ .answer = answer,
			    .userdata = userdata,
			    .lock = PTHREAD_MUTEX_INITIALIZER,
			    .changed = PTHREAD_COND_INITIALIZER };
	part->path = strf("%s/%s", directory, name);
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", part->path);
	part->listen_fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(part->listen_fd, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(part->listen_fd, 16) < 0 ||
	    pthread_create(&part->thread, NULL, accept_all, part) != 0)
		abort();
	return part;
}

FakePart *fake_part_free(FakePart *part)
{
	if (!part)
		return NULL;
	shutdown(part->listen_fd, SHUT_RDWR);
	pthread_join(part->thread, NULL);
	for (unsigned i = 0; i < part->n_connections; i++)
		pthread_join(part->connections[i].thread, NULL);
	close(part->listen_fd);
	unlink(part->path);
	free(part->path);
	free(part->request);
	free(part);
	return NULL;
}

static void wait_for(FakePart *part, const unsigned *value, unsigned at_least)
{
	pthread_mutex_lock(&part->lock);
	while (*value < at_least)
		pthread_cond_wait(&part->changed, &part->lock);
	pthread_mutex_unlock(&part->lock);
}

void fake_part_await_connections(FakePart *part, unsigned n)
{
	wait_for(part, &part->n_connections, n);
}

void fake_part_await_ends(FakePart *part, unsigned n)
{
	wait_for(part, &part->n_ended, n);
}

static unsigned read_count(FakePart *part, const unsigned *value)
{
	unsigned n;

	pthread_mutex_lock(&part->lock);
	n = *value;
	pthread_mutex_unlock(&part->lock);
	return n;
}

unsigned fake_part_connections(FakePart *part)
{
	return read_count(part, &part->n_connections);
}

unsigned fake_part_requests(FakePart *part)
{
	return read_count(part, &part->requests);
}

unsigned fake_part_last(FakePart *part)
{
	return read_count(part, &part->last);
}

const char *fake_part_request(FakePart *part)
{
	const char *request;

	pthread_mutex_lock(&part->lock);
	request = part->request;
	pthread_mutex_unlock(&part->lock);
	return request;
}
