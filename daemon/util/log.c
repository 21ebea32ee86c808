/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "util/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <sys/uio.h>
#include <systemd/sd-journal.h>

#include "util/file.h"
#include "util/log-queue.h"
#include "util/printable.h"
#include "util/text.h"
#include "util/xalloc.h"

/* What may wait for a sink that blocks: a few thousand lines. */
#define QUEUE_BYTES_MAX (1U << 20)
#define FIELDS_MAX 24

/*
 * log_open() and log_start() write it before other threads log; afterwards it is constant. It is
 * the one piece of process-wide state, because the log belongs to the process.
 */
static struct {
	bool to_journal;
	int max_level;
	LogQueue *queue; /* NULL: lines are written at once */
} sink = { false, LOG_INFO, NULL };

void log_open(bool to_journal, int max_level)
{
	sink.to_journal = to_journal;
	sink.max_level = max_level;
}

/* ---- making a record: for the journal, fields that end with NUL; otherwise the line ---- */

typedef struct Buffer {
	char *data;
	size_t size;
} Buffer;

static void buffer_clear(Buffer *buffer)
{
	free(buffer->data);
}

static void add_field(Buffer *buffer, const char *name, const char *value)
{
	size_t size;

	if (str_is_empty(value))
		return;
	size = strlen(name) + 1 + strlen(value) + 1;
	buffer->data = xrealloc(buffer->data, buffer->size + size);
	snprintf(buffer->data + buffer->size, size, "%s=%s", name, value);
	buffer->size += size;
}

static void add_number(Buffer *buffer, const char *name, uint32_t value)
{
	_cleanup_free_ char *text = strf("%u", value);

	add_field(buffer, name, text);
}

static void add_all_fields(Buffer *buffer, int level, const LogFields *fields, const char *message)
{
	add_field(buffer, "MESSAGE", message);
	add_number(buffer, "PRIORITY", (uint32_t)level);
	add_field(buffer, "SYSLOG_IDENTIFIER", "gpupassd");
	if (!fields)
		return;
	add_field(buffer, "MESSAGE_ID", fields->message_id);
	add_field(buffer, "GPUPASS_GROUP", fields->group);
	add_field(buffer, "GPUPASS_DOMAIN", fields->domain);
	add_field(buffer, "GPUPASS_DOMAIN_UUID", fields->domain_uuid);
	add_field(buffer, "GPUPASS_BDF", fields->functions);
	if (fields->job > 0)
		add_number(buffer, "GPUPASS_JOB", fields->job);
}

/*
 * The journal's fields stay as they are, so that they can be searched for; people read the message.
 */
static Buffer make_record(int level, const LogFields *fields, const char *raw)
{
	_cleanup_free_ char *message = text_printable_lines(raw);
	Buffer buffer = { 0 };

	if (sink.to_journal) {
		add_all_fields(&buffer, level, fields, message);
		if (fields && fields->job > 0)
			add_number(&buffer, "GPUPASS_UID", fields->uid);
	} else {
		buffer.data = strf("gpupassd: %s\n", message);
		buffer.size = strlen(buffer.data);
	}
	return buffer;
}

/* ---- writing it, which may block ---- */

static void to_journal(const char *record, size_t size)
{
	struct iovec fields[FIELDS_MAX];
	int n = 0;

	for (const char *at = record; at < record + size && n < FIELDS_MAX; at += strlen(at) + 1)
		fields[n++] = (struct iovec){ (char *)at, strlen(at) };
	sd_journal_sendv(fields, n);
}

static void write_record(const char *record, size_t size, _unused_ void *userdata)
{
	/*
	 * Not through stdio: a thread that waits here would hold its lock, and keep exit() waiting.
	 * There is no place to report an error.
	 */
	if (sink.to_journal)
		to_journal(record, size);
	else
		(void)file_write_fd(STDERR_FILENO, record, size);
}

static void write_dropped(size_t n, _unused_ void *userdata)
{
	_cleanup_(buffer_clear) Buffer buffer = { 0 };
	_cleanup_free_ char *message = strf("%zu lines of this log were dropped here: what takes "
					    "them did not keep up",
					    n);

	buffer = make_record(LOG_WARNING, NULL, message);
	write_record(buffer.data, buffer.size, NULL);
}

/* ---- the log ---- */

int log_start(void)
{
	const LogSink to_sink = { .write = write_record, .dropped = write_dropped };

	return log_queue_new(&to_sink, QUEUE_BYTES_MAX, &sink.queue);
}

void log_flush(uint64_t timeout_usec)
{
	if (sink.queue)
		log_queue_flush(sink.queue, timeout_usec);
}

static void put(const Buffer *buffer)
{
	if (sink.queue)
		log_queue_push(sink.queue, buffer->data, buffer->size);
	else
		write_record(buffer->data, buffer->size, NULL);
}

void log_line(int level, const LogFields *fields, const char *format, ...)
{
	_cleanup_(buffer_clear) Buffer buffer = { 0 };
	_cleanup_free_ char *message = NULL;
	va_list ap;

	if (level > sink.max_level)
		return;
	va_start(ap, format);
	message = vstrf(format, ap);
	va_end(ap);
	buffer = make_record(level, fields, message);
	put(&buffer);
}

static void add_id(Buffer *buffer, const char *name, uint32_t id)
{
	if (id != UINT32_MAX)
		add_number(buffer, name, id);
}

static void add_audit_fields(Buffer *buffer, const LogAudit *audit)
{
	_cleanup_free_ char *sequence = strf("%" PRIu64, audit->sequence);

	add_field(buffer, "GPUPASS_AUDIT", audit->kind);
	add_field(buffer, "GPUPASS_AUDIT_SEQUENCE", sequence);
	add_field(buffer, "GPUPASS_AUDIT_HASH", audit->hash);
	add_field(buffer, "GPUPASS_VERDICT", audit->verdict);
	add_field(buffer, "GPUPASS_VERB", audit->verb);
	add_field(buffer, "GPUPASS_REASON", audit->reason);
	add_field(buffer, "GPUPASS_ERROR", audit->error);
	add_id(buffer, "GPUPASS_UID", audit->uid);
	add_id(buffer, "GPUPASS_LOGIN_UID", audit->login_uid);
	add_id(buffer, "GPUPASS_PID", (uint32_t)audit->pid);
	add_field(buffer, "GPUPASS_UNIT", audit->unit);
	add_field(buffer, "GPUPASS_COMMAND", audit->command);
}

void log_audit(const LogFields *fields, const LogAudit *audit)
{
	_cleanup_(buffer_clear) Buffer buffer = { 0 };
	_cleanup_free_ char *message =
		strf("audit %" PRIu64 ": %s%s%s%s%s: %s", audit->sequence, audit->kind,
		     str_is_empty(audit->verb) ? "" : " ", str_or_empty(audit->verb),
		     str_is_empty(fields->group) ? "" : " ", str_or_empty(fields->group),
		     audit->verdict);

	if (!sink.to_journal)
		return;
	add_all_fields(&buffer, LOG_INFO, fields, message);
	add_audit_fields(&buffer, audit);
	put(&buffer);
}
