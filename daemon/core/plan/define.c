/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The definition with the whole group in it exactly once, or without it; and what goes with it. */

#include "core/domain/xml-tune.h"
#include "core/group/record.h"
#include "core/plan/planner.h"
#include "util/xalloc.h"

/* As virConnectGetLibVersion() counts: 10.0.0. */
#define LIBVIRT_DRIVER_MODEL 10000000

/* A board that is on a variant stays there. */
static bool names_model(const Planner *p)
{
	bool plain = p->facts->host && p->facts->host->libvirt_version >= LIBVIRT_DRIVER_MODEL;

	for (size_t i = 0; i < p->plan->n_functions; i++)
		plain = plain && str_equal(p->plan->functions[i].to_driver, VFIO_PCI);
	return plain && p->plan->n_functions > 0;
}

/* A companion gets a port of its own, as a GPU does. */
static int fill_gpus(const Planner *p, DomainXmlGpu **ret, size_t *ret_n)
{
	const Group *group = p->facts->group;
	DomainXmlGpu *gpus = xcalloc(group->n_gpus + group->n_companions, sizeof(*gpus));
	size_t n = group->n_gpus;

	for (size_t i = 0; i < group->n_gpus; i++) {
		gpus[i].names_model = names_model(p);
		for (size_t k = 0; k < group->gpus[i]->n_functions; k++) {
			if (gpus[i].n_functions == ELEMENTS(gpus[i].functions)) {
				free(gpus);
				return -E2BIG;
			}
			gpus[i].functions[gpus[i].n_functions++] =
				group->gpus[i]->functions[k]->bdf;
		}
	}
	EACH (const PlanFunction, function, p->plan->functions, p->plan->n_functions)
		if (function->companion)
			gpus[n++] = (DomainXmlGpu){
				.functions = { function->bdf },
				.n_functions = 1,
				.names_model = names_model(p),
				.mac = function->mac,
				.vlan = function->vlan,
			};
	*ret = gpus;
	*ret_n = n;
	return 0;
}

/* A record says that the domain got a group by this name, or has one that is called so now. */
static bool is_recorded(const Planner *p, const char *name)
{
	const Assignment *record;
	size_t position = 0;

	while ((record = assignments_of_domain(p->facts->assignments, p->use.uuid, &position))) {
		const Group *group = group_set_find_assigned(p->facts->groups, record);

		if (str_equal(record->group_name, name) || (group && str_equal(group->name, name)))
			return true;
	}
	return false;
}

/*
 * A name in the mark counts when a part of that group, or a record, backs it. Otherwise it is text
 * that anybody may have put there.
 */
static bool is_believed(const Planner *p, const char *name)
{
	return mark_counts(p->facts->groups, &p->use, name) || is_recorded(p, name);
}

/* Then the mark's notes say what gpupass wrote. */
static bool is_marked(const Planner *p)
{
	for (char **name = p->use.gpupass_groups; name && *name; name++)
		if (is_believed(p, *name))
			return true;
	return false;
}

/* The definition was made for this group, by whichever name. */
static bool is_named(const Planner *p)
{
	const char *names[] = { p->facts->group->name, p->old_name };

	return SOME_OF(names, ELEMENTS(names), domain_use_names(&p->use, it) && is_believed(p, it));
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

	plan_read_topology(p);
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
static bool keeps_tuning(const Planner *p)
{
	return is_named(p) && plan_count_hostdevs(p, false) > 0 && !asks_to_apply(p);
}

/*
 * The notes go with the mark's last name. Names that nothing backs do not keep them. Without any
 * other name the mark goes first, so that its notes remove nothing of the operator's.
 */
static void remove_false_names(const Planner *p, DomainXml *xml, bool *ret_changed)
{
	*ret_changed = !is_marked(p) && domain_xml_unmark(xml);
	for (char **name = p->use.gpupass_groups; name && *name; name++) {
		bool changed = false;

		if (!is_believed(p, *name))
			domain_xml_unname_group(xml, *name, &changed);
		*ret_changed |= changed;
	}
}

/* Also removes what is marked with the name by which the group was assigned. */
static void remove_ours(const Planner *p, DomainXml *xml, bool keep_metadata, bool *ret_changed)
{
	const char *names[] = { p->facts->group->name, p->old_name };
	_cleanup_free_ Bdf *functions = group_addresses(p->facts->group, NULL);

	remove_false_names(p, xml, ret_changed);
	for (size_t i = 0; i < ELEMENTS(names); i++) {
		bool changed = false;

		if (!names[i])
			continue;
		if (keep_metadata)
			domain_xml_remove_devices(xml, names[i], functions, p->n_functions,
						  &changed);
		else
			domain_xml_remove_group(xml, names[i], functions, p->n_functions, &changed);
		*ret_changed |= changed;
	}
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
	p->plan->xml_before = xstrdup(p->facts->domain->config_xml);
	p->plan->xml_after = domain_xml_to_text(xml);
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
	bool keep = keeps_tuning(p), removed, untuned;
	size_t n = 0;
	int r = fill_gpus(p, &gpus, &n);

	if (r == 0)
		r = domain_xml_parse(p->facts->domain->config_xml, &xml, p->ret_problem);
	if (r == 0)
		remove_ours(p, xml, keep, &removed);
	/* What was written for the domain's other groups is written anew, for all of them. */
	if (r == 0 && !keep)
		domain_xml_untune(xml, &untuned);
	if (r == 0 && p->old_name)
		domain_xml_rename_group(xml, p->old_name, group->name);
	if (r == 0)
		r = plan_mirror(p, xml, n);
	if (r == 0)
		r = domain_xml_add_group(xml, group->name, gpus, n, p->plan->mirror,
					 p->ret_problem);
	if (r == 0 && !keep)
		r = plan_tune(p, xml, &tune);
	if (r == 0)
		r = finish_definition(p, xml);
	return r == 0 ? plan_fit(p, xml, true, &tune) : r;
}

/* What the assignments of the domain's other groups asked for. */
static void read_wish_of_others(Planner *p)
{
	const Assignment *record;
	size_t position = 0;

	while ((record = assignments_of_domain(p->facts->assignments, p->use.uuid, &position))) {
		if (record == p->record)
			continue;
		p->apply_fit |= record->apply_fit;
		p->apply_numa |= record->apply_numa;
	}
}

/* What was written for all groups of the domain is written anew for those that stay. */
static int tune_for_others(Planner *p, DomainXml *xml)
{
	_cleanup_(fit_tune_clear) FitTune tune = { 0 };
	_cleanup_strv_ char **names = NULL;
	bool untuned;

	names = domain_xml_groups(xml);

	read_wish_of_others(p);
	if (!names || (!p->apply_fit && !p->apply_numa))
		return 0;
	domain_xml_untune(xml, &untuned);
	return plan_tune(p, xml, &tune);
}

int plan_undefine_group(Planner *p)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = NULL;
	bool changed = false;
	int r = domain_xml_parse(p->facts->domain->config_xml, &xml, p->ret_problem);

	if (r == 0)
		remove_ours(p, xml, false, &changed);
	if (r == 0 && changed)
		r = tune_for_others(p, xml);
	p->plan->config = changed;
	return r == 0 && changed ? finish_definition(p, xml) : r;
}
