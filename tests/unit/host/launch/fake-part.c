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

struct FakePart {
	FakeAnswer answer;
	void *userdata;
	char *path;
	int listen_fd;
	pthread_t thread;
	pthread_mutex_t lock; /* for what follows */
	unsigned requests;
	char *request; /* read once it was answered, when there is no other */
};

static void serve(FakePart *part, int fd)
{
	_cleanup_strv_ char **words = NULL;

	if (request_read(fd, &words) < 0)
		return;
	pthread_mutex_lock(&part->lock);
	free(part->request);
	part->request = strv_join(words, " ");
	part->requests++;
	pthread_mutex_unlock(&part->lock);
	part->answer(fd, words, part->userdata);
}

/* Ends when the listening socket is shut down. */
static void *accept_all(void *userdata)
{
	FakePart *part = userdata;
	int fd;

	while ((fd = accept4(part->listen_fd, NULL, NULL, SOCK_CLOEXEC)) >= 0) {
		serve(part, fd);
		close(fd);
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
			    .lock = PTHREAD_MUTEX_INITIALIZER };
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
	close(part->listen_fd);
	unlink(part->path);
	free(part->path);
	free(part->request);
	free(part);
	return NULL;
}

unsigned fake_part_requests(FakePart *part)
{
	unsigned n;

	pthread_mutex_lock(&part->lock);
	n = part->requests;
	pthread_mutex_unlock(&part->lock);
	return n;
}

const char *fake_part_request(FakePart *part)
{
	const char *request;

	pthread_mutex_lock(&part->lock);
	request = part->request;
	pthread_mutex_unlock(&part->lock);
	return request;
}
