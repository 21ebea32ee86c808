/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/device/persistenced.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "util/clock.h"
#include "util/text.h"

/* RFC 5531. All numbers are 32 bits wide, the high byte first. */
enum { MSG_CALL = 0, MSG_REPLY = 1, RPC_VERSION = 2, REPLY_ACCEPTED = 0, ACCEPT_SUCCESS = 0 };
#define LAST_FRAGMENT 0x80000000U
#define AUTH_BYTES_MAX 400U
/* nvidia_persistenced.x */
enum { PROGRAM = 35006, VERSION = 1, MODE_DISABLED = 0, MODE_ENABLED = 1 };
enum { STATUS_SUCCESS = 0, STATUS_DEVICE_NOT_FOUND = 2 };

#define CALL_WORDS 16U

static void put(uint8_t *at, uint32_t word)
{
	for (unsigned i = 0; i < 4; i++)
		at[i] = (uint8_t)(word >> (24 - 8 * i));
}

static uint32_t get(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

/* The record of a call, with its mark. Returns its size. */
static size_t make_call(uint32_t id, PersistencedCall call, const Bdf *gpu,
			uint8_t ret[CALL_WORDS * 4])
{
	const uint32_t words[] = {
		id, MSG_CALL, RPC_VERSION,  PROGRAM,  VERSION,	   call,	  0,
		0, /* AUTH_NONE: it asks the kernel who calls */
		0,  0,	      gpu->segment, gpu->bus, gpu->device, gpu->function, MODE_DISABLED,
	};
	/* A question has no mode. */
	size_t n = ELEMENTS(words) - (call == PERSISTENCED_GET ? 1 : 0);

	_Static_assert(ELEMENTS(words) + 1 == CALL_WORDS, "the words and the record's mark");
	put(ret, LAST_FRAGMENT | (uint32_t)(n * 4));
	for (size_t i = 0; i < n; i++)
		put(ret + 4 + i * 4, words[i]);
	return 4 + n * 4;
}

/* ---- replies ---- */

typedef struct Words {
	const uint8_t *at;
	size_t left;
	bool bad;
} Words;

static uint32_t next(Words *words)
{
	uint32_t word;

	if (words->left < 4) {
		words->bad = true;
		return UINT32_MAX;
	}
	word = get(words->at);
	words->at += 4;
	words->left -= 4;
	return word;
}

/* The verifier: a flavour, and bytes that are padded to whole words. */
static void skip_verifier(Words *words)
{
	uint32_t n;

	next(words);
	n = next(words);
	if (words->bad || n > AUTH_BYTES_MAX || (n + 3) / 4 * 4 > words->left) {
		words->bad = true;
		return;
	}
	words->at += (n + 3) / 4 * 4;
	words->left -= (n + 3) / 4 * 4;
}

/* enum NvPdStatus */
static const char *status_text(uint32_t status)
{
	static const char *const texts[] = {
		[1] = "it is not present",
		[2] = "it does not know this GPU",
		[3] = "the driver failed",
		[4] = "it is out of resources",
		[5] = "an argument is invalid",
		[6] = "an I/O error",
		[7] = "it does not permit that",
		[8] = "an error of its RPC",
		[9] = "a user was not found",
		[10] = "the GPU's memory could not be taken offline",
	};

	return status < ELEMENTS(texts) && texts[status] ? texts[status]
							 : "an error it has no name for";
}

static int refused(uint32_t status, char **ret_why)
{
	*ret_why = strf("nvidia-persistenced says: %s (status %u)", status_text(status), status);
	return *ret_why ? -ENOTSUP : -ENOMEM;
}

int persistenced_reply_parse(const uint8_t *bytes, size_t n, uint32_t id, PersistencedCall call,
			     PersistenceMode *ret_mode, char **ret_why)
{
	Words words = { .at = bytes, .left = n };
	uint32_t status, mode = MODE_DISABLED;

	if (next(&words) != id || next(&words) != MSG_REPLY || next(&words) != REPLY_ACCEPTED)
		return -EBADMSG;
	skip_verifier(&words);
	if (next(&words) != ACCEPT_SUCCESS)
		return -EBADMSG;
	status = next(&words);
	if (call == PERSISTENCED_GET && status == STATUS_SUCCESS)
		mode = next(&words);
	if (words.bad || words.left > 0 || (mode != MODE_DISABLED && mode != MODE_ENABLED))
		return -EBADMSG;
	/* Of a GPU that came after it was started it knows nothing, so it does not keep it. */
	if (status != STATUS_SUCCESS &&
	    (call != PERSISTENCED_GET || status != STATUS_DEVICE_NOT_FOUND))
		return refused(status, ret_why);
	*ret_mode = mode == MODE_ENABLED ? PERSISTENCE_ON : PERSISTENCE_OFF;
	return 0;
}

/* ---- the socket ---- */

typedef struct Peer {
	int fd;
	uint64_t deadline_usec;
	pid_t pid;
	uint32_t id; /* of the last call */
} Peer;

/* Waits for it until the deadline. */
static int wait_for(const Peer *peer, short events)
{
	struct pollfd file = { .fd = peer->fd, .events = events };

	for (;;) {
		uint64_t now = now_monotonic();
		int r;

		if (now >= peer->deadline_usec)
			return -ETIMEDOUT;
		r = poll(&file, 1, (int)((peer->deadline_usec - now + 999) / 1000));
		if (r > 0)
			return 0;
		if (r < 0 && errno != EINTR)
			return -errno;
	}
}

/* A local socket whose queue is full answers a connect with EAGAIN, and poll() does not wait. */
static int connect_to(Peer *peer, const struct sockaddr_un *address)
{
	while (connect(peer->fd, (const struct sockaddr *)address, sizeof(*address)) < 0) {
		if (errno != EAGAIN && errno != EINTR)
			return -errno;
		if (now_monotonic() >= peer->deadline_usec)
			return -ETIMEDOUT;
		usleep(10000);
	}
	return 0;
}

/* -ENOENT: nobody listens. */
static int open_peer(const char *socket_path, uint64_t timeout_usec, Peer *ret)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	socklen_t size = sizeof(struct ucred);
	_cleanup_close_ int fd = -1;
	struct ucred peer = { 0 };
	int r;

	if (strlen(socket_path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, socket_path, strlen(socket_path) + 1);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	*ret = (Peer){ .fd = fd, .deadline_usec = now_monotonic() + timeout_usec, .id = 1 };
	r = connect_to(ret, &address);
	if (r < 0)
		return r == -ECONNREFUSED ? -ENOENT : r;
	/* Of the process that called listen(): what it says of itself does not count. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return -errno;
	ret->pid = peer.pid;
	TAKE_FD(fd);
	return 0;
}

static int send_all(const Peer *peer, const uint8_t *bytes, size_t n)
{
	while (n > 0) {
		ssize_t sent = send(peer->fd, bytes, n, MSG_NOSIGNAL);
		int r;

		if (sent < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (sent > 0) {
			bytes += sent;
			n -= (size_t)sent;
			continue;
		}
		r = wait_for(peer, POLLOUT);
		if (r < 0)
			return r;
	}
	return 0;
}

static int receive_all(const Peer *peer, uint8_t *bytes, size_t n)
{
	while (n > 0) {
		int r = wait_for(peer, POLLIN);
		ssize_t got;

		if (r < 0)
			return r;
		got = recv(peer->fd, bytes, n, 0);
		if (got == 0)
			return -ECONNRESET;
		if (got < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (got > 0) {
			bytes += got;
			n -= (size_t)got;
		}
	}
	return 0;
}

static int call_peer(Peer *peer, PersistencedCall call, const Bdf *gpu, PersistenceMode *ret_mode,
		     char **ret_why)
{
	uint8_t request[CALL_WORDS * 4], mark[4] = { 0 }, reply[PERSISTENCED_REPLY_MAX] = { 0 };
	uint32_t size;
	int r;

	if (gpu->segment > INT32_MAX)
		return -ERANGE;
	r = send_all(peer, request, make_call(++peer->id, call, gpu, request));
	if (r >= 0)
		r = receive_all(peer, mark, sizeof(mark));
	if (r < 0)
		return r;
	/* So short a reply is one fragment. */
	size = get(mark);
	if (!(size & LAST_FRAGMENT) || (size & ~LAST_FRAGMENT) > sizeof(reply))
		return -EBADMSG;
	size &= ~LAST_FRAGMENT;
	r = receive_all(peer, reply, size);
	return r < 0 ? r : persistenced_reply_parse(reply, size, peer->id, call, ret_mode, ret_why);
}

/* ---- what is asked of it ---- */

static int tell_why(int error, char **ret_why)
{
	switch (error) {
	case 0:
	case -ENOMEM:
		return error;
	case -ENOENT:  /* nobody listens */
	case -ENOTSUP: /* *ret_why is set */
		return 0;
	case -ETIMEDOUT:
		*ret_why = strdup("nvidia-persistenced does not answer in time");
		break;
	case -EBADMSG:
		*ret_why = strdup("the answer of nvidia-persistenced makes no sense");
		break;
	default:
		*ret_why = strf("nvidia-persistenced cannot be asked: %s", strerror(-error));
	}
	return *ret_why ? 0 : -ENOMEM;
}

static int ask(Peer *peer, const Bdf *gpu, pid_t *ret, char **ret_why)
{
	PersistenceMode mode = PERSISTENCE_UNKNOWN;
	int r = call_peer(peer, PERSISTENCED_GET, gpu, &mode, ret_why);

	*ret = r == 0 && mode == PERSISTENCE_ON ? peer->pid : 0;
	return r;
}

int persistenced_keeper(const char *socket_path, uint64_t timeout_usec, const Bdf *gpu, pid_t *ret,
			char **ret_why)
{
	Peer peer = { .fd = -1 };
	int r = open_peer(socket_path, timeout_usec, &peer);

	*ret = 0;
	if (r >= 0) {
		r = ask(&peer, gpu, ret, ret_why);
		close(peer.fd);
	}
	return tell_why(r, ret_why);
}

static int release(Peer *peer, const Bdf *gpu, char **ret_why)
{
	PersistenceMode mode;
	pid_t keeper = 0;
	int r = ask(peer, gpu, &keeper, ret_why);

	if (r < 0 || keeper == 0)
		return r;
	r = call_peer(peer, PERSISTENCED_SET, gpu, &mode, ret_why);
	return r < 0 ? r : 1;
}

int persistenced_release(const char *socket_path, uint64_t timeout_usec, const Bdf *gpu,
			 char **ret_why)
{
	Peer peer = { .fd = -1 };
	int r = open_peer(socket_path, timeout_usec, &peer);

	if (r >= 0) {
		r = release(&peer, gpu, ret_why);
		close(peer.fd);
	}
	return r > 0 ? r : tell_why(r, ret_why);
}
