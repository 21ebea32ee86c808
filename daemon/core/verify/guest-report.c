/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/verify/guest-report.h"

#include <strings.h>

#include "util/json.h"
#include "util/xalloc.h"

#define UUID_LENGTH 36
/* Seconds since 1970, in the year 9999. */
#define SECONDS_MAX 253402300799ULL
#define USEC_PER_SECOND 1000000ULL

enum { RUN_BOOT, RUN_REPORT };

static const char *const read_boot[] = { "cat", "/proc/sys/kernel/random/boot_id", NULL };
static const char *const read_report[] = { "cat", GUEST_REPORT_PATH, NULL };
const char *const *const guest_report_commands[GUEST_REPORT_RUNS] = { read_boot, read_report };

#include "guest-report.inc"

/* Printable ASCII of a limited length, and nothing that JSON or a shell would have to quote. */
static int read_text(const json_t *object, const char *key, const char **ret)
{
	const char *text = NULL;

	if (json_get_string(object, key, &text) < 0 || strlen(text) > GUEST_REPORT_TEXT_MAX)
		return -EBADMSG;
	for (const char *c = text; *c; c++)
		if (*c < ' ' || *c > '~' || *c == '"' || *c == '\\')
			return -EBADMSG;
	*ret = text;
	return 0;
}

static int copy_text(const json_t *object, const char *key, char **ret)
{
	const char *text;

	if (read_text(object, key, &text) < 0)
		return -EBADMSG;
	*ret = xstrdup(text);
	return 0;
}

/* "" is allowed: the guest could not tell. */
static int read_id(const json_t *object, const char *key, const char **ret)
{
	if (read_text(object, key, ret) < 0)
		return -EBADMSG;
	if (**ret &&
	    (strlen(*ret) != UUID_LENGTH || strspn(*ret, "0123456789abcdefABCDEF-") != UUID_LENGTH))
		return -EBADMSG;
	return 0;
}

static int read_links(const json_t *object, const char *key, unsigned *ret, size_t *ret_n)
{
	const json_t *list = json_object_get(object, key), *item;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > GUEST_REPORT_GPUS_MAX)
		return -EBADMSG;
	json_array_foreach (list, i, item) {
		if (!json_is_integer(item) || json_integer_value(item) < 0 ||
		    json_integer_value(item) > GUEST_REPORT_LINKS_MAX)
			return -EBADMSG;
		ret[i] = (unsigned)json_integer_value(item);
	}
	*ret_n = json_array_size(list);
	return 0;
}

/* `ret_boot` and `ret_domain` are borrowed from the object. */
static int read_members(const json_t *object, GuestReport *into, const char **ret_boot,
			const char **ret_domain)
{
	unsigned long long seconds = 0, gpus = 0;
	const char *stage;

	/* It has these members, the schema, and no others. */
	if (json_object_size(object) != 11 || read_id(object, "boot_id", ret_boot) < 0 ||
	    read_id(object, "domain", ret_domain) < 0 ||
	    json_get_unsigned(object, "written_at", SECONDS_MAX, &seconds) < 0 ||
	    json_get_unsigned(object, "gpus", GUEST_REPORT_GPUS_MAX, &gpus) < 0 ||
	    json_get_bool(object, "as_expected", &into->as_expected) < 0 ||
	    read_links(object, "links", into->links, &into->n_links) < 0 ||
	    json_get_string(object, "stage", &stage) < 0 ||
	    guest_stage_from_string(stage, &into->stage) < 0 ||
	    copy_text(object, "detail", &into->detail) < 0 ||
	    copy_text(object, "driver", &into->driver) < 0 ||
	    copy_text(object, "distribution", &into->distribution) < 0)
		return -EBADMSG;
	into->written_usec = seconds * USEC_PER_SECOND;
	into->n_gpus = (unsigned)gpus;
	return 0;
}

/* The boot that runs now. */
static bool is_boot(const GuestRun *run, const char *boot)
{
	return run->outcome == GUEST_RAN && !run->signalled && run->exit_code == 0 && run->out &&
	       *boot && run->out_size >= UUID_LENGTH && strlen(run->out) == run->out_size &&
	       strncasecmp(run->out, boot, UUID_LENGTH) == 0 &&
	       strspn(run->out + UUID_LENGTH, "\n") == run->out_size - UUID_LENGTH;
}

static int read_document(const GuestRun runs[GUEST_REPORT_RUNS], const char *domain_uuid,
			 GuestReport *into)
{
	const GuestRun *run = &runs[RUN_REPORT];
	_cleanup_json_ json_t *document = NULL;
	const char *boot = "", *domain = "";
	int r;

	if (run->out_size > GUEST_REPORT_MAX)
		return -EBADMSG;
	r = json_parse_document(run->out, run->out_size, GUEST_REPORT_SCHEMA, &document, NULL);
	if (r == 0)
		r = read_members(document, into, &boot, &domain);
	if (r < 0)
		return r;
	if (strcasecmp(domain, domain_uuid) != 0)
		into->state = GUEST_REPORT_OTHER_DOMAIN;
	else
		into->state = is_boot(&runs[RUN_BOOT], boot) ? GUEST_REPORT_CURRENT
							     : GUEST_REPORT_EARLIER_BOOT;
	return 0;
}

GuestReport *guest_report_judge(const GuestRun runs[GUEST_REPORT_RUNS], const char *domain_uuid,
				uint64_t now_usec)
{
	GuestReport *report = xcalloc(1, sizeof(GuestReport));
	const GuestRun *run = &runs[RUN_REPORT];

	if (run->outcome == GUEST_TOO_MUCH ||
	    (run->outcome == GUEST_RAN && !run->signalled && run->exit_code == 0 &&
	     (!run->out || read_document(runs, domain_uuid, report) < 0)))
		report->state = GUEST_REPORT_UNREADABLE;
	report->has_age = report->written_usec <= now_usec;
	if (report->has_age)
		report->age_usec = now_usec - report->written_usec;
	return report;
}

/* --- JSON --- */

static json_t *links_to_json(const GuestReport *report)
{
	return JSON_ARRAY(report->links, report->n_links, json_integer(*it));
}

json_t *guest_report_to_json(const GuestReport *report)
{
	const char *state = guest_report_state_to_string(report->state);

	if (report->state == GUEST_REPORT_NONE || report->state == GUEST_REPORT_UNREADABLE)
		return json_build("{s:s}", "state", state);
	return json_build("{s:s, s:s, s:I, s:o, s:s, s:s, s:s, s:i, s:o, s:b}", "state", state,
			  "stage", guest_stage_to_string(report->stage), "written_at",
			  (json_int_t)report->written_usec, "age_usec",
			  report->has_age ? json_integer((json_int_t)report->age_usec)
					  : json_null(),
			  "detail", report->detail, "driver", report->driver, "distribution",
			  report->distribution, "gpus", (int)report->n_gpus, "links",
			  links_to_json(report), "as_expected", report->as_expected);
}
