/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The record of one turnover: who had the boards of a group, and how each function was reset. */
#pragma once

#include <stdint.h>

#include "core/facts/memory-clear.h"
#include "core/facts/record.h"
#include "core/facts/reset-report.h"

typedef struct ReceiptBoard {
	Bdf bdf; /* of the leading function */
	bool reset;
	bool accepted;			       /* the operator accepted it as it is */
	const char *tenant_uuid, *tenant_name; /* who had it; NULL: not known */
	MemoryClear memory;		       /* whether it says that its memory was cleared */
	const char *memory_why;		       /* not known: a sentence */
} ReceiptBoard;

/* Borrows everything. */
typedef struct Receipt {
	const char *group;
	const char *domain_uuid; /* who had it; NULL: not known, or several */
	const char *domain_name;
	const char *next_uuid; /* who gets it; NULL: nobody yet */
	const char *next_name;
	uint32_t caller_uid;
	uint64_t begun_usec, ended_usec; /* CLOCK_REALTIME */
	const ResetReport *functions;
	size_t n_functions;
	const ReceiptBoard *boards;
	size_t n_boards;
	bool together; /* one event: all boards of a group of several were reset in it */
} Receipt;

/* Some function is unfit for anybody: its reset was due and failed, or it does not answer. */
bool receipt_has_failure(const Receipt *receipt);

/* Every board was reset, and every function is fit for the next tenant. */
bool receipt_is_good(const Receipt *receipt);

extern const RecordKind receipt_kind; /* a record is its document */
json_t *receipt_document(const Receipt *receipt, unsigned number);

/* "0000000017-pair0.json": sorts by number. */
#define RECEIPT_DIGITS 10
char *receipt_file_name(unsigned number, const char *group);
/* 0: it has none, and is older than all that have one. */
unsigned receipt_file_number(const char *name);

/* What the newest receipt that has a board says of it. */
typedef struct LastReset {
	Bdf bdf;    /* of the leading function */
	bool known; /* there is such a receipt */
	bool reset;
	char *what; /* "0000:41:00.0: no method", of a function of it; NULL: not in the receipt */
} LastReset;

/* Fills those of the boards that this receipt has and that are not known yet. */
void receipt_read_last(const json_t *receipt, LastReset *boards, size_t n);
DECLARE_FIND(LastReset, last_resets_find)
DECLARE_FREE_LIST(LastReset, last_resets_free)
