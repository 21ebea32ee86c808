/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Receipts on disk: receipts/<time>-<group>.json, one a turnover, the oldest making room. */
#pragma once

#include "core/facts/receipt.h"

#define RECEIPTS_KEPT 1000

typedef struct ReceiptStore {
	int dir_fd; /* owned */
} ReceiptStore;

/* Opens STATE_DIRECTORY/receipts, creating it if need be. */
int receipt_store_open(const char *state_directory, ReceiptStore *ret);
void receipt_store_close(ReceiptStore *store);

/* "20260102T030405.000006Z-pair0.json": sorts by time. NULL when memory is out. */
char *receipt_file_name(const Receipt *receipt);

/* Durable when it returns 0. Receipts of the past that cannot be removed are no error. */
int receipt_store_add(const ReceiptStore *store, const Receipt *receipt);
