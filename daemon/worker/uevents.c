/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/command.h"

#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>

#include "gpupass/cleanup.h"
#include "host/scan/uevent.h"

/* The group into which the kernel itself sends (lib/kobject_uevent.c). */
#define KERNEL_GROUP 1

static int open_netlink(int *ret_fd)
{
	_cleanup_close_ int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
	const struct sockaddr_nl name = { .nl_family = AF_NETLINK, .nl_groups = KERNEL_GROUP };

	if (fd < 0 || bind(fd, (const struct sockaddr *)&name, sizeof(name)) < 0)
		return -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

typedef struct Teller {
	int out;
	bool behind; /* the other side has not read, and does not know what else has changed */
} Teller;

/*
 * A line is too short for the kernel to take a part of it. Where there is no room, an empty line
 * says later all that is not said now.
 */
static int say(Teller *teller, const char *line)
{
	if (send(teller->out, line, strlen(line), MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		teller->behind = false;
	else if (errno == EAGAIN)
		teller->behind = true;
	else
		return -errno;
	return 0;
}

static int tell(Teller *teller, UeventKind kind, const Bdf *bdf)
{
	char line[UEVENT_LINE_MAX + 1] = "";

	if (kind == UEVENT_OTHER || teller->behind)
		return 0;
	if (kind == UEVENT_FUNCTION)
		bdf_format(bdf, line);
	line[strlen(line)] = '\n'; /* the rest is NUL */
	return say(teller, line);
}

static int follow(int fd, Teller *teller)
{
	/* What has happened until here was not heard. */
	int r = say(teller, "\n");

	while (r >= 0 || r == -EAGAIN) {
		struct pollfd files[] = {
			{ .fd = fd, .events = POLLIN },
			{ .fd = teller->out, .events = teller->behind ? POLLOUT : 0 },
		};
		Bdf bdf;

		if (poll(files, ELEMENTS(files), -1) < 0 && errno != EINTR)
			return -errno;
		if (files[1].revents & ~POLLOUT)
			return 0;
		r = files[1].revents & POLLOUT ? say(teller, "\n") : 0;
		if (r >= 0)
			r = uevent_receive(fd, &bdf);
		if (r >= 0)
			r = tell(teller, r, &bdf);
	}
	return r;
}

int uevents_follow(int out)
{
	_cleanup_close_ int fd = -1;
	Teller teller = { .out = out };
	int r = open_netlink(&fd);

	if (r >= 0)
		r = follow(fd, &teller);
	return r == -EPIPE || r == -ECONNRESET ? 0 : r;
}
