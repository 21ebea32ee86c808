/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The options of methods, an a{sv}, by the rows of gpupass/interfaces.h: strict keys and types. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-bus.h>

enum {
#define METHOD_OPTION(ID, key, TYPE, member) CALL_OPTION_##ID,
#include "gpupass/interfaces.h"
	CALL_OPTION_MAX_,
};
_Static_assert(CALL_OPTION_MAX_ <= 32, "options are bits");

/* The bit of an option, as rows of methods name it. */
#define TAKES(ID) (UINT32_C(1) << CALL_OPTION_##ID)

typedef struct CallOptions {
#define OPTION_C_BOOL bool
#define OPTION_C_STRING char *
#define OPTION_C_UINT64 uint64_t
#define METHOD_OPTION(ID, key, TYPE, member) OPTION_C_##TYPE member;
#include "gpupass/interfaces.h"
	uint32_t given; /* which there were */
} CallOptions;

/*
 * Reads the dictionary that comes next in the message. A key that the call does not take, a wrong
 * type or a second occurrence is InvalidArgument, in *error; the result is then that of
 * sd_bus_error_set().
 */
int call_options_read(sd_bus_message *message, uint32_t takes, CallOptions *ret,
		      sd_bus_error *error);
void call_options_clear(CallOptions *options);
