/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the methods share: options, validation, and delayed answers. */
#pragma once

#include "bus/face.h"
#include "bus/options.h"

typedef struct RequestOptions {
	bool live, config, keep_vfio, persist, reset, allow_boot_vga, accept_dirty, mmio, capture,
		no_bridge_seen, workload;
	char *model, *operation, *symptom, *numa, *fit, *group, *domain;
	uint64_t timeout_usec;
} RequestOptions;
void request_options_clear(RequestOptions *options);

#define OPTION(Key, Type, member)                                                                  \
	{                                                                                          \
		Key, Type, offsetof(RequestOptions, member)                                        \
	}

/* Makes a job's request from the options; its strings are borrowed from them. */
JobRequest request_from(const Face *face, Operation operation, const RequestOptions *options);

/* NULL for "". */
const char *named(const char *text);

/*
 * Asks whether the caller may do what the action covers; see polkit_authorize(). domain, group,
 * target: what the caller named; NULL or "": nothing.
 */
int authorize(Face *face, sd_bus_message *m, const char *action, const char *domain,
	      const char *group, const char *target, sd_bus_error *error);

/* Each of these sets InvalidArgument in *error and returns < 0 when the check fails. */
int check_name(const char *name, const char *what, bool may_be_empty, sd_bus_error *error);
/* Reads the modes of numa and fit into the request. */
int check_fit(const RequestOptions *options, JobRequest *request, sd_bus_error *error);
int check_timeout(const RequestOptions *options, sd_bus_error *error);
int invalid_argument(sd_bus_error *error, const char *what, const char *remedy);
/* Sets *error to the problem; returns < 0. */
int set_problem(sd_bus_error *error, const Problem *problem, const char *prefix);

/* A call that we answer later. Each is a thread, and most start a worker. */
typedef struct Pending {
	struct Pending *next;
	Face *face;
	sd_bus_message *call;
	char *path; /* the object that the answer names; NULL: none */
	Caller caller;
} Pending;

/* For a caller that may; LimitsExceeded: too many answers are owed to this user. */
int pending_new(Face *face, sd_bus_message *m, Pending **ret, sd_bus_error *error);
/*
 * For a handler that answers late, after validation: checks that the caller may do what the action
 * covers, with this group (NULL: none), and has not too much under way. 1: go on. 0: polkit decides
 * first, and then the handler is entered again.
 */
int begin(Face *face, sd_bus_message *m, const char *action, const char *group, Pending **ret,
	  sd_bus_error *error);
/* polkit learns no detail of the call: a caller who may read may read about every domain. */
int begin_read(Face *face, sd_bus_message *m, Pending **ret, sd_bus_error *error);
void pending_reply_error(Pending *pending, const char *name, const char *message);
/* A ManagerAnswered, for a Pending, of what answers with a text. */
void pending_answer(const char *text, const char *error_name, const char *message, void *userdata);
DECLARE_FREE(Pending, pending_free)

/* The handler must call authorize() after validation: the vtable lets everybody in. */
#define METHOD_ASKS(Name, In, InNames, Out, OutNames, handler)                                     \
	SD_BUS_METHOD_WITH_NAMES(Name, In, InNames, Out, OutNames, handler,                        \
				 SD_BUS_VTABLE_UNPRIVILEGED)
/* The handler returns only what the properties show, and starts nothing. */
#define METHOD_READS(Name, In, InNames, Out, OutNames, handler)                                    \
	SD_BUS_METHOD_WITH_NAMES(Name, In, InNames, Out, OutNames, handler,                        \
				 SD_BUS_VTABLE_UNPRIVILEGED)
