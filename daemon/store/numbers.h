/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers of jobs, of which none is given twice on a host: numbers.json in the state directory
 * (schema org.gpupass1.numbers/1) has the next that is free. They are reserved by the thousand, so
 * that a job costs no write; a stop gives back what was not used.
 */
#pragma once

#include "store/records.h"

typedef struct NumberStore {
	RecordStore records; /* of number_kind; its lock protects: */
	uint32_t reserved;   /* numbers up to this one are ours */
} NumberStore;

extern const RecordKind number_kind;
void number_store_open(NumberStore *store, const char *state_directory);
/* The last that any job may have had; 0: the file does not say. */
uint32_t number_store_load(NumberStore *store, RecordFaults *faults);
/*
 * Reserves more when this one was given and few are left: more jobs cannot begin before that is on
 * disk. From any thread. NULL: nobody keeps numbers.
 */
int number_store_reserve(NumberStore *store, uint32_t given);
void number_store_give_back(NumberStore *store, uint32_t given);
