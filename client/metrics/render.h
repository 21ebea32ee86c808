/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's state and counters as metrics. */
#pragma once

#include <jansson.h>

#include "model/model.h"

typedef enum MetricsFormat { METRICS_OPENMETRICS, METRICS_PROMETHEUS } MetricsFormat;

/*
 * The whole text, of what the daemon publishes and its document (schema org.gpupass1.metrics/1).
 * world NULL: it does not answer, which is all that there is to write.
 */
char *metrics_render(MetricsFormat format, const World *world, const json_t *document);
