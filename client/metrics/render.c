/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "metrics/render.h"

#include <inttypes.h>

#include "base/json.h"
#include "base/text.h"
#include "metrics/families.h"
#include "util/clock.h"
#include "util/xalloc.h"

/* ---- writing ---- */

/*
 * Writes metrics as text, in one of two formats. They differ where a counter is declared: the
 * format before OpenMetrics declares it with its ending _total, OpenMetrics without. The parser of
 * node_exporter's textfile collector knows the former only (expfmt of prometheus/common).
 */
typedef struct MetricsWriter {
	FILE *f;
	MetricsFormat format;
	MetricFamily family; /* that was begun last */
} MetricsWriter;

typedef struct MetricLabel {
	const char *name;
	const char *value;
} MetricLabel;
/* The last of them has no name. */
#define LABELS(...) ((const MetricLabel[]){ __VA_ARGS__ __VA_OPT__(, ){ NULL, NULL } })

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

/* All samples of a family stand together, after this. */
static void metrics_family(MetricsWriter *w, MetricFamily family)
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

static void metrics_sample(MetricsWriter *w, uint64_t value, const MetricLabel *labels)
{
	begin_sample(w, ending(families[w->family].type), labels);
	fprintf(w->f, "%" PRIu64 "\n", value);
}

/* A point in time or a duration, in microseconds, which is written in seconds. */
static void metrics_sample_usec(MetricsWriter *w, uint64_t usec, const MetricLabel *labels)
{
	begin_sample(w, ending(families[w->family].type), labels);
	write_usec(w, usec);
}

/* ---- what is written ---- */

#define X(enumerator, name) [enumerator] = (name),
static const char *const states[] = { GPUPASS_GROUP_STATES(X) };
static const char *const healths[] = { GPUPASS_HEALTHS(X) };
static const char *const verdicts[] = { GPUPASS_VERDICTS(X) };
#undef X

static uint64_t to_number(const json_t *value)
{
	json_int_t n = json_integer_value(value);

	return n > 0 ? (uint64_t)n : 0;
}

/* 0 where there is none. */
static uint64_t number_of(const json_t *object, const char *key)
{
	return to_number(json_object_get(object, key));
}

/* ---- the daemon and its host ---- */

static void plain(MetricsWriter *w, MetricFamily family, uint64_t value)
{
	metrics_family(w, family);
	metrics_sample(w, value, LABELS());
}

/* 0: it has not been yet, and there is no sample. */
static void plain_time(MetricsWriter *w, MetricFamily family, uint64_t usec)
{
	metrics_family(w, family);
	if (usec > 0)
		metrics_sample_usec(w, usec, LABELS());
}

/* 1 for the word that it is, 0 for all others. */
static void one_of(MetricsWriter *w, const char *const *words, size_t n, const char *is,
		   const char *label, MetricLabel of)
{
	for (size_t i = 0; i < n; i++)
		metrics_sample(w, strcmp(is, words[i]) == 0, LABELS(of, { label, words[i] }));
}

static void render_manager(MetricsWriter *w, const World *world, const json_t *document)
{
	const Manager *manager = &world->manager;

	metrics_family(w, METRIC_BUILD);
	metrics_sample(w, 1, LABELS({ "version", manager->version }));
	plain_time(w, METRIC_START, number_of(document, "started_usec"));
	if (manager_has_libvirt(manager))
		plain(w, METRIC_LIBVIRT, manager->libvirt_connected);
	plain(w, METRIC_IOMMU, manager->iommu_enabled);
	plain_time(w, METRIC_SCAN, manager->scanned_at);
	plain(w, METRIC_NOTES, strv_length(manager->notes));
	plain(w, METRIC_ASSIGNMENTS, world->n_assignments);
	plain_time(w, METRIC_DRIFT_SEARCHED, number_of(document, "drift_searched_usec"));
}

/* ---- groups ---- */

static uint64_t count_groups(const World *world, const char *model, const char *state)
{
	return COUNT(world->groups, world->n_groups,
		     strcmp(it->model, model) == 0 && strcmp(it->state, state) == 0);
}

/* All states of each model, so that an alert on one of them has a series when there is none. */
static void render_group_counts(MetricsWriter *w, const World *world)
{
	metrics_family(w, METRIC_GROUPS);
	for (size_t i = 0; i < world->n_groups; i++) {
		const char *model = world->groups[i].model;
		bool again = SOME(world->groups, i, strcmp(it->model, model) == 0);

		for (size_t s = 0; !again && s < GROUP_STATE_MAX_; s++)
			metrics_sample(w, count_groups(world, model, states[s]),
				       LABELS({ "state", states[s] }, { "model", model }));
	}
}

static void render_group_info(MetricsWriter *w, const World *world)
{
	metrics_family(w, METRIC_GROUP_INFO);
	EACH (const Group, g, world->groups, world->n_groups)
		metrics_sample(w, 1,
			       LABELS({ "group", g->name }, { "model", g->model },
				      { "domain", g->domain_name },
				      { "domain_uuid", g->domain_uuid }));
	metrics_family(w, METRIC_GROUP_STATE);
	for (size_t i = 0; i < world->n_groups; i++)
		one_of(w, states, GROUP_STATE_MAX_, world->groups[i].state, "state",
		       (MetricLabel){ "group", world->groups[i].name });
}

/* A sample of each group g of which `known` holds. */
#define SAMPLE_GROUPS(family, known, sample, value)                                                \
	metrics_family(w, (family));                                                               \
	for (size_t i = 0; i < world->n_groups; i++) {                                             \
		const Group *g = &world->groups[i];                                                \
                                                                                                   \
		if (known)                                                                         \
			sample(w, (value), LABELS({ "group", g->name }));                          \
	}

static void render_group_links(MetricsWriter *w, const World *world)
{
	SAMPLE_GROUPS(METRIC_GROUP_GPUS, true, metrics_sample, strv_length(g->gpu_addresses));
	metrics_family(w, METRIC_GROUP_COMPANION);
	EACH (const Group, g, world->groups, world->n_groups)
		EACH (const BusCompanion, one, g->companions.items, g->companions.n_items)
			metrics_sample(w, 1,
				       LABELS({ "group", g->name }, { "kind", one->kind },
					      { "address", one->address }));
	SAMPLE_GROUPS(METRIC_GROUP_LINKS, true, metrics_sample, g->links);
	SAMPLE_GROUPS(METRIC_GROUP_LINKS_EXPECTED, true, metrics_sample, g->links_expected);
	SAMPLE_GROUPS(METRIC_GROUP_EVIDENCE, g->evidence_at > 0, metrics_sample_usec,
		      g->evidence_at);
}

/* Of guests that were asked. */
static void render_verdicts(MetricsWriter *w, const World *world)
{
	metrics_family(w, METRIC_GROUP_VERDICT);
	for (size_t i = 0; i < world->n_groups; i++)
		if (world->groups[i].verified_at > 0)
			one_of(w, verdicts, VERDICT_MAX_, world->groups[i].verified, "verdict",
			       (MetricLabel){ "group", world->groups[i].name });
	SAMPLE_GROUPS(METRIC_GROUP_VERIFIED, g->verified_at > 0, metrics_sample_usec,
		      g->verified_at);
}

/*
 * Of the groups that there are, 0 where nothing was found; and of those that only a record names.
 */
static void render_findings(MetricsWriter *w, const World *world, MetricFamily family,
			    const json_t *document, const char *key)
{
	json_t *found = json_object_get(document, key), *n;
	const char *name;

	SAMPLE_GROUPS(family, true, metrics_sample, number_of(found, g->name));
	json_object_foreach (found, name, n)
		if (!world_find_group(world, name))
			metrics_sample(w, number_of(found, name), LABELS({ "group", name }));
}

/* ---- GPUs ---- */

static void render_gpus(MetricsWriter *w, const World *world)
{
	metrics_family(w, METRIC_GPU_INFO);
	EACH (const Gpu, gpu, world->gpus, world->n_gpus)
		metrics_sample(w, 1,
			       LABELS({ "gpu", gpu->address }, { "model", gpu->model },
				      { "group", world_group_name(world, gpu->group) }));
	metrics_family(w, METRIC_GPU_HEALTH);
	for (size_t i = 0; i < world->n_gpus; i++)
		one_of(w, healths, HEALTH_MAX_, world->gpus[i].health, "health",
		       (MetricLabel){ "gpu", world->gpus[i].address });
	metrics_family(w, METRIC_GPU_AER);
	EACH (const Gpu, gpu, world->gpus, world->n_gpus) {
		const struct {
			const char *severity;
			uint64_t n;
		} aer[] = { { "correctable", gpu->aer_correctable },
			    { "nonfatal", gpu->aer_nonfatal },
			    { "fatal", gpu->aer_fatal } };

		for (size_t k = 0; k < ELEMENTS(aer); k++)
			metrics_sample(
				w, aer[k].n,
				LABELS({ "gpu", gpu->address }, { "severity", aer[k].severity }));
	}
}

/* ---- jobs ---- */

static bool same_work(const Job *a, const Job *b)
{
	return strcmp(a->operation, b->operation) == 0 && strcmp(a->group_name, b->group_name) == 0;
}

/* true: no open job before it in the list has the same operation and group. */
static bool is_first(const World *world, const Job *job)
{
	return !SOME(world->jobs, (size_t)(job - world->jobs),
		     !job_is_over(it) && same_work(it, job));
}

static uint64_t oldest(const World *world, const Job *like)
{
	uint64_t usec = like->created_at;

	for (size_t i = 0; i < world->n_jobs; i++)
		if (!job_is_over(&world->jobs[i]) && same_work(&world->jobs[i], like) &&
		    world->jobs[i].created_at < usec)
			usec = world->jobs[i].created_at;
	return usec;
}

/* By group, and not by number: each job would begin a series that nothing ends. */
static void render_open_jobs(MetricsWriter *w, const World *world)
{
	metrics_family(w, METRIC_OPEN_JOBS);
	for (size_t o = 0; o < OPERATION_MAX_; o++) {
		const char *operation = operation_to_string((Operation)o);
		uint64_t n = COUNT(world->jobs, world->n_jobs,
				   !job_is_over(it) && strcmp(it->operation, operation) == 0);

		metrics_sample(w, n, LABELS({ "operation", operation }));
	}
	metrics_family(w, METRIC_OPEN_JOB_START);
	EACH (const Job, job, world->jobs, world->n_jobs)
		if (!job_is_over(job) && is_first(world, job))
			metrics_sample_usec(w, oldest(world, job),
					    LABELS({ "operation", job->operation },
						   { "group", job->group_name }));
}

/* ---- what the daemon counted ---- */

/*
 * counts has one more than bounds, those above all of them; it is not cumulative. A document whose
 * lists do not fit together has no histograms. What has not happened yet has none, either, so that
 * a host has few series.
 */
static void histogram(MetricsWriter *w, const json_t *document, const json_t *duration,
		      const char *label, const char *value)
{
	const json_t *bounds = json_object_get(document, "bounds_usec"), *count;
	const json_t *counts = json_object_get(duration, "counts");
	size_t i, n_bounds = json_array_size(bounds);
	uint64_t n = 0, all = 0;

	json_array_foreach (counts, i, count)
		all += to_number(count);
	if (json_array_size(counts) != n_bounds + 1 || all == 0)
		return;
	json_array_foreach (counts, i, count) {
		uint64_t bound = to_number(json_array_get(bounds, i));
		/* OpenMetrics wants the point in 1.0, and 0.25 without more digits. */
		_cleanup_free_ char *le = i == n_bounds
						  ? xstrdup("+Inf")
						  : strf("%g%s", (double)bound / USEC_PER_SEC,
							 bound % USEC_PER_SEC == 0 ? ".0" : "");

		n += to_number(count);
		begin_sample(w, "_bucket", LABELS({ label, value }, { "le", le }));
		fprintf(w->f, "%" PRIu64 "\n", n);
	}
	begin_sample(w, "_sum", LABELS({ label, value }));
	write_usec(w, number_of(duration, "sum_usec"));
	begin_sample(w, "_count", LABELS({ label, value }));
	fprintf(w->f, "%" PRIu64 "\n", n);
}

/* Of each item of a list, which has a member of the label's name. */
static void render_durations(MetricsWriter *w, MetricFamily family, const char *label,
			     const json_t *document, const char *list)
{
	const json_t *item;

	metrics_family(w, family);
	JSON_EACH (item, document, list)
		histogram(w, document, json_object_get(item, "duration"), label,
			  json_text_of(item, label));
}

static void render_jobs(MetricsWriter *w, const json_t *document)
{
	const json_t *job, *n;
	const char *result;

	metrics_family(w, METRIC_JOBS);
	JSON_EACH (job, document, "jobs")
		json_object_foreach (json_object_get(job, "results"), result, n)
			metrics_sample(w, to_number(n),
				       LABELS({ "operation", json_text_of(job, "operation") },
					      { "result", result }));
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
	const json_t *reset;

	metrics_family(w, METRIC_RESETS);
	JSON_EACH (reset, document, "resets")
		metrics_sample(w, number_of(reset, "count"),
			       LABELS({ "method", json_text_of(reset, "method") },
				      { "result", json_text_of(reset, "result") }));
}

static void render_counts(MetricsWriter *w, const json_t *document)
{
	/* The document calls them as their family is called behind the first word. */
	static const MetricFamily plain_counts[] = {
		METRIC_QUARANTINES,	   METRIC_CLAIMS,	METRIC_QUARANTINES_MADE,
		METRIC_QUARANTINES_LIFTED, METRIC_DRIFT_FOUND,	METRIC_DRIFT_GONE,
		METRIC_FOREIGN_FOUND,	   METRIC_FOREIGN_GONE,
	};
	const json_t *audit = json_object_get(document, "audit");

	for (size_t i = 0; i < ELEMENTS(plain_counts); i++)
		plain(w, plain_counts[i],
		      number_of(document, families[plain_counts[i]].name + strlen("gpupass_")));
	plain(w, METRIC_AUDIT_WRITABLE, json_is_set(audit, "writable"));
	plain(w, METRIC_AUDIT_LOST, number_of(audit, "lost"));
	render_jobs(w, document);
	render_durations(w, METRIC_JOB_DURATION, "operation", document, "jobs");
	render_durations(w, METRIC_STEP_DURATION, "step", document, "steps");
	render_object(w, METRIC_FAILURES, "error", document, "failures");
	render_resets(w, document);
	render_object(w, METRIC_RECOVERED, "outcome", document, "recovered");
	render_object(w, METRIC_REFUSED_CALLS, "reason", document, "refused_calls");
}

/* ---- all of it ---- */

static void render_all(MetricsWriter *w, const World *world, const json_t *document)
{
	plain(w, METRIC_UP, world != NULL);
	if (!world)
		return;
	render_manager(w, world, document);
	render_group_counts(w, world);
	render_group_info(w, world);
	render_group_links(w, world);
	render_verdicts(w, world);
	render_findings(w, world, METRIC_DRIFT, document, "drift");
	render_findings(w, world, METRIC_FOREIGN, document, "foreign");
	render_gpus(w, world);
	render_open_jobs(w, world);
	render_counts(w, document);
}

char *metrics_render(MetricsFormat format, const World *world, const json_t *document)
{
	char *text = NULL;
	size_t size;
	MetricsWriter w = { .f = xmemstream(&text, &size), .format = format };

	render_all(&w, world, document);
	fputs("# EOF\n", w.f); /* to the format before OpenMetrics a comment */
	xmemstream_end(&w.f);
	return text;
}
