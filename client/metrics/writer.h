/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes metrics as text, in one of two formats. They differ where a counter is declared: the
 * format before OpenMetrics declares it with its ending _total, OpenMetrics without. The parser of
 * node_exporter's textfile collector knows the former only (expfmt of prometheus/common).
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "metrics/families.h"

typedef enum MetricsFormat { METRICS_OPENMETRICS, METRICS_PROMETHEUS } MetricsFormat;

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

/* All samples of a family stand together, after this. */
void metrics_family(MetricsWriter *w, MetricFamily family);
void metrics_sample(MetricsWriter *w, uint64_t value, const MetricLabel *labels);
/* A point in time or a duration, in microseconds, which is written in seconds. */
void metrics_sample_usec(MetricsWriter *w, uint64_t usec, const MetricLabel *labels);
/* counts has one more than bounds, those above all of them; it is not cumulative. */
void metrics_histogram(MetricsWriter *w, const uint64_t *bounds_usec, const uint64_t *counts,
		       size_t n_bounds, uint64_t sum_usec, const char *label, const char *value);
void metrics_end(MetricsWriter *w);
