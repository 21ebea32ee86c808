/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/plan/plan.h"

#include <strings.h>

#include "util/text.h"
#include "util/xalloc.h"

static bool is_of_model(const Group *group, const char *model)
{
	_cleanup_free_ char *name = NULL;

	if (!model)
		return true;
	if (group->n_gpus == 0)
		return false;
	name = gpu_model(group->gpus[0]);
	return strcasecmp(name, model) == 0;
}

/* "pair0 is assigned to vm1" */
static void explain(const Group *group, char ***lines)
{
	const char *state = str_or_empty(group_state_to_string(group->state));

	if (group->domain_name && (group->state == GROUP_ASSIGNED || group->state == GROUP_FOREIGN))
		strv_appendf(lines, "%s is %s%s%s", group->name, state,
			     group->state == GROUP_ASSIGNED ? " to " : ": domain ",
			     group->domain_name);
	else
		strv_appendf(lines, "%s is %s%s%s", group->name, state, group->reason ? ": " : "",
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
				: xstrdup("this host has no group of NVLink-bridged GPUs"),
		.remedy = xstrdup("see which there are: gpupass list"));
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
				? xstrdup("release one: gpupass release GROUP")
				: xstrdup("declare which GPUs are bridged: gpupass declare NAME BDF BDF"));
}

/* The domain's first group of this model; NULL: it has none. */
static const Group *find_own(const GroupSet *groups, const char *domain_uuid, const char *model)
{
	return domain_uuid ? FIND(groups->items, groups->n_items,
				  str_equal(it->domain_uuid, domain_uuid) && is_of_model(it, model))
			   : NULL;
}

/* There is a group of several GPUs, of this model. */
static bool has_linked(const GroupSet *groups, const char *model)
{
	return SOME(groups->items, groups->n_items, !it->single && is_of_model(it, model));
}

/*
 * Who names no group wants GPUs that are linked. A group of one is chosen only where there are no
 * others of that model.
 */
static int choose(const GroupSet *groups, const char *model, bool singles, const Group **ret,
		  Problem **ret_problem)
{
	_cleanup_strv_ char **lines = NULL;
	const Group *unsure = NULL;
	bool evidence = false;

	EACH (const Group, group, groups->items, groups->n_items) {
		if ((group->single && !singles) || !is_of_model(group, model))
			continue;
		if (group->assignable) {
			*ret = group;
			return 0;
		}
		if (!unsure && looks_free(group))
			unsure = group;
		explain(group, &lines);
		evidence |= !lacks_evidence(group);
	}
	if (unsure) {
		*ret = unsure;
		return 0;
	}
	return lines ? refuse_all(model, lines, evidence, ret_problem)
		     : refuse_none(model, ret_problem);
}

int plan_choose_group(const GroupSet *groups, const char *domain_uuid, const char *model,
		      const Group **ret, Problem **ret_problem)
{
	*ret = find_own(groups, domain_uuid, model);
	return *ret ? 0 : choose(groups, model, !has_linked(groups, model), ret, ret_problem);
}
