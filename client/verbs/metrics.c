/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/json.h"
#include "base/text.h"
#include "bus/document.h"
#include "metrics/render.h"
#include "metrics/textfile.h"
#include "verbs/verbs.h"

static const DocumentKind kind = { "what it counts", GPUPASS_SCHEMA_METRICS, "jobs", NULL, true };

static int read_format(Client *c, MetricsFormat *ret)
{
	const char *format = c->options->format;
	bool to_file = c->options->textfile;

	*ret = (format ? str_equal(format, "prometheus") : to_file) ? METRICS_PROMETHEUS
								    : METRICS_OPENMETRICS;
	if (to_file && *ret == METRICS_OPENMETRICS)
		return client_usage(c, "node_exporter cannot read OpenMetrics from a file\n"
				       "Remedy: leave out --format=openmetrics");
	if (c->options->json != JSON_OFF && (to_file || format))
		return client_usage(c, "JSON is no format of metrics that a file or --format can "
				       "have\nRemedy: leave out one of the two");
	return 0;
}

static int put(Client *c, const char *text)
{
	const char *file = c->options->textfile;
	int r;

	if (!file) {
		fputs(text, c->out.stream);
		return 0;
	}
	r = textfile_write(file, text);
	if (r < 0)
		return client_error(c, GPUPASS_ERROR_FILE_FAILED,
				    "cannot write %s\nCause:  %s\nState:  the file is as it was\n"
				    "Remedy: see that its folder is there and can be written",
				    file, strerror(-r));
	return 0;
}

/*
 * That the daemon does not answer is a metric, too: the text that says so is written, and the exit
 * code is that of the failure. It is not started: who stopped it wants it stopped, also a minute
 * later.
 */
int verb_metrics(Client *c, _unused_ char *const *arguments, _unused_ size_t n_arguments)
{
	_cleanup_(json_decrefp) json_t *document = NULL;
	_cleanup_(world_clear) World world = { 0 };
	_cleanup_free_ char *text = NULL;
	MetricsFormat format = METRICS_OPENMETRICS;
	int r, written;

	r = read_format(c, &format);
	if (r < 0)
		return r;
	c->leave_stopped = true;
	r = document_get(c, "GetMetrics", BUS_TIMEOUT_READ_USEC, &kind, &document);
	if (c->options->json != JSON_OFF)
		return r < 0 ? r : json_print(c, TAKE_PTR(document));
	if (r >= 0)
		r = world_load(c, &world);
	text = metrics_render(format, r < 0 ? NULL : &world, document);
	written = put(c, text);
	if (written < 0 && r >= 0)
		r = written;
	return r < 0 ? r : GPUPASS_EXIT_DONE;
}
