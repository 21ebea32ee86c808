/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "host/scan/kept-files.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

int kept_store_open(const char *directory, KeptStore *ret)
{
	pthread_mutex_init(&ret->lock, NULL);
	return dir_open_private(directory, &ret->dir_fd);
}

void kept_store_close(KeptStore *store)
{
	store->dir_fd = close_fd(store->dir_fd);
	pthread_mutex_destroy(&store->lock);
}

int kept_store_load(KeptStore *store, Assignments *all, char ***notes)
{
	_cleanup_strv_ char **ignored = NULL;
	int r;

	pthread_mutex_lock(&store->lock);
	r = kept_files_read(store->dir_fd, all, notes ? notes : &ignored);
	pthread_mutex_unlock(&store->lock);
	return r;
}

/* A file of another version may say more than this version knows. */
static int check_version(const KeptStore *store, const char *name)
{
	_cleanup_(assignment_freep) Assignment *there = NULL;
	_cleanup_free_ char *why = NULL;
	int r = kept_file_read(store->dir_fd, name, &there, &why);

	return r == -EPROTO ? r : 0;
}

int kept_store_check(KeptStore *store, const Assignment *kept)
{
	_cleanup_free_ char *name = kept_file_name(kept), *text = kept_to_json(kept);
	_cleanup_free_ char *probe = strf(".%s.check", name);
	int r;

	pthread_mutex_lock(&store->lock);
	r = check_version(store, name);
	/* dir_list() leaves out what begins with a dot. */
	if (r >= 0)
		r = file_try_at(store->dir_fd, probe, text, strlen(text));
	pthread_mutex_unlock(&store->lock);
	return r;
}

/* All files that share a function with it, but not this one (NULL: all). */
static int remove_sharing(const KeptStore *store, const Assignment *kept, const char *but)
{
	_cleanup_(assignments_freep) Assignments *all = xcalloc(1, sizeof(Assignments));
	_cleanup_strv_ char **notes = NULL;
	int r = kept_files_read(store->dir_fd, all, &notes);

	for (size_t i = 0; r >= 0 && i < all->n_kept; i++) {
		const Assignment *other = all->kept[i];

		if (str_equal(other->file, but) || !kept_shares_function(other, kept))
			continue;
		r = file_remove_at(store->dir_fd, other->file);
		r = r == -ENOENT ? 0 : r;
	}
	return r;
}

static int save(const KeptStore *store, const Assignment *kept)
{
	_cleanup_free_ char *name = kept_file_name(kept), *text = kept_to_json(kept);
	int r;

	r = check_version(store, name);
	if (r >= 0)
		r = file_replace_at(store->dir_fd, name, text, strlen(text), FILE_MODE_PRIVATE);
	return r < 0 ? r : remove_sharing(store, kept, name);
}

int kept_store_save(KeptStore *store, const Assignment *kept)
{
	int r;

	pthread_mutex_lock(&store->lock);
	r = save(store, kept);
	pthread_mutex_unlock(&store->lock);
	return r;
}

int kept_store_remove(KeptStore *store, const Assignment *kept)
{
	int r;

	pthread_mutex_lock(&store->lock);
	r = remove_sharing(store, kept, NULL);
	pthread_mutex_unlock(&store->lock);
	return r;
}

/* ---- the list of the setting ---- */

static bool has_equal(const Assignments *all, const Assignment *kept)
{
	for (size_t i = 0; i < all->n_kept; i++)
		if (kept_covers(kept, all->kept[i]))
			return true;
	return false;
}

static int follow(const KeptStore *store, const Assignments *stored, const Assignments *wanted,
		  const Assignments *gone)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < stored->n_kept; i++) {
		if (!has_equal(gone, stored->kept[i]))
			continue;
		r = file_remove_at(store->dir_fd, stored->kept[i]->file);
		r = r == -ENOENT ? 0 : r;
	}
	for (size_t i = 0; r >= 0 && i < wanted->n_kept; i++)
		if (!kept_is_served(stored, wanted->kept[i]))
			r = save(store, wanted->kept[i]);
	return r;
}

int kept_store_follow(KeptStore *store, const Assignments *wanted, const Assignments *gone)
{
	_cleanup_(assignments_freep) Assignments *stored = xcalloc(1, sizeof(Assignments));
	_cleanup_strv_ char **notes = NULL;
	int r;

	pthread_mutex_lock(&store->lock);
	r = kept_files_read(store->dir_fd, stored, &notes);
	if (r >= 0)
		r = follow(store, stored, wanted, gone);
	pthread_mutex_unlock(&store->lock);
	return r;
}
