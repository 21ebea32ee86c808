/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/assignments.h"

#include <fcntl.h>

#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

Assignments *assignment_store_load(AssignmentStore *store)
{
	Assignments *all = xcalloc(1, sizeof(Assignments));

	/* Only the folder's fault, if there is none to read. */
	if (store->records.dir_fd >= 0)
		assignment_files_read(store->records.dir_fd, all);
	else
		records_read(&store->records, NULL, NULL, &all->faults);
	if (store->kept)
		records_load(store->kept, kept_take, all);
	return all;
}

static bool is_of_domain(const char *name, const char *domain_uuid)
{
	return str_starts_with(name, domain_uuid) &&
	       (name[strlen(domain_uuid)] == '.' || name[strlen(domain_uuid)] == '_');
}

/*
 * 1: this file has the assignment. 0: it has another, or is damaged. Negative: nobody knows, since
 * it cannot be read, or is of another version.
 */
static int has_it(int dir_fd, const char *name, const Assignment *assignment)
{
	_cleanup_(assignment_freep) Assignment *stored = NULL;
	RecordFaults faults = { 0 };
	void *record = NULL;
	int r = record_file_read(dir_fd, &assignment_kind, name, &record, &faults);
	bool damaged = faults.n_items > 0 && faults.items[0].what == RECORD_DAMAGED;

	record_faults_clear(&faults);
	stored = record;
	if (r < 0)
		return damaged || r == -ENOENT ? 0 : r;
	return str_equal(stored->domain_uuid, assignment->domain_uuid) &&
	       kept_shares_function(stored, assignment);
}

/* Whatever of the domain's files has the assignment. *ret stays NULL if none has. */
static int find_name(const RecordStore *records, const Assignment *assignment, char **ret)
{
	_cleanup_strv_ char **names = NULL;
	int r = records->error < 0 ? records->error : dir_list(records->dir_fd, ".json", &names);

	for (char **name = names; r >= 0 && name && *name; name++) {
		if (!is_of_domain(*name, assignment->domain_uuid))
			continue;
		r = has_it(records->dir_fd, *name, assignment);
		if (r > 0 && !*ret)
			*ret = xstrdup(*name);
	}
	return r < 0 ? r : 0;
}

/* The first group of a domain gets the short name. */
static int choose_name(const RecordStore *records, const Assignment *assignment, char **ret)
{
	_cleanup_free_ char *first = assignment_file_name(assignment, false);
	int r = find_name(records, assignment, ret);

	if (r < 0 || *ret)
		return r;
	*ret = faccessat(records->dir_fd, first, F_OK, AT_SYMLINK_NOFOLLOW) == 0
		       ? assignment_file_name(assignment, true)
		       : TAKE_PTR(first);
	return 0;
}

static int write_by(AssignmentStore *store, const Assignment *assignment,
		    int (*write)(RecordStore *records, const char *name, json_t *document))
{
	RecordStore *records = &store->records;
	_cleanup_free_ char *name = NULL;
	int r;
	MUTEX_HOLD(&records->lock);

	r = choose_name(records, assignment, &name);
	if (r >= 0)
		r = write(records, name, assignment_document(assignment));
	return r;
}

int assignment_store_check(AssignmentStore *store, const Assignment *assignment)
{
	return write_by(store, assignment, records_probe);
}

int assignment_store_save(AssignmentStore *store, const Assignment *assignment)
{
	return write_by(store, assignment, records_replace);
}

int assignment_store_remove(AssignmentStore *store, const Assignment *assignment)
{
	RecordStore *records = &store->records;
	_cleanup_free_ char *name = NULL;
	int r;
	MUTEX_HOLD(&records->lock);

	r = find_name(records, assignment, &name);
	if (r >= 0 && name)
		r = records_remove(records, name);
	return r;
}

/* ---- kept groups ---- */

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

	records_load(store, kept_take, all);
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

int kept_store_follow(KeptStore *store, const Assignments *wanted, const Assignments *gone)
{
	_cleanup_(assignments_freep) Assignments *stored = xcalloc(1, sizeof(Assignments));
	int r = 0;
	MUTEX_HOLD(&store->lock);

	records_load(store, kept_take, stored);
	for (size_t i = 0; r >= 0 && i < stored->n_kept; i++)
		if (SOME_OF(gone->kept, gone->n_kept, kept_covers(stored->kept[i], it)))
			r = records_remove(store, stored->kept[i]->file);
	for (size_t i = 0; r >= 0 && i < wanted->n_kept; i++)
		if (!kept_is_served(stored, wanted->kept[i]))
			r = kept_store_save(store, wanted->kept[i]);
	return r;
}
