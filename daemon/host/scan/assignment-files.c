/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/scan/assignment-files.h"

#include <string.h>

#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

/* An assignment of 128 functions is about 32 KiB. */
#define ASSIGNMENT_FILE_MAX (256 * 1024)

char *assignment_file_name(const char *domain_uuid)
{
	return strf("%s.json", domain_uuid);
}

static char *name_with(const char *domain_uuid, const Bdf *function)
{
	return strf("%s_%s.json", domain_uuid, BDF_TEXT(function));
}

char *assignment_file_name_further(const Assignment *assignment)
{
	return name_with(assignment->domain_uuid, &assignment->functions[0].bdf);
}

/* `ret_text` is handed over whenever there is one. */
static int read_file(int dir_fd, const char *name, Assignment **ret, char **ret_why,
		     char **ret_text, size_t *ret_size)
{
	int r = file_read_state_at(dir_fd, name, ASSIGNMENT_FILE_MAX, ret_text, ret_size);

	if (r >= 0)
		return assignment_from_json(*ret_text, *ret_size, ret, ret_why);
	if (file_state_damaged(r))
		*ret_why = xstrdup(file_state_error(r));
	return r;
}

int assignment_file_read(int dir_fd, const char *name, Assignment **ret, char **ret_why)
{
	_cleanup_free_ char *text = NULL, *why = NULL;
	size_t size = 0;
	int r = read_file(dir_fd, name, ret, &why, &text, &size);

	if (ret_why)
		*ret_why = TAKE_PTR(why);
	return r;
}

static void append(Assignments *all, Assignment *assignment)
{
	all->items = xreallocarray(all->items, all->n_items + 1, sizeof(*all->items));
	all->items[all->n_items++] = assignment;
}

/* Takes over `why`. Adds a fence around whatever the file may be about. */
static void append_fault(Assignments *all, AssignmentFaults *faults, const char *name, int error,
			 char *why, const char *text, size_t size)
{
	assignments_add_fence(all, name, error, why, text, size);
	faults->items = xreallocarray(faults->items, faults->n_items + 1, sizeof(AssignmentFault));
	faults->items[faults->n_items++] = (AssignmentFault){
		.name = xstrdup(name),
		.error = error,
		.why = why,
	};
}

static bool is_its_name(const char *name, const Assignment *assignment)
{
	_cleanup_free_ char *first = assignment_file_name(assignment->domain_uuid);

	if (strcmp(name, first) == 0)
		return true;
	for (size_t i = 0; i < assignment->n_functions; i++) {
		_cleanup_free_ char *further =
			name_with(assignment->domain_uuid, &assignment->functions[i].bdf);

		if (strcmp(name, further) == 0)
			return true;
	}
	return false;
}

static void read_one(int dir_fd, const char *name, Assignments *all, AssignmentFaults *faults)
{
	_cleanup_(assignment_freep) Assignment *assignment = NULL;
	_cleanup_free_ char *why = NULL, *text = NULL;
	size_t size = 0;
	int r = read_file(dir_fd, name, &assignment, &why, &text, &size);

	if (r == -ENOENT)
		return; /* released meanwhile */
	if (r >= 0 && is_its_name(name, assignment)) {
		assignment->file = xstrdup(name);
		append(all, TAKE_PTR(assignment));
		return;
	}
	if (r >= 0) {
		r = -EBADMSG;
		why = xstrdup(
			"its name is not its domain's UUID, alone or with an address of its own");
	}
	append_fault(all, faults, name, r, TAKE_PTR(why), text, size);
}

/* Until a person has read the file and removed it. */
static void fence_set_aside(int dir_fd, const char *name, Assignments *all)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	int r = file_read_state_at(dir_fd, name, ASSIGNMENT_FILE_MAX, &text, &size);

	if (r == -ENOENT)
		return;
	assignments_add_fence(all, name, r < 0 ? r : -EBADMSG,
			      r < 0 ? file_state_error(r) : "it was set aside", text, size);
}

int assignment_files_read(int dir_fd, Assignments **ret, AssignmentFaults **ret_faults)
{
	_cleanup_(assignments_freep) Assignments *all = xcalloc(1, sizeof(Assignments));
	_cleanup_(assignment_faults_freep) AssignmentFaults *faults =
		xcalloc(1, sizeof(AssignmentFaults));
	_cleanup_strv_ char **names = NULL, **aside = NULL;
	int r;

	/*
	 * Lists the live files first: one that is set aside meanwhile is then in at least one of
	 * the lists.
	 */
	r = dir_list(dir_fd, ".json", &names);
	for (char **name = names; r >= 0 && name && *name; name++)
		read_one(dir_fd, *name, all, faults);
	if (r >= 0)
		r = dir_list(dir_fd, FILE_DAMAGED_SUFFIX, &aside);
	for (char **name = aside; r >= 0 && name && *name; name++)
		fence_set_aside(dir_fd, *name, all);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(all);
	*ret_faults = TAKE_PTR(faults);
	return 0;
}

AssignmentFaults *assignment_faults_free(AssignmentFaults *faults)
{
	if (!faults)
		return NULL;
	for (size_t i = 0; i < faults->n_items; i++) {
		free(faults->items[i].name);
		free(faults->items[i].why);
	}
	free(faults->items);
	free(faults);
	return NULL;
}
