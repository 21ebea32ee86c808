/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Receipts on disk: receipts/<time>-<group>.json, one for each turnover. The oldest are removed. */
#pragma once

#include "core/facts/receipt.h"

#define RECEIPTS_KEPT 1000
#define RECEIPTS_LOOKED_AT 100

typedef struct ReceiptStore {
	int dir_fd; /* owned */
} ReceiptStore;

/* Opens STATE_DIRECTORY/receipts, and creates it if it is missing. */
int receipt_store_open(const char *state_directory, ReceiptStore *ret);
void receipt_store_close(ReceiptStore *store);

/* "20260102T030405.000006Z-pair0.json": sorts by time. NULL: its time has no date. */
char *receipt_file_name(const Receipt *receipt);

/* 0: the receipt is on disk. An old receipt that cannot be removed is no error. */
int receipt_store_add(const ReceiptStore *store, const Receipt *receipt);

/*
 * What the newest receipts say of these boards. Looks at the last RECEIPTS_LOOKED_AT; one that
 * cannot be read or understood is left out. -errno: the directory cannot be read.
 */
int receipt_store_last(const ReceiptStore *store, LastReset *boards, size_t n);
