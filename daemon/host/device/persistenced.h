/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * nvidia-persistenced, which keeps GPUs initialised by holding their device files open, asked
 * through its own socket: SunRPC (RFC 5531), program 35006 of its nvidia_persistenced.x. NVML's
 * call does not make it let go (kubernetes-sigs/dra-driver-nvidia-gpu issue 1037).
 *
 * Two calls of a fixed size are no reason for libtirpc in a process with CAP_SYS_ADMIN: it brings
 * Kerberos along, reads /etc/netconfig, and its client for local sockets has no deadline for a
 * connect or a write. The peer runs as a user of its own: whatever it sends is bounded, and what it
 * says is believed of nobody but itself.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "core/facts/persistence.h"

/* NVPD_SOCKET_PATH, past /var, which the parts do not see. */
#define PERSISTENCED_SOCKET "/run/nvidia-persistenced/socket"

/* The largest reply that counts as one. */
#define PERSISTENCED_REPLY_MAX 512U

typedef enum PersistencedCall {
	PERSISTENCED_SET = 1, /* nvPdSetPersistenceMode, of version 1 */
	PERSISTENCED_GET = 2, /* nvPdGetPersistenceMode */
} PersistencedCall;

/*
 * Reads the reply to the call with this id, without its record mark. GET: *ret_mode, on or off.
 * -ENOTSUP: the peer refuses, with *ret_why, a sentence (NULL: memory is out). -EBADMSG: it is no
 * such reply; it has nothing more, and nothing less.
 */
int persistenced_reply_parse(const uint8_t *bytes, size_t n, uint32_t id, PersistencedCall call,
			     PersistenceMode *ret_mode, char **ret_why);

/*
 * Whether the process that listens there keeps this GPU: its process id as the kernel gives it, 0
 * if it does not, or nobody listens. With *ret_why where it did not say so: it does not answer
 * within its time, or not sensibly. Fails only with -ENOMEM.
 */
int persistenced_keeper(const char *socket, uint64_t timeout_usec, const Bdf *gpu, pid_t *ret,
			char **ret_why);

/*
 * Makes it let go of the GPU. 1: it says that it has; 0: it does not keep it, or *ret_why says why
 * it did not. What counts is who holds the GPU afterwards. -ENOMEM
 */
int persistenced_release(const char *socket, uint64_t timeout_usec, const Bdf *gpu, char **ret_why);
