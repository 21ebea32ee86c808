/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/wire/answer.h"

#include "gpupass/dbus.h"
#include "util/xalloc.h"

/* A string of JSON, quoted. Another tool may have set an override of any bytes: see text_of(). */
static void write_string(FILE *f, const char *s)
{
	fputc('"', f);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fprintf(f, "\\%c", *s);
		else if (*s < ' ' || *s > '~')
			fprintf(f, "\\u%04x", (unsigned char)*s);
		else
			fputc(*s, f);
	}
	fputc('"', f);
}

/* Bytes that are no driver's name are shown as "?". */
static const char *text_of(const char *s)
{
	for (const char *at = s; *at; at++)
		if ((unsigned char)*at > '~')
			return "?";
	return s;
}

static void write_text_if_any(FILE *f, const char *key, const char *value)
{
	if (!value)
		return;
	fprintf(f, ",\"%s\":", key);
	write_string(f, text_of(value));
}

static void begin(FILE *f, const char *verb, int error)
{
	fprintf(f, "{\"schema\":\"" GPUPASS_SCHEMA_WORKER "\",\"verb\":\"%s\",\"error\":%d", verb,
		-error);
}

char *worker_move_document(const Bdf *bdf, const DriverResult *result)
{
	char *text = NULL;
	size_t size;
	FILE *f = xmemstream(&text, &size);

	begin(f, "move", result->error);
	fprintf(f, ",\"bdf\":\"%s\",\"phase\":\"%s\",\"changed\":%s", BDF_TEXT(bdf),
		driver_phase_to_string(result->phase), result->changed ? "true" : "false");
	write_text_if_any(f, "driver", result->driver);
	write_text_if_any(f, "driver_override", result->driver_override);
	fputc('}', f);
	xmemstream_end(&f);
	return text;
}

char *worker_vfs_document(const Bdf *bdf, int error, unsigned number)
{
	char *text = NULL;
	size_t size;
	FILE *f = xmemstream(&text, &size);

	begin(f, "vfs", error);
	fprintf(f, ",\"bdf\":\"%s\",\"number\":%u}", BDF_TEXT(bdf), number);
	xmemstream_end(&f);
	return text;
}

static void write_look(FILE *f, const char *key, const ResetLook *look)
{
	/* The separators of members, of which each may be absent. */
	const char *comma = "";

	fprintf(f, ",\"%s\":{", key);
	if (look->link_speed) {
		fputs("\"link_speed\":", f);
		write_string(f, text_of(look->link_speed));
		comma = ",";
	}
	if (look->link_width > 0) {
		fprintf(f, "%s\"link_width\":%u", comma, look->link_width);
		comma = ",";
	}
	if (look->power_state) {
		fprintf(f, "%s\"power_state\":", comma);
		write_string(f, text_of(look->power_state));
	}
	fputc('}', f);
}

char *worker_reset_document(const ResetReport *report)
{
	char *text = NULL;
	size_t size;
	FILE *f = xmemstream(&text, &size);

	begin(f, "reset", 0);
	fprintf(f, ",\"report\":{\"address\":\"%s\",\"result\":", BDF_TEXT(&report->bdf));
	write_string(f, reset_result_to_string(report->result));
	fprintf(f, ",\"error\":%d", -report->error);
	write_text_if_any(f, "method", report->method);
	write_look(f, "before", &report->before);
	write_look(f, "after", &report->after);
	fputs("}}", f);
	xmemstream_end(&f);
	return text;
}
