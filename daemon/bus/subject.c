/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/subject.h"

#include <string.h>

#include "util/text.h"
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

void subject_clear(Subject *subject)
{
	free(subject->domain_name);
	free(subject->domain_uuid);
	free(subject->group);
	*subject = (Subject){ 0 };
}

/* ---- asking libvirt ---- */

static void lookup_clear(Lookup *lookup)
{
	for (Lookup **i = &lookup->face->lookups; *i; i = &(*i)->next) {
		if (*i != lookup)
			continue;
		*i = lookup->next;
		break;
	}
	sd_bus_message_unref(lookup->call);
	subject_clear(&lookup->found);
}

DEFINE_LOCAL_FREE(Lookup, lookup_free, lookup_clear)

void lookups_forget(Face *f)
{
	Lookup *next;

	for (Lookup *lookup = f->lookups; lookup; lookup = next) {
		next = lookup->next;
		if (lookup->ended)
			lookup_free(lookup);
	}
}

/* The ended lookup of this call; NULL: there is none. */
static Lookup *lookup_find(const Face *f, const sd_bus_message *m)
{
	for (Lookup *lookup = f->lookups; lookup; lookup = lookup->next)
		if (lookup->ended && lookup->call == m)
			return lookup;
	return NULL;
}

static size_t lookups_of(const Face *f, uid_t uid)
{
	size_t n = 0;

	for (const Lookup *lookup = f->lookups; lookup; lookup = lookup->next)
		n += lookup->uid == uid;
	return n;
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
		sd_bus_reply_method_errno(lookup->call, r, NULL);
		return;
	}
	lookup->ended = true;
	TAKE_PTR(lookup);
}

static int lookup_begin(Face *f, sd_bus_message *m, const char *word, sd_bus_error *error)
{
	const Caller *caller = callers_current(f->callers);
	_cleanup_(lookup_freep) Lookup *lookup = NULL;

	if (lookups_of(f, caller->uid) >= LOOKUPS_MAX)
		return refusals_over_limit(&f->refusals,
					   &(Decision){ .call = m,
							.caller = *caller,
							.action = "questions to libvirt",
							.domain = word },
					   LOOKUPS_MAX, error);
	lookup = xcalloc(1, sizeof(Lookup));
	*lookup = (Lookup){
		.next = f->lookups,
		.face = f,
		.call = sd_bus_message_ref(m),
		.uid = caller->uid,
	};
	f->lookups = lookup;
	manager_find_domain(f->manager, word, on_found, TAKE_PTR(lookup));
	return 0;
}

/* ---- what a call is about ---- */

/* 1: *ret is filled in. 0: we are asking libvirt first. */
static int find(Face *f, sd_bus_message *m, const JobRequest *request, Subject *ret,
		sd_bus_error *error)
{
	const char *word = request->domain ? request->domain : request->target;
	_cleanup_(lookup_freep) Lookup *lookup = NULL;
	const Group *group = NULL;
	const char *uuid = NULL;

	if (polkit_granted(f->polkit, m, &uuid)) {
		ret->domain_uuid = xstrdup(uuid);
		return 1;
	}
	lookup = lookup_find(f, m);
	if (lookup) {
		*ret = lookup->found;
		lookup->found = (Subject){ 0 };
		return 1;
	}
	if (request->target)
		group = manager_find_group(f->manager, word);
	if (!group)
		return lookup_begin(f, m, word, error);
	/* The picture has the group's domain, so the caller's words do not matter here. */
	*ret = (Subject){
		.group = xstrdup(group->name),
		.domain_name = xstrdup(group->domain_name),
		.domain_uuid = xstrdup(group->domain_uuid),
	};
	return 1;
}

int authorize_job(Face *f, sd_bus_message *m, const char *action, JobRequest *request,
		  Subject *subject, sd_bus_error *error)
{
	bool looks = (request->domain || request->target) && !polkit_trusts(f->polkit);
	PolkitQuestion question = {
		.action = action,
		.domain = named(request->domain),
		.group = named(request->group),
		.target = named(request->target),
	};
	int r = looks ? find(f, m, request, subject, error) : 1;

	if (r <= 0)
		return r;
	if (subject->domain_name)
		question.domain = subject->domain_name;
	if (subject->group)
		question.group = subject->group;
	question.domain_uuid = subject->domain_uuid;
	request->permitted = looks;
	request->permitted_uuid = subject->domain_uuid;
	return polkit_authorize(f->polkit, m, &question, error);
}
