/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Receipts on disk: receipts/NUMBER-GROUP.json, one for each turnover. The oldest are removed.
 * Numbers give the order, since a clock may jump. Files with the time in their names, as they were
 * before, are older than all.
 */
#pragma once

#include "core/facts/receipt.h"
#include "store/records.h"

#define RECEIPTS_KEPT 1000
#define RECEIPTS_LOOKED_AT 100

typedef RecordStore ReceiptStore; /* of receipt_kind */

/*
 * 0: the receipt is on disk, in the file *ret_name. An old receipt that cannot be removed is no
 * error.
 */
int receipt_store_add(ReceiptStore *store, const Receipt *receipt, char **ret_name);

/*
 * What the newest receipts say of these boards. Looks at the last RECEIPTS_LOOKED_AT; one that
 * cannot be used is left out.
 */
void receipt_store_last(ReceiptStore *store, LastReset *boards, size_t n);
