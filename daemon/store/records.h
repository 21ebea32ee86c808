/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A folder of records (core/facts/record.h), each replaced atomically and durably. The loop and job
 * threads use it; each call has the lock, and who needs several in a row holds it, too.
 *
 * A folder that cannot be opened, made or locked stops no start: it reads as a fault, or as empty
 * when it is not there, and each write has the error.
 */
#pragma once

#include <pthread.h>

#include "host/scan/record-files.h"
#include "util/mutex.h"

typedef struct RecordStore {
	const RecordKind *kind;
	int dir_fd;   /* owned; -1: it could not be opened */
	int error;    /* -errno: nothing can be written */
	bool missing; /* there is no folder, so there are no records */
	pthread_mutex_t lock;
	/* Of the faults that the last load found. The loop takes it, so nobody writes with it. */
	pthread_mutex_t faults_lock;
	RecordFaults faults;
} RecordStore;

/* The store must not move in memory. */
void records_open(RecordStore *store, const RecordKind *kind, const char *path);
/* The kind's folder below this one. */
void records_open_in(RecordStore *store, const RecordKind *kind, const char *parent);
/* Locks the folder for this process. -EWOULDBLOCK: another has it; any other error is remembered. */
int records_hold(RecordStore *store);
void records_close(RecordStore *store);

/* Hands over each that can be used, and adds a fault for each other. NULL: only those. */
void records_read(RecordStore *store, RecordTake take, void *into, RecordFaults *faults);
/* The same with the store's own faults. */
void records_load(RecordStore *store, RecordTake take, void *into);
/* Forgets faults whose file a person has removed. */
void records_review(RecordStore *store);
/* Appends a line for each fault that is known. Never waits. */
void records_note(RecordStore *store, char ***notes);

/*
 * The file has this document from now on, which is taken. -EPROTO: another version wrote the file,
 * and it stays. What is damaged is replaced.
 */
int records_replace(RecordStore *store, const char *name, json_t *document);
/* The same of several, with one sync of the folder. */
typedef struct RecordFile {
	const char *name;
	json_t *document;
} RecordFile;
int records_replace_all(RecordStore *store, const RecordFile *files, size_t n);
/* The error that records_replace() would have now. Leaves nothing behind, and syncs nothing. */
int records_probe(RecordStore *store, const char *name, json_t *document);
/* The same for any file. */
int records_writable(RecordStore *store);
/* 0 also if there is no such file. */
int records_remove(RecordStore *store, const char *name);
int records_set_aside(RecordStore *store, const char *name);
