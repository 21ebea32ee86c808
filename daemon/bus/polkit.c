/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bus/polkit.h"

#include <inttypes.h>

#include "gpupass/dbus.h"
#include "util/printable.h"
#include "util/xalloc.h"

#define SERVICE "org.freedesktop.PolicyKit1"
#define AUTHORITY_PATH "/org/freedesktop/PolicyKit1/Authority"
#define AUTHORITY "org.freedesktop.PolicyKit1.Authority"
#define ERROR_CANCELLED "org.freedesktop.PolicyKit1.Error.Cancelled"
#define ALLOW_USER_INTERACTION 1U

/* Of one user at a time. */
#define CHECKS_MAX 8
#define SECONDS 10
#define UNKNOWN "the caller has left the bus, or the bus did not say who it is"
/* Time to type a password; shorter than the time that gpupass waits for the answer. */
#define SECONDS_INTERACTIVE 240

typedef struct Check Check;
struct Check {
	Check *next;
	Polkit *polkit;
	Decision decision;   /* what is asked; call, caller and texts are its own, not the action */
	uint64_t number;     /* its name for polkit, so that we can cancel it */
	bool interactive;    /* polkit may ask for a password */
	bool granted;	     /* the call waits to be dispatched once more */
	PolkitAnswered done; /* NULL: the call comes again */
	void *userdata;
	sd_bus_slot *answer; /* awaited */
};

struct Polkit {
	sd_bus *bus;
	Callers *callers;
	Check *checks;
	Refusals *refusals; /* borrowed, as callers is */
	uint64_t last_number;
};

static void check_clear(Check *check)
{
	WAITING_REMOVE(check->polkit->checks, check);
	sd_bus_slot_unref(check->answer);
	sd_bus_message_unref(check->decision.call);
	caller_clear(&check->decision.caller);
	free((char *)check->decision.domain_uuid);
	free((char *)check->decision.domain);
	free((char *)check->decision.group);
	free((char *)check->decision.target);
}

DEFINE_LOCAL_FREE(Check, check_free, check_clear)

static char *cancellation_id(const Check *check)
{
	return strf("gpupass-%" PRIu64, check->number);
}

/* Closes the password dialog. It does not matter if this call gets lost. */
static void call_off(const Check *check)
{
	_cleanup_free_ char *id = cancellation_id(check);

	(void)sd_bus_call_method_async(check->polkit->bus, NULL, SERVICE, AUTHORITY_PATH, AUTHORITY,
				       "CancelCheckAuthorization", NULL, NULL, "s", id);
}

/* ---- no ---- */

static int deny(const Polkit *polkit, const Decision *decision, const char *name, const char *why,
		sd_bus_error *error)
{
	refusals_denied(polkit->refusals, decision, name, why);
	return sd_bus_error_setf(error, name,
				 "not permitted: %s\nCause:  %s\nState:  nothing was changed\n"
				 "Remedy: run it as root; or see gpupassd(8), POLKIT",
				 decision->action, why);
}

static int access_denied(const Polkit *polkit, const Decision *decision, const char *why,
			 sd_bus_error *error)
{
	return deny(polkit, decision, SD_BUS_ERROR_ACCESS_DENIED, why, error);
}

static Decision decision_on(const Decision *question, sd_bus_message *call, const Caller *caller)
{
	Decision decision = *question;

	decision.call = call;
	decision.caller = *caller;
	return decision;
}

static char *why_no_answer(const sd_bus_error *error)
{
	static const char *const absent[] = {
		SD_BUS_ERROR_SERVICE_UNKNOWN,
		SD_BUS_ERROR_NAME_HAS_NO_OWNER,
	};

	if (SOME_OF(absent, ELEMENTS(absent), sd_bus_error_has_name(error, it)))
		return xstrdup("polkit, which could permit it, is not there");
	if (sd_bus_error_has_name(error, SD_BUS_ERROR_NO_REPLY))
		return strf("polkit did not answer: %s", str_or_empty(error->message));
	if (sd_bus_error_has_name(error, ERROR_CANCELLED))
		return xstrdup("the password dialog was dismissed");
	return strf("polkit could not be asked: %s (%s)", str_or_empty(error->message),
		    error->name);
}

/* ---- the answer ---- */

static PolkitAnswer read_answer(sd_bus_message *answer)
{
	int authorized = false, challenge = false, r;

	if (sd_bus_message_is_method_error(answer, SD_BUS_ERROR_NO_REPLY))
		return POLKIT_SILENT;
	if (sd_bus_message_is_method_error(answer, NULL))
		return POLKIT_FAILED;
	r = sd_bus_message_enter_container(answer, 'r', "bba{ss}");
	if (r >= 0)
		r = sd_bus_message_read(answer, "bb", &authorized, &challenge);
	if (r < 0)
		return POLKIT_FAILED;
	return authorized ? POLKIT_YES : challenge ? POLKIT_PASSWORD : POLKIT_NO;
}

/* 1: yes; < 0: no, *error says why. */
static int judge_answer(const Check *check, sd_bus_message *m, sd_bus_error *error)
{
	PolkitAnswer answer = read_answer(m);
	const char *name = SD_BUS_ERROR_ACCESS_DENIED, *why = "polkit says no";
	_cleanup_free_ char *failed = NULL;

	if (answer == POLKIT_YES)
		return 1;
	if (answer == POLKIT_PASSWORD) {
		name = SD_BUS_ERROR_INTERACTIVE_AUTHORIZATION_REQUIRED;
		why = check->interactive ? "a password is wanted, and nothing here can ask for it"
					 : "a password is wanted, and asking was not allowed";
	} else if (sd_bus_message_is_method_error(m, NULL)) {
		failed = why_no_answer(sd_bus_message_get_error(m));
		why = failed;
	} else if (answer == POLKIT_FAILED) {
		why = "polkit's answer cannot be understood";
	}
	return deny(check->polkit, &check->decision, name, why, error);
}

/* The handler is entered again; the check stays, to be found there. */
static int dispatch_again(Check *check)
{
	check->granted = true;
	return callers_dispatch_again(check->polkit->callers, check->decision.call);
}

static int on_answer(sd_bus_message *answer, void *userdata, _unused_ sd_bus_error *ret_error)
{
	_cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	_cleanup_(check_freep) Check *check = userdata;
	int r;

	check->answer = sd_bus_slot_unref(check->answer);
	if (sd_bus_message_is_method_error(answer, NULL))
		call_off(check);
	if (check->done) {
		PolkitAnswered done = check->done;
		void *whose = check->userdata;

		/* It may ask again, in the place of this one. */
		check = check_free(check);
		done(read_answer(answer), whose);
		return 1;
	}
	r = judge_answer(check, answer, &error);
	if (r > 0)
		r = dispatch_again(check);
	if (r >= 0)
		TAKE_PTR(check);
	else if (sd_bus_error_is_set(&error))
		sd_bus_reply_method_error(check->decision.call, &error);
	else
		callers_refuse(check->decision.call, r);
	return 1;
}

Polkit *polkit_new(sd_bus *bus, Callers *callers, Refusals *refusals)
{
	Polkit *polkit = xcalloc(1, sizeof(Polkit));

	polkit->bus = bus;
	polkit->callers = callers;
	polkit->refusals = refusals;
	return polkit;
}

/* ---- the question ---- */

/*
 * What the call is about, for the person who is asked for a password. A tenant chooses its domain's
 * name, and agents print our text on a terminal as it is: so the UUID comes first, and the name
 * without anything that a terminal would obey.
 */
static char *shown(const Decision *question)
{
	const char *name = decision_domain(question);
	_cleanup_free_ char *printable =
		text_printable_lines(str_or_empty(name ? name : question->group));
	char job[48] = "";

	if (question->job > 0)
		snprintf(job, sizeof(job), "job %u, to be cancelled%s", question->job,
			 *printable ? ": " : "");
	return question->domain_uuid ? strf("%s%s (%s)", job, question->domain_uuid, printable)
				     : strf("%s%s", job, printable);
}

static int append_details(sd_bus_message *ask, const Decision *question)
{
	_cleanup_free_ char *text = shown(question);
	_cleanup_free_ char *job = question->job > 0 ? strf("%u", question->job) : NULL;
	const struct {
		const char *key, *value;
	} details[] = {
		{ "shown", *text ? text : NULL },	  { "domain", question->domain },
		{ "domain_uuid", question->domain_uuid }, { "group", question->group },
		{ "target", question->target },		  { "job", job },
	};
	int r = sd_bus_message_open_container(ask, 'a', "{ss}");

	for (size_t i = 0; r >= 0 && i < ELEMENTS(details); i++)
		if (details[i].value)
			r = sd_bus_message_append(ask, "{ss}", details[i].key, details[i].value);
	return r < 0 ? r : sd_bus_message_close_container(ask);
}

static int ask(Check *check)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *m = NULL;
	_cleanup_free_ char *id = cancellation_id(check);
	uint64_t seconds = check->interactive ? SECONDS_INTERACTIVE : SECONDS;
	int r = sd_bus_message_new_method_call(check->polkit->bus, &m, SERVICE, AUTHORITY_PATH,
					       AUTHORITY, "CheckAuthorization");

	/* The bus name and never the process id, which may belong to another process by now. */
	if (r >= 0)
		r = sd_bus_message_append(m, "(sa{sv})s", "system-bus-name", 1, "name", "s",
					  sd_bus_message_get_sender(check->decision.call),
					  check->decision.action);
	if (r >= 0)
		r = append_details(m, &check->decision);
	if (r >= 0)
		r = sd_bus_message_append(m, "us", check->interactive ? ALLOW_USER_INTERACTION : 0U,
					  id);
	if (r >= 0)
		r = sd_bus_call_async(check->polkit->bus, &check->answer, m, on_answer, check,
				      seconds * 1000000);
	return r;
}

static int check_begin(Polkit *polkit, const Decision *decision, PolkitAnswered done,
		       void *userdata)
{
	_cleanup_(check_freep) Check *check = xcalloc(1, sizeof(Check));
	int r;

	*check = (Check){
		.next = polkit->checks,
		.polkit = polkit,
		.decision = *decision,
		.number = ++polkit->last_number,
		.interactive = !done && sd_bus_message_get_allow_interactive_authorization(
						decision->call) > 0,
		.done = done,
		.userdata = userdata,
	};
	sd_bus_message_ref(decision->call);
	check->decision.caller = caller_copy(&decision->caller);
	check->decision.group = xstrdup(decision->group);
	check->decision.domain = xstrdup(decision->domain);
	check->decision.target = xstrdup(decision->target);
	check->decision.domain_uuid = xstrdup(decision->domain_uuid);
	polkit->checks = check;
	r = ask(check);
	if (r >= 0)
		TAKE_PTR(check);
	return r < 0 ? r : 0;
}

static Check *find_granted(const Polkit *polkit, const sd_bus_message *call)
{
	for (Check *check = polkit->checks; check; check = check->next)
		if (check->granted && check->decision.call == call)
			return check;
	return NULL;
}

bool polkit_granted(const Polkit *polkit, const sd_bus_message *m, const char **ret_domain_uuid)
{
	const Check *check = find_granted(polkit, m);

	*ret_domain_uuid = check ? check->decision.domain_uuid : NULL;
	return check;
}

static bool decision_equal(const Decision *a, const Decision *b)
{
	return a->job == b->job && strcmp(a->action, b->action) == 0 &&
	       str_equal(a->domain, b->domain) && str_equal(a->domain_uuid, b->domain_uuid) &&
	       str_equal(a->group, b->group) && str_equal(a->target, b->target);
}

void polkit_forget_other(const Polkit *polkit, const sd_bus_message *m, const Decision *question)
{
	Check *check = find_granted(polkit, m);

	if (check && !decision_equal(&check->decision, question))
		check_free(check);
}

bool polkit_trusts(const Polkit *polkit)
{
	return caller_is_privileged(callers_current(polkit->callers)->uid);
}

/* `done` NULL: the call comes again. */
static int ask_within_limit(Polkit *polkit, const Decision *question, PolkitAnswered done,
			    void *userdata, sd_bus_error *error)
{
	Decision limit = *question;

	if (WAITING_OF(polkit->checks, decision.caller.uid, question->caller.uid) < CHECKS_MAX)
		return check_begin(polkit, question, done, userdata);
	limit.action = "questions to polkit";
	return refusals_over_limit(polkit->refusals, &limit, CHECKS_MAX, error);
}

int polkit_ask(Polkit *polkit, const Decision *question, PolkitAnswered done, void *userdata,
	       sd_bus_error *error)
{
	return ask_within_limit(polkit, question, done, userdata, error);
}

/* A look is no decision; a denied one is. */
static int allow(const Polkit *polkit, const Decision *decision)
{
	if (strcmp(decision->action, GPUPASS_ACTION_READ) != 0 &&
	    strcmp(decision->action, GPUPASS_ACTION_AUDIT) != 0)
		decision_record(polkit->refusals->trail, decision, AUDIT_ALLOWED, NULL, NULL);
	return 1;
}

int polkit_authorize(Polkit *polkit, sd_bus_message *m, const Decision *question,
		     sd_bus_error *error)
{
	_cleanup_(check_freep) Check *granted = find_granted(polkit, m);
	const Caller *caller = callers_current(polkit->callers);
	Decision decision = decision_on(question, m, caller);

	/* On each pass: a caller who has left since may not act. */
	if (caller->uid == CALLER_UNKNOWN && granted)
		decision.caller = granted->decision.caller;
	if (caller->uid == CALLER_UNKNOWN)
		return access_denied(polkit, &decision, UNKNOWN, error);
	if (granted)
		return strcmp(granted->decision.action, question->action) == 0 &&
				       granted->decision.caller.uid == caller->uid
			       ? allow(polkit, &decision)
			       : access_denied(polkit, &decision, "polkit was asked something else",
					       error);
	if (caller_is_privileged(caller->uid))
		return allow(polkit, &decision);
	return ask_within_limit(polkit, &decision, NULL, NULL, error);
}

int polkit_require_root(Polkit *polkit, sd_bus_message *m, const Decision *question,
			sd_bus_error *error)
{
	const Caller *caller = callers_current(polkit->callers);
	const Decision decision = decision_on(question, m, caller);

	if (caller->uid == CALLER_UNKNOWN)
		return access_denied(polkit, &decision, UNKNOWN, error);
	return caller_is_privileged(caller->uid)
		       ? 0
		       : access_denied(polkit, &decision, "that is for root alone", error);
}
