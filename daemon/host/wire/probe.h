/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A worker's answer to a probe, schema org.gpupass1.probe/1:
 *   { "schema", "error", "boards", "unseen" }
 * "error": why nothing could be observed; absent when something was. "boards": sightings
 * (core/links/evidence.h). "unseen": objects with "address" and "reason", for GPUs of the question
 * that reported nothing.
 */
#pragma once

#include "core/links/evidence.h"

typedef struct UnseenBoard {
	Bdf bdf;
	char *reason;
} UnseenBoard;

typedef struct ProbeAnswer {
	char *error;	  /* NULL: something was observed */
	Evidence *boards; /* NULL: none */
	UnseenBoard *unseen;
	size_t n_unseen;
} ProbeAnswer;

/* Takes the reason. */
void probe_answer_unseen(ProbeAnswer *answer, const Bdf *bdf, char *reason);
void probe_answer_clear(ProbeAnswer *answer);

/* One line without a newline. */
char *probe_document(const ProbeAnswer *answer);

/*
 * -EBADMSG when this is not an answer about these functions: each must be among boards or unseen,
 * no other may be, and all sightings must be of this way.
 */
int probe_document_parse(const char *text, size_t size, const Bdf *functions, size_t n,
			 SightingWay way, ProbeAnswer *ret);
