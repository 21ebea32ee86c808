/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"
#include "metrics/render.h"

/* More bounds than any daemon has. */
#define BOUNDS_MAX 64

static uint64_t to_number(const json_t *value)
{
	json_int_t n = json_integer_value(value);

	return n > 0 ? (uint64_t)n : 0;
}

uint64_t metrics_number(const json_t *object, const char *key)
{
	return to_number(json_object_get(object, key));
}

/* A document whose lists do not fit together has no histograms. */
static bool read_bounds(const json_t *document, uint64_t *ret, size_t *ret_n)
{
	const json_t *bounds = json_object_get(document, "bounds_usec"), *bound;
	size_t i;

	if (json_array_size(bounds) > BOUNDS_MAX)
		return false;
	json_array_foreach (bounds, i, bound)
		ret[i] = to_number(bound);
	*ret_n = json_array_size(bounds);
	return true;
}

/* What has not happened yet has no histogram, so that a host has few series. */
static void histogram(MetricsWriter *w, const json_t *document, const json_t *duration,
		      const char *label, const char *value)
{
	const json_t *list = json_object_get(duration, "counts"), *count;
	uint64_t bounds[BOUNDS_MAX], counts[BOUNDS_MAX + 1], n = 0;
	size_t i, n_bounds;

	if (!read_bounds(document, bounds, &n_bounds) || json_array_size(list) != n_bounds + 1)
		return;
	json_array_foreach (list, i, count) {
		counts[i] = to_number(count);
		n += counts[i];
	}
	if (n > 0)
		metrics_histogram(w, bounds, counts, n_bounds, metrics_number(duration, "sum_usec"),
				  label, value);
}

static void render_jobs(MetricsWriter *w, const json_t *document)
{
	const json_t *jobs = json_object_get(document, "jobs"), *job, *n;
	json_t *results;
	const char *result;
	size_t i;

	metrics_family(w, METRIC_JOBS);
	json_array_foreach (jobs, i, job) {
		results = json_object_get(job, "results");
		json_object_foreach (results, result, n)
			metrics_sample(w, to_number(n),
				       LABELS({ "operation", json_text_of(job, "operation") },
					      { "result", result }));
	}
	metrics_family(w, METRIC_JOB_DURATION);
	json_array_foreach (jobs, i, job)
		histogram(w, document, json_object_get(job, "duration"), "operation",
			  json_text_of(job, "operation"));
}

static void render_steps(MetricsWriter *w, const json_t *document)
{
	const json_t *steps = json_object_get(document, "steps"), *step;
	size_t i;

	metrics_family(w, METRIC_STEP_DURATION);
	json_array_foreach (steps, i, step)
		histogram(w, document, json_object_get(step, "duration"), "step",
			  json_text_of(step, "step"));
}

/* One sample for each member of an object of numbers. */
static void render_object(MetricsWriter *w, MetricFamily family, const char *label,
			  const json_t *document, const char *key)
{
	json_t *object = json_object_get(document, key), *n;
	const char *name;

	metrics_family(w, family);
	json_object_foreach (object, name, n)
		metrics_sample(w, to_number(n), LABELS({ label, name }));
}

static void render_resets(MetricsWriter *w, const json_t *document)
{
	const json_t *resets = json_object_get(document, "resets"), *reset;
	size_t i;

	metrics_family(w, METRIC_RESETS);
	json_array_foreach (resets, i, reset)
		metrics_sample(w, metrics_number(reset, "count"),
			       LABELS({ "method", json_text_of(reset, "method") },
				      { "result", json_text_of(reset, "result") }));
}

static void render_audit(MetricsWriter *w, const json_t *document)
{
	const json_t *audit = json_object_get(document, "audit");

	metrics_family(w, METRIC_AUDIT_WRITABLE);
	metrics_sample(w, json_is_set(audit, "writable"), LABELS());
	metrics_family(w, METRIC_AUDIT_LOST);
	metrics_sample(w, metrics_number(audit, "lost"), LABELS());
}

void metrics_render_counts(MetricsWriter *w, const json_t *document)
{
	static const struct {
		MetricFamily family;
		const char *key;
	} plain[] = {
		{ METRIC_QUARANTINES, "quarantines" },
		{ METRIC_CLAIMS, "claims" },
		{ METRIC_QUARANTINES_MADE, "quarantines_made" },
		{ METRIC_QUARANTINES_LIFTED, "quarantines_lifted" },
		{ METRIC_DRIFT_FOUND, "drift_found" },
		{ METRIC_DRIFT_GONE, "drift_gone" },
		{ METRIC_FOREIGN_FOUND, "foreign_found" },
		{ METRIC_FOREIGN_GONE, "foreign_gone" },
	};

	for (size_t i = 0; i < ELEMENTS(plain); i++) {
		metrics_family(w, plain[i].family);
		metrics_sample(w, metrics_number(document, plain[i].key), LABELS());
	}
	render_audit(w, document);
	render_jobs(w, document);
	render_steps(w, document);
	render_object(w, METRIC_FAILURES, "error", document, "failures");
	render_resets(w, document);
	render_object(w, METRIC_RECOVERED, "outcome", document, "recovered");
	render_object(w, METRIC_REFUSED_CALLS, "reason", document, "refused_calls");
}
