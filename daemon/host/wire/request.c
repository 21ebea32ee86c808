/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/wire/request.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/text.h"

/* The daemon has written all of it before systemd starts the part. */
#define PATIENCE_MSEC 10000

int request_write(char *const *words, char **ret, size_t *ret_size)
{
	size_t size = 1;
	char *request, *at;

	for (char *const *word = words; *word; word++) {
		if (str_is_empty(*word))
			return -EINVAL;
		size += strlen(*word) + 1;
	}
	if (size > REQUEST_MAX)
		return -E2BIG;
	request = at = malloc(size);
	if (!request)
		return -ENOMEM;
	for (char *const *word = words; *word; word++)
		at = (char *)mempcpy(at, *word, strlen(*word) + 1);
	*at = '\0';
	*ret = request;
	*ret_size = size;
	return 0;
}

static int read_all(int fd, char *into, size_t max, size_t *ret_size)
{
	size_t size = 0;

	for (;;) {
		struct pollfd poll_fd = { .fd = fd, .events = POLLIN };
		int ready = poll(&poll_fd, 1, PATIENCE_MSEC);
		ssize_t n;

		if (ready == 0)
			return -ETIMEDOUT;
		n = ready < 0 ? -1 : read(fd, into + size, max - size);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		size += (size_t)n;
		if (size == max)
			return -EBADMSG;
	}
	*ret_size = size;
	return 0;
}

int request_read(int fd, char ***ret)
{
	_cleanup_free_ char *text = malloc(REQUEST_MAX + 1);
	_cleanup_strv_ char **words = NULL;
	size_t size = 0;
	char *at;
	int r;

	if (!text)
		return -ENOMEM;
	r = read_all(fd, text, REQUEST_MAX + 1, &size);
	if (r < 0)
		return r;
	/* The last word is empty; then the one before has its NUL, too. */
	if (size < 2 || text[size - 1] != '\0' || text[size - 2] != '\0')
		return -EBADMSG;
	for (at = text; at < text + size - 1; at += strlen(at) + 1) {
		if (*at == '\0')
			return -EBADMSG;
		r = strv_append(&words, at);
		if (r < 0)
			return r;
	}
	*ret = TAKE_PTR(words);
	return 0;
}

void request_begin(int fd)
{
	/* Who does not read it does not read the answer either. */
	(void)!write(fd, "\n", 1);
}
