/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the domain that a call is about before we ask polkit, so that polkit's rules see a UUID and
 * not only what the caller wrote. The job may then run on the permitted domain only.
 *
 * A thread asks libvirt each time, because the picture may lag behind a rename. A missing domain is
 * no error here. polkit then sees the caller's own word for it. So a caller who may not act does
 * not learn whether the domain exists; a caller who may learns it from the job.
 */
#include "bus/subject.h"

#include "gpupass/dbus.h"
#include "util/xalloc.h"

/* Of one user at a time: each is a thread. */
#define LOOKUPS_MAX 4

struct Lookup {
	Lookup *next;
	Face *face;
	sd_bus_message *call;
	uid_t uid;
	bool ended;
	Subject found;
};

#include "subject.inc"

/* ---- asking libvirt ---- */

static void lookup_clear(Lookup *lookup)
{
	WAITING_REMOVE(lookup->face->lookups, lookup);
	sd_bus_message_unref(lookup->call);
	subject_clear(&lookup->found);
}

DEFINE_LOCAL_FREE(Lookup, lookup_free, lookup_clear)

/* The ended lookup of this call; NULL: there is none. */
static Lookup *lookup_find(const Face *f, const sd_bus_message *m)
{
	for (Lookup *lookup = f->lookups; lookup; lookup = lookup->next)
		if (lookup->ended && lookup->call == m)
			return lookup;
	return NULL;
}

static void on_found(const DomainId *id, void *userdata)
{
	_cleanup_(lookup_freep) Lookup *lookup = userdata;
	int r;

	if (id) {
		lookup->found.domain_name = xstrdup(id->name);
		lookup->found.domain_uuid = xstrdup(id->uuid);
	}
	/* The handler is entered again, and finds it. */
	r = callers_dispatch_again(lookup->face->callers, lookup->call);
	if (r < 0) {
		callers_refuse(lookup->call, r);
		return;
	}
	lookup->ended = true;
	TAKE_PTR(lookup);
}

static int lookup_begin(const Call *call, const char *word)
{
	Face *f = call->face;
	const Caller *caller = callers_current(f->callers);
	_cleanup_(lookup_freep) Lookup *lookup = NULL;

	if (WAITING_OF(f->lookups, uid, caller->uid) >= LOOKUPS_MAX)
		return refusals_over_limit(&f->refusals,
					   &(Decision){ .call = call->message,
							.caller = *caller,
							.action = "questions to libvirt",
							.domain = word },
					   LOOKUPS_MAX, call->error);
	lookup = xcalloc(1, sizeof(Lookup));
	*lookup = (Lookup){
		.next = f->lookups,
		.face = f,
		.call = sd_bus_message_ref(call->message),
		.uid = caller->uid,
	};
	f->lookups = lookup;
	manager_find_domain(f->manager, word, on_found, TAKE_PTR(lookup));
	return 0;
}

int subject_look_up(const Call *call, const char *word, Subject *ret)
{
	_cleanup_(lookup_freep) Lookup *lookup = lookup_find(call->face, call->message);

	if (!lookup)
		return word ? lookup_begin(call, word) : 1;
	*ret = lookup->found;
	lookup->found = (Subject){ 0 };
	return 1;
}

/* ---- what a call is about ---- */

/*
 * The picture has the domain of a group that is released, so the caller's words for it do not
 * matter. With a domain it is this one only if the word is its UUID.
 */
static bool is_in_picture(const Face *f, const JobRequest *request, Subject *ret)
{
	const char *name = request->target ? request->target : request->group;
	const Group *group = NULL;

	if (request->plan.operation == OPERATION_RELEASE && name)
		group = manager_find_group(f->manager, name);
	if (!group || (request->domain && !str_equal(request->domain, group->domain_uuid)))
		return false;
	*ret = (Subject){
		.group = xstrdup(group->name),
		.domain_name = xstrdup(group->domain_name),
		.domain_uuid = xstrdup(group->domain_uuid),
	};
	return true;
}

static const char *domain_word(const JobRequest *request)
{
	return request->domain ? request->domain : request->target;
}

static Decision make_question(const Call *call, const Subject *subject)
{
	const JobRequest *request = &call->request;

	return (Decision){
		.action = call->method->action,
		.domain = subject->domain_name ? subject->domain_name : request->domain,
		.domain_uuid = subject->domain_uuid,
		.group = subject->group ? subject->group : request->group,
		.target = request->target,
	};
}

Decision subject_question(const Call *call, const Subject *found, Subject *own)
{
	const JobRequest *request = &call->request;
	bool is_its = !is_in_picture(call->face, request, own) && domain_word(request);

	return make_question(call, is_its ? found : own);
}

/* 1: *ret is filled in. 0: we are asking libvirt first. */
static int find(const Call *call, Subject *ret)
{
	const JobRequest *request = &call->request;
	const char *uuid = NULL;

	if (polkit_granted(call->face->polkit, call->message, &uuid)) {
		ret->domain_uuid = xstrdup(uuid);
		return 1;
	}
	/* What has looked has a place among the lookups until it is fetched. */
	if (!lookup_find(call->face, call->message) && is_in_picture(call->face, request, ret))
		return 1;
	return subject_look_up(call, domain_word(request), ret);
}

/* For callers that polkit is not asked about, nothing is looked up and the domain is not fixed. */
static int authorize(Call *call, Subject *subject)
{
	JobRequest *request = &call->request;
	const Polkit *polkit = call->face->polkit;
	bool looks = domain_word(request) && !polkit_trusts(polkit);
	int r = looks ? find(call, subject) : 1;
	Decision question;

	if (r <= 0)
		return r;
	question = make_question(call, subject);
	request->permitted = looks;
	request->permitted_uuid = subject->domain_uuid;
	return polkit_authorize(call->face->polkit, call->message, &question, call->error);
}

/*
 * A caller who may assign a group to a domain may not decide that the data of the last tenant do
 * not matter: they belong to another domain. A polkit rule cannot tell whose data they are. So only
 * root may.
 */
static int check_acceptance(const Call *call)
{
	const Decision question = {
		.action = GPUPASS_ACTION_ASSIGN " with accept-dirty",
		.domain = call->request.domain,
		.group = call->request.group,
	};

	return call->request.plan.accept_dirty
		       ? polkit_require_root(call->face->polkit, call->message, &question,
					     call->error)
		       : 0;
}

int call_start_job(Call *call)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_(subject_clear) Subject subject = { 0 };
	_cleanup_free_ char *path = NULL;
	Face *f = call->face;
	uint32_t id = 0;
	int r = check_acceptance(call);

	if (r >= 0)
		r = authorize(call, &subject);
	if (r <= 0)
		return r;
	r = manager_start_job(f->manager, &call->request, &id, &problem);
	if (r == PROBLEM && problem->error == GPUPASS_ERROR_LIMITS_EXCEEDED)
		refusals_limited(&f->refusals, &(Decision){ .call = call->message,
							    .caller = *callers_current(f->callers),
							    .action = "jobs",
							    .group = call->request.group,
							    .domain = call->request.domain });
	if (r == PROBLEM)
		return call_set_problem(call, problem, NULL);
	if (r < 0)
		return r;
	path = job_path(id);
	return sd_bus_reply_method_return(call->message, "o", path);
}
