/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/plan/choose.h"

#include <strings.h>

#include "util/text.h"

/* 1: the group is of that model; 0: it is not; or -ENOMEM. */
static int is_of_model(const Group *group, const char *model)
{
	_cleanup_free_ char *name = NULL;

	if (!model)
		return 1;
	if (group->n_gpus == 0)
		return 0;
	name = gpu_model(group->gpus[0]);
	return name ? strcasecmp(name, model) == 0 : -ENOMEM;
}

/* "pair0 is assigned to vm1" */
static int explain(const Group *group, char ***lines)
{
	const char *state = str_or_empty(group_state_to_string(group->state));

	if (group->domain_name && (group->state == GROUP_ASSIGNED || group->state == GROUP_FOREIGN))
		return strv_appendf(lines, "%s is %s%s%s", group->name, state,
				    group->state == GROUP_ASSIGNED ? " to " : ": domain ",
				    group->domain_name);
	return strv_appendf(lines, "%s is %s%s%s", group->name, state, group->reason ? ": " : "",
			    str_or_empty(group->reason));
}

static bool lacks_evidence(const Group *group)
{
	return group->state == GROUP_UNKNOWN || group->state == GROUP_INFERRED;
}

/*
 * No user of the group is known, but not every domain is known either. The plan then says which
 * domain is not, and what to do.
 */
static bool looks_free(const Group *group)
{
	return group->state == GROUP_FREE || group->state == GROUP_BOUND;
}

static int refuse_none(const char *model, Problem **ret_problem)
{
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_NO_SUCH_GROUP,
		.reason = model ? strf("there is no group of %s", model)
				: strdup("this host has no group of NVLink-bridged GPUs"),
		.remedy = strdup("see which there are: gpupass list"));
}

static int refuse_all(const char *model, char *const *lines, bool evidence, Problem **ret_problem)
{
	return problem_refuse(
		ret_problem, evidence ? GPUPASS_ERROR_GROUP_BUSY : GPUPASS_ERROR_LINKS_UNKNOWN,
		.reason = strf("there is no free group%s%s", model ? " of " : "",
			       str_or_empty(model)),
		.cause = strv_join(lines, "\n"),
		.remedy =
			evidence
				? strdup("release one: gpupass release GROUP")
				: strdup("declare which GPUs are bridged: gpupass declare NAME BDF BDF"));
}

static int refuse_own(const Group *own, const char *model, Problem **ret_problem)
{
	return problem_refuse(ret_problem, GPUPASS_ERROR_GROUP_BUSY,
			      .reason = strf("it has group %s already, which is not of model %s",
					     own->name, model),
			      .remedy = strf("gpupass release %s, then assign", own->name));
}

static const Group *find_own(const GroupSet *groups, const char *domain_uuid)
{
	for (size_t i = 0; domain_uuid && i < groups->n_items; i++)
		if (str_equal(groups->items[i].domain_uuid, domain_uuid))
			return &groups->items[i];
	return NULL;
}

int plan_choose_group(const GroupSet *groups, const char *domain_uuid, const char *model,
		      const Group **ret, Problem **ret_problem)
{
	const Group *own = find_own(groups, domain_uuid), *unsure = NULL;
	_cleanup_strv_ char **lines = NULL;
	bool evidence = false;

	if (own) {
		int r = is_of_model(own, model);

		if (r == 0)
			return refuse_own(own, model, ret_problem);
		if (r > 0)
			*ret = own;
		return r < 0 ? r : 0;
	}
	for (size_t i = 0; i < groups->n_items; i++) {
		const Group *group = &groups->items[i];
		int r = is_of_model(group, model);

		if (r == 0)
			continue;
		if (r > 0 && group->assignable) {
			*ret = group;
			return 0;
		}
		if (r > 0 && !unsure && looks_free(group))
			unsure = group;
		if (r > 0)
			r = explain(group, &lines);
		if (r < 0)
			return r;
		evidence |= !lacks_evidence(group);
	}
	if (unsure) {
		*ret = unsure;
		return 0;
	}
	return lines ? refuse_all(model, lines, evidence, ret_problem)
		     : refuse_none(model, ret_problem);
}
