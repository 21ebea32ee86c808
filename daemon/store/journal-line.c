/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/journal-line.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "util/crc32.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

/* The version that we write. We also read version 1, which has neither persistence modes nor their
 * steps. */
#define VERSION "2"
#define VERSION_BEFORE "1"

char *journal_line(const json_t *record)
{
	_cleanup_free_ char *text = json_dumps(record, JSON_COMPACT);

	return strf(VERSION " %08" PRIx32 " %s\n", crc32_of(text), text);
}

static int bad(int error, const char *what, char **ret_message)
{
	*ret_message = xstrdup(what);
	return error;
}

static int bad_version(const char *line, char **ret_message)
{
	_cleanup_free_ char *version = xstrndup(line, strcspn(line, " "));

	*ret_message = strf("it is of version %s, and versions " VERSION_BEFORE " and " VERSION
			    " are read",
			    version);
	return -EPROTO;
}

/* A line of another version begins with a number. Anything else is damage. */
static bool is_other_version(const char *line)
{
	size_t digits = strspn(line, "0123456789");

	return digits > 0 && digits < 10 && line[digits] == ' ';
}

int journal_line_parse(const char *line, json_t **ret, char **ret_message)
{
	_cleanup_free_ char *number = NULL;
	unsigned long long sum = 0;
	json_t *record = NULL;

	_Static_assert(sizeof(VERSION) == sizeof(VERSION_BEFORE), "they are skipped alike");
	if (!str_starts_with(line, VERSION " ") && !str_starts_with(line, VERSION_BEFORE " "))
		return is_other_version(line) ? bad_version(line, ret_message)
					      : bad(-EBADMSG, "it has no version", ret_message);
	line += strlen(VERSION " ");
	number = xstrndup(line, strcspn(line, " "));
	if (strlen(number) != 8 || str_to_unsigned(number, 16, UINT32_MAX, &sum) < 0 ||
	    line[8] != ' ' || sum != crc32_of(line + 9))
		return bad(-EBADMSG, "its checksum is wrong", ret_message);
	if (json_parse(line + 9, strlen(line + 9), &record, NULL) < 0 || !json_is_object(record)) {
		json_decref(record);
		return bad(-EBADMSG, "it is not an object", ret_message);
	}
	*ret = record;
	return 0;
}
