// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The guest agent of a domain of libvirt's test driver, which has none: preloaded into gpupassd. It
 * hands each message to the test, at the socket that FAKE_AGENT names, and returns the answer.
 */
#include <libvirt/libvirt-qemu.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define ANSWER_MAX (1024 * 1024)

static char *converse(int fd, const char *message)
{
	char *answer = calloc(1, ANSWER_MAX);
	size_t n = 0;
	ssize_t got = 1;

	if (answer && write(fd, message, strlen(message)) == (ssize_t)strlen(message) &&
	    shutdown(fd, SHUT_WR) == 0) {
		while (got > 0 && n + 1 < ANSWER_MAX) {
			got = read(fd, answer + n, ANSWER_MAX - 1 - n);
			n += got > 0 ? (size_t)got : 0;
		}
		if (n > 0)
			return answer;
	}
	free(answer);
	return NULL;
}

char *virDomainQemuAgentCommand(virDomainPtr domain, const char *message, int timeout,
				unsigned int flags)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = getenv("FAKE_AGENT");
	char *answer = NULL;
	int fd;

	(void)domain, (void)timeout, (void)flags;
	if (!path || strlen(path) >= sizeof(address.sun_path))
		return NULL;
	strcpy(address.sun_path, path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return NULL;
	if (connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0)
		answer = converse(fd, message);
	close(fd);
	return answer;
}
