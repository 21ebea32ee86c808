/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fences: what a file of assignments.d blocks when it cannot be read as it should. */
#include <errno.h>
#include <string.h>

#include "core/base/json-fields.h"
#include "core/facts/assignment.h"
#include "core/facts/remains.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

#define SCHEMA_BASE "org.gpupass1.assignment/"

static AssignmentFenceKind kind_of(int error, const char *text)
{
	if (error == -EPROTO)
		return ASSIGNMENT_NEWER;
	return text || error == -EBADMSG || error == -EFBIG || error == -EISDIR || error == -ELOOP
		       ? ASSIGNMENT_DAMAGED
		       : ASSIGNMENT_UNREAD;
}

/* NULL: the name has no domain. */
static char *domain_of_name(const char *file)
{
	_cleanup_free_ char *uuid = xstrndup(file, strcspn(file, "._"));

	return assignment_uuid_valid(uuid) ? TAKE_PTR(uuid) : NULL;
}

/* Members that this version does not know are allowed. A missing one makes the function unknown. */
static int read_function(const json_t *json, AssignedFunction *f)
{
	static const char *const ids[] = { "vendor", "device", "subsystem_vendor",
					   "subsystem_device" };
	const char *address = json_string_value(json_object_get(json, "bdf"));
	const char *serial = json_string_value(json_object_get(json, "serial_number"));
	uint16_t *to[] = { &f->vendor, &f->device, &f->subsystem_vendor, &f->subsystem_device };

	if (!address || bdf_parse(address, &f->bdf) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < ELEMENTS(ids); i++) {
		const char *text = json_string_value(json_object_get(json, ids[i]));
		unsigned long long value;

		if (!text || str_to_unsigned(text, 16, UINT16_MAX, &value) < 0)
			return -EBADMSG;
		*to[i] = (uint16_t)value;
	}
	f->serial_number = xstrdup(serial);
	return 0;
}

static int read_functions(const json_t *root, Assignment *into)
{
	const json_t *array = json_object_get(root, "functions");
	size_t n = json_array_size(array);

	into->functions = xcalloc(n, sizeof(AssignedFunction));
	into->n_functions = n;
	for (size_t i = 0; i < n; i++) {
		int r = read_function(json_array_get(array, i), &into->functions[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

/* NULL: this version does not understand all of it. */
static Assignment *read_leniently(const AssignmentFence *fence, const char *text, size_t size)
{
	_cleanup_(assignment_freep) Assignment *a = xcalloc(1, sizeof(Assignment));
	_cleanup_json_ json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
	const char *group = json_string_value(json_object_get(root, "group"));
	const char *domain = json_string_value(json_object_get(root, "domain_name"));

	a->domain_uuid = xstrdup(fence->domain_uuid);
	a->domain_name = xstrdup(domain ? domain : fence->domain_uuid);
	a->group_name = xstrdup(group ? group : "a group of another version's");
	/* No address is there twice. */
	return read_functions(root, a) >= 0 && a->n_functions == fence->n_functions ? TAKE_PTR(a)
										    : NULL;
}

static void fence_fill(AssignmentFence *fence, const char *text, size_t size)
{
	_cleanup_(remains_clear) Remains remains = { 0 };
	/* A copy under another name is not an assignment. */
	bool named = fence->domain_uuid != NULL;

	if (!text)
		return;
	if (fence->kind == ASSIGNMENT_NEWER)
		remains_of_document(text, size, SCHEMA_BASE, &remains);
	else
		remains = remains_scan(text, size);
	if (!fence->domain_uuid)
		fence->domain_uuid = TAKE_PTR(remains.domain_uuid);
	fence->functions = TAKE_PTR(remains.functions);
	fence->n_functions = remains.n_functions;
	if (fence->kind == ASSIGNMENT_NEWER && named && fence->n_functions > 0)
		fence->lenient = read_leniently(fence, text, size);
}

void assignments_add_fence(Assignments *all, const char *file, int error, const char *why,
			   const char *text, size_t size)
{
	AssignmentFence *fence;

	all->fences = xreallocarray(all->fences, all->n_fences + 1, sizeof(AssignmentFence));
	fence = &all->fences[all->n_fences++];
	*fence = (AssignmentFence){
		.file = str_printable(file),
		.kind = kind_of(error, text),
		.why = str_printable(why ? why : strerror(-error)),
		.domain_uuid = domain_of_name(file),
	};
	fence_fill(fence, text, size);
}

/* Compares boards: a function that the record did not know yet is still on one of its boards. */
bool assignment_fence_is_about(const AssignmentFence *fence, const Bdf *functions, size_t n,
			       const char *domain_uuid)
{
	if (domain_uuid && str_equal(fence->domain_uuid, domain_uuid))
		return true;
	for (size_t i = 0; i < fence->n_functions; i++)
		for (size_t k = 0; k < n; k++)
			if (bdf_same_slot(&fence->functions[i], &functions[k]))
				return true;
	return false;
}

const AssignmentFence *assignments_fence(const Assignments *all, const Bdf *functions, size_t n,
					 const char *domain_uuid)
{
	for (size_t i = 0; i < all->n_fences; i++)
		if (assignment_fence_is_about(&all->fences[i], functions, n, domain_uuid))
			return &all->fences[i];
	for (size_t i = 0; i < all->n_fences; i++)
		if (all->fences[i].n_functions == 0)
			return &all->fences[i];
	return NULL;
}

static bool was_set_aside(const AssignmentFence *fence)
{
	static const char suffix[] = ".damaged";
	size_t n = strlen(fence->file), s = strlen(suffix);

	return n > s && strcmp(fence->file + n - s, suffix) == 0;
}

char *assignment_fence_what(const AssignmentFence *fence)
{
	static const char *const words[] = {
		[ASSIGNMENT_NEWER] = "was written by another version",
		[ASSIGNMENT_DAMAGED] = "cannot be understood",
		[ASSIGNMENT_UNREAD] = "cannot be read",
	};

	if (was_set_aside(fence))
		return strf("assignments.d/%s could not be understood and was set aside",
			    fence->file);
	return strf("assignments.d/%s %s (%s)", fence->file, words[fence->kind], fence->why);
}

const char *assignment_fence_remedy(const AssignmentFence *fence)
{
	switch (fence->kind) {
	case ASSIGNMENT_NEWER:
		return "run the version of gpupass that wrote it; or, if what it says is known to "
		       "hold no longer, move it out of that folder, then: gpupass rescan";
	case ASSIGNMENT_DAMAGED:
		return "see what it says and which domain has what (gpupass list; virsh "
		       "dumpxml); when that is settled, remove the file, then: gpupass rescan";
	case ASSIGNMENT_UNREAD:
		break;
	}
	return "see the kernel's log for why; when it can be read: gpupass rescan";
}

static char *functions_text(const AssignmentFence *fence)
{
	_cleanup_strv_ char **addresses = NULL;

	for (size_t i = 0; i < fence->n_functions; i++)
		strv_append(&addresses, BDF_TEXT(&fence->functions[i]));
	return strv_join(addresses, " ");
}

char *assignment_fence_note(const AssignmentFence *fence)
{
	_cleanup_free_ char *what = assignment_fence_what(fence);
	_cleanup_free_ char *functions = functions_text(fence);

	if (fence->n_functions == 0)
		return strf(
			"%s, so it may be about any group: none is assigned, bound or unbound; %s",
			what, assignment_fence_remedy(fence));
	return strf("%s, and blocks %s%s%s; %s", what, functions,
		    fence->domain_uuid ? " and domain " : "", str_or_empty(fence->domain_uuid),
		    assignment_fence_remedy(fence));
}
