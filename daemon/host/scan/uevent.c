/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/scan/uevent.h"

#include <linux/netlink.h>
#include <sys/socket.h>

#include "host/scan/sysfs.h"

/* UEVENT_BUFFER_SIZE is 2048, and the kernel puts ACTION@DEVPATH in front of it. */
#define MESSAGE_MAX 16384

static const char *value_of(const char *text, const char *key)
{
	size_t n = strlen(key);

	return strncmp(text, key, n) == 0 ? text + n : NULL;
}

UeventKind uevent_parse(const char *message, size_t size, Bdf *ret)
{
	const char *at = message, *end = message + size, *name = NULL, *value;
	bool pci = false;

	if (size == 0 || end[-1] != '\0' || !memchr(message, '@', strlen(message)))
		return UEVENT_OTHER;
	for (at += strlen(at) + 1; at < end; at += strlen(at) + 1) {
		pci |= strcmp(at, "SUBSYSTEM=pci") == 0;
		value = value_of(at, "PCI_SLOT_NAME=");
		if (value)
			name = value;
	}
	if (!pci)
		return UEVENT_OTHER;
	return name && sysfs_parse_bdf(name, ret) >= 0 ? UEVENT_FUNCTION : UEVENT_UNKNOWN;
}

/* Only root may send to such a socket, and udevd does: but in a group of its own. */
static bool is_from_kernel(const struct sockaddr_nl *from, socklen_t size)
{
	return size == sizeof(*from) && from->nl_family == AF_NETLINK && from->nl_pid == 0 &&
	       from->nl_groups == 1;
}

int uevent_receive(int fd, Bdf *ret)
{
	char message[MESSAGE_MAX];
	struct sockaddr_nl from = { 0 };
	socklen_t from_size = sizeof(from);
	ssize_t n = recvfrom(fd, message, sizeof(message), MSG_DONTWAIT | MSG_TRUNC,
			     (struct sockaddr *)&from, &from_size);

	if (n < 0 && errno == ENOBUFS)
		return UEVENT_UNKNOWN;
	if (n < 0)
		return errno == EINTR ? -EAGAIN : -errno;
	if (!is_from_kernel(&from, from_size))
		return UEVENT_OTHER;
	if ((size_t)n > sizeof(message))
		return UEVENT_UNKNOWN;
	return uevent_parse(message, (size_t)n, ret);
}

static void add_function(UeventChanges *changes, const Bdf *bdf)
{
	if (bdf_in(bdf, changes->functions, changes->n_functions))
		return;
	if (changes->n_functions == ELEMENTS(changes->functions))
		changes->unknown = true;
	else
		changes->functions[changes->n_functions++] = *bdf;
}

static void end_line(UeventLines *lines, UeventChanges *changes)
{
	Bdf bdf;

	lines->line[lines->n] = '\0';
	if (!lines->overlong && sysfs_parse_bdf(lines->line, &bdf) >= 0)
		add_function(changes, &bdf);
	else
		changes->unknown = true;
	lines->n = 0;
	lines->overlong = false;
}

void uevent_lines_read(UeventLines *lines, const char *bytes, size_t n, UeventChanges *changes)
{
	for (size_t i = 0; i < n; i++) {
		if (bytes[i] == '\n')
			end_line(lines, changes);
		else if (bytes[i] == '\0' || lines->n == sizeof(lines->line) - 1)
			lines->overlong = true;
		else
			lines->line[lines->n++] = bytes[i];
	}
}
