/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a worker answers to a probe, schema org.gpupass1.probe/1:
 *   { "schema", "error", "boards", "unseen" }
 * "error": why nothing could be looked at; absent when something was. "boards": sightings
 * (core/links/evidence.h). "unseen": objects with "address" and "reason", of those asked for that
 * told nothing.
 */
#pragma once

#include "core/links/evidence.h"

typedef struct UnseenBoard {
	Bdf bdf;
	char *reason;
} UnseenBoard;

typedef struct ProbeAnswer {
	char *error;	  /* NULL: something was looked at */
	Evidence *boards; /* NULL: none */
	UnseenBoard *unseen;
	size_t n_unseen;
} ProbeAnswer;

/* 0 or -ENOMEM. Takes the reason, also on failure; NULL means that memory was out. */
int probe_answer_unseen(ProbeAnswer *answer, const Bdf *bdf, char *reason);
void probe_answer_clear(ProbeAnswer *answer);

/* One line without a newline; NULL when memory is out. */
char *probe_document(const ProbeAnswer *answer);

/*
 * -EBADMSG when this is no answer about these functions: each must be among boards or unseen, no
 * other may, and sightings must be of this way.
 */
int probe_document_parse(const char *text, size_t size, const Bdf *functions, size_t n,
			 SightingWay way, ProbeAnswer *ret);
