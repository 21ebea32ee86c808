/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/assignment-store.h"

#include <fcntl.h>
#include <string.h>

#include "util/file.h"
#include "util/text.h"

/* An assignment of 64 functions is about 16 KiB. */
#define ASSIGNMENT_FILE_MAX (256 * 1024)
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

static char *file_name(const char *domain_uuid)
{
	return strf("%s.json", domain_uuid);
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

static int note_damage(int dir_fd, const char *name, int error, const char *why, char ***notes)
{
	int r;

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

static int append(Assignments *all, Assignment **assignment)
{
	Assignment **bigger;

	bigger = reallocarray(all->items, all->n_items + 1, sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	all->items = bigger;
	all->items[all->n_items++] = TAKE_PTR(*assignment);
	return 0;
}

static int load_one(int dir_fd, const char *name, Assignments *all, char ***notes)
{
	_cleanup_(assignment_freep) Assignment *assignment = NULL;
	_cleanup_free_ char *text = NULL, *why = NULL, *expected = NULL;
	size_t size = 0;
	int r;

	r = file_read_at(dir_fd, name, ASSIGNMENT_FILE_MAX, &text, &size);
	if (r == -ENOENT)
		return 0; /* released meanwhile */
	if (r >= 0)
		r = assignment_from_json(text, size, &assignment, &why);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return note_damage(dir_fd, name, r, why, notes);
	expected = file_name(assignment->domain_uuid);
	if (!expected)
		return -ENOMEM;
	/* A copy under another name would give one group to two domains. */
	if (strcmp(expected, name) != 0)
		return note_damage(dir_fd, name, -EBADMSG, "its name is not its domain's UUID",
				   notes);
	return append(all, &assignment);
}

int assignment_store_load(const AssignmentStore *store, Assignments **ret, char ***ret_notes)
{
	_cleanup_(assignments_freep) Assignments *all = calloc(1, sizeof(Assignments));
	_cleanup_strv_ char **names = NULL;
	_cleanup_strv_ char **notes = NULL;
	int r;

	if (!all)
		return -ENOMEM;
	r = note_set_aside(store->dir_fd, &notes);
	if (r >= 0)
		r = dir_list(store->dir_fd, ".json", &names);
	if (r < 0)
		return r;
	for (char **name = names; name && *name; name++) {
		r = load_one(store->dir_fd, *name, all, &notes);
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
	_cleanup_free_ char *text = NULL, *why = NULL;
	size_t size = 0;
	int r;

	r = file_read_at(dir_fd, name, ASSIGNMENT_FILE_MAX, &text, &size);
	if (r >= 0)
		r = assignment_from_json(text, size, &assignment, &why);
	return r == -EPROTO || r == -ENOMEM ? r : 0;
}

int assignment_store_check(const AssignmentStore *store, const Assignment *assignment)
{
	/* dir_list() leaves out what begins with a dot. */
	_cleanup_free_ char *probe = strf(".%s.check", assignment->domain_uuid);
	_cleanup_free_ char *name = file_name(assignment->domain_uuid);
	_cleanup_free_ char *text = assignment_to_json(assignment);
	int r;

	if (!probe || !name || !text)
		return -ENOMEM;
	r = check_version(store->dir_fd, name);
	if (r >= 0)
		r = file_replace_at(store->dir_fd, probe, text, strlen(text), 0644);
	return r < 0 ? r : file_remove_at(store->dir_fd, probe);
}

int assignment_store_save(const AssignmentStore *store, const Assignment *assignment)
{
	_cleanup_free_ char *name = file_name(assignment->domain_uuid);
	_cleanup_free_ char *text = assignment_to_json(assignment);
	int r;

	if (!name || !text)
		return -ENOMEM;
	r = check_version(store->dir_fd, name);
	return r < 0 ? r : file_replace_at(store->dir_fd, name, text, strlen(text), 0644);
}

int assignment_store_remove(const AssignmentStore *store, const char *domain_uuid)
{
	_cleanup_free_ char *name = file_name(domain_uuid);
	int r;

	if (!name)
		return -ENOMEM;
	r = check_version(store->dir_fd, name);
	if (r >= 0)
		r = file_remove_at(store->dir_fd, name);
	return r == -ENOENT ? 0 : r;
}
