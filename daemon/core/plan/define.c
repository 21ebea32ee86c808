/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The definition with the whole group in it exactly once, or without it; and what goes with it. */
#include <string.h>

#include "core/domain/xml-tune.h"
#include "core/group/mark.h"
#include "core/plan/planner.h"

static int fill_gpus(const Group *group, DomainXmlGpu **ret)
{
	DomainXmlGpu *gpus = calloc(group->n_gpus, sizeof(*gpus));

	if (!gpus)
		return -ENOMEM;
	for (size_t i = 0; i < group->n_gpus; i++)
		for (size_t k = 0; k < group->gpus[i]->n_functions; k++) {
			if (gpus[i].n_functions == ELEMENTS(gpus[i].functions)) {
				free(gpus);
				return -E2BIG;
			}
			gpus[i].functions[gpus[i].n_functions++] =
				group->gpus[i]->functions[k]->bdf;
		}
	*ret = gpus;
	return 0;
}

static int list_functions(const Planner *p, Bdf **ret)
{
	Bdf *list = calloc(p->n_functions + 1, sizeof(*list));

	if (!list)
		return -ENOMEM;
	for (size_t i = 0; i < p->n_functions; i++)
		list[i] = p->functions[i]->bdf;
	*ret = list;
	return 0;
}

/*
 * The mark counts when a part of the group, or a record, backs it. Then its notes say what gpupass
 * wrote. Otherwise it is text that anybody may have put there.
 */
static bool is_believed(const Planner *p)
{
	return mark_counts(p->facts->groups, &p->use) ||
	       assignments_find_domain(p->facts->assignments, p->use.uuid);
}

static bool is_marked(const Planner *p)
{
	return p->use.gpupass_group && is_believed(p) &&
	       (str_equal(p->use.gpupass_group, p->facts->group->name) ||
		str_equal(p->use.gpupass_group, p->old_name));
}

static bool asks_to_apply(const Planner *p)
{
	return p->request->fit == FIT_APPLY || p->request->numa == FIT_APPLY;
}

/*
 * Older versions did not record it, and a record may be lost. Then the notes in the definition say
 * what was written.
 */
int plan_read_wish(Planner *p)
{
	const Assignment *record = p->record;
	_cleanup_(domain_xml_freep) DomainXml *xml = NULL;
	bool fit = false, numa = false;
	int r;

	if (record && !str_equal(record->domain_uuid, p->use.uuid))
		record = NULL;
	if (is_marked(p) && p->facts->domain->config_xml) {
		r = domain_xml_parse(p->facts->domain->config_xml, &xml, p->ret_problem);
		if (r != 0)
			return r;
		domain_xml_tuned(xml, &fit, &numa);
	}
	p->apply_fit = fit || p->request->fit == FIT_APPLY || (record && record->apply_fit);
	p->apply_numa = numa || p->request->numa == FIT_APPLY || (record && record->apply_numa);
	return 0;
}

/*
 * Our mark and a part of the group are there, so somebody edited this definition and did not make
 * it anew. What gpupass wrote into it stays as it is now, even if changed or removed: an operator
 * did that. Only a new request writes it again.
 */
bool plan_keeps_tuning(const Planner *p)
{
	return is_marked(p) && plan_count_hostdevs(p, false) > 0 && !asks_to_apply(p);
}

/* Also removes what is marked with the name by which the group was assigned. */
static int remove_ours(const Planner *p, DomainXml *xml, bool keep_metadata, bool *ret_changed)
{
	const char *names[] = { p->facts->group->name, p->old_name };
	_cleanup_free_ Bdf *functions = NULL;
	int r = list_functions(p, &functions);

	/*
	 * The notes go with the mark. Without belief in the mark they remove nothing of the
	 * operator's.
	 */
	*ret_changed = !is_believed(p) && domain_xml_unmark(xml);
	for (size_t i = 0; r == 0 && i < ELEMENTS(names); i++) {
		bool changed = false;

		if (!names[i])
			continue;
		r = keep_metadata ? domain_xml_remove_devices(xml, names[i], functions,
							      p->n_functions, &changed)
				  : domain_xml_remove_group(xml, names[i], functions,
							    p->n_functions, &changed);
		*ret_changed |= changed;
	}
	return r;
}

/* The steps read the text again, so it must not exceed their limit. */
static int refuse_size(const Planner *p)
{
	return problem_refuse(
		p->ret_problem, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		.reason = strf("the new definition of %s would be too long", p->use.name),
		.cause = strf("it would be longer than %u bytes", DOMAIN_XML_MAX),
		.remedy = strf("take out its description (virsh desc %s '') or others' metadata "
			       "(virsh metadata %s --uri URI --remove)",
			       p->use.uuid, p->use.uuid));
}

static int finish_definition(Planner *p, const DomainXml *xml)
{
	p->plan->xml_before = strdup(p->facts->domain->config_xml);
	p->plan->xml_after = domain_xml_to_text(xml);
	if (!p->plan->xml_before || !p->plan->xml_after)
		return -ENOMEM;
	return strlen(p->plan->xml_after) > DOMAIN_XML_MAX ? refuse_size(p) : 0;
}

/*
 * First removes what an earlier assignment to this domain left, so the new definition has the whole
 * group exactly once.
 */
int plan_define_group(Planner *p)
{
	const Group *group = p->facts->group;
	_cleanup_(domain_xml_freep) DomainXml *xml = NULL;
	_cleanup_free_ DomainXmlGpu *gpus = NULL;
	_cleanup_(fit_tune_clear) FitTune tune = { 0 };
	bool keep = plan_keeps_tuning(p), removed;
	int r;

	r = fill_gpus(group, &gpus);
	if (r == 0)
		r = domain_xml_parse(p->facts->domain->config_xml, &xml, p->ret_problem);
	if (r == 0)
		r = remove_ours(p, xml, keep, &removed);
	if (r == 0 && p->old_name)
		r = domain_xml_rename_group(xml, p->old_name, group->name);
	if (r == 0)
		r = domain_xml_add_group(xml, group->name, gpus, group->n_gpus, p->ret_problem);
	if (r == 0 && !keep)
		r = plan_tune(p, xml, &tune);
	if (r == 0)
		r = finish_definition(p, xml);
	return r == 0 ? plan_fit(p, xml, true, &tune) : r;
}

int plan_undefine_group(Planner *p)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = NULL;
	bool changed = false;
	int r;

	r = domain_xml_parse(p->facts->domain->config_xml, &xml, p->ret_problem);
	if (r == 0)
		r = remove_ours(p, xml, false, &changed);
	p->plan->config = changed;
	return r == 0 && changed ? finish_definition(p, xml) : r;
}
