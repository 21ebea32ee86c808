/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/group/group.h"

#include <ctype.h>

#include "util/text.h"
#include "util/xalloc.h"

DEFINE_STRING_TABLE(group_state, GroupState, GPUPASS_GROUP_STATES)
DEFINE_STRING_TABLE(provenance, Provenance, GPUPASS_PROVENANCES)
DEFINE_STRING_TABLE(job_state, JobState, GPUPASS_JOB_STATES)
DEFINE_STRING_TABLE(step_state, StepState, GPUPASS_STEP_STATES)

#include "group.inc"

Group *group_set_find(const GroupSet *groups, const char *name)
{
	return FIND(groups->items, groups->n_items, str_equal(it->name, name));
}

static bool gpu_has_function(const Gpu *gpu, const Bdf *bdf)
{
	return SOME_OF(gpu->functions, gpu->n_functions, bdf_equal(&it->bdf, bdf));
}

const Companion *group_companion(const Group *group, const Bdf *bdf)
{
	return FIND(group->companions, group->n_companions, bdf_equal(&it->member.bdf, bdf));
}

bool group_has_vf(const Group *group, const Bdf *bdf)
{
	const Companion *companion = group_companion(group, bdf);

	return companion && companion->member.kind == MEMBER_VF;
}

bool group_lacks_vf(const Group *group)
{
	return SOME(group->companions, group->n_companions, it->need == COMPANION_TO_MAKE);
}

bool group_awaits_vf(const Group *group)
{
	return SOME(group->companions, group->n_companions,
		    it->need == COMPANION_TO_MAKE || it->need == COMPANION_TO_RULE);
}

bool companion_is_nic(const Companion *companion)
{
	return companion->function &&
	       (companion->member.kind == MEMBER_NIC || companion->member.kind == MEMBER_VF);
}

size_t group_nics(const Group *group, const PciFunction **to)
{
	size_t n = 0;

	for (size_t i = 0; i < group->n_companions; i++)
		if (companion_is_nic(&group->companions[i]))
			to[n++] = group->companions[i].function;
	return n;
}

Group *group_set_find_gpu(const GroupSet *groups, const Bdf *bdf)
{
	EACH (Group, group, groups->items, groups->n_items) {
		if (SOME_OF(group->gpus, group->n_gpus, gpu_has_function(it, bdf)))
			return group;
		if (group_companion(group, bdf))
			return group;
	}
	return NULL;
}

Group *group_set_find_assigned(const GroupSet *groups, const Assignment *assignment)
{
	Group *found = NULL;

	for (size_t i = 0; i < assignment->n_functions; i++) {
		Group *group = group_set_find_gpu(groups, &assignment->functions[i].bdf);

		if (found && group && group != found)
			return group_set_find(groups, assignment->group_name);
		if (group)
			found = group;
	}
	return found ? found : group_set_find(groups, assignment->group_name);
}

Group *group_set_find_named(const GroupSet *groups, const Assignments *assignments,
			    const char *name)
{
	Group *group = group_set_find(groups, name);
	const Assignment *record = group ? NULL : assignments_find_group(assignments, name);

	return record ? group_set_find_assigned(groups, record) : group;
}

const char *group_driver(const Group *group)
{
	const char *driver;

	if (group->n_gpus == 0)
		return "none";
	driver = group->gpus[0]->lead->driver;
	for (size_t i = 1; i < group->n_gpus; i++)
		if (!str_equal(driver, group->gpus[i]->lead->driver))
			return "mixed";
	return driver ? driver : "none";
}

unsigned group_links(const Group *group)
{
	unsigned guest = group->word.counts ? group->word.links : 0;

	return guest > 0 && (group->links == 0 || guest < group->links) ? guest : group->links;
}

char *group_link_text(const Group *group)
{
	if (group->single)
		return xstrdup("-");
	if (group_links(group) > 0)
		return strf("NV%u", group_links(group));
	if (group->links_expected > 0)
		return strf("NV%u?", group->links_expected);
	return xstrdup("?");
}

/* Those that are there, behind the first n. */
static size_t add_companions(const Group *group, const PciFunction **functions, size_t n)
{
	for (size_t i = 0; i < group->n_companions; i++)
		if (group->companions[i].function)
			functions[n++] = group->companions[i].function;
	return n;
}

const PciFunction **group_functions(const Group *group, size_t *ret_n)
{
	const PciFunction **functions;
	size_t n = COUNT(group->gpus, group->n_gpus, (*it)->n_functions);

	functions = xcalloc(n + group->n_companions + 1, sizeof(*functions));
	n = 0;
	for (size_t i = 0; i < group->n_gpus; i++)
		for (size_t k = 0; k < group->gpus[i]->n_functions; k++)
			functions[n++] = group->gpus[i]->functions[k];
	*ret_n = add_companions(group, functions, n);
	return functions;
}

const PciFunction **group_leads(const Group *group, size_t *ret_n)
{
	const PciFunction **leads =
		xcalloc(group->n_gpus + group->n_companions + 1, sizeof(*leads));

	for (size_t i = 0; i < group->n_gpus; i++)
		leads[i] = group->gpus[i]->lead;
	*ret_n = add_companions(group, leads, group->n_gpus);
	return leads;
}

Gpu *group_boards(const Group *group, size_t *ret_n)
{
	size_t n;
	_cleanup_free_ const PciFunction **leads = group_leads(group, &n);
	Gpu *boards = xcalloc(1, n * (sizeof(Gpu) + sizeof(*leads)) + 1);
	const PciFunction **functions = (const PciFunction **)(boards + n);

	for (size_t i = 0; i < n; i++) {
		functions[i] = leads[i];
		boards[i] = i < group->n_gpus ? *group->gpus[i]
					      : (Gpu){ .lead = leads[i],
						       .functions = &functions[i],
						       .n_functions = 1 };
	}
	*ret_n = n;
	return boards;
}

Bdf *group_addresses(const Group *group, size_t *ret_n)
{
	size_t n;
	_cleanup_free_ const PciFunction **functions = group_functions(group, &n);
	Bdf *addresses = xcalloc(n + 1, sizeof(Bdf));

	for (size_t i = 0; i < n; i++)
		addresses[i] = functions[i]->bdf;
	if (ret_n)
		*ret_n = n;
	return addresses;
}

/* Compares two runs of digits as numbers of any length, and moves past both. */
static int compare_numbers(const char **a, const char **b)
{
	size_t n_a, n_b;
	int order;

	*a += strspn(*a, "0");
	*b += strspn(*b, "0");
	n_a = strspn(*a, "0123456789");
	n_b = strspn(*b, "0123456789");
	if (n_a != n_b)
		return n_a < n_b ? -1 : 1;
	order = strncmp(*a, *b, n_a);
	*a += n_a;
	*b += n_b;
	return order;
}

int group_compare_names(const char *a, const char *b)
{
	const char *x = a, *y = b;

	while (*x && *y) {
		int order;

		if (isdigit((unsigned char)*x) && isdigit((unsigned char)*y))
			order = compare_numbers(&x, &y);
		else
			order = (unsigned char)*x++ - (unsigned char)*y++;
		if (order != 0)
			return order;
	}
	if (*x || *y)
		return *x ? 1 : -1;
	return strcmp(a, b); /* pair01 and pair1 are two names */
}
