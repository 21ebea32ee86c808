/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/fence/fence.h"

#include "gpupass/dbus.h"
#include "util/grow.h"
#include "util/json.h"

LOCAL_JSON(FenceFunction, function_members)
LOCAL_JSON(FenceBoard, board_members)
LOCAL_JSON(FenceGroup, group_members)
LOCAL_EQUAL(FenceGroup, group_equal)
LOCAL_JSON_OF(Fence, fence_members, schema GPUPASS_SCHEMA_FENCE, generation, written_usec, boot_id,
	      groups, others)
#include "fence.inc"

char *fence_to_json(const Fence *fence)
{
	_cleanup_json_ json_t *o = json_struct_write(fence_members, fence);
	_cleanup_free_ char *text = json_dumps(o, JSON_INDENT(1));

	return strf("%s\n", text);
}

int fence_from_json(const char *text, size_t size, Fence **ret, char **ret_message)
{
	_cleanup_(fence_freep) Fence *fence = NULL;
	_cleanup_json_ json_t *root = NULL;
	int r = json_parse_document(text, size, GPUPASS_SCHEMA_FENCE, &root, ret_message);

	if (r < 0)
		return r;
	fence = xcalloc(1, sizeof(Fence));
	r = json_struct_read(fence_members, root, NULL, fence, ret_message);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(fence);
	return 0;
}

/* With a group that a job has in hand nobody may start, whoever has it. */
static bool says_the_same(const FenceGroup *a, const FenceGroup *b)
{
	if (a->state != FENCE_BUSY || b->state != FENCE_BUSY)
		return group_equal(a, b);
	return str_equal(a->name, b->name) && json_plain_equal(a->reason, b->reason) &&
	       equal_FenceFunction_arrays(a->functions, a->n_functions, b->functions,
					  b->n_functions);
}

bool fence_equal_but(const Fence *a, const Fence *b,
		     bool (*no_matter)(const FenceGroup *a, const FenceGroup *b))
{
	bool equal = a->n_groups == b->n_groups && str_equal(a->boot_id, b->boot_id) &&
		     equal_FenceFunction_arrays(a->others, a->n_others, b->others, b->n_others);

	for (size_t i = 0; equal && i < a->n_groups; i++) {
		const FenceGroup *one = &a->groups[i], *other = &b->groups[i];

		equal = (no_matter && no_matter(one, other)) || says_the_same(one, other);
	}
	return equal;
}

const FenceGroup *fence_find(const Fence *fence, const Bdf *bdf, const FenceFunction **ret_function)
{
	EACH (const FenceGroup, group, fence->groups, fence->n_groups) {
		const FenceFunction *found = BDF_FIND(group->functions, group->n_functions, bdf);

		if (!found)
			continue;
		if (ret_function)
			*ret_function = found;
		return group;
	}
	return NULL;
}

const FenceFunction *fence_find_other(const Fence *fence, const Bdf *bdf)
{
	return BDF_FIND(fence->others, fence->n_others, bdf);
}

void fence_worsen(FenceGroup *group, FenceState state, char *reason)
{
	if (group->state >= state) {
		free(reason);
		return;
	}
	free(group->reason);
	group->reason = reason;
	group->state = state;
}

/* Takes it out of the others: a function is in one of the lists. */
static FenceFunction take_other(Fence *fence, const Bdf *bdf)
{
	FenceFunction taken = { .bdf = *bdf };

	for (size_t i = 0; i < fence->n_others; i++) {
		if (!bdf_equal(&fence->others[i].bdf, bdf))
			continue;
		taken = fence->others[i];
		memmove(&fence->others[i], &fence->others[i + 1],
			(fence->n_others - i - 1) * sizeof(FenceFunction));
		fence->n_others--;
		break;
	}
	return taken;
}

static void add_closed(Fence *fence, const char *name, const Bdf *functions, size_t n,
		       FenceState state, const char *reason)
{
	FenceGroup *group;

	group = GROW(fence->groups, fence->n_groups);
	*group = (FenceGroup){
		.name = xstrdup(name),
		.state = state,
		.reason = xstrdup(reason),
		.functions = xcalloc(n, sizeof(FenceFunction)),
	};
	for (size_t i = 0; i < n; i++)
		group->functions[group->n_functions++] = take_other(fence, &functions[i]);
}

void fence_close(Fence *fence, const char *name, const Bdf *functions, size_t n, FenceState state,
		 const char *reason)
{
	_cleanup_free_ Bdf *left = xcalloc(n + 1, sizeof(Bdf));
	size_t n_left = 0;

	for (size_t i = 0; i < n; i++)
		if (!fence_find(fence, &functions[i], NULL))
			left[n_left++] = functions[i];
	for (size_t i = 0; i < fence->n_groups; i++)
		if (SOME(functions, n,
			 BDF_FIND(fence->groups[i].functions, fence->groups[i].n_functions, it)))
			fence_worsen(&fence->groups[i], state, xstrdup(reason));
	if (n_left > 0)
		add_closed(fence, name, left, n_left, state, reason);
}
