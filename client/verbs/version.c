/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"
#include "gpupass/dbus.h"
#include "gpupass/formats.h"
#include "verbs/verbs.h"

/* Also where no terminal gives a width. */
#define WIDTH 79
#define ITEM(name) name,

int print_version(Client *c)
{
	static const char *const documents[] = { GPUPASS_DOCUMENTS(ITEM) NULL };
	static const char *const files[] = { GPUPASS_FILES(ITEM) NULL };
	Terminal out = c->out;

	if (c->options->json != JSON_OFF)
		return json_print(c, json_build("{s:s, s:s, s:s, s:o, s:o}", "schema",
						GPUPASS_SCHEMA_VERSION, "version", GPUPASS_VERSION,
						"interface", GPUPASS_BUS_NAME, "documents",
						json_strv((char *const *)documents), "files",
						json_strv((char *const *)files)));
	out.width = WIDTH;
	fprintf(out.stream, "gpupass %s\nD-Bus: %s\n", GPUPASS_VERSION, GPUPASS_BUS_NAME);
	terminal_prose(&out, 0, 2, "Documents:" GPUPASS_DOCUMENTS(GPUPASS_AND_FORMAT));
	terminal_prose(&out, 0, 2, "Files:" GPUPASS_FILES(GPUPASS_AND_FORMAT));
	return GPUPASS_EXIT_DONE;
}
