/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/plan/record.h"

#include <string.h>

#include "core/base/json-fields.h"
#include "util/json.h"
#include "util/text.h"

#define FUNCTIONS_MAX 64
#define STEPS_MAX 16

static json_t *function_to_record(const PlanFunction *f)
{
	_cleanup_json_ json_t *o = json_object();
	int r = 0;

	r |= json_set_bdf(o, "bdf", &f->bdf);
	r |= json_object_set_new(o, "iommu_group",
				 f->iommu_group < 0 ? json_null() : json_integer(f->iommu_group));
	r |= json_set_text_if_any(o, "from_driver", f->from_driver);
	r |= json_set_text_if_any(o, "from_override", f->from_override);
	r |= json_set_text_if_any(o, "to_driver", f->to_driver);
	r |= json_set_text_if_any(o, "to_override", f->to_override);
	r |= json_set_persistence_if_known(o, "from_persistence", f->from_persistence);
	r |= json_set_persistence_if_known(o, "to_persistence", f->to_persistence);
	return r < 0 ? NULL : TAKE_PTR(o);
}

static json_t *functions_to_record(const Plan *plan)
{
	_cleanup_json_ json_t *a = json_array();

	for (size_t i = 0; i < plan->n_functions; i++)
		if (json_array_append_new(a, function_to_record(&plan->functions[i])) < 0)
			return NULL;
	return TAKE_PTR(a);
}

static json_t *steps_to_record(const Plan *plan)
{
	_cleanup_json_ json_t *a = json_array();

	for (size_t i = 0; i < plan->n_steps; i++)
		if (json_array_append_new(a, json_string(step_kind_to_string(plan->steps[i]))) < 0)
			return NULL;
	return TAKE_PTR(a);
}

static json_t *assignment_to_record(const Assignment *assignment)
{
	_cleanup_free_ char *text = assignment ? assignment_to_json(assignment) : NULL;

	if (!assignment)
		return json_null();
	return text ? json_string(text) : NULL;
}

json_t *plan_to_record(const Plan *plan)
{
	_cleanup_json_ json_t *o = json_object();
	int r = 0;

	r |= json_object_set_new(o, "operation", json_string(operation_to_string(plan->operation)));
	r |= json_object_set_new(o, "group", json_string(plan->group));
	r |= json_set_text_if_any(o, "domain_uuid", plan->domain_uuid);
	r |= json_set_text_if_any(o, "domain_name", plan->domain_name);
	r |= json_object_set_new(o, "live", json_boolean(plan->live));
	r |= json_object_set_new(o, "config", json_boolean(plan->config));
	r |= json_object_set_new(o, "functions", functions_to_record(plan));
	r |= json_object_set_new(o, "steps", steps_to_record(plan));
	r |= json_object_set_new(o, "xml_before", json_string_or_null(plan->xml_before));
	r |= json_object_set_new(o, "xml_after", json_string_or_null(plan->xml_after));
	r |= json_object_set_new(o, "hostdevs", json_strv(plan->hostdevs));
	r |= json_object_set_new(o, "assignment", assignment_to_record(plan->assignment));
	return r < 0 ? NULL : TAKE_PTR(o);
}

static int function_from_record(const json_t *json, size_t i, PlanFunction *f, char **ret_message)
{
	static const char *const keys[] = {
		"bdf",	     "iommu_group", "from_driver",	"from_override",
		"to_driver", "to_override", "from_persistence", "to_persistence",
		NULL
	};
	_cleanup_free_ char *where = strf("functions[%zu]", i);
	JsonReader reader;

	if (!where)
		return -ENOMEM;
	f->iommu_group = IOMMU_GROUP_NONE;
	json_reader_begin(&reader, json, where, keys);
	json_read_bdf(&reader, "bdf", &f->bdf);
	json_read_int_if_any(&reader, "iommu_group", &f->iommu_group);
	json_read_text_if_any(&reader, "from_driver", &f->from_driver);
	json_read_text_if_any(&reader, "from_override", &f->from_override);
	json_read_text_if_any(&reader, "to_driver", &f->to_driver);
	json_read_text_if_any(&reader, "to_override", &f->to_override);
	json_read_persistence_if_any(&reader, "from_persistence", &f->from_persistence);
	json_read_persistence_if_any(&reader, "to_persistence", &f->to_persistence);
	return json_reader_end(&reader, ret_message);
}

static int functions_from_record(const json_t *array, Plan *plan, char **ret_message)
{
	size_t n = json_array_size(array);

	plan->functions = calloc(n + 1, sizeof(PlanFunction));
	if (!plan->functions)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++) {
		int r;

		plan->n_functions = i + 1;
		r = function_from_record(json_array_get(array, i), i, &plan->functions[i],
					 ret_message);
		if (r < 0)
			return r;
	}
	return 0;
}

static int steps_from_record(const json_t *array, Plan *plan, char **ret_message)
{
	size_t n = json_array_size(array);

	plan->steps = calloc(n + 1, sizeof(StepKind));
	if (!plan->steps)
		return -ENOMEM;
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
	*ret = strdup(json_string_value(value));
	return *ret ? 0 : -ENOMEM;
}

static int assignment_from_record(const json_t *record, Plan *plan, char **ret_message)
{
	_cleanup_free_ char *text = NULL;
	int r = read_long_text(record, "assignment", &text, ret_message);

	if (r < 0 || !text)
		return r;
	r = assignment_from_json(text, strlen(text), &plan->assignment, ret_message);
	return r == -EPROTO ? -EBADMSG : r;
}

static int texts_from_record(const json_t *record, Plan *plan, char **ret_message)
{
	int r;

	r = read_long_text(record, "xml_before", &plan->xml_before, ret_message);
	if (r >= 0)
		r = read_long_text(record, "xml_after", &plan->xml_after, ret_message);
	if (r >= 0)
		r = assignment_from_record(record, plan, ret_message);
	if (r < 0)
		return r;
	r = json_get_strv(record, "hostdevs", &plan->hostdevs);
	if (r < 0 && r != -ENOMEM)
		*ret_message = strf("hostdevs is not a list of texts");
	return r == -ENOENT ? -EBADMSG : r;
}

static bool has_step(const Plan *plan, StepKind kind)
{
	for (size_t i = 0; i < plan->n_steps; i++)
		if (plan->steps[i] == kind)
			return true;
	return false;
}

/* Checks what the steps rely on without a check of their own. */
static int plan_check_whole(const Plan *plan, char **ret_message)
{
	const char *what = NULL;
	bool domain = has_step(plan, STEP_DEFINE) || has_step(plan, STEP_ATTACH) ||
		      has_step(plan, STEP_DETACH);

	if (domain && !plan->domain_uuid)
		what = "no domain";
	else if (has_step(plan, STEP_DEFINE) && (!plan->xml_before || !plan->xml_after))
		what = "no definition";
	else if (has_step(plan, STEP_ATTACH) && strv_length(plan->hostdevs) != plan->n_functions)
		what = "not one hostdev a function";
	else if ((has_step(plan, STEP_RECORD) || has_step(plan, STEP_FORGET)) && !plan->assignment)
		what = "no assignment";
	else if (plan->n_functions == 0)
		what = "no functions";
	if (!what)
		return 0;
	*ret_message = strf("its steps cannot be: the plan has %s", what);
	return -EBADMSG;
}

static int plan_fill(const json_t *record, Plan *plan, char **ret_message)
{
	static const char *const keys[] = { "operation",  "group",     "domain_uuid", "domain_name",
					    "live",	  "config",    "functions",   "steps",
					    "xml_before", "xml_after", "hostdevs",    "assignment",
					    NULL };
	_cleanup_free_ char *operation = NULL;
	const json_t *functions, *steps;
	JsonReader reader;
	int r;

	json_reader_begin(&reader, record, "plan", keys);
	json_read_text(&reader, "operation", &operation);
	json_read_text(&reader, "group", &plan->group);
	json_read_text_if_any(&reader, "domain_uuid", &plan->domain_uuid);
	json_read_text_if_any(&reader, "domain_name", &plan->domain_name);
	plan->live = json_read_bool(&reader, "live");
	plan->config = json_read_bool(&reader, "config");
	functions = json_read_array(&reader, "functions", FUNCTIONS_MAX);
	steps = json_read_array(&reader, "steps", STEPS_MAX);
	if (operation && operation_from_string(operation, &plan->operation) < 0)
		json_reader_fail(&reader, "operation", "is none that this version knows");
	r = json_reader_end(&reader, ret_message);
	if (r >= 0)
		r = functions_from_record(functions, plan, ret_message);
	if (r >= 0)
		r = steps_from_record(steps, plan, ret_message);
	if (r >= 0)
		r = texts_from_record(record, plan, ret_message);
	return r < 0 ? r : plan_check_whole(plan, ret_message);
}

int plan_from_record(const json_t *record, Plan **ret, char **ret_message)
{
	_cleanup_(plan_freep) Plan *plan = calloc(1, sizeof(Plan));
	int r;

	if (!plan)
		return -ENOMEM;
	plan->changed = true;
	r = plan_fill(record, plan, ret_message);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(plan);
	return 0;
}
