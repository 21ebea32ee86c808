/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The record of one turnover: who had the boards of a group, and how each function was reset. */
#pragma once

#include <stdint.h>

#include "core/facts/memory-clear.h"
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

/* Schema org.gpupass1.receipt/1, with a newline. */
char *receipt_to_json(const Receipt *receipt);

/* What the newest receipt that has a board says of it. */
typedef struct LastReset {
	Bdf bdf;    /* of the leading function */
	bool known; /* there is such a receipt */
	bool reset;
	char *what; /* "0000:41:00.0: no method", of a function of it; NULL: not in the receipt */
} LastReset;

/* Fills those of the boards that this receipt has and that are not known yet. -EBADMSG, -EPROTO */
int receipt_read_last(const char *text, size_t size, LastReset *boards, size_t n);
const LastReset *last_resets_find(const LastReset *items, size_t n, const Bdf *bdf);
void last_resets_free(LastReset *items, size_t n);
