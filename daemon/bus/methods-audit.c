/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The audit trail, read back. Answered late, from a thread. Reading leaves no record: otherwise a
 * reader who follows the trail would make more to read.
 */
#include "bus/methods-audit.h"

#include "bus/request.h"
#include "gpupass/dbus.h"
#include "util/text.h"

typedef struct AuditOptions {
	uint64_t since, until, after, user, job;
	char *group, *domain;
	bool holders;
} AuditOptions;

#define NOBODY UINT64_MAX

#define AUDIT_OPTION(Key, Type, member)                                                            \
	{                                                                                          \
		Key, Type, offsetof(AuditOptions, member)                                          \
	}

static const OptionSpec audit_options[] = {
	AUDIT_OPTION(GPUPASS_OPTION_SINCE, 't', since),
	AUDIT_OPTION(GPUPASS_OPTION_UNTIL, 't', until),
	AUDIT_OPTION(GPUPASS_OPTION_AFTER, 't', after),
	AUDIT_OPTION(GPUPASS_OPTION_USER, 't', user),
	AUDIT_OPTION(GPUPASS_OPTION_JOB, 't', job),
	AUDIT_OPTION(GPUPASS_OPTION_GROUP, 's', group),
	AUDIT_OPTION(GPUPASS_OPTION_DOMAIN, 's', domain),
	AUDIT_OPTION(GPUPASS_OPTION_HOLDERS, 'b', holders),
};

static void audit_options_clear(AuditOptions *options)
{
	free(options->group);
	free(options->domain);
}

static int read_options(sd_bus_message *m, AuditOptions *options, AuditQuery *ret,
			sd_bus_error *error)
{
	int r = options_read(m, audit_options, ELEMENTS(audit_options), options, error);

	if (r >= 0)
		r = check_name(str_or_empty(options->group), "group", true, error);
	if (r >= 0)
		r = check_name(str_or_empty(options->domain), "domain", true, error);
	if (r >= 0 && ((options->user != NOBODY && options->user >= AUDIT_NO_UID) ||
		       options->job > UINT32_MAX))
		r = invalid_argument(error, "this is no user or no job", "give their numbers");
	if (r < 0)
		return r;
	*ret = (AuditQuery){
		.since_usec = options->since,
		.until_usec = options->until,
		.after = options->after,
		.group = options->group,
		.domain = options->domain,
		.by_user = options->user != NOBODY,
		.user = (uint32_t)options->user,
		.job = (uint32_t)options->job,
		.holders = options->holders,
	};
	return 0;
}

int method_get_audit(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	_cleanup_(audit_options_clear) AuditOptions options = { .user = NOBODY };
	_cleanup_(pending_freep) Pending *pending = NULL;
	AuditQuery query;
	Face *f = userdata;
	int r;

	r = read_options(m, &options, &query, error);
	if (r >= 0)
		r = begin(f, m, GPUPASS_ACTION_AUDIT, NULL, &pending, error);
	if (r <= 0)
		return r < 0 ? r : 1;
	r = manager_get_audit(f->manager, &query, pending_answer, pending);
	if (r < 0)
		return r;
	TAKE_PTR(pending);
	return 1;
}

int method_get_holders(sd_bus_message *m, void *userdata, sd_bus_error *error)
{
	_cleanup_(pending_freep) Pending *pending = NULL;
	Face *f = userdata;
	bool all;
	int r;

	r = options_read(m, NULL, 0, NULL, error);
	if (r >= 0)
		r = begin(f, m, GPUPASS_ACTION_AUDIT, NULL, &pending, error);
	if (r <= 0)
		return r < 0 ? r : 1;
	/* A look at what a job has in hand may leave its worker behind: see Inspect. */
	all = caller_is_privileged(pending->caller.uid);
	r = manager_get_holders(f->manager, all, pending_answer, pending);
	if (r < 0)
		return r;
	TAKE_PTR(pending);
	return 1;
}
