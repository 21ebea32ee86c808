/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/receipts.h"

#include "util/file.h"
#include "util/json.h"
#include "util/text.h"

/* The oldest first. Among those with a number, and those without, names sort by age. */
static int list(const ReceiptStore *store, char ***ret)
{
	_cleanup_strv_ char **names = NULL;
	int r = dir_list(store->dir_fd, ".json", &names);

	for (int numbered = 0; numbered < 2; numbered++)
		for (char **name = names; name && *name; name++)
			if ((receipt_file_number(*name) > 0) == numbered)
				strv_append(ret, *name);
	return r;
}

int receipt_store_add(ReceiptStore *store, const Receipt *receipt, char **ret_name)
{
	_cleanup_strv_ char **names = NULL;
	MUTEX_HOLD(&store->lock);
	int r = store->error < 0 ? store->error : list(store, &names);
	size_t n = names ? strv_length(names) : 0;
	unsigned number = n > 0 ? receipt_file_number(names[n - 1]) + 1 : 1;

	if (r < 0)
		return r;
	*ret_name = receipt_file_name(number, receipt->group);
	r = records_replace(store, *ret_name, receipt_document(receipt, number));
	for (size_t i = 0; r >= 0 && i + RECEIPTS_KEPT <= n; i++)
		unlinkat(store->dir_fd, names[i], 0);
	return r;
}

void receipt_store_last(ReceiptStore *store, LastReset *boards, size_t n)
{
	_cleanup_strv_ char **names = NULL;
	size_t all;

	(void)list(store, &names);
	all = strv_length(names);
	for (size_t i = 0;
	     names && i < all && i < RECEIPTS_LOOKED_AT && !EVERY(boards, n, it->known); i++) {
		_cleanup_json_ json_t *receipt = NULL;
		void *record = NULL;

		if (record_file_read(store->dir_fd, &receipt_kind, names[all - 1 - i], &record,
				     NULL) < 0)
			continue;
		receipt = record;
		receipt_read_last(receipt, boards, n);
	}
}
