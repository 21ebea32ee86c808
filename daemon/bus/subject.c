/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/subject.h"

#include <string.h>

#include "util/text.h"

struct Lookup {
	Lookup *next;
	Face *face;
	sd_bus_message *call;
	uid_t uid;
	Subject found;
};

static int copy(const char *from, char **ret)
{
	*ret = from ? strdup(from) : NULL;
	return from && !*ret ? -ENOMEM : 0;
}

void subject_clear(Subject *subject)
{
	free(subject->domain_name);
	free(subject->domain_uuid);
	free(subject->group);
	*subject = (Subject){ 0 };
}

/* ---- asking libvirt ---- */

static Lookup *lookup_free(Lookup *lookup)
{
	if (!lookup)
		return NULL;
	quota_give(&lookup->face->looks, lookup->uid);
	sd_bus_message_unref(lookup->call);
	subject_clear(&lookup->found);
	free(lookup);
	return NULL;
}
DEFINE_CLEANUP(Lookup, lookup_free)

Lookup *lookups_free(Lookup *lookups)
{
	while (lookups) {
		Lookup *next = lookups->next;

		lookup_free(lookups);
		lookups = next;
	}
	return NULL;
}

/* Takes the lookup of this call off the list of ended ones; NULL: there is none. */
static Lookup *lookup_take(Face *f, const sd_bus_message *m)
{
	for (Lookup **i = &f->lookups; *i; i = &(*i)->next) {
		Lookup *lookup = *i;

		if (lookup->call != m)
			continue;
		*i = lookup->next;
		return lookup;
	}
	return NULL;
}

/* Has the handler entered again, which finds the lookup in the list. Takes the lookup. */
static int dispatch_again(Lookup **lookup)
{
	Face *f = (*lookup)->face;
	int r;

	r = intake_let_in_again(f->intake, (*lookup)->call);
	if (r < 0)
		return r;
	(*lookup)->next = f->lookups;
	f->lookups = TAKE_PTR(*lookup);
	return 0;
}

static void on_found(const DomainId *id, void *userdata)
{
	_cleanup_(lookup_freep) Lookup *lookup = userdata;
	int r = 0;

	if (id) {
		r = copy(id->name, &lookup->found.domain_name);
		if (r >= 0)
			r = copy(id->uuid, &lookup->found.domain_uuid);
	}
	if (r >= 0)
		r = dispatch_again(&lookup);
	if (r < 0)
		sd_bus_reply_method_errno(lookup->call, r, NULL);
}

static int lookup_begin(Face *f, sd_bus_message *m, const char *word, sd_bus_error *error)
{
	_cleanup_(lookup_freep) Lookup *lookup = NULL;
	uid_t uid = (uid_t)-1;
	int r = intake_uid(f->intake, m, &uid);

	if (r < 0)
		return r;
	r = quota_take(&f->looks, uid);
	if (r < 0)
		return refusals_over_quota(f->refusals,
					   &(Decision){ .call = m,
							.uid = uid,
							.action = "questions to libvirt",
							.domain = word },
					   &f->looks, r, error);
	lookup = calloc(1, sizeof(Lookup));
	if (!lookup) {
		quota_give(&f->looks, uid);
		return -ENOMEM;
	}
	*lookup = (Lookup){ .face = f, .call = sd_bus_message_ref(m), .uid = uid };
	r = manager_find_domain(f->manager, word, on_found, lookup);
	if (r < 0)
		return r;
	TAKE_PTR(lookup);
	return 0;
}

/* ---- what a call is about ---- */

/* The picture has the group's domain, so the caller's words do not matter here. */
static int of_group(const Group *group, Subject *ret)
{
	int r = copy(group->name, &ret->group);

	if (r >= 0)
		r = copy(group->domain_name, &ret->domain_name);
	if (r >= 0)
		r = copy(group->domain_uuid, &ret->domain_uuid);
	return r < 0 ? r : 1;
}

/* 1: *ret is filled in. 0: we are asking libvirt first. */
static int find(Face *f, sd_bus_message *m, const JobRequest *request, Subject *ret,
		sd_bus_error *error)
{
	const char *word = request->domain ? request->domain : request->target;
	_cleanup_(lookup_freep) Lookup *lookup = NULL;
	const Group *group = NULL;
	const char *uuid = NULL;

	if (polkit_granted(f->polkit, m, &uuid))
		return copy(uuid, &ret->domain_uuid) < 0 ? -ENOMEM : 1;
	lookup = lookup_take(f, m);
	if (lookup) {
		*ret = lookup->found;
		lookup->found = (Subject){ 0 };
		return 1;
	}
	if (request->target)
		group = manager_find_group(f->manager, word);
	return group ? of_group(group, ret) : lookup_begin(f, m, word, error);
}

static const char *named(const char *text)
{
	return str_is_empty(text) ? NULL : text;
}

int authorize_job(Face *f, sd_bus_message *m, const char *action, JobRequest *request,
		  Subject *subject, sd_bus_error *error)
{
	bool looks = (request->domain || request->target) && !polkit_trusts(f->polkit, m);
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
