/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/assignments.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "host/scan/assignment-files.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

int assignment_store_open(const char *directory, AssignmentStore *ret)
{
	*ret = (AssignmentStore){ .dir_fd = -1 };
	return dir_open_private(directory, &ret->dir_fd);
}

void assignment_store_close(AssignmentStore *store)
{
	store->dir_fd = close_fd(store->dir_fd);
}

/* Renames the file, for a person to read; the next load ignores it. */
static int set_aside(int dir_fd, const char *name)
{
	_cleanup_free_ char *aside = strf("%s" FILE_DAMAGED_SUFFIX, name);

	/* Does not overwrite an earlier damaged file of that name. */
	if (renameat2(dir_fd, name, dir_fd, aside, RENAME_NOREPLACE) < 0)
		return -errno;
	return 0;
}

static void note_fence(const AssignmentFence *fence, const char *more, char ***notes)
{
	_cleanup_free_ char *note = assignment_fence_note(fence);

	strv_appendf(notes, "%s%s", note, more);
}

static void note_fault(int dir_fd, const AssignmentFault *fault, const AssignmentFence *fence,
		       char ***notes)
{
	_cleanup_free_ char *left = NULL;
	int r;

	if (fault->error == -EPROTO) {
		note_fence(fence, "", notes);
	} else if (!file_state_damaged(fault->error)) {
		strv_appendf(notes,
			     "assignments.d/%s cannot be read (%s); until it can, nothing "
			     "is assigned or released",
			     fence->file, strerror(-fault->error));
	} else {
		r = set_aside(dir_fd, fault->name);
		left = r < 0 ? strf("; it was left in place: %s", strerror(-r))
			     : xstrdup("; it was set aside as a " FILE_DAMAGED_SUFFIX " file");
		note_fence(fence, left, notes);
	}
}

/* The fences of faults come first, one each; then those of files set aside earlier. */
static void note_all(int dir_fd, const Assignments *all, const AssignmentFaults *faults,
		     char ***notes)
{
	/* Reported while the files are there, and not only by the load that set them aside. */
	for (size_t i = faults->n_items; i < all->n_fences; i++)
		note_fence(&all->fences[i], "", notes);
	for (size_t i = 0; i < faults->n_items; i++)
		note_fault(dir_fd, &faults->items[i], &all->fences[i], notes);
}

int assignment_store_load(const AssignmentStore *store, Assignments **ret, char ***ret_notes)
{
	_cleanup_(assignment_faults_freep) AssignmentFaults *faults = NULL;
	_cleanup_(assignments_freep) Assignments *all = NULL;
	_cleanup_strv_ char **notes = NULL;
	int r;

	r = assignment_files_read(store->dir_fd, &all, &faults);
	if (r < 0)
		return r;
	/* A decision needs all assignments. */
	for (size_t i = 0; !ret_notes && i < faults->n_items; i++)
		if (faults->items[i].error != -EPROTO &&
		    !file_state_damaged(faults->items[i].error))
			return faults->items[i].error;
	note_all(store->dir_fd, all, faults, &notes);
	if (store->kept)
		r = kept_store_load(store->kept, all, &notes);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(all);
	if (ret_notes)
		*ret_notes = TAKE_PTR(notes);
	return 0;
}

/* Where an assignment is stored, or is to be. */
typedef struct Place {
	char *name;
	bool further; /* the name is not only the domain's UUID */
} Place;

static void place_clear(Place *place)
{
	free(place->name);
}

static bool shares_function(const Assignment *a, const Assignment *b)
{
	for (size_t i = 0; i < a->n_functions; i++)
		if (assignment_function(b, &a->functions[i].bdf))
			return true;
	return false;
}

/*
 * 1: this file has the assignment. 0: it has another, or none that can be read. -EPROTO: it is of
 * another version, which may know facts that this one does not.
 */
static int has_it(int dir_fd, const char *name, const Assignment *assignment)
{
	_cleanup_(assignment_freep) Assignment *stored = NULL;
	_cleanup_free_ char *why = NULL;
	int r = assignment_file_read(dir_fd, name, &stored, &why);

	if (r == -EPROTO)
		return r;
	return r >= 0 && str_equal(stored->domain_uuid, assignment->domain_uuid) &&
	       shares_function(stored, assignment);
}

static bool is_of_domain(const char *name, const char *domain_uuid)
{
	return str_starts_with(name, domain_uuid) &&
	       (name[strlen(domain_uuid)] == '.' || name[strlen(domain_uuid)] == '_');
}

/* Whatever of the domain's files has the assignment. ret->name stays NULL if none has. */
static int find_place(int dir_fd, const Assignment *assignment, Place *ret)
{
	_cleanup_free_ char *first = assignment_file_name(assignment->domain_uuid);
	_cleanup_strv_ char **names = NULL;
	int r = dir_list(dir_fd, ".json", &names);

	for (char **name = names; r >= 0 && name && *name; name++) {
		if (!is_of_domain(*name, assignment->domain_uuid))
			continue;
		r = has_it(dir_fd, *name, assignment);
		if (r <= 0 || ret->name)
			continue;
		ret->name = xstrdup(*name);
		ret->further = !str_equal(*name, first);
	}
	return r < 0 ? r : 0;
}

/* The first group of a domain gets the short name, which earlier versions know, too. */
static int choose_place(int dir_fd, const Assignment *assignment, Place *ret)
{
	_cleanup_free_ char *first = assignment_file_name(assignment->domain_uuid);
	int r = find_place(dir_fd, assignment, ret);

	if (r < 0 || ret->name)
		return r;
	ret->further = faccessat(dir_fd, first, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
	ret->name = ret->further ? assignment_file_name_further(assignment) : TAKE_PTR(first);
	return 0;
}

static char *text_for(const Assignment *assignment, const Place *place)
{
	return place->further ? assignment_to_json_further(assignment)
			      : assignment_to_json(assignment);
}

int assignment_store_check(const AssignmentStore *store, const Assignment *assignment)
{
	_cleanup_(place_clear) Place place = { 0 };
	_cleanup_free_ char *probe = NULL, *text = NULL;
	int r = choose_place(store->dir_fd, assignment, &place);

	if (r < 0)
		return r;
	/* dir_list() leaves out what begins with a dot. */
	probe = strf(".%s" ASSIGNMENT_CHECK_SUFFIX, place.name);
	text = text_for(assignment, &place);
	return file_try_at(store->dir_fd, probe, text, strlen(text));
}

int assignment_store_save(const AssignmentStore *store, const Assignment *assignment)
{
	_cleanup_(place_clear) Place place = { 0 };
	_cleanup_free_ char *text = NULL;
	int r = choose_place(store->dir_fd, assignment, &place);

	if (r < 0)
		return r;
	text = text_for(assignment, &place);
	return file_replace_at(store->dir_fd, place.name, text, strlen(text), FILE_MODE_PRIVATE);
}

int assignment_store_remove(const AssignmentStore *store, const Assignment *assignment)
{
	_cleanup_(place_clear) Place place = { 0 };
	int r = find_place(store->dir_fd, assignment, &place);

	if (r < 0 || !place.name)
		return r;
	r = file_remove_at(store->dir_fd, place.name);
	return r == -ENOENT ? 0 : r;
}
