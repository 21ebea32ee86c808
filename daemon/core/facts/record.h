/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Records: the files of our own state, each a JSON document with a schema and a checksum. A
 * RecordKind says all that is particular to one folder of them. host/scan/record-files.h reads
 * them, store/records.h writes them, and what cannot be used of them is a RecordFault.
 */
#pragma once

#include <jansson.h>

#include "core/base/json-struct.h"
#include "gpupass/cleanup.h"
#include "util/bdf.h"

/* What each remedy of a file of a later version begins with. */
#define RECORD_NEWER_REMEDY "install the version of gpupass that wrote it, or a later one"

/* Why a file cannot be used. */
#define RECORD_FAULT_WHATS(X)                                                                      \
	X(RECORD_NEWER, "newer")     /* of a later version: it is valid, and must not be lost */   \
	X(RECORD_DAMAGED, "damaged") /* no record: its content, name, or what is there */          \
	X(RECORD_UNREAD, "unread")   /* it could not be read just now */

NAMED_ENUM(RecordFaultWhat, RECORD_FAULT_WHATS, RECORD_FAULT_WHAT_MAX_);

typedef struct RecordKind {
	const char *folder; /* "assignments.d"; NULL: the state directory itself */
	const char *file;   /* the only one of this kind; NULL: all "*.json" are */
	/* "org.gpupass1.assignment/4": what is written, with "crc32". Versions before have none. */
	const char *schema;
	size_t most; /* bytes of a file */
	/* What is in it, of any version up to that: a struct of so many bytes. */
	const JsonMember *members;
	size_t size;
	int (*check)(const void *record, char **ret_why); /* what the table cannot; NULL: nothing */
	/* Or something else. -EBADMSG with *ret_why: it is none. */
	int (*read)(const json_t *document, void **ret, char **ret_why);
	void (*free)(void *record);
	/* The file's name is the record's own: a copy would say something twice. NULL: no matter. */
	bool (*is_name)(const char *name, const void *record);
	const char *misnamed; /* "its name is not its group's" */
	/* What may be in such a file is kept apart: neither given away nor moved. */
	bool apart;
	bool of_group; /* and its name is its group's; otherwise it may be its domain's */
	/* Otherwise: what follows from a fault. */
	const char *so[RECORD_FAULT_WHAT_MAX_];
	const char *remedy[RECORD_FAULT_WHAT_MAX_];
} RecordKind;

/* The text of a file: the document, which is taken, with this kind's schema and its checksum. */
char *record_text(const RecordKind *kind, json_t *document);

/*
 * What the text says, and as a record of this kind. -EBADMSG: damaged; -EPROTO: of a later version;
 * both with *ret_why (may be NULL).
 */
int record_open(const RecordKind *kind, const char *text, size_t size, json_t **ret,
		char **ret_why);
int record_parse(const RecordKind *kind, const char *text, size_t size, void **ret, char **ret_why);
/* As it was read. */
void record_free(const RecordKind *kind, void *record);

/*
 * A file that cannot be used, and what can be told of it all the same. That serves to block what
 * the file may be about: too many functions do no harm, while a missing one does. Owned.
 */
typedef struct RecordFault {
	const RecordKind *kind;
	RecordFaultWhat what;
	char *file; /* its name in the folder, of any bytes; "": the folder itself */
	char *why;
	char *group, *domain_uuid; /* NULL: not known */
	Bdf *functions;
	size_t n_functions; /* 0: not known */
	json_t *document;   /* RECORD_NEWER: what it says */
} RecordFault;

typedef struct RecordFaults {
	RecordFault *items;
	size_t n_items;
} RecordFaults;
DECLARE_CLEAR(RecordFaults, record_faults_clear)

/*
 * Adds the fault of a file of which record_parse() or the read said `error`. text NULL: it was not
 * read.
 */
void record_faults_add(RecordFaults *faults, const RecordKind *kind, const char *file, int error,
		       const char *why, const char *text, size_t size);
/* Forgets what is known of this file. */
void record_faults_drop(RecordFaults *faults, const char *file);

/* What the file may be about surely includes one of these: a board, the group, or the domain. */
bool record_fault_is_about(const RecordFault *fault, const Bdf *functions, size_t n,
			   const char *group, const char *domain_uuid);
/*
 * The first fault about one of them, or else one that may be about anything. NULL: there is none.
 */
const RecordFault *record_faults_find(const RecordFaults *faults, const Bdf *functions, size_t n,
				      const char *group, const char *domain_uuid);

/* "assignments.d/UUID.json", of any bytes. */
char *record_fault_path(const RecordFault *fault);
/* "assignments.d/UUID.json was written by a later version of gpupass (…)" */
char *record_fault_what(const RecordFault *fault);
/* What follows from it. */
char *record_fault_so(const RecordFault *fault);
const char *record_fault_remedy(const RecordFault *fault);
/* All three in one text, for those who look at the host. */
char *record_fault_note(const RecordFault *fault);
