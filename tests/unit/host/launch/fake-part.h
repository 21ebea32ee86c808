/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Listens as systemd does for one of the daemon's parts, and answers each request by a function,
 * connections side by side, the requests of one in their order.
 */
#pragma once

#include <stddef.h>

#include "gpupass/cleanup.h"

typedef struct FakePart FakePart;

/*
 * Called on a thread of the connection. When it returns and the other side has no other request, or
 * `fd` was shut down, the connection is closed.
 */
typedef void (*FakeAnswer)(int fd, char *const *words, void *userdata);

FakePart *fake_part_new(const char *directory, const char *name, FakeAnswer answer, void *userdata);
/* Waits for the answers, and for the callers to close their ends. */
FakePart *fake_part_free(FakePart *part);
DEFINE_CLEANUP(FakePart, fake_part_free)

/* How many there have been, ended or not. */
unsigned fake_part_connections(FakePart *part);
/* Wait until as many were made, and have ended. */
void fake_part_await_connections(FakePart *part, unsigned n);
void fake_part_await_ends(FakePart *part, unsigned n);

unsigned fake_part_requests(FakePart *part);
/* Which connection the last request came by, from 0 in the order in which they were made. */
unsigned fake_part_last(FakePart *part);
/* The words of the last request, with a blank between two. */
const char *fake_part_request(FakePart *part);
