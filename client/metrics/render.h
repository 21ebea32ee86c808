/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's state and counters as metrics. */
#pragma once

#include <jansson.h>

#include "metrics/writer.h"
#include "model/model.h"

/*
 * The whole text, of what the daemon publishes and its document (schema org.gpupass1.metrics/1).
 * world NULL: it does not answer, which is all that there is to write.
 */
char *metrics_render(MetricsFormat format, const World *world, const json_t *document);

/* counts.c: the families that come from the document. */
void metrics_render_counts(MetricsWriter *w, const json_t *document);
/* A member that is a number; 0 where there is none. */
uint64_t metrics_number(const json_t *object, const char *key);
