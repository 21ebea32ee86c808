/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpupass-worker as one of the daemon's parts (host/launch/part.h): a request on stdin, its answer
 * on stdout, which are the same connection. Some serve more than one request, one after another.
 */
#pragma once

/* Returns the exit status. A part does only what it is there for, and on this host only. */
int part_run(const char *name);
