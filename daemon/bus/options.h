/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The a{sv} option arguments: strict keys, strict types. */
#pragma once

#include <stddef.h>
#include <systemd/sd-bus.h>

typedef struct OptionSpec {
	const char *key;
	char type; /* 'b' into bool, 's' into char * (owned), 't' into uint64_t */
	size_t offset;
} OptionSpec;

/*
 * Reads the dictionary that comes next in the message into `target`. A key that is not in the
 * list, a wrong type or a second occurrence is InvalidArgument, in *error; the result is then
 * that of sd_bus_error_set().
 */
int options_read(sd_bus_message *message, const OptionSpec *specs, size_t n, void *target,
		 sd_bus_error *error);
