/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpupass audit: the audit trail, read back from the daemon page by page. */
#include "verbs/audit.h"

#include <pwd.h>

#include "base/json.h"
#include "base/text.h"
#include "bus/document.h"
#include "util/clock.h"
#include "verbs/verbs.h"

static const DocumentKind page_kind = { "the audit trail", GPUPASS_SCHEMA_AUDIT_PAGE, "records" };

/* ---- what is asked for ---- */

static int read_time(Client *c, const char *option, const char *text, uint64_t *ret)
{
	if (!text || time_parse(text, now_realtime(), ret) >= 0)
		return 0;
	return client_usage(c,
			    "--%s=%s: not a time\n"
			    "Remedy: write it as 2026-01-31, \"2026-01-31 14:02\", or 2h for two "
			    "hours ago",
			    option, text);
}

static int read_user(Client *c, AuditFilter *filter)
{
	const char *text = c->options->user;
	const struct passwd *user;
	unsigned long long uid;
	int r;

	if (!text)
		return 0;
	filter->by_user = true;
	r = str_to_unsigned(text, 10, UINT32_MAX - 1, &uid);
	if (r == -ERANGE)
		return client_usage(c, "--user=%s: no uid", text);
	if (r >= 0) {
		filter->user = uid;
		return 0;
	}
	/* The names of another host are not known here. */
	user = c->options->host ? NULL : getpwnam(text);
	if (!user)
		return client_usage(c, "--user=%s: no such user%s\nRemedy: give the uid, a number",
				    text, c->options->host ? " is known here" : "");
	filter->user = user->pw_uid;
	return 0;
}

static int read_filter(Client *c, AuditFilter *ret)
{
	const Options *o = c->options;
	unsigned long long job = 0;
	int r;

	r = read_time(c, "since", o->since, &ret->since_usec);
	if (r >= 0)
		r = read_time(c, "until", o->until, &ret->until_usec);
	if (r >= 0)
		r = read_user(c, ret);
	if (r < 0 || !o->job)
		return r;
	if (str_to_unsigned(o->job, 10, UINT32_MAX, &job) < 0 || job == 0)
		return client_usage(c, "'%s' is not the number of a job", o->job);
	ret->job = job;
	return 0;
}

/* ---- asking for it ---- */

static int append_number(sd_bus_message *call, const char *key, uint64_t number)
{
	return sd_bus_message_append(call, "{sv}", key, "t", number);
}

static int append_text(sd_bus_message *call, const char *key, const char *text)
{
	return text ? sd_bus_message_append(call, "{sv}", key, "s", text) : 0;
}

static int append_filter(Client *c, sd_bus_message *call, const AuditFilter *filter, uint64_t after)
{
	const Options *o = c->options;
	int r = sd_bus_message_open_container(call, 'a', "{sv}");

	if (r >= 0)
		r = append_number(call, GPUPASS_OPTION_AFTER, after);
	if (r >= 0 && filter->since_usec > 0)
		r = append_number(call, GPUPASS_OPTION_SINCE, filter->since_usec);
	if (r >= 0 && filter->until_usec > 0)
		r = append_number(call, GPUPASS_OPTION_UNTIL, filter->until_usec);
	if (r >= 0 && filter->by_user)
		r = append_number(call, GPUPASS_OPTION_USER, filter->user);
	if (r >= 0 && filter->job > 0)
		r = append_number(call, GPUPASS_OPTION_JOB, filter->job);
	if (r >= 0)
		r = append_text(call, GPUPASS_OPTION_GROUP, o->group);
	if (r >= 0)
		r = append_text(call, GPUPASS_OPTION_DOMAIN, o->domain);
	if (r >= 0 && (o->given & OPTION_HOLDERS))
		r = sd_bus_message_append(call, "{sv}", GPUPASS_OPTION_HOLDERS, "b", 1);
	if (r >= 0)
		r = sd_bus_message_close_container(call);
	return r < 0 ? bus_build_failed(c, r) : 0;
}

/* Reads one page behind `after`: a document org.gpupass1.audit-page/1. */
static int get_page(Client *c, const AuditFilter *filter, uint64_t after, json_t **ret)
{
	_cleanup_message_ sd_bus_message *call = NULL;
	int r = bus_new_manager_call(c, "GetAudit", &call, "");

	if (r >= 0)
		r = append_filter(c, call, filter, after);
	/* Somebody may have to type a password first. */
	return r < 0 ? r : document_call(c, call, BUS_TIMEOUT_ACT_USEC, &page_kind, ret);
}

int audit_records(Client *c, const AuditFilter *filter, uint64_t after, json_t **ret,
		  uint64_t *ret_last)
{
	_cleanup_(json_decrefp) json_t *all = json_array();
	bool more = true;

	while (more) {
		_cleanup_(json_decrefp) json_t *page = NULL;
		long long last;
		int r = get_page(c, filter, after, &page);

		if (r < 0)
			return r;
		json_array_extend(all, json_object_get(page, "records"));
		last = json_number_of(page, "last");
		/* A page that does not come further would be asked for without end. */
		more = json_is_set(page, "more") && last > 0 && (uint64_t)last > after;
		after = last > 0 && (uint64_t)last > after ? (uint64_t)last : after;
	}
	*ret = TAKE_PTR(all);
	*ret_last = after;
	return 0;
}

/* ---- the verb ---- */

static int print_all(Client *c, const AuditFilter *filter)
{
	_cleanup_(json_decrefp) json_t *records = NULL;
	uint64_t last = 0;
	int r = audit_records(c, filter, 0, &records, &last);

	if (r < 0)
		return r;
	if (c->options->json == JSON_OFF) {
		audit_print(c, records);
		return 0;
	}
	return json_print(c,
			  json_build("{s:s, s:O, s:o, s:b}", "schema", GPUPASS_SCHEMA_AUDIT_PAGE,
				     "records", records, "last", json_unsigned(last), "more", 0));
}

static int print_holders(Client *c, const AuditFilter *filter)
{
	static const DocumentKind kind = { "the list of holders", GPUPASS_SCHEMA_HOLDERS,
					   "holders" };
	_cleanup_(json_decrefp) json_t *now = NULL, *records = NULL;
	uint64_t last = 0;
	int r = document_get(c, "GetHolders", BUS_TIMEOUT_ACT_USEC, &kind, &now);

	if (r >= 0)
		r = audit_records(c, filter, 0, &records, &last);
	if (r < 0)
		return r;
	if (c->options->json == JSON_OFF) {
		audit_print_holders(c, now, records);
		return 0;
	}
	json_object_set(now, "records", records);
	return json_print(c, TAKE_PTR(now));
}

int verb_audit(Client *c, _unused_ char *const *arguments, _unused_ size_t n_arguments)
{
	const uint64_t of_verify = OPTION_VERIFY | OPTION_EXPECT | OPTION_TRAIL;
	uint64_t given = c->options->given;
	AuditFilter filter = { 0 };
	int r;

	if (given & of_verify) {
		if (!(given & OPTION_VERIFY))
			return client_usage(c, "--expect and --trail go with --verify");
		if (given & ~of_verify)
			return client_usage(c, "--verify reads the whole trail: of the options of "
					       "audit it takes --expect and --trail");
		return audit_verify(c);
	}
	r = read_filter(c, &filter);
	if (r >= 0 && (given & OPTION_FOLLOW) && (given & OPTION_UNTIL))
		r = client_usage(c, "--follow has no end: leave out --until");
	if (r < 0)
		return r;
	if (given & OPTION_FOLLOW)
		r = audit_follow(c, &filter);
	else if (given & OPTION_HOLDERS)
		r = print_holders(c, &filter);
	else
		r = print_all(c, &filter);
	return r < 0 ? r : GPUPASS_EXIT_DONE;
}
