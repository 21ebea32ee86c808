/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "bundle/journal.h"

#include <systemd/sd-journal.h>

#include "base/text.h"
#include "util/clock.h"
#include "util/xalloc.h"

#define LINES_MAX 2000
#define LINE_MAX_BYTES 1024
/* Of the kernel's, how many are looked at: a board that fails writes some each second. */
#define ENTRIES_MAX 100000
#define TIME_MAX_USEC (10 * USEC_PER_SEC)

static void close_journal(sd_journal **j)
{
	sd_journal_close(*j);
}
#define _cleanup_journal_ _cleanup_(close_journal)

bool journal_kernel_line_matters(const char *line, char *const *devices)
{
	static const char *const words[] = { "nvidia", "NVRM",	"nouveau", "vfio",
					     "DMAR",   "IOMMU", "AMD-Vi" };

	return SOME_OF(words, ELEMENTS(words), strcasestr(line, it)) ||
	       SOME_OF(devices, strv_length(devices), strstr(line, it));
}

/* Matches of one field are alternatives, those of several must all hold. */
static int add_matches(sd_journal *j, JournalPart part)
{
	/* Whoever is not root can log under any identifier. */
	static const char *const ours[] = {
		"_UID=0",
		"SYSLOG_IDENTIFIER=gpupassd",
		"SYSLOG_IDENTIFIER=gpupass-bind",
		"SYSLOG_IDENTIFIER=gpupass-config",
		"SYSLOG_IDENTIFIER=gpupass-eraser",
		"SYSLOG_IDENTIFIER=gpupass-examiner",
		"SYSLOG_IDENTIFIER=gpupass-hook",
		"SYSLOG_IDENTIFIER=gpupass-initramfs",
		"SYSLOG_IDENTIFIER=gpupass-inspector",
		"SYSLOG_IDENTIFIER=gpupass-mover",
		"SYSLOG_IDENTIFIER=gpupass-network",
		"SYSLOG_IDENTIFIER=gpupass-persistence",
		"SYSLOG_IDENTIFIER=gpupass-prober",
		"SYSLOG_IDENTIFIER=gpupass-rules",
		"SYSLOG_IDENTIFIER=gpupass-uevents",
	};
	char boot[sizeof("_BOOT_ID=") + SD_ID128_STRING_MAX] = "_BOOT_ID=";
	sd_id128_t id;
	int r = 0;

	if (part == JOURNAL_GPUPASS) {
		for (size_t i = 0; r >= 0 && i < ELEMENTS(ours); i++)
			r = sd_journal_add_match(j, ours[i], 0);
		return r;
	}
	r = sd_id128_get_boot(&id);
	if (r < 0)
		return r;
	sd_id128_to_string(id, boot + strlen(boot));
	r = sd_journal_add_match(j, boot, 0);
	return r < 0 ? r : sd_journal_add_match(j, "_TRANSPORT=kernel", 0);
}

static char *when(sd_journal *j)
{
	uint64_t usec = 0;
	struct tm tm;
	time_t seconds;
	char text[sizeof("2026-01-31T14:02:11Z") + 8];

	if (sd_journal_get_realtime_usec(j, &usec) < 0)
		return strf("-");
	seconds = (time_t)(usec / USEC_PER_SEC);
	if (!gmtime_r(&seconds, &tm) ||
	    strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm) == 0)
		return strf("-");
	return strf("%s", text);
}

/* NULL when this entry is left out. */
static char *read_line(sd_journal *j, JournalPart part, char *const *devices)
{
	_cleanup_free_ char *message = NULL, *clean = NULL, *time = NULL;
	const size_t key = strlen("MESSAGE=");
	const void *data;
	size_t size;
	int r = sd_journal_get_data(j, "MESSAGE", &data, &size);

	if (r < 0 || size < key)
		return NULL; /* an entry without a message, or one that is damaged */
	size = size - key < LINE_MAX_BYTES ? size - key : LINE_MAX_BYTES;
	message = xstrndup((const char *)data + key, size);
	clean = text_printable(message);
	if (part == JOURNAL_KERNEL && !journal_kernel_line_matters(clean, devices))
		return NULL;
	time = when(j);
	return strf("%s %s", time, clean);
}

static int collect(sd_journal *j, JournalPart part, char *const *devices, char ***ret_lines)
{
	uint64_t end = now_monotonic() + TIME_MAX_USEC;
	size_t n = 0;
	int r = sd_journal_seek_tail(j);

	for (size_t i = 0; r >= 0 && i < ENTRIES_MAX && n < LINES_MAX; i++) {
		char *line;

		r = sd_journal_previous(j);
		if (r <= 0 || now_monotonic() > end)
			return r;
		line = read_line(j, part, devices);
		if (line) {
			strv_append_take(ret_lines, line);
			n++;
		}
	}
	return r;
}

static char *oldest_first(char *const *lines)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = xmemstream(&text, &size);

	for (size_t i = strv_length(lines); lines && i > 0; i--)
		fprintf(f, "%s\n", lines[i - 1]);
	xmemstream_end(&f);
	return text;
}

int journal_excerpt(JournalPart part, char *const *devices, char **ret_text)
{
	_cleanup_journal_ sd_journal *j = NULL;
	_cleanup_strv_ char **lines = NULL;
	int r = sd_journal_open(&j, SD_JOURNAL_LOCAL_ONLY | SD_JOURNAL_SYSTEM);

	if (r >= 0)
		r = add_matches(j, part);
	if (r >= 0)
		r = collect(j, part, devices, &lines);
	if (r < 0)
		return r;
	*ret_text = oldest_first(lines);
	return 0;
}
