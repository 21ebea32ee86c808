/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/scan/record-files.h"

#include "core/facts/kept.h"
#include "util/file.h"
#include "util/grow.h"
#include "util/text.h"

int record_file_read(int dir_fd, const RecordKind *kind, const char *name, void **ret,
		     RecordFaults *faults)
{
	_cleanup_free_ char *text = NULL, *why = NULL;
	void *record = NULL;
	size_t size = 0;
	int r = file_read_state_at(dir_fd, name, kind->most, &text, &size);

	if (r == -ENOENT)
		return r;
	if (r >= 0)
		r = record_parse(kind, text, size, &record, &why);
	else
		why = xstrdup(file_state_error(r));
	if (r >= 0 && kind->is_name && !kind->is_name(name, record)) {
		record_free(kind, record);
		why = xstrdup(kind->misnamed);
		r = -EBADMSG;
	}
	if (r >= 0)
		*ret = record;
	else if (faults)
		record_faults_add(faults, kind, name, r, why, text, size);
	return r;
}

void record_files_read(int dir_fd, const RecordKind *kind, RecordTake take, void *into,
		       RecordFaults *faults)
{
	_cleanup_strv_ char **names = NULL;
	int r = 0;

	if (kind->file)
		strv_append(&names, kind->file);
	else
		r = dir_list(dir_fd, ".json", &names);
	if (r < 0)
		record_faults_add(faults, kind, "", r, NULL, NULL, 0);
	for (char **name = names; name && *name; name++) {
		void *record = NULL;

		if (record_file_read(dir_fd, kind, *name, &record, faults) < 0)
			continue;
		if (take)
			take(into, *name, record);
		else
			record_free(kind, record);
	}
}

static void take_assignment(void *into, const char *name, void *record)
{
	Assignments *all = into;
	Assignment *assignment = record;

	assignment->file = xstrdup(name);
	*GROW(all->items, all->n_items) = assignment;
}

/* It counts until a person has read it and removed it. */
static void add_aside(int dir_fd, const char *name, Assignments *all)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	int r = file_read_state_at(dir_fd, name, assignment_kind.most, &text, &size);

	if (r != -ENOENT)
		record_faults_add(&all->faults, &assignment_kind, name, r < 0 ? r : -EBADMSG,
				  r < 0 ? NULL : "it was set aside", text, size);
}

/* The live files first: one that is set aside meanwhile is then in at least one of the lists. */
void assignment_files_read(int dir_fd, Assignments *all)
{
	_cleanup_strv_ char **aside = NULL;
	int r;

	record_files_read(dir_fd, &assignment_kind, take_assignment, all, &all->faults);
	r = dir_list(dir_fd, FILE_DAMAGED_SUFFIX, &aside);
	if (r < 0)
		record_faults_add(&all->faults, &assignment_kind, "", r, NULL, NULL, 0);
	for (char **name = aside; name && *name; name++)
		add_aside(dir_fd, *name, all);
}

void kept_take(void *into, const char *name, void *record)
{
	Assignment *kept = record;

	kept->file = xstrdup(name);
	kept_add(into, kept);
}
