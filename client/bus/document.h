/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The JSON documents that the manager's methods return: plan, topology, evidence, drift, doctor. */
#pragma once

#include <jansson.h>

#include "bus/bus.h"

typedef struct DocumentKind {
	const char *what;   /* "the plan": what a bad one is called */
	const char *schema; /* GPUPASS_SCHEMA_… */
	const char *list;   /* an array that it must have; NULL: none */
	const char *lines;  /* a text that has lines; NULL: none */
	bool raw;	    /* nothing of it is printed as it is */
} DocumentKind;
/* With GPUPASS_SCHEMA_SCHEMA, and by their names those of the others that it has. */
#define DOCUMENT_KIND(is_called, SCHEMA, ...)                                                      \
	{                                                                                          \
		.what = (is_called), .schema = GPUPASS_SCHEMA_##SCHEMA, __VA_ARGS__                \
	}

/*
 * *ret: the document that the call returns. The caller owns it. It is an object of this schema with
 * its list; the rest is not checked. Any other reply is a bad one, and sets the client's failure.
 *
 * Unless the run prints JSON, texts are cleaned of control characters here, so that no verb can
 * forget to.
 */
int document_call(Client *c, sd_bus_message *call, uint64_t timeout_usec, const DocumentKind *kind,
		  json_t **ret);
/* The same from a method that takes options only, without any. */
int document_get(Client *c, const char *member, uint64_t timeout_usec, const DocumentKind *kind,
		 json_t **ret);

/* The same of a text that came another way. */
int document_parse(Client *c, const char *text, const DocumentKind *kind, json_t **ret);

/* The same cleaning, of a document that came as a property. */
void document_clean(json_t *document);
