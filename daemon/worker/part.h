/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A program as one of the daemon's parts (host/launch/part.h): a request on stdin, its answer on
 * stdout, which are the same connection. Some serve more than one request, one after another.
 */
#pragma once

#include "host/wire/question.h"
#include "util/arguments.h"

/*
 * Confines this process and hands each request to `run`, as a command line, until there is none or
 * one has failed; returns the exit status. `run` does only what the part is there for, and on this
 * host only; request_begin() comes before its work.
 */
int part_serve(const Program *program, const Part *part,
	       int (*run)(const Part *part, int argc, char **argv));
