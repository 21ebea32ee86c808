/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/assignments.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "host/scan/assignment-files.h"
#include "util/file.h"
#include "util/text.h"

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

/* Renames the file, for a person to read; the next load ignores it. */
static int set_aside(int dir_fd, const char *name)
{
	_cleanup_free_ char *aside = strf("%s" FILE_DAMAGED_SUFFIX, name);

	if (!aside)
		return -ENOMEM;
	/* Does not overwrite an earlier damaged file of that name. */
	if (renameat2(dir_fd, name, dir_fd, aside, RENAME_NOREPLACE) < 0)
		return -errno;
	return 0;
}

static int note_fence(const AssignmentFence *fence, const char *more, char ***notes)
{
	_cleanup_free_ char *note = assignment_fence_note(fence);

	return note ? strv_appendf(notes, "%s%s", note, more) : -ENOMEM;
}

static int note_fault(int dir_fd, const AssignmentFault *fault, const AssignmentFence *fence,
		      char ***notes)
{
	_cleanup_free_ char *left = NULL;
	int r;

	if (fault->error == -EPROTO)
		return note_fence(fence, "", notes);
	if (!file_state_damaged(fault->error))
		return strv_appendf(notes,
				    "assignments.d/%s cannot be read (%s); until it can, nothing "
				    "is assigned or released",
				    fence->file, strerror(-fault->error));
	r = set_aside(dir_fd, fault->name);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		left = strf("; it was left in place: %s", strerror(-r));
	else
		left = strdup("; it was set aside as a " FILE_DAMAGED_SUFFIX " file");
	return left ? note_fence(fence, left, notes) : -ENOMEM;
}

/* The fences of faults come first, one each; then those of files set aside earlier. */
static int note_all(int dir_fd, const Assignments *all, const AssignmentFaults *faults,
		    char ***notes)
{
	int r = 0;

	/* Reported while the files are there, and not only by the load that set them aside. */
	for (size_t i = faults->n_items; r >= 0 && i < all->n_fences; i++)
		r = note_fence(&all->fences[i], "", notes);
	for (size_t i = 0; r >= 0 && i < faults->n_items; i++)
		r = note_fault(dir_fd, &faults->items[i], &all->fences[i], notes);
	return r;
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
	r = note_all(store->dir_fd, all, faults, &notes);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(all);
	if (ret_notes)
		*ret_notes = TAKE_PTR(notes);
	return 0;
}

/* A file of another version may have facts that this version does not know. */
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
	/* The file may be there all the same, and only not durable. */
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
