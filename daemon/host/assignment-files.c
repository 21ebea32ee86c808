/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/assignment-files.h"

#include <string.h>

#include "util/file.h"
#include "util/text.h"

/* An assignment of 64 functions is about 16 KiB. */
#define ASSIGNMENT_FILE_MAX (256 * 1024)

char *assignment_file_name(const char *domain_uuid)
{
	return strf("%s.json", domain_uuid);
}

int assignment_file_read(int dir_fd, const char *name, Assignment **ret, char **ret_why)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	int r;

	r = file_read_at(dir_fd, name, ASSIGNMENT_FILE_MAX, &text, &size);
	if (r < 0)
		return r;
	return assignment_from_json(text, size, ret, ret_why);
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

/* Takes over *why. */
static int append_fault(AssignmentFaults *faults, const char *name, int error, char **why)
{
	AssignmentFault *bigger;
	char *copy;

	bigger = reallocarray(faults->items, faults->n_items + 1, sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	faults->items = bigger;
	copy = strdup(name);
	if (!copy)
		return -ENOMEM;
	faults->items[faults->n_items++] = (AssignmentFault){
		.name = copy,
		.error = error,
		.why = TAKE_PTR(*why),
	};
	return 0;
}

static int read_one(int dir_fd, const char *name, Assignments *all, AssignmentFaults *faults)
{
	_cleanup_(assignment_freep) Assignment *assignment = NULL;
	_cleanup_free_ char *why = NULL, *expected = NULL;
	int r;

	r = assignment_file_read(dir_fd, name, &assignment, &why);
	if (r == -ENOENT)
		return 0; /* released meanwhile */
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return append_fault(faults, name, r, &why);
	expected = assignment_file_name(assignment->domain_uuid);
	if (!expected)
		return -ENOMEM;
	if (strcmp(expected, name) == 0)
		return append(all, &assignment);
	why = strdup("its name is not its domain's UUID");
	return why ? append_fault(faults, name, -EBADMSG, &why) : -ENOMEM;
}

int assignment_files_read(int dir_fd, Assignments **ret, AssignmentFaults **ret_faults)
{
	_cleanup_(assignments_freep) Assignments *all = calloc(1, sizeof(Assignments));
	_cleanup_(assignment_faults_freep) AssignmentFaults *faults =
		calloc(1, sizeof(AssignmentFaults));
	_cleanup_strv_ char **names = NULL;
	int r;

	if (!all || !faults)
		return -ENOMEM;
	r = dir_list(dir_fd, ".json", &names);
	if (r < 0)
		return r;
	for (char **name = names; name && *name; name++) {
		r = read_one(dir_fd, *name, all, faults);
		if (r < 0)
			return r;
	}
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
