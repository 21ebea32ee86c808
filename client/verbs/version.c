/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"
#include "gpupass/dbus.h"
#include "gpupass/formats.h"
#include "verbs/verbs.h"

#define LINE_MAX_COLUMNS 79
#define FORMAT(name) name,

static const char *const documents[] = { GPUPASS_DOCUMENTS(FORMAT) };
static const char *const files[] = { GPUPASS_FILES(FORMAT) };

static void print_formats(FILE *to, const char *what, const char *const *formats, size_t n)
{
	size_t at = strlen(what) + 1;

	fprintf(to, "%s:", what);
	for (size_t i = 0; i < n; i++) {
		if (at + 1 + strlen(formats[i]) > LINE_MAX_COLUMNS) {
			fputs("\n ", to);
			at = 1;
		}
		fprintf(to, " %s", formats[i]);
		at += 1 + strlen(formats[i]);
	}
	fputc('\n', to);
}

static json_t *json_formats(const char *const *formats, size_t n)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(array, json_text(formats[i]));
	return array;
}

int print_version(Client *c)
{
	if (c->options->json != JSON_OFF)
		return json_print(c, json_build("{s:s, s:s, s:s, s:o, s:o}", "schema",
						GPUPASS_SCHEMA_VERSION, "version", GPUPASS_VERSION,
						"interface", GPUPASS_BUS_NAME, "documents",
						json_formats(documents, ELEMENTS(documents)),
						"files", json_formats(files, ELEMENTS(files))));
	fprintf(c->out.stream, "gpupass %s\nD-Bus: %s\n", GPUPASS_VERSION, GPUPASS_BUS_NAME);
	print_formats(c->out.stream, "Documents", documents, ELEMENTS(documents));
	print_formats(c->out.stream, "Files", files, ELEMENTS(files));
	return GPUPASS_EXIT_DONE;
}
