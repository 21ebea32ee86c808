/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/wire/request.h"

#include <poll.h>

#include "util/text.h"
#include "util/xalloc.h"

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
	request = at = xmalloc(size);
	for (char *const *word = words; *word; word++)
		at = (char *)mempcpy(at, *word, strlen(*word) + 1);
	*at = '\0';
	*ret = request;
	*ret_size = size;
	return 0;
}

/* 1: there is something to read, or the end; 0: the caller's own file says to stop. */
static int wait_for_more(int fd, int stop_fd, int timeout_msec)
{
	for (;;) {
		struct pollfd files[] = { { .fd = fd, .events = POLLIN },
					  { .fd = stop_fd, .events = POLLIN } };
		int ready = poll(files, ELEMENTS(files), timeout_msec);

		if (ready == 0)
			return -ETIMEDOUT;
		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready > 0)
			return files[1].revents == 0;
	}
}

/* The first empty word is the end: its NUL follows that of the word before, or nothing. */
static bool is_ended(const char *text, size_t size)
{
	return size > 0 && text[size - 1] == '\0' && (size == 1 || text[size - 2] == '\0');
}

/*
 * Up to the end of the request, or of what the other side sends. 1; 0: there was nothing, or the
 * caller's own file said to stop before the first byte.
 */
static int read_all(int fd, int stop_fd, int first_msec, char *into, size_t *ret_size)
{
	size_t size = 0;

	while (!is_ended(into, size)) {
		int r = wait_for_more(fd, size == 0 ? stop_fd : -1,
				      size == 0 ? first_msec : PATIENCE_MSEC);
		ssize_t n;

		if (r <= 0)
			return r;
		n = read(fd, into + size, REQUEST_MAX + 1 - size);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		size += (size_t)n;
		if (size > REQUEST_MAX)
			return -EBADMSG;
	}
	*ret_size = size;
	return size > 0;
}

static int parse(const char *text, size_t size, char ***ret)
{
	_cleanup_strv_ char **words = NULL;

	/* The last word is empty; then the one before has its NUL, too. */
	if (size < 2 || text[size - 1] != '\0' || text[size - 2] != '\0')
		return -EBADMSG;
	for (const char *at = text; at < text + size - 1; at += strlen(at) + 1) {
		if (*at == '\0')
			return -EBADMSG;
		strv_append(&words, at);
	}
	*ret = TAKE_PTR(words);
	return 1;
}

static int read_request(int fd, int stop_fd, int first_msec, char ***ret)
{
	_cleanup_free_ char *text = xmalloc(REQUEST_MAX + 1);
	size_t size = 0;
	int r = read_all(fd, stop_fd, first_msec, text, &size);

	return r > 0 ? parse(text, size, ret) : r;
}

int request_read(int fd, char ***ret)
{
	int r = read_request(fd, -1, PATIENCE_MSEC, ret);

	return r > 0 ? 0 : r == 0 ? -EBADMSG : r;
}

int request_next(int fd, int stop_fd, char ***ret)
{
	int r = read_request(fd, stop_fd, -1, ret);

	/* Whoever goes without having read all that was said has gone all the same. */
	return r == -ECONNRESET ? 0 : r;
}

int request_begin(int fd)
{
	ssize_t n;

	do
		n = write(fd, "\n", 1);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}
