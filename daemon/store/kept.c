/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/kept.h"

#include "util/text.h"
#include "util/xalloc.h"

void kept_store_load(KeptStore *store, Assignments *all)
{
	records_load(store, kept_take, all);
}

int kept_store_check(KeptStore *store, const Assignment *kept)
{
	_cleanup_free_ char *name = kept_file_name(kept);

	return records_probe(store, name, kept_document(kept));
}

/* All files that share a function with it, but not this one (NULL: all). */
static int remove_sharing(KeptStore *store, const Assignment *kept, const char *but)
{
	_cleanup_(assignments_freep) Assignments *all = xcalloc(1, sizeof(Assignments));
	int r = 0;

	kept_store_load(store, all);
	for (size_t i = 0; r >= 0 && i < all->n_kept; i++)
		if (!str_equal(all->kept[i]->file, but) && kept_shares_function(all->kept[i], kept))
			r = records_remove(store, all->kept[i]->file);
	return r;
}

int kept_store_save(KeptStore *store, const Assignment *kept)
{
	_cleanup_free_ char *name = kept_file_name(kept);
	int r;
	MUTEX_HOLD(&store->lock);

	r = records_replace(store, name, kept_document(kept));
	if (r >= 0)
		r = remove_sharing(store, kept, name);
	return r;
}

int kept_store_remove(KeptStore *store, const Assignment *kept)
{
	MUTEX_HOLD(&store->lock);

	return remove_sharing(store, kept, NULL);
}

/* ---- the list of the setting ---- */

static bool has_equal(const Assignments *all, const Assignment *kept)
{
	for (size_t i = 0; i < all->n_kept; i++)
		if (kept_covers(kept, all->kept[i]))
			return true;
	return false;
}

static int follow(KeptStore *store, const Assignments *wanted, const Assignments *gone)
{
	_cleanup_(assignments_freep) Assignments *stored = xcalloc(1, sizeof(Assignments));
	int r = 0;

	kept_store_load(store, stored);
	for (size_t i = 0; r >= 0 && i < stored->n_kept; i++)
		if (has_equal(gone, stored->kept[i]))
			r = records_remove(store, stored->kept[i]->file);
	for (size_t i = 0; r >= 0 && i < wanted->n_kept; i++)
		if (!kept_is_served(stored, wanted->kept[i]))
			r = kept_store_save(store, wanted->kept[i]);
	return r;
}

int kept_store_follow(KeptStore *store, const Assignments *wanted, const Assignments *gone)
{
	MUTEX_HOLD(&store->lock);

	return follow(store, wanted, gone);
}
