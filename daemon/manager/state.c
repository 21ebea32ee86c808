/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "manager/state.h"

#include "util/log.h"

JobPlace manager_job_place(Manager *m)
{
	JobPlace place = m->place.job;

	place.rules = m->rules;
	place.ruled = claims_now(place.claims);
	place.known = m->inventory ? m->inventory->identities : NULL;
	return place;
}

void manager_set_rules(Manager *m, Rules *rules, char **notes)
{
	rules_unref(m->rules);
	m->rules = rules;
	strv_free(m->config_notes);
	m->config_notes = notes;
}

void manager_note_unwritten(Manager *m, char **note, const char *what, int error, const char *words,
			    const char *so)
{
	_cleanup_free_ char *told = TAKE_PTR(*note);

	if (error >= 0)
		return;
	disk_watch_note(m->place.job.disk, what, error);
	*note = strf("%s%s: %s", words, so, strerror(-error));
	if (!told)
		log_as(LOG_ERR, LOG_ID_NOT_WRITTEN, "%s: %s", words, strerror(-error));
}

/* ---- what somebody asked for ---- */

void inquiry_begin(Inquiry *inquiry, Manager *m, char *prefix, ManagerAnswered done, void *userdata)
{
	*inquiry = (Inquiry){
		.manager = m,
		.place = manager_job_place(m),
		.prefix = prefix,
		.done = done,
		.userdata = userdata,
	};
	rules_ref(inquiry->place.rules);
	/* A copy, because the loop may replace the original while the thread reads it. */
	identities_copy(inquiry->place.known, &inquiry->known);
	inquiry->place.known = inquiry->known;
}

void inquiry_answer(Inquiry *inquiry)
{
	_cleanup_free_ char *message = NULL;

	if (!inquiry->problem && inquiry->result >= 0) {
		inquiry->done(inquiry->text, NULL, NULL, inquiry->userdata);
		return;
	}
	if (!inquiry->problem) {
		problem_errno(&inquiry->problem, inquiry->result, "this machine failed");
		if (inquiry->changes)
			problem_state(inquiry->problem,
				      "not known; gpupass list shows what there is now");
	}
	message = problem_message(inquiry->problem, inquiry->prefix);
	inquiry->done(NULL, problem_dbus_name(inquiry->problem->error), message, inquiry->userdata);
}

void inquiry_clear(Inquiry *inquiry)
{
	rules_unref(inquiry->place.rules);
	identities_free(inquiry->known);
	free(inquiry->prefix);
	free(inquiry->text);
	problem_free(inquiry->problem);
}

DEFINE_FREE(Inquiry, inquiry_free, inquiry_clear)
