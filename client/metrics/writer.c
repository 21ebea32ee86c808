/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metrics/writer.h"

#include <inttypes.h>

#include "base/text.h"
#include "util/clock.h"

static const struct {
	const char *name;
	MetricType type;
	const char *help;
} families[] = {
#define X(enumerator, name, type, help) [enumerator] = { name, type, help },
	METRIC_FAMILIES(X)
#undef X
};

/* What is added to the family's name in each sample. */
static const char *ending(MetricType type)
{
	return type == METRIC_COUNTER ? "_total" : type == METRIC_INFO ? "_info" : "";
}

/* OpenMetrics has a type for what describes, and the format before has none. */
static const char *type_name(const MetricsWriter *w, MetricType type)
{
	static const char *const names[] = {
		[METRIC_GAUGE] = "gauge",
		[METRIC_COUNTER] = "counter",
		[METRIC_HISTOGRAM] = "histogram",
		[METRIC_INFO] = "info",
	};

	return names[type == METRIC_INFO && w->format == METRICS_PROMETHEUS ? METRIC_GAUGE : type];
}

void metrics_family(MetricsWriter *w, MetricFamily family)
{
	MetricType type = families[family].type;
	const char *end = w->format == METRICS_PROMETHEUS ? ending(type) : "";

	w->family = family;
	fprintf(w->f, "# HELP %s%s %s.\n", families[family].name, end, families[family].help);
	fprintf(w->f, "# TYPE %s%s %s\n", families[family].name, end, type_name(w, type));
}

/*
 * A tenant chooses the name of a domain. Without control characters, line feeds among them, and
 * with these two escaped, it cannot end the label or the line.
 */
static void write_value(MetricsWriter *w, const char *value)
{
	_cleanup_free_ char *clean = text_printable(value);

	for (const char *c = clean; *c; c++)
		if (*c == '\\' || *c == '"')
			fprintf(w->f, "\\%c", *c);
		else
			fputc(*c, w->f);
}

static void begin_sample(MetricsWriter *w, const char *end, const MetricLabel *labels)
{
	fprintf(w->f, "%s%s", families[w->family].name, end);
	for (const MetricLabel *l = labels; l->name; l++) {
		fprintf(w->f, "%s%s=\"", l == labels ? "{" : ",", l->name);
		write_value(w, l->value);
		fputc('"', w->f);
	}
	fputs(labels->name ? "} " : " ", w->f);
}

static void write_usec(MetricsWriter *w, uint64_t usec)
{
	fprintf(w->f, "%" PRIu64 ".%06" PRIu64 "\n", usec / USEC_PER_SEC, usec % USEC_PER_SEC);
}

void metrics_sample(MetricsWriter *w, uint64_t value, const MetricLabel *labels)
{
	begin_sample(w, ending(families[w->family].type), labels);
	fprintf(w->f, "%" PRIu64 "\n", value);
}

void metrics_sample_usec(MetricsWriter *w, uint64_t usec, const MetricLabel *labels)
{
	begin_sample(w, ending(families[w->family].type), labels);
	write_usec(w, usec);
}

void metrics_histogram(MetricsWriter *w, const uint64_t *bounds_usec, const uint64_t *counts,
		       size_t n_bounds, uint64_t sum_usec, const char *label, const char *value)
{
	uint64_t n = 0;

	for (size_t i = 0; i < n_bounds; i++) {
		/* OpenMetrics wants the point in 1.0, and 0.25 without more digits. */
		_cleanup_free_ char *le = strf("%g%s", (double)bounds_usec[i] / USEC_PER_SEC,
					       bounds_usec[i] % USEC_PER_SEC == 0 ? ".0" : "");

		n += counts[i];
		begin_sample(w, "_bucket", LABELS({ label, value }, { "le", le }));
		fprintf(w->f, "%" PRIu64 "\n", n);
	}
	n += counts[n_bounds];
	begin_sample(w, "_bucket", LABELS({ label, value }, { "le", "+Inf" }));
	fprintf(w->f, "%" PRIu64 "\n", n);
	begin_sample(w, "_sum", LABELS({ label, value }));
	write_usec(w, sum_usec);
	begin_sample(w, "_count", LABELS({ label, value }));
	fprintf(w->f, "%" PRIu64 "\n", n);
}

/* To the format before OpenMetrics this is a comment. */
void metrics_end(MetricsWriter *w)
{
	fputs("# EOF\n", w->f);
}
