/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One run of gpupass.
 *
 * Functions that take a Client return a negative errno on failure. If there is more to say, they
 * set client->failure; main prints it, once, and exits with its code.
 */
#pragma once

#include <systemd/sd-bus.h>

#include "base/errors.h"
#include "base/options.h"
#include "base/terminal.h"

typedef struct Client {
	const Options *options;
	sd_bus *bus; /* NULL until bus_connect() */
	Terminal out, err;
	Failure *failure;
	const char *libexec_directory, *doc_directory;
	bool leave_stopped; /* no call starts the daemon; from then on */
	json_t *failed_job; /* goes into the JSON document of the failure */
} Client;

/* Takes the failure and returns -ECANCELED. */
int client_fail(Client *c, Failure *failure);
/* One of gpupass' own errors; the message may have lines. */
int client_error(Client *c, GpupassError error, const char *format, ...) _printf_(3, 4);
/* A mistake in the command line. */
int client_usage(Client *c, const char *format, ...) _printf_(2, 3);
/* Forgets a failure that does not matter. */
void client_forgive(Client *c);
