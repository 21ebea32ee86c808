/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/unread.h"

#include <errno.h>
#include <string.h>

#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

static const char *verb(int error)
{
	if (error == -EPROTO)
		return "was written by another version";
	return file_state_damaged(error) ? "cannot be understood" : "cannot be read";
}

/* Makes the name printable on the bus, and safe between apostrophes in a shell. */
static char *name_of(const char *path)
{
	char *name = str_printable(path);

	for (char *c = name; *c; c++)
		if (*c == '\'')
			*c = '?';
	return name;
}

void unread_claim(Claims *claims, const UnreadFile *file)
{
	_cleanup_free_ char *path = strf("%s/%s", file->directory, file->name);
	_cleanup_free_ char *shown = name_of(path);
	_cleanup_free_ char *message =
		str_printable(file->message ? file->message : file_state_error(file->error));
	_cleanup_free_ char *why = strf("%s %s (%s)", shown, verb(file->error), message);

	claims_add_unread(claims, &(UnreadClaim){
					  .file = path,
					  .name = file->group ? file->group : shown,
					  .group = file->group ? file->group : file->remains->group,
					  .functions = file->remains->functions,
					  .n_functions = file->remains->n_functions,
					  .domain_uuid = file->remains->domain_uuid,
					  .why = why,
				  });
}

void unread_claim_fault(Claims *claims, const RecordFault *fault)
{
	_cleanup_free_ char *base = xstrndup(fault->file, strcspn(fault->file, "."));
	_cleanup_free_ char *path = strf("%s/%s", fault->kind->folder, fault->file);
	_cleanup_free_ char *shown = name_of(path), *what = record_fault_what(fault);
	_cleanup_free_ char *why = strf(
		"%s%s", what, *fault->file ? "" : "; once it can be: systemctl restart gpupassd");

	claims_add_unread(claims, &(UnreadClaim){
					  .file = path,
					  .name = str_equal(base, fault->group) ? base : shown,
					  .group = fault->group,
					  .functions = fault->functions,
					  .n_functions = fault->n_functions,
					  .domain_uuid = fault->domain_uuid,
					  .why = why,
				  });
}

static void settle(Claims *claims, const Group *group)
{
	size_t n;
	_cleanup_free_ Bdf *addresses = group_addresses(group, &n);

	claims_settle_unread(claims, group->name, addresses, n);
}

void unread_settle(Claims *claims, const GroupSet *groups)
{
	for (size_t i = 0; i < groups->n_items; i++)
		settle(claims, &groups->items[i]);
}
