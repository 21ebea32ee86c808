/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who may cancel a job; and Allowed, which tells beforehand what polkit would answer a call. polkit
 * is asked as that call would ask, one verb after another: one Allowed takes one place among the
 * questions of its user. Nothing is permitted here: the call itself asks again.
 */
#include "bus/subject.h"

#include "gpupass/dbus.h"
#include "util/text.h"
#include "util/xalloc.h"

/* ---- of a job ---- */

/*
 * Root may; and where root did not start the job, whoever polkit permits what the job does, on its
 * own domain and group. polkit's rules can tell a cancel by its job.
 *
 * What a job is about becomes known while it plans, and polkit may take minutes. So a yes counts
 * only for what was asked: when the job says something else by then, we ask again. That ends, since
 * a job says so once.
 */
static const char *action_of(const JobRecord *job)
{
	static const char *const actions[] = {
		[OPERATION_ASSIGN] = GPUPASS_ACTION_ASSIGN,
		[OPERATION_RELEASE] = GPUPASS_ACTION_RELEASE,
		[OPERATION_BIND] = GPUPASS_ACTION_BIND,
		[OPERATION_UNBIND] = GPUPASS_ACTION_BIND,
		[OPERATION_RECONCILE] = GPUPASS_ACTION_MANAGE,
		[OPERATION_VERIFY] = GPUPASS_ACTION_PROBE,
		[OPERATION_PROBE] = GPUPASS_ACTION_PROBE,
		[OPERATION_PREPARE] = GPUPASS_ACTION_BIND,
	};
	_Static_assert(ELEMENTS(actions) == OPERATION_MAX_, "every operation has its action");

	/* Of a job that there is not, only who may read learns so. */
	return job ? actions[job->operation] : GPUPASS_ACTION_READ;
}

/* Returns the job; NULL: there is none. */
static const JobRecord *cancel_question(const Face *f, uint32_t id, Decision *ret)
{
	const JobRecord *job = manager_job(f->manager, id);

	*ret = (Decision){ .action = action_of(job), .job = id };
	if (job) {
		ret->domain = named(job->domain_name);
		ret->domain_uuid = named(job->domain_uuid);
		ret->group = named(job->group);
	}
	return job;
}

int call_check_job(Call *call, uint64_t id)
{
	return id > 0 && id <= UINT32_MAX ? 0
					  : call_invalid(call, "no job has this number",
							 "give a number that gpupass jobs shows");
}

int call_may_cancel(Call *call)
{
	Polkit *polkit = call->face->polkit;
	Decision question;
	const JobRecord *job = cancel_question(call->face, call->id, &question);

	polkit_forget_other(polkit, call->message, &question);
	if (job && caller_is_privileged(job->caller_uid)) {
		Decision of_root = question;
		int r;

		of_root.action = "cancel a job of root";
		r = polkit_require_root(polkit, call->message, &of_root, call->error);
		if (r < 0)
			return r;
	}
	return polkit_authorize(polkit, call->message, &question, call->error);
}

/* ---- Allowed ---- */

typedef struct Rights {
	Face *face;
	sd_bus_message *call, *reply;
	MethodFind *find;
	Caller caller;
	const char *domain, *group; /* of the call */
	uint32_t job;		    /* likewise */
	Subject found;
	char **verbs;
	size_t n;    /* of the verbs, those that are answered */
	bool silent; /* polkit is, so it is not asked again */
} Rights;

static void rights_clear(Rights *rights)
{
	sd_bus_message_unref(rights->call);
	sd_bus_message_unref(rights->reply);
	caller_clear(&rights->caller);
	subject_clear(&rights->found);
	strv_free(rights->verbs);
}

DEFINE_LOCAL_FREE(Rights, rights_free, rights_clear)

/* 1, or < 0. */
static int append(Rights *rights, PolkitAnswer answer)
{
	static const char *const words[] = {
		[POLKIT_YES] = "yes",	     [POLKIT_PASSWORD] = "password", [POLKIT_NO] = "no",
		[POLKIT_SILENT] = "unknown", [POLKIT_FAILED] = "unknown",
	};
	int r = sd_bus_message_append(rights->reply, "{ss}", rights->verbs[rights->n++],
				      words[answer]);

	return r < 0 ? r : 1;
}

/* The call as it would be made with this domain and this group. */
static void name(Call *its, const Rights *rights)
{
	const char *what = its->method->names;

	for (size_t n = 0; *what && n < ELEMENTS(its->names); what += strlen(what) + 1) {
		bool is_domain = strcmp(what, "domain") == 0 ||
				 (strcmp(what, "target") == 0 && *rights->domain);

		its->names[n++] = (char *)(is_domain ? rights->domain : rights->group);
	}
	if ((its->method->takes & TAKES(GROUP)) && *rights->domain)
		its->options.group = (char *)rights->group;
	if (its->method->takes & TAKES(DOMAIN))
		its->options.domain = (char *)rights->domain;
}

static void answered(PolkitAnswer answer, void *userdata);

/* 1: *ret is known. 0: polkit is asked. */
static int ask(Rights *rights, PolkitAnswer *ret, sd_bus_error *error)
{
	_cleanup_(subject_clear) Subject own = { 0 };
	Call its = { .face = rights->face, .message = rights->call };
	const JobRecord *job = NULL;
	const Handler *handler;
	Decision question;

	its.method = rights->find(rights->verbs[rights->n], &handler);
	*ret = POLKIT_YES;
	if (handler->kind == KIND_OPEN || caller_is_privileged(rights->caller.uid))
		return 1;
	*ret = rights->silent ? POLKIT_SILENT : POLKIT_NO;
	if (rights->silent || rights->caller.uid == CALLER_UNKNOWN)
		return 1;
	name(&its, rights);
	if (handler->kind == KIND_OWN)
		job = cancel_question(its.face, rights->job, &question);
	else if (handler->kind == KIND_LATE)
		question = call_question(&its);
	else if (call_make_request(&its, handler->operation) >= 0)
		question = subject_question(&its, &rights->found, &own);
	else
		return 1; /* no option of these is refused */
	if (job && caller_is_privileged(job->caller_uid))
		return 1;
	question.call = rights->call;
	question.caller = rights->caller;
	return polkit_ask(its.face->polkit, &question, answered, rights, error);
}

static bool is_answered(const Rights *rights)
{
	return !rights->verbs || !rights->verbs[rights->n];
}

/* < 0: it cannot go on. Otherwise polkit is asked, or all is answered. */
static int go_on(Rights *rights, sd_bus_error *error)
{
	PolkitAnswer answer;
	int r = 1;

	while (r > 0 && !is_answered(rights)) {
		r = ask(rights, &answer, error);
		if (r > 0)
			r = append(rights, answer);
	}
	if (r <= 0)
		return r;
	r = sd_bus_message_close_container(rights->reply);
	return r < 0 ? r : sd_bus_send(NULL, rights->reply, NULL);
}

static void answered(PolkitAnswer answer, void *userdata)
{
	_cleanup_(rights_freep) Rights *rights = userdata;
	int r;

	rights->silent = answer == POLKIT_SILENT;
	r = append(rights, answer);
	/* In the place of the question that was answered, so that no limit is met. */
	if (r > 0)
		r = go_on(rights, NULL);
	if (r < 0)
		callers_refuse(rights->call, r);
	else if (!is_answered(rights))
		TAKE_PTR(rights);
}

int call_check_allowed(Call *call)
{
	uint64_t job = call->options.job;

	for (size_t i = 0; call->list && call->list[i]; i++) {
		const Handler *handler;

		if (!call->find(call->list[i], &handler))
			return call_invalid(call, "one of the verbs is no method",
					    "give names of methods, as in org.gpupass1(5)");
		for (size_t k = 0; k < i; k++)
			if (strcmp(call->list[k], call->list[i]) == 0)
				return call_invalid(call, "a verb is there twice", "give it once");
	}
	return job > 0 || strv_contains(call->list, "Cancel") ? call_check_job(call, job) : 0;
}

/* What Release would ask libvirt about: a target that is no group is a domain. NULL: nothing. */
static const char *domain_word(const Rights *rights)
{
	bool is_target = !*rights->domain && strv_contains(rights->verbs, "Release") &&
			 !manager_find_group(rights->face->manager, rights->group);

	return named(is_target ? rights->group : rights->domain);
}

int call_allowed(Call *call)
{
	_cleanup_(rights_freep) Rights *rights = xcalloc(1, sizeof(Rights));
	int r = 1;

	*rights = (Rights){
		.face = call->face,
		.call = sd_bus_message_ref(call->message),
		.find = call->find,
		.caller = caller_copy(callers_current(call->face->callers)),
		.domain = call->names[0],
		.group = call->names[1],
		.job = (uint32_t)call->options.job,
		.verbs = TAKE_PTR(call->list),
	};
	if (!polkit_trusts(call->face->polkit))
		r = subject_look_up(call, domain_word(rights), &rights->found);
	if (r <= 0)
		return r;
	r = sd_bus_message_new_method_return(call->message, &rights->reply);
	if (r >= 0)
		r = sd_bus_message_open_container(rights->reply, 'a', "{ss}");
	if (r >= 0)
		r = go_on(rights, call->error);
	if (r >= 0 && !is_answered(rights))
		TAKE_PTR(rights);
	return r;
}
