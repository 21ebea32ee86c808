/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/receipts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "util/clock.h"
#include "util/file.h"
#include "util/text.h"

/* Of the largest group, with room. */
#define RECEIPT_MAX_BYTES (256 * 1024)

int receipt_store_open(const char *state_directory, ReceiptStore *ret)
{
	_cleanup_free_ char *directory = strf("%s/receipts", state_directory);

	return dir_open_private(directory, &ret->dir_fd);
}

void receipt_store_close(ReceiptStore *store)
{
	store->dir_fd = close_fd(store->dir_fd);
}

char *receipt_file_name(const Receipt *receipt)
{
	time_t seconds = (time_t)(receipt->ended_usec / USEC_PER_SEC);
	char text[sizeof("YYYYYYYYmmddTHHMMSS")];
	struct tm when;

	if (!gmtime_r(&seconds, &when) || strftime(text, sizeof(text), "%Y%m%dT%H%M%S", &when) == 0)
		return NULL;
	return strf("%s.%06lluZ-%s.json", text,
		    (unsigned long long)(receipt->ended_usec % USEC_PER_SEC), receipt->group);
}

/* Names sort by time. Two jobs may do this at once, so a file may be gone already. */
static void remove_oldest(const ReceiptStore *store)
{
	_cleanup_strv_ char **names = NULL;
	size_t n;

	if (dir_list(store->dir_fd, ".json", &names) < 0)
		return;
	n = strv_length(names);
	for (size_t i = 0; i + RECEIPTS_KEPT < n; i++)
		unlinkat(store->dir_fd, names[i], 0);
}

int receipt_store_add(const ReceiptStore *store, const Receipt *receipt)
{
	_cleanup_free_ char *name = receipt_file_name(receipt);
	_cleanup_free_ char *text = receipt_to_json(receipt);
	int r;

	if (!name)
		return -EOVERFLOW;
	r = file_replace_at(store->dir_fd, name, text, strlen(text), FILE_MODE_PRIVATE);
	if (r < 0)
		return r;
	remove_oldest(store);
	return 0;
}

static bool all_known(const LastReset *boards, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!boards[i].known)
			return false;
	return true;
}

int receipt_store_last(const ReceiptStore *store, LastReset *boards, size_t n)
{
	_cleanup_strv_ char **names = NULL;
	int r = dir_list(store->dir_fd, ".json", &names);
	size_t all = strv_length(names);

	for (size_t i = 0; i < all && i < RECEIPTS_LOOKED_AT && !all_known(boards, n); i++) {
		_cleanup_free_ char *text = NULL;
		size_t size = 0;

		if (file_read_state_at(store->dir_fd, names[all - 1 - i], RECEIPT_MAX_BYTES, &text,
				       &size) >= 0)
			(void)receipt_read_last(text, size, boards, n);
	}
	return r;
}
