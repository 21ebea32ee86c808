/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/scan/kept-files.h"

#include <string.h>

#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

#define KEPT_FILE_MAX (256 * 1024)

char *kept_file_name(const Assignment *kept)
{
	return strf("%s.json", BDF_TEXT(&kept->functions[0].bdf));
}

int kept_file_read(int dir_fd, const char *name, Assignment **ret, char **ret_why)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	int r = file_read_state_at(dir_fd, name, KEPT_FILE_MAX, &text, &size);

	if (r >= 0)
		return kept_from_json(text, size, ret, ret_why);
	if (file_state_damaged(r))
		*ret_why = xstrdup(file_state_error(r));
	return r;
}

static void note_fault(const char *name, int error, const char *why, char ***notes)
{
	strv_appendf(notes,
		     "kept.d/%s %s (%s); what it names is not kept on vfio-pci; bind it "
		     "again with --persist, or remove the file",
		     name,
		     error == -EPROTO ? "was written by another version" : "cannot be understood",
		     why ? why : strerror(-error));
}

/* The name must be the file's own: a copy would keep what is no longer to be kept. */
static void read_one(int dir_fd, const char *name, Assignments *all, char ***notes)
{
	_cleanup_free_ char *why = NULL, *own = NULL;
	_cleanup_(assignment_freep) Assignment *kept = NULL;
	int r = kept_file_read(dir_fd, name, &kept, &why);

	if (r == -ENOENT)
		return; /* no longer kept */
	if (r < 0) {
		note_fault(name, r, why, notes);
		return;
	}
	own = kept_file_name(kept);
	if (!str_equal(own, name)) {
		note_fault(name, -EBADMSG, "its name is not its first function's address", notes);
		return;
	}
	kept->file = TAKE_PTR(own);
	kept_add(all, TAKE_PTR(kept));
}

int kept_files_read(int dir_fd, Assignments *all, char ***notes)
{
	_cleanup_strv_ char **names = NULL;
	int r = dir_list(dir_fd, ".json", &names);

	for (char **name = names; r >= 0 && name && *name; name++)
		read_one(dir_fd, *name, all, notes);
	return r;
}
