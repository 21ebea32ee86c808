/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The daemon's parts: programs with rights of their own, each behind a socket of systemd's
 * (units/gpupass-NAME.socket). Whoever connects has systemd start one instance of the part, in
 * the sandbox of its unit. It reads a request (host/wire/request.h), says by an empty line that it
 * begins, and writes its answer into the same connection. Some then wait for another request
 * (ready.h). Its stderr is the journal.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "host/wire/request.h"

/* Where systemd listens for them. */
#define PARTS_DIR "/run/gpupass/parts"

/*
 * Has systemd start one, and returns the connection, whose reads do not block. -ENOENT or
 * -ECONNREFUSED: nobody listens, and nothing was started. -EAGAIN: not `wait`, and it would have
 * to.
 */
int part_connect(const char *directory, const char *part, bool wait, int *ret_fd);

/*
 * Hands on a request (host/wire/request.h). On any error it got no whole request, and does nothing.
 */
int part_send(int fd, const char *request, size_t size);

/* Connects and hands on one request, the only one, without waiting. */
int part_ask_at_once(const char *directory, const char *part, char *const *words, int *ret_fd);

/* What tells the socket that listens now from one that was there before it. */
int part_socket_id(const char *directory, const char *part, uint64_t *ret);

/* Whether part_connect() said that there are no parts on this host. */
bool part_is_absent(int error);
