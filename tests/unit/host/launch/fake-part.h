/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Listens as systemd does for one of the daemon's parts, and answers each request by a function. */
#pragma once

#include <stddef.h>

#include "gpupass/cleanup.h"

typedef struct FakePart FakePart;

/* Called on a thread; `fd` is closed when it returns. */
typedef void (*FakeAnswer)(int fd, char *const *words, void *userdata);

FakePart *fake_part_new(const char *directory, const char *name, FakeAnswer answer, void *userdata);
/* Waits for the answers. */
FakePart *fake_part_free(FakePart *part);
DEFINE_CLEANUP(FakePart, fake_part_free)

unsigned fake_part_requests(FakePart *part);
/* The words of the last request, with a blank between two. */
const char *fake_part_request(FakePart *part);
