/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/scan/uevent.h"

#include <errno.h>
#include <linux/netlink.h>
#include <string.h>
#include <sys/socket.h>

/* UEVENT_BUFFER_SIZE is 2048, and the kernel puts ACTION@DEVPATH in front of it. */
#define MESSAGE_MAX 16384

bool uevent_is_of_pci(const char *message, size_t size)
{
	const char *at = message, *end = message + size;

	if (size == 0 || end[-1] != '\0' || !memchr(message, '@', strlen(message)))
		return false;
	for (at += strlen(at) + 1; at < end; at += strlen(at) + 1)
		if (strcmp(at, "SUBSYSTEM=pci") == 0)
			return true;
	return false;
}

/* Only root may send to such a socket, and udevd does: but in a group of its own. */
static bool is_from_kernel(const struct sockaddr_nl *from, socklen_t size)
{
	return size == sizeof(*from) && from->nl_family == AF_NETLINK && from->nl_pid == 0 &&
	       from->nl_groups == 1;
}

int uevent_receive(int fd)
{
	char message[MESSAGE_MAX];
	struct sockaddr_nl from = { 0 };
	socklen_t from_size = sizeof(from);
	ssize_t n = recvfrom(fd, message, sizeof(message), MSG_DONTWAIT | MSG_TRUNC,
			     (struct sockaddr *)&from, &from_size);

	if (n < 0 && errno == ENOBUFS)
		return 1;
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if ((size_t)n > sizeof(message) || !is_from_kernel(&from, from_size))
		return 0;
	return uevent_is_of_pci(message, (size_t)n);
}
