/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What gpupassd knows in the formats of others: metrics and topology. */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/json.h"
#include "base/text.h"
#include "bus/document.h"
#include "metrics/render.h"
#include "topology/model.h"
#include "util/file.h"
#include "verbs/verbs.h"

/* ---- a file for node_exporter's textfile collector ---- */

/* No sync: after a crash of the host, the next minute's text is the better one. */
static int fill(int fd, const char *text)
{
	int r = file_write_fd(fd, text, strlen(text));

	/* mkostemp() makes it for its owner only, and node_exporter is another user. */
	return r >= 0 && fchmod(fd, 0644) < 0 ? -errno : r;
}

/*
 * Writes all of it or nothing: a temporary file in the same folder, which takes the name when it is
 * complete. The collector reads names that end in .prom only, so not that file. -errno.
 */
static int textfile_write(const char *path, const char *text)
{
	_cleanup_free_ char *temporary = strf("%s.XXXXXX", path);
	struct stat there;
	int fd, r;

	/* The rename would replace /dev/null, or a link to what was meant. */
	if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode))
		return -EEXIST;
	fd = mkostemp(temporary, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	r = fill(fd, text);
	if (close(fd) < 0 && r >= 0)
		r = -errno;
	if (r >= 0 && rename(temporary, path) < 0)
		r = -errno;
	if (r < 0)
		(void)unlink(temporary);
	return r;
}

/* ---- metrics ---- */

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
 * code is that of the failure. Who may not ask does not know. It is not started: who stopped it
 * wants it stopped, also a minute later.
 */
int verb_metrics(Client *c, _unused_ char *const *arguments, _unused_ size_t n_arguments)
{
	static const DocumentKind kind =
		DOCUMENT_KIND("what it counts", METRICS, .list = "jobs", .raw = true);
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
	if (r < 0 && c->failure && c->failure->code == GPUPASS_EXIT_NOT_PERMITTED)
		return r;
	text = metrics_render(format, r < 0 ? NULL : &world, document);
	written = put(c, text);
	if (written < 0 && r >= 0)
		r = written;
	return r < 0 ? r : GPUPASS_EXIT_DONE;
}

/* ---- topology ---- */

static void draw(Client *c, const Topology *t)
{
	const char *format = c->options->format;

	if (str_equal(format, "svg"))
		topology_print_svg(c->out.stream, t);
	else if (str_equal(format, "tree"))
		topology_print_tree(&c->out, t, c->options->legend);
	else
		topology_print_matrix(&c->out, t, c->options->legend);
}

int verb_topology(Client *c, _unused_ char *const *arguments, _unused_ size_t n_arguments)
{
	static const DocumentKind kind = DOCUMENT_KIND("the topology", TOPOLOGY);
	_cleanup_(json_decrefp) json_t *document = NULL;
	_cleanup_(topology_freep) Topology *t = NULL;
	_cleanup_free_ char *why = NULL;
	int r = document_get(c, "GetTopology", BUS_TIMEOUT_READ_USEC, &kind, &document);

	if (r < 0)
		return r;
	if (c->options->json != JSON_OFF)
		return json_print(c, TAKE_PTR(document));
	r = topology_parse(document, &t, &why);
	if (r < 0)
		return bus_bad_reply(c, why);
	draw(c, t);
	return GPUPASS_EXIT_DONE;
}
