/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the methods share: their options, validation, and answers that come later. */
#pragma once

#include "bus/face-private.h"
#include "bus/options.h"

typedef struct RequestOptions {
	bool live, config, keep_vfio, allow_boot_vga;
	char *model, *operation, *symptom;
	uint64_t timeout_usec;
} RequestOptions;
void request_options_clear(RequestOptions *options);

#define OPTION(Key, Type, member)                                                                  \
	{                                                                                          \
		Key, Type, offsetof(RequestOptions, member)                                        \
	}

/* A job's request out of the options; strings stay borrowed from them. */
JobRequest request_from(sd_bus_message *m, Operation operation, const RequestOptions *options);

/* Each sets InvalidArgument in *error and returns < 0 when it does not hold. */
int check_name(const char *name, const char *what, bool may_be_empty, sd_bus_error *error);
int check_timeout(const RequestOptions *options, sd_bus_error *error);
int invalid_argument(sd_bus_error *error, const char *what, const char *remedy);

/* A call that is answered later. */
typedef struct Pending {
	Face *face;
	sd_bus_message *call;
	char *path; /* of the object that the answer names; NULL: none */
	bool counted;
} Pending;

/* counted: against the limit of reads that anybody may ask for. */
int pending_new(Face *face, sd_bus_message *m, bool counted, Pending **ret, sd_bus_error *error);
void pending_reply_error(Pending *pending, const char *name, const char *message);
Pending *pending_free(Pending *pending);
DEFINE_CLEANUP(Pending, pending_free)

#define METHOD_ACTS(Name, In, InNames, Out, OutNames, handler)                                     \
	SD_BUS_METHOD_WITH_NAMES(Name, In, InNames, Out, OutNames, handler, 0)
#define METHOD_READS(Name, In, InNames, Out, OutNames, handler)                                    \
	SD_BUS_METHOD_WITH_NAMES(Name, In, InNames, Out, OutNames, handler,                        \
				 SD_BUS_VTABLE_UNPRIVILEGED)

/* methods-read.c; userdata is the Face. */
int method_plan(sd_bus_message *m, void *userdata, sd_bus_error *error);
/* methods-doctor.c */
int method_doctor(sd_bus_message *m, void *userdata, sd_bus_error *error);
int method_get_drift(sd_bus_message *m, void *userdata, sd_bus_error *error);
int method_rescan(sd_bus_message *m, void *userdata, sd_bus_error *error);
int method_get_topology(sd_bus_message *m, void *userdata, sd_bus_error *error);
