/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The report that a guest leaves in a file: what is taken of it, and when it is old. */
#include "rig/test.h"

#include <stdlib.h>

#include "core/verify/guest-report.h"
#include "util/json.h"
#include "util/text.h"

#define DOMAIN "11111111-1111-4111-8111-111111111111"
#define OTHER "22222222-2222-4222-8222-222222222222"
#define BOOT "aaaaaaaa-0001-4c1d-8a00-000000000001"
#define BOOT_BEFORE "aaaaaaaa-0002-4c1d-8a00-000000000002"
#define WRITTEN 1800000000ULL
#define USEC 1000000ULL

static const char whole[] =
	"{\"schema\":\"org.gpupass1.guest-report/1\",\"written_at\":1800000000,\"boot_id\":\"" BOOT
	"\",\"domain\":\"" DOMAIN "\",\"distribution\":\"debian 12\",\"stage\":\"checked\","
	"\"detail\":\"\",\"driver\":\"535.183.06\",\"gpus\":2,\"links\":[4,4],\"as_expected\":true}\n";

static GuestReport *judge(const char *boot, const char *text, uint64_t now)
{
	const GuestRun runs[GUEST_REPORT_RUNS] = {
		{ .outcome = GUEST_RAN, .out = (char *)boot, .out_size = strlen(boot) },
		{ .outcome = GUEST_RAN, .out = (char *)text, .out_size = strlen(text) },
	};
	GuestReport *report = NULL;

	report = guest_report_judge(runs, DOMAIN, now);
	return report;
}

/* The text with the first `from` made `to`. */
static char *with(const char *from, const char *to)
{
	const char *at = strstr(whole, from);

	if (!at)
		fail_msg("no %s", from);
	return strf("%.*s%s%s", (int)(at - whole), whole, to, at + strlen(from));
}

TEST(a_report_of_this_boot_is_current)
{
	_cleanup_(guest_report_freep) GuestReport *report =
		judge(BOOT "\n", whole, (WRITTEN + 90) * USEC);
	_cleanup_json_ json_t *json = guest_report_to_json(report);
	_cleanup_free_ char *text = json_dumps(json, JSON_COMPACT);

	assert_string_equal(
		text,
		"{\"state\":\"current\",\"stage\":\"checked\",\"written_at\":1800000000000000,"
		"\"age_usec\":90000000,\"detail\":\"\",\"driver\":\"535.183.06\",\"distribution\":\"debian 12\","
		"\"gpus\":2,\"links\":[4,4],\"as_expected\":true}");
}

/* A disk that was copied, or a machine that started again, has a report that is not about it. */
TEST(an_old_report_is_not_taken_for_a_new_one)
{
	static const struct {
		const char *boot, *from, *to;
		GuestReportState state;
	} rows[] = {
		{ BOOT "\n", "", "", GUEST_REPORT_CURRENT },
		{ BOOT_BEFORE "\n", "", "", GUEST_REPORT_EARLIER_BOOT },
		{ "", "", "", GUEST_REPORT_EARLIER_BOOT },
		{ BOOT "x", "", "", GUEST_REPORT_EARLIER_BOOT },
		{ "", BOOT, "", GUEST_REPORT_EARLIER_BOOT },
		{ BOOT "\n", DOMAIN, OTHER, GUEST_REPORT_OTHER_DOMAIN },
		{ BOOT "\n", DOMAIN, "", GUEST_REPORT_OTHER_DOMAIN },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *text = with(rows[i].from, rows[i].to);
		_cleanup_(guest_report_freep) GuestReport *report =
			judge(rows[i].boot, text, WRITTEN * USEC);

		if (report->state != rows[i].state)
			fail_msg("row %zu: %s", i, guest_report_state_to_string(report->state));
	}
}

TEST(a_clock_that_is_ahead_gives_no_age)
{
	_cleanup_(guest_report_freep) GuestReport *report =
		judge(BOOT "\n", whole, (WRITTEN - 1) * USEC);
	_cleanup_json_ json_t *json = guest_report_to_json(report);

	assert_false(report->has_age);
	assert_true(json_is_null(json_object_get(json, "age_usec")));
}

/* promise G9 */
TEST(anything_else_is_unreadable)
{
	static const char *const rows[][2] = {
		{ "/1\"", "/2\"" },
		{ "\"gpus\":2", "\"gpus\":65" },
		{ "\"gpus\":2", "\"gpus\":-1" },
		{ "\"gpus\":2", "\"gpus\":\"2\"" },
		{ "[4,4]", "[4,37]" },
		{ "[4,4]", "[4,-1]" },
		{ "[4,4]", "[[4]]" },
		{ "[4,4]", "4" },
		{ "\"checked\"", "\"verified\"" },
		{ "true", "1" },
		{ "1800000000", "-1" },
		{ "1800000000", "253402300800" },
		{ "\"detail\":\"\"", "\"detail\":\"\\u001b[2J\"" },
		{ "\"detail\":\"\"", "\"detail\":\"\\\"\"" },
		{ "\"detail\":\"\"", "\"detail\":\"caf\\u00e9\"" },
		{ "\"detail\":\"\"", "\"detail\":null" },
		{ "\"detail\":\"\",", "" },
		{ "\"gpus\":2", "\"gpus\":2,\"more\":1" },
		{ "\"gpus\":2", "\"gpus\":2,\"gpus\":3" },
		{ BOOT, "aaaaaaaa" },
		{ DOMAIN, "../../../../../../../../etc/passwd00" },
		{ "}\n", "" },
		{ "{", "[" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_free_ char *text = with(rows[i][0], rows[i][1]);
		_cleanup_(guest_report_freep) GuestReport *report =
			judge(BOOT "\n", text, WRITTEN * USEC);
		_cleanup_json_ json_t *json = guest_report_to_json(report);

		if (report->state != GUEST_REPORT_UNREADABLE)
			fail_msg("%s was taken", rows[i][1]);
		assert_int_equal(json_object_size(json), 1);
	}
}

TEST(a_long_report_is_unreadable)
{
	_cleanup_free_ char *spaces = calloc(1, GUEST_REPORT_MAX + 1);
	_cleanup_free_ char *text = NULL, *longer = NULL;
	_cleanup_(guest_report_freep) GuestReport *report = NULL, *worded = NULL;

	assert_non_null(spaces);
	memset(spaces, ' ', GUEST_REPORT_MAX);
	text = strf("%s%s", whole, spaces);
	report = judge(BOOT "\n", text, WRITTEN * USEC);
	assert_int_equal(report->state, GUEST_REPORT_UNREADABLE);
	spaces[GUEST_REPORT_TEXT_MAX + 1] = '\0';
	longer = strf("\"detail\":\"%s\"", spaces);
	free(text);
	text = with("\"detail\":\"\"", longer);
	worded = judge(BOOT "\n", text, WRITTEN * USEC);
	assert_int_equal(worded->state, GUEST_REPORT_UNREADABLE);
}

TEST(a_guest_without_the_file_has_no_report)
{
	static const GuestRun rows[] = {
		{ .outcome = GUEST_RAN, .exit_code = 1 },
		{ .outcome = GUEST_NOT_ASKED },
		{ .outcome = GUEST_NOT_STARTED },
		{ .outcome = GUEST_TIMEOUT },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		const GuestRun runs[GUEST_REPORT_RUNS] = { { .outcome = GUEST_RAN }, rows[i] };
		_cleanup_(guest_report_freep) GuestReport *report = NULL;

		report = guest_report_judge(runs, DOMAIN, WRITTEN * USEC);
		assert_int_equal(report->state, GUEST_REPORT_NONE);
	}
}
