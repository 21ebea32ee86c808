/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/uevents.h"

#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

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

/* When the other side is behind, there are bytes that it has not read yet: as good as one more. */
static int say(int out)
{
	return send(out, "\n", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 && errno != EAGAIN ? -errno : 0;
}

int uevents_follow(int out)
{
	_cleanup_close_ int fd = -1;
	int r = open_netlink(&fd);

	while (r >= 0 || r == -EAGAIN) {
		struct pollfd files[] = { { .fd = fd, .events = POLLIN }, { .fd = out } };

		if (poll(files, ELEMENTS(files), -1) < 0 && errno != EINTR)
			return -errno;
		if (files[1].revents != 0)
			return 0;
		r = uevent_receive(fd);
		if (r > 0)
			r = say(out);
		if (r == -EPIPE || r == -ECONNRESET)
			return 0;
	}
	return r;
}
