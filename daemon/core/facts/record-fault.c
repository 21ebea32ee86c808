/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files of our state that cannot be used: what they may be about, and the words for that. */
#include <ctype.h>

#include "core/base/group-name.h"
#include "core/base/limits.h"
#include "core/facts/assignment.h"
#include "core/facts/record.h"
#include "util/grow.h"
#include "util/json.h"
#include "util/text.h"

/* Whatever else has been read, or is no regular file of such a size, is there to stay. */
static RecordFaultWhat what_of(int error, const char *text)
{
	if (error == -EPROTO)
		return RECORD_NEWER;
	return text || error == -EBADMSG || error == -EFBIG || error == -EISDIR ||
			       error == -ELOOP || error == -ENOTDIR
		       ? RECORD_DAMAGED
		       : RECORD_UNREAD;
}

/* ---- what can still be read ---- */

static void forget_functions(RecordFault *fault)
{
	free(fault->functions);
	fault->functions = NULL;
	fault->n_functions = 0;
}

/* -E2BIG: more functions than a group can have. */
static int add_function(RecordFault *fault, const Bdf *bdf)
{
	if (bdf_in(bdf, fault->functions, fault->n_functions))
		return 0;
	if (fault->n_functions == GROUP_FUNCTIONS_MAX)
		return -E2BIG;
	if (!fault->functions)
		fault->functions = xcalloc(GROUP_FUNCTIONS_MAX, sizeof(Bdf));
	fault->functions[fault->n_functions++] = *bdf;
	return 0;
}

static bool is_part_of_address(char c)
{
	return isxdigit((unsigned char)c) || c == ':' || c == '.';
}

/*
 * Takes a word of these characters. The kernel's form has a segment; without that condition
 * "12:30:01.5" would be an address.
 */
static int take_word(const char *word, size_t length, RecordFault *fault)
{
	char text[BDF_TEXT_MAX];
	Bdf bdf;

	if (length < strlen("0000:00:00.0") || length >= sizeof(text))
		return 0;
	memcpy(text, word, length);
	text[length] = '\0';
	return bdf_parse(text, &bdf) < 0 ? 0 : add_function(fault, &bdf);
}

/*
 * Of damaged bytes: every PCI address in the kernel's own form that is a word of its own. More than
 * one group can have count as none.
 */
static void scan_functions(RecordFault *fault, const char *text, size_t size)
{
	int r = 0;

	for (size_t i = 0, length; r == 0 && i < size; i += length + 1) {
		for (length = 0; i + length < size && is_part_of_address(text[i + length]);)
			length++;
		r = take_word(text + i, length, fault);
	}
	if (r < 0)
		forget_functions(fault);
}

static const char *address_of(const json_t *item)
{
	const json_t *address = item;

	if (json_is_object(item)) {
		address = json_object_get(item, "bdf");
		if (!address)
			address = json_object_get(item, "address");
	}
	return json_string_value(address);
}

/* Of another version. If one of them cannot be read, the whole list counts as unreadable. */
static void read_functions(RecordFault *fault, const json_t *object)
{
	const json_t *functions = json_object_get(object, "functions");
	int r = 0;

	for (size_t i = 0; r == 0 && i < json_array_size(functions); i++) {
		const char *text = address_of(json_array_get(functions, i));
		Bdf bdf;

		r = text && bdf_parse(text, &bdf) >= 0 ? add_function(fault, &bdf) : -EBADMSG;
	}
	if (r < 0)
		forget_functions(fault);
}

/* A file may have the name of its domain or of its group. */
static void read_name(RecordFault *fault, const char *file)
{
	_cleanup_free_ char *uuid = xstrndup(file, strcspn(file, "._"));
	_cleanup_free_ char *group = xstrndup(file, strcspn(file, "."));

	if (!fault->kind->is_name)
		return; /* it has a number */
	if (!fault->kind->of_group && assignment_uuid_valid(uuid))
		fault->domain_uuid = TAKE_PTR(uuid);
	if (fault->kind->of_group && group_name_valid(group))
		fault->group = TAKE_PTR(group);
}

static void read_member(char **to, const json_t *object, const char *key,
			bool (*valid)(const char *))
{
	const char *text = json_string_value(json_object_get(object, key));

	if (!*to && text && valid(text))
		*to = xstrdup(text);
}

/*
 * Bytes that were damaged may name too much, or one function too few. The group's name, too, is in
 * them: no one change of a byte hides both.
 */
static void read_text(RecordFault *fault, const char *text, size_t size)
{
	_cleanup_json_ json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);

	if (fault->what == RECORD_NEWER) {
		read_functions(fault, root);
		fault->document = json_incref(root);
	} else {
		scan_functions(fault, text, size);
	}
	/* A group may have had that name when a whole file was written. */
	if (fault->what == RECORD_DAMAGED || fault->kind->of_group)
		read_member(&fault->group, root, "group", group_name_valid);
	read_member(&fault->domain_uuid, root, "domain_uuid", assignment_uuid_valid);
}

void record_faults_add(RecordFaults *faults, const RecordKind *kind, const char *file, int error,
		       const char *why, const char *text, size_t size)
{
	RecordFault *fault;

	fault = GROW(faults->items, faults->n_items);
	*fault = (RecordFault){
		.kind = kind,
		.what = what_of(error, text),
		.file = xstrdup(file),
		.why = str_printable(why ? why : strerror(-error)),
	};
	if (kind->apart)
		read_name(fault, file);
	if (text && kind->apart)
		read_text(fault, text, size);
}

LOCAL_CLEAR(RecordFault, fault_clear)
#include "record-fault.inc"

void record_faults_drop(RecordFaults *faults, const char *file)
{
	size_t left = 0;

	for (size_t i = 0; i < faults->n_items; i++)
		if (str_equal(faults->items[i].file, file))
			fault_clear(&faults->items[i]);
		else
			faults->items[left++] = faults->items[i];
	faults->n_items = left;
}

/* Compares boards: a function that the record did not know yet is still on one of its boards. */
bool record_fault_is_about(const RecordFault *fault, const Bdf *functions, size_t n,
			   const char *group, const char *domain_uuid)
{
	if ((domain_uuid && str_equal(fault->domain_uuid, domain_uuid)) ||
	    (group && str_equal(fault->group, group)))
		return true;
	for (size_t i = 0; i < fault->n_functions; i++)
		if (SOME(functions, n, bdf_same_slot(&fault->functions[i], it)))
			return true;
	return false;
}

const RecordFault *record_faults_find(const RecordFaults *faults, const Bdf *functions, size_t n,
				      const char *group, const char *domain_uuid)
{
	for (size_t i = 0; i < faults->n_items; i++)
		if (record_fault_is_about(&faults->items[i], functions, n, group, domain_uuid))
			return &faults->items[i];
	return FIND(faults->items, faults->n_items, it->n_functions == 0);
}

/* ---- words ---- */

char *record_fault_path(const RecordFault *fault)
{
	const char *folder = fault->kind->folder;

	return strf("%s%s%s", str_or_empty(folder), folder && *fault->file ? "/" : "", fault->file);
}

char *record_fault_what(const RecordFault *fault)
{
	static const char *const words[] = {
		[RECORD_NEWER] = "was written by a later version of gpupass",
		[RECORD_DAMAGED] = "cannot be understood",
		[RECORD_UNREAD] = "cannot be read",
	};
	_cleanup_free_ char *path = record_fault_path(fault), *shown = str_printable(path);

	return strf("%s %s (%s)", shown, words[fault->what], fault->why);
}

char *record_fault_so(const RecordFault *fault)
{
	_cleanup_strv_ char **about = NULL;
	_cleanup_free_ char *functions = NULL;

	if (!fault->kind->apart)
		return xstrdup(fault->kind->so[fault->what]);
	if (fault->n_functions == 0)
		return xstrdup("it may be about any group: none is assigned, bound or unbound");
	for (size_t i = 0; i < fault->n_functions; i++)
		strv_append(&about, BDF_TEXT(&fault->functions[i]));
	functions = strv_join(about, " ");
	return strf("it blocks %s%s%s", functions, fault->domain_uuid ? " and domain " : "",
		    str_or_empty(fault->domain_uuid));
}

const char *record_fault_remedy(const RecordFault *fault)
{
	return fault->kind->remedy[fault->what];
}

char *record_fault_note(const RecordFault *fault)
{
	_cleanup_free_ char *what = record_fault_what(fault), *so = record_fault_so(fault);

	return strf("%s: %s; %s", what, so, record_fault_remedy(fault));
}
