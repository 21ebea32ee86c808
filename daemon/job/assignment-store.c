/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/assignment-store.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "host/assignment-files.h"
#include "util/file.h"
#include "util/text.h"

#define DAMAGED_SUFFIX ".damaged"

int assignment_store_open(const char *directory, AssignmentStore *ret)
{
	int fd = -1, r;

	r = dir_open_at(AT_FDCWD, directory, true, &fd);
	if (r < 0)
		return r;
	ret->dir_fd = fd;
	return 0;
}

void assignment_store_close(AssignmentStore *store)
{
	store->dir_fd = close_fd(store->dir_fd);
}

/* Keeps the bytes for a person to look at, out of the way of the next load. */
static int set_aside(int dir_fd, const char *name)
{
	_cleanup_free_ char *aside = strf("%s" DAMAGED_SUFFIX, name);

	if (!aside)
		return -ENOMEM;
	/* An earlier damaged file of that name is not overwritten. */
	if (renameat2(dir_fd, name, dir_fd, aside, RENAME_NOREPLACE) < 0)
		return -errno;
	return 0;
}

/* What the file says is wrong, for good; not that it could not be read just now. */
static bool is_damage(int error)
{
	return error == -EBADMSG || error == -EFBIG || error == -EISDIR || error == -ELOOP;
}

static int note_damage(int dir_fd, const char *name, int error, const char *why, char ***notes)
{
	int r;

	if (error != -EPROTO && !is_damage(error))
		return strv_appendf(notes,
				    "assignments.d/%s cannot be read (%s); until it can, nothing "
				    "is assigned or released",
				    name, strerror(-error));
	if (error == -EPROTO)
		return strv_appendf(
			notes,
			"assignments.d/%s was written by another version (%s); it is left "
			"alone, and its group must not be given away",
			name, str_or_empty(why));
	r = set_aside(dir_fd, name);
	if (r == -ENOMEM)
		return r;
	return strv_appendf(notes, "assignments.d/%s cannot be understood (%s); it was %s%s", name,
			    why ? why : strerror(-error),
			    r < 0 ? "left in place: " : "set aside as ",
			    r < 0 ? strerror(-r) : "a " DAMAGED_SUFFIX " file");
}

/* Told for as long as they are there, not only by the load that set them aside. */
static int note_set_aside(int dir_fd, char ***notes)
{
	_cleanup_strv_ char **names = NULL;
	int r = dir_list(dir_fd, DAMAGED_SUFFIX, &names);

	for (char **name = names; r >= 0 && name && *name; name++)
		r = strv_appendf(notes,
				 "assignments.d/%s could not be understood and was set aside; see "
				 "what it says, then remove it",
				 *name);
	return r;
}

int assignment_store_load(const AssignmentStore *store, Assignments **ret, char ***ret_notes)
{
	_cleanup_(assignment_faults_freep) AssignmentFaults *faults = NULL;
	_cleanup_(assignments_freep) Assignments *all = NULL;
	_cleanup_strv_ char **notes = NULL;
	int r;

	r = note_set_aside(store->dir_fd, &notes);
	if (r >= 0)
		r = assignment_files_read(store->dir_fd, &all, &faults);
	if (r < 0)
		return r;
	for (size_t i = 0; i < faults->n_items; i++) {
		const AssignmentFault *fault = &faults->items[i];

		/* Who decides by it must have all of them. */
		if (!ret_notes && fault->error != -EPROTO && !is_damage(fault->error))
			return fault->error;
		r = note_damage(store->dir_fd, fault->name, fault->error, fault->why, &notes);
		if (r < 0)
			return r;
	}
	*ret = TAKE_PTR(all);
	if (ret_notes)
		*ret_notes = TAKE_PTR(notes);
	return 0;
}

/* What another version wrote may hold what this one does not know of. */
static int check_version(int dir_fd, const char *name)
{
	_cleanup_(assignment_freep) Assignment *assignment = NULL;
	_cleanup_free_ char *why = NULL;
	int r = assignment_file_read(dir_fd, name, &assignment, &why);

	return r == -EPROTO || r == -ENOMEM ? r : 0;
}

int assignment_store_check(const AssignmentStore *store, const Assignment *assignment)
{
	/* dir_list() leaves out what begins with a dot. */
	_cleanup_free_ char *probe = strf(".%s" ASSIGNMENT_CHECK_SUFFIX, assignment->domain_uuid);
	_cleanup_free_ char *name = assignment_file_name(assignment->domain_uuid);
	_cleanup_free_ char *text = assignment_to_json(assignment);
	int r;

	if (!probe || !name || !text)
		return -ENOMEM;
	r = check_version(store->dir_fd, name);
	if (r < 0)
		return r;
	r = file_replace_at(store->dir_fd, probe, text, strlen(text), 0644);
	if (r >= 0)
		return file_remove_at(store->dir_fd, probe);
	/* It may be there all the same, and only not be on disk. */
	unlinkat(store->dir_fd, probe, 0);
	return r;
}

int assignment_store_save(const AssignmentStore *store, const Assignment *assignment)
{
	_cleanup_free_ char *name = assignment_file_name(assignment->domain_uuid);
	_cleanup_free_ char *text = assignment_to_json(assignment);
	int r;

	if (!name || !text)
		return -ENOMEM;
	r = check_version(store->dir_fd, name);
	return r < 0 ? r : file_replace_at(store->dir_fd, name, text, strlen(text), 0644);
}

int assignment_store_remove(const AssignmentStore *store, const char *domain_uuid)
{
	_cleanup_free_ char *name = assignment_file_name(domain_uuid);
	int r;

	if (!name)
		return -ENOMEM;
	r = check_version(store->dir_fd, name);
	if (r >= 0)
		r = file_remove_at(store->dir_fd, name);
	return r == -ENOENT ? 0 : r;
}
