/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A journal of the versions before: NUMBER.journal has one open job, in lines such as
 *
 * 2 CRC32 {"record":"begin", "job":7, "boot_id":…, "plan":{…}, "previous":…, "live_xml":…}
 *
 * Version 1 has neither persistence modes nor their steps. We only read them: nothing is added to
 * such a file, and it goes with the end of its job.
 */
#include <errno.h>
#include <string.h>

#include "store/journal-private.h"
#include "store/journal.h"
#include "util/crc32.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

static int bad(int error, const char *what, char **ret_message)
{
	*ret_message = xstrdup(what);
	return error;
}

/* A line of another version begins with a number. Anything else is damage. */
static bool is_other_version(const char *line)
{
	size_t digits = strspn(line, "0123456789");

	return digits > 0 && digits < 10 && line[digits] == ' ';
}

static int parse(const char *line, json_t **ret, char **ret_message)
{
	_cleanup_free_ char *number = NULL;
	unsigned long long sum = 0;
	json_t *record = NULL;

	if (!str_starts_with(line, "2 ") && !str_starts_with(line, "1 "))
		return is_other_version(line) ? bad(-EPROTO, "of another version", ret_message)
					      : bad(-EBADMSG, "it has no version", ret_message);
	line += strlen("2 ");
	number = xstrndup(line, strcspn(line, " "));
	if (strlen(number) != 8 || str_to_unsigned(number, 16, UINT32_MAX, &sum) < 0 ||
	    line[8] != ' ' || sum != crc32_of(line + 9, strlen(line + 9)))
		return bad(-EBADMSG, "its checksum is wrong", ret_message);
	if (json_parse(line + 9, strlen(line + 9), &record, NULL) < 0 || !json_is_object(record)) {
		json_decref(record);
		return bad(-EBADMSG, "it is not an object", ret_message);
	}
	*ret = record;
	return 0;
}

static int read_first(JournalReading *reading, const json_t *record, char **ret_message)
{
	_cleanup_(open_job_freep) OpenJob *job = xcalloc(1, sizeof(OpenJob));
	int r = journal_read_begin(record, "previous", job, reading->boot_id, ret_message);

	if (r >= 0)
		reading->job = TAKE_PTR(job);
	return r;
}

static int read_line(JournalReading *reading, const char *line, char **ret_message)
{
	_cleanup_json_ json_t *record = NULL;
	int r = parse(line, &record, ret_message);

	if (r < 0)
		return r;
	if (reading->lines == 1)
		return read_first(reading, record, ret_message);
	return reading->job ? journal_read_step(record, reading->job) : 0;
}

/* What follows a line that cannot be understood is not looked at. */
static int visit(const char *line, size_t size, bool whole, void *userdata)
{
	JournalReading *reading = userdata;
	_cleanup_free_ char *text = size > JOURNAL_LINE_MAX ? NULL : xstrndup(line, size);
	_cleanup_free_ char *message = NULL;
	int r = -EBADMSG;

	reading->lines++;
	if (!whole && reading->lines > 1)
		return 0; /* cut off: what it was to announce was not begun */
	if (text && whole && strlen(text) == size)
		r = read_line(reading, text, &message);
	else
		message = xstrdup(whole ? "there is a zero in it" : "it is cut off");
	if (r == 1)
		reading->job = open_job_free(reading->job);
	if (r < 0)
		journal_note_bad(reading, r, message, line, text ? size : 0);
	return r != 0 ? 1 : 0;
}

void journal_read_before(int dir_fd, const char *name, JournalReading *reading)
{
	int r = ledger_visit(dir_fd, name, JOURNAL_LINE_MAX, visit, reading);

	if (r < 0)
		reading->error = r;
	else if (reading->lines == 0)
		journal_note_bad(reading, -EBADMSG, "it is empty", "", 0);
}
