/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/plan/record.h"

#include "core/facts/kept.h"
#include "util/json.h"
#include "util/xalloc.h"

#define STEPS_MAX 16

static void steps_write(json_t *o, const char *key, const void *of)
{
	const Plan *plan = of;

	json_set(o, key,
		 JSON_ARRAY(plan->steps, plan->n_steps, json_text(step_kind_to_string(*it))));
}

static int steps_from_record(const json_t *array, Plan *plan, char **ret_message)
{
	size_t n = json_array_size(array);

	plan->steps = xcalloc(n + 1, sizeof(StepKind));
	for (size_t i = 0; i < n; i++) {
		const char *name = json_string_value(json_array_get(array, i));

		if (!name || step_kind_from_string(name, &plan->steps[i]) < 0) {
			*ret_message = strf("steps[%zu] is no step that this version knows", i);
			return -EBADMSG;
		}
		plan->n_steps = i + 1;
	}
	return 0;
}

/* A text longer than a JsonReader accepts. The size of the file limits it. */
static int read_long_text(const json_t *record, const char *key, char **ret, char **ret_message)
{
	const json_t *value = json_object_get(record, key);

	if (!value || json_is_null(value))
		return 0;
	if (!json_is_string(value)) {
		*ret_message = strf("%s is not a text", key);
		return -EBADMSG;
	}
	*ret = xstrdup(json_string_value(value));
	return 0;
}

static int assignment_from_record(const json_t *record, const char *key, const RecordKind *kind,
				  Assignment **ret, char **ret_message)
{
	_cleanup_free_ char *text = NULL;
	void *assignment = NULL;
	int r = read_long_text(record, key, &text, ret_message);

	if (r < 0 || !text)
		return r;
	r = record_parse(kind, text, strlen(text), &assignment, ret_message);
	*ret = assignment;
	return r == -EPROTO ? -EBADMSG : r;
}

static int texts_from_record(const json_t *record, Plan *plan, char **ret_message)
{
	int r = read_long_text(record, "xml_before", &plan->xml_before, ret_message);

	if (r >= 0)
		r = read_long_text(record, "xml_after", &plan->xml_after, ret_message);
	if (r >= 0)
		r = assignment_from_record(record, "assignment", &assignment_kind,
					   &plan->assignment, ret_message);
	if (r >= 0)
		r = assignment_from_record(record, "kept", &kept_kind, &plan->kept, ret_message);
	if (r < 0)
		return r;
	r = json_get_strv(record, "hostdevs", &plan->hostdevs);
	if (r < 0)
		*ret_message = strf("hostdevs is not a list of texts");
	return r == -ENOENT ? -EBADMSG : r;
}

/* Checks what the steps rely on without a check of their own. */
static int plan_check_whole(const Plan *plan, char **ret_message)
{
	const char *what = NULL;
	bool domain = plan_has_step(plan, STEP_DEFINE) || plan_has_step(plan, STEP_ATTACH) ||
		      plan_has_step(plan, STEP_DETACH);

	if (domain && !plan->domain_uuid)
		what = "no domain";
	else if (plan_has_step(plan, STEP_DEFINE) && (!plan->xml_before || !plan->xml_after))
		what = "no definition";
	else if (plan_has_step(plan, STEP_ATTACH) &&
		 strv_length(plan->hostdevs) != plan->n_functions)
		what = "not one hostdev a function";
	else if ((plan_has_step(plan, STEP_RECORD) || plan_has_step(plan, STEP_FORGET)) &&
		 !plan->assignment)
		what = "no assignment";
	else if ((plan_has_step(plan, STEP_KEEP) || plan_has_step(plan, STEP_UNKEEP)) &&
		 !plan->kept)
		what = "no kept group";
	else if (plan->n_functions == 0)
		what = "no functions";
	if (!what)
		return 0;
	*ret_message = strf("its steps cannot be: the plan has %s", what);
	return -EBADMSG;
}

static void steps_read(JsonReader *reader, const char *key, void *plan)
{
	const json_t *array = json_read_array(reader, key, STEPS_MAX);

	if (reader->error >= 0)
		reader->error = steps_from_record(array, plan, &reader->message);
}

/*
 * A part in the undo's reset is left out of all plans but live assigns, so that an older gpupass
 * can read those. What is ignored is added at the end, and read there.
 */
LOCAL_JSON_OF(PlanFunction, function_members, bdf, companion(if_any), iommu_group(index, or_null),
	      from_driver(if_any), from_override(if_any), to_driver(if_any), to_override(if_any),
	      mac(if_any), vlan(if_any), from_persistence(if_any, wrong "is neither on nor off"),
	      to_persistence(if_any, wrong "is neither on nor off"),
	      undo_reset(if_any, wrong "is no part in a reset that this version knows"),
	      erase(if_any), "vf"(ignored))
LOCAL_JSON(PlanNic, plan_nic_members)
LOCAL_JSON_OF(Plan, plan_members, operation, group, domain_uuid(if_any), domain_name(if_any), live,
	      config, functions(table function_members, max GROUP_FUNCTIONS_MAX),
	      were(table kept_function_members, max GROUP_FUNCTIONS_MAX, if_any),
	      nics(table plan_nic_members, max GROUP_COMPANIONS_MAX, if_any), vfs(if_any),
	      steps(by steps), "xml_before"(ignored), "xml_after"(ignored), "hostdevs"(ignored),
	      "assignment"(ignored), "kept"(ignored))
#include "record.inc"

json_t *plan_to_record(const Plan *plan)
{
	json_t *o = json_struct_write(plan_members, plan);
	_cleanup_free_ char *assignment =
		plan->assignment ? assignment_to_json(plan->assignment) : NULL;
	_cleanup_free_ char *kept = plan->kept ? kept_to_json(plan->kept) : NULL;

	json_set(o, "xml_before", json_string_or_null(plan->xml_before));
	json_set(o, "xml_after", json_string_or_null(plan->xml_after));
	json_set(o, "hostdevs", json_strv(plan->hostdevs));
	json_set(o, "assignment", json_string_or_null(assignment));
	/* Left out where there is none, so that an older gpupass can read all other plans. */
	if (kept)
		json_set(o, "kept", json_text(kept));
	return o;
}

/* The version that wrote none had it on again with its undo, as the kernel has it at a boot. */
static void complete_nics(const json_t *record, Plan *plan)
{
	const json_t *nics = json_object_get(record, "nics");

	for (size_t i = 0; i < plan->n_nics; i++)
		if (!json_object_get(json_array_get(nics, i), "autoprobe"))
			plan->nics[i].autoprobe = 1;
}

int plan_from_record(const json_t *record, Plan **ret, char **ret_message)
{
	_cleanup_(plan_freep) Plan *plan = xcalloc(1, sizeof(Plan));
	int r;

	plan->changed = true;
	r = json_struct_read(plan_members, record, "plan", plan, ret_message);
	if (r >= 0)
		r = texts_from_record(record, plan, ret_message);
	if (r >= 0)
		complete_nics(record, plan);
	if (r >= 0)
		r = plan_check_whole(plan, ret_message);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(plan);
	return 0;
}
