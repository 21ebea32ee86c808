/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "util/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>

#include "util/text.h"

/* Written once by log_open() before the first thread starts, constant afterwards: the one piece
 * of process-wide state, as the log is the process's. */
static struct {
	bool to_journal;
	int max_level;
} sink = { false, LOG_INFO };

void log_open(bool to_journal, int max_level)
{
	sink.to_journal = to_journal;
	sink.max_level = max_level;
}

#define FIELDS_MAX 10

typedef struct FieldList {
	struct iovec items[FIELDS_MAX];
	int n;
} FieldList;

/* A field that cannot be had for lack of memory is left out: the line matters more. */
static void add_field(FieldList *list, const char *name, const char *value)
{
	char *text;

	if (str_is_empty(value) || list->n == FIELDS_MAX)
		return;
	text = strf("%s=%s", name, value);
	if (text)
		list->items[list->n++] = (struct iovec){ text, strlen(text) };
}

static void add_number(FieldList *list, const char *name, uint32_t value)
{
	_cleanup_free_ char *text = strf("%u", value);

	add_field(list, name, text);
}

static void to_journal(int level, const LogFields *fields, const char *message)
{
	FieldList list = { .n = 0 };

	add_field(&list, "MESSAGE", message);
	add_number(&list, "PRIORITY", (uint32_t)level);
	add_field(&list, "SYSLOG_IDENTIFIER", "gpupassd");
	if (fields) {
		add_field(&list, "MESSAGE_ID", fields->message_id);
		add_field(&list, "GPUPASS_GROUP", fields->group);
		add_field(&list, "GPUPASS_DOMAIN", fields->domain);
		add_field(&list, "GPUPASS_DOMAIN_UUID", fields->domain_uuid);
		add_field(&list, "GPUPASS_BDF", fields->functions);
		if (fields->job > 0) {
			add_number(&list, "GPUPASS_JOB", fields->job);
			add_number(&list, "GPUPASS_UID", fields->uid);
		}
	}
	sd_journal_sendv(list.items, list.n);
	for (int i = 0; i < list.n; i++)
		free(list.items[i].iov_base);
}

void log_line(int level, const LogFields *fields, const char *format, ...)
{
	_cleanup_free_ char *message = NULL;
	va_list ap;
	int n;

	if (level > sink.max_level)
		return;
	va_start(ap, format);
	n = vasprintf(&message, format, ap);
	va_end(ap);
	if (n < 0) {
		message = NULL;
		return;
	}
	if (sink.to_journal)
		to_journal(level, fields, message);
	else
		fprintf(stderr, "gpupassd: %s\n", message);
}
