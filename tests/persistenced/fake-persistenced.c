/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stands in for nvidia-persistenced: its socket and its protocol (SunRPC, nvidia_persistenced.x),
 * written from the RFC and from that file. Libc only, so that the lab can compile it by itself.
 *
 *   fake-persistenced SOCKET FAULT BDF=FILE…
 *
 * It has each FILE open from the begin, as the real one has /dev/nvidiaN, until it is told to let
 * go of its BDF. Prints "ready", and "off BDF" or "on BDF" when it is done. FAULT: none, or
 *   refuse    it does not permit to set a mode
 *   lie       it says that it has let go, and has not
 *   deaf      it answers nothing
 *   rubbish   it answers something else
 *   endless   it announces an answer of 2 GiB, and sends byte after byte of it
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define GPUS_MAX 32
#define LAST_FRAGMENT 0x80000000U
#define PROGRAM 35006
#define NOT_FOUND 2
#define PERMISSIONS 7

enum { SET = 1, GET = 2 };

static struct {
	unsigned domain, bus, slot;
	const char *bdf, *file;
	int fd; /* -1: let go */
} gpus[GPUS_MAX];
static int n_gpus;
static const char *fault;

static int has_fault(const char *name)
{
	return strcmp(fault, name) == 0;
}

static uint32_t get(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static int receive(int fd, uint8_t *bytes, size_t n)
{
	return recv(fd, bytes, n, MSG_WAITALL) == (ssize_t)n;
}

static void reply(int fd, uint32_t id, const uint32_t *results, unsigned n)
{
	uint32_t words[10] = { LAST_FRAGMENT | (6 + n) * 4, id, 1, 0, 0, 0, 0 };

	memcpy(words + 7, results, n * sizeof(*results));
	for (unsigned i = 0; i < 7 + n; i++)
		words[i] = __builtin_bswap32(words[i]);
	send(fd, words, (7 + n) * 4, MSG_NOSIGNAL);
}

static int find(const uint8_t *args)
{
	for (int i = 0; i < n_gpus; i++)
		if (gpus[i].domain == get(args) && gpus[i].bus == get(args + 4) &&
		    gpus[i].slot == get(args + 8))
			return i;
	return -1;
}

static uint32_t set_mode(int i, int on)
{
	if (has_fault("refuse"))
		return PERMISSIONS;
	if (has_fault("lie"))
		return 0;
	if (!on && gpus[i].fd >= 0) {
		close(gpus[i].fd);
		gpus[i].fd = -1;
	} else if (on && gpus[i].fd < 0) {
		gpus[i].fd = open(gpus[i].file, O_RDONLY | O_CLOEXEC);
	}
	printf("%s %s\n", on ? "on" : "off", gpus[i].bdf);
	fflush(stdout);
	return 0;
}

static void misbehave(int fd)
{
	static const uint8_t rubbish[] = { 0x80, 0,   0,   24,	'n', 'o', 't', ' ', 'a', 'n',
					   ' ',	 'a', 'n', 's', 'w', 'e', 'r', 0,   0,	 0,
					   1,	 2,   3,   4,	5,   6,	  7,   8 };
	static const uint8_t endless[] = { 0xff, 0xff, 0xff, 0xff };

	if (has_fault("rubbish"))
		send(fd, rubbish, sizeof(rubbish), MSG_NOSIGNAL);
	if (has_fault("endless"))
		for (int sent = (int)send(fd, endless, sizeof(endless), MSG_NOSIGNAL); sent > 0;
		     usleep(10000))
			sent = (int)send(fd, "x", 1, MSG_NOSIGNAL);
	if (has_fault("deaf"))
		pause();
}

/* One call: the record's mark, ten words of the call, and four or five of arguments. */
static int serve(int fd)
{
	uint8_t mark[4], call[15 * 4];
	uint32_t size, results[2] = { 0, 0 };
	int i;

	if (!receive(fd, mark, sizeof(mark)))
		return 0;
	size = get(mark) & ~LAST_FRAGMENT;
	if (size < 14 * 4 || size > sizeof(call) || !receive(fd, call, size) ||
	    get(call + 12) != PROGRAM || get(call + 16) != 1)
		return 0;
	if (has_fault("deaf") || has_fault("rubbish") || has_fault("endless")) {
		misbehave(fd);
		return 0;
	}
	i = find(call + 40);
	results[0] = i < 0 ? NOT_FOUND : 0;
	if (i >= 0 && get(call + 20) == SET)
		results[0] = set_mode(i, size == sizeof(call) && get(call + 56) == 1);
	else if (i >= 0)
		results[1] = gpus[i].fd >= 0;
	reply(fd, get(call), results, get(call + 20) == GET && i >= 0 ? 2 : 1);
	return 1;
}

static void take(char *word)
{
	char *equals = strchr(word, '=');

	if (!equals || n_gpus == GPUS_MAX)
		exit(2);
	*equals = '\0';
	gpus[n_gpus].bdf = word;
	gpus[n_gpus].file = equals + 1;
	gpus[n_gpus].fd = open(equals + 1, O_RDONLY | O_CLOEXEC);
	if (gpus[n_gpus].fd < 0 || sscanf(word, "%x:%x:%x.", &gpus[n_gpus].domain,
					  &gpus[n_gpus].bus, &gpus[n_gpus].slot) != 3) {
		perror(equals + 1);
		exit(1);
	}
	n_gpus++;
}

int main(int argc, char **argv)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (argc < 3 || strlen(argv[1]) >= sizeof(address.sun_path))
		return 2;
	fault = argv[2];
	for (int i = 3; i < argc; i++)
		take(argv[i]);
	strcpy(address.sun_path, argv[1]);
	unlink(argv[1]);
	if (bind(listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(listener, 8) < 0) {
		perror(argv[1]);
		return 1;
	}
	puts("ready");
	fflush(stdout);
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

		while (fd >= 0 && serve(fd))
			;
		if (fd >= 0)
			close(fd);
	}
}
