/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/launch/part.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>

#include "gpupass/cleanup.h"

/* systemd takes seconds to reload all its units; what connects meanwhile waits in a queue. */
#define SEND_TIMEOUT_SEC 25

bool part_is_absent(int error)
{
	return error == -ENOENT || error == -ECONNREFUSED || error == -ENOTDIR;
}

static int name_of(const char *directory, const char *part, struct sockaddr_un *ret)
{
	int n;

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	n = snprintf(ret->sun_path, sizeof(ret->sun_path), "%s/%s", directory, part);
	return n < 0 || (size_t)n >= sizeof(ret->sun_path) ? -ENAMETOOLONG : 0;
}

int part_connect(const char *directory, const char *part, bool wait, int *ret_fd)
{
	_cleanup_close_ int fd =
		socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (wait ? 0 : SOCK_NONBLOCK), 0);
	struct timeval timeout = { .tv_sec = SEND_TIMEOUT_SEC };
	struct sockaddr_un name;
	int r = fd < 0 ? -errno : name_of(directory, part, &name);

	if (r < 0)
		return r;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) < 0 ||
	    connect(fd, (struct sockaddr *)&name, sizeof(name)) < 0)
		return -errno;
	if (wait && fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return -EIO;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

/* The queue of the connection has room for every request. */
int part_send(int fd, const char *request, size_t size)
{
	while (size > 0) {
		ssize_t n = send(fd, request, size, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == ENOENT || errno == ECONNREFUSED ? -EIO : -errno;
		request += n;
		size -= (size_t)n;
	}
	return 0;
}

int part_socket_id(const char *directory, const char *part, uint64_t *ret)
{
	struct sockaddr_un name;
	struct stat st;
	int r = name_of(directory, part, &name);

	if (r < 0)
		return r;
	if (stat(name.sun_path, &st) < 0)
		return -errno;
	*ret = st.st_ino;
	return 0;
}

/* Which has room for one request at once. */
static int ask(int fd, char *const *words)
{
	_cleanup_free_ char *request = NULL;
	size_t size = 0;
	int r = request_write(words, &request, &size);

	if (r >= 0)
		r = part_send(fd, request, size);
	if (r < 0)
		return r;
	return shutdown(fd, SHUT_WR) < 0 ? -EIO : 0;
}

int part_ask_at_once(const char *directory, const char *part, char *const *words, int *ret_fd)
{
	_cleanup_close_ int fd = -1;
	int r = part_connect(directory, part, false, &fd);

	if (r >= 0)
		r = ask(fd, words);
	if (r < 0)
		return r;
	*ret_fd = TAKE_FD(fd);
	return 0;
}
