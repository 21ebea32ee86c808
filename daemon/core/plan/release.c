/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plan that takes a group out of its domain and gives it back to the host. */

#include "core/domain/ref.h"
#include "core/plan/plan.h"
#include "core/plan/planner.h"
#include "util/xalloc.h"

static int refuse_not_assigned(const Planner *p)
{
	const char *group = p->facts->group->name;
	size_t held = plan_count_hostdevs(p, false) + plan_count_hostdevs(p, true);

	if (held > 0)
		return problem_refuse(
			p->ret_problem, GPUPASS_ERROR_FOREIGN_OWNER,
			.reason = strf("%s has functions of it, but not from gpupass", p->use.name),
			.remedy = strf("take those hostdevs out yourself: virsh edit %s",
				       domain_ref_word(p->use.name, p->use.uuid)));
	return problem_refuse(
		p->ret_problem, GPUPASS_ERROR_NOT_ASSIGNED,
		.reason = p->facts->domain
				  ? strf("%s does not have it", p->use.name)
				  : xstrdup("no domain has it, and there is no record of it"),
		.remedy = strf("see who has what: gpupass list (%s)", group));
}

/*
 * The domain has only a mark, which proves nothing. The plan removes the mark from the definition
 * and leaves the functions alone: another domain may have them.
 */
static bool has_only_mark(const Planner *p)
{
	return p->facts->domain && domain_use_names(&p->use, p->facts->group->name) &&
	       !plan_domain_is_ours(p);
}

static int plan_unmark(Planner *p)
{
	int r = plan_resolve_mode(p);

	if (r != 0 || !p->config)
		return r;
	r = plan_undefine_group(p);
	plan_add_step(p->plan, STEP_DEFINE, r == 0 && p->plan->config);
	plan_add_step(p->plan, STEP_VERIFY, r == 0 && p->plan->config);
	return r;
}

/* The record is of this domain, or its domain is gone and left only the record. */
static bool record_applies(const Planner *p)
{
	return p->record && (!p->facts->domain || str_equal(p->record->domain_uuid, p->use.uuid));
}

/* Takes the cause. */
static int refuse_detach(const Planner *p, const char *why, char *cause)
{
	return problem_refuse(p->ret_problem, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
			      .reason = strf("running %s %s", p->use.name, why), .cause = cause,
			      .remedy = strf("shut it down, then: gpupass release %s",
					     domain_ref_word(p->use.name, p->use.uuid)));
}

/* Refuses before anything is unplugged, not half way. */
static int check_detach(const Planner *p)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = NULL;
	int r = domain_xml_parse(p->facts->domain->live_xml, &xml, p->ret_problem);

	if (r != 0)
		return r;
	if (!domain_xml_sees_hotplug(xml))
		return refuse_detach(p, "has no ACPI, so its guest would never let go", NULL);
	for (size_t i = 0; i < p->n_functions; i++) {
		const Bdf *function = &p->functions[i]->bdf;
		const DomainHostdev *hostdev = domain_use_hostdev(&p->use, function);

		if (hostdev && hostdev->has_guest &&
		    !domain_xml_bus_hotplug(xml, hostdev->guest.bus))
			return refuse_detach(p, "takes no hotplug where its GPUs are",
					     strf("%s is on its PCI bus %u, whose controller has "
						  "hotplug='off'",
						  BDF_TEXT(function), hostdev->guest.bus));
		if (!domain_xml_in_shared_slot(xml, function))
			continue;
		return refuse_detach(
			p,
			"was started with its GPUs in multifunction slots, which cannot be "
			"unplugged live",
			strf("%s shares its slot in the guest with another function; libvirt and "
			     "QEMU unplug single functions only",
			     BDF_TEXT(function)));
	}
	return 0;
}

/* What the record says about this function, if the same board is still there. */
static const AssignedFunction *recorded_original(const Planner *p, const PciFunction *function)
{
	const AssignedFunction *then =
		record_applies(p) ? assignment_function(p->record, &function->bdf) : NULL;

	return assigned_function_is(then, function) ? then : NULL;
}

static void plan_restore(Planner *p)
{
	for (size_t i = 0; i < p->plan->n_functions; i++) {
		PlanFunction *function = &p->plan->functions[i];
		const AssignedFunction *then = recorded_original(p, p->functions[i]);

		if (then) {
			plan_set_target(function, then->original_driver, then->original_override);
			function->to_persistence = then->original_persistence;
		} else {
			plan_warn(p->plan, "no record says what %s was on before: it stays on %s",
				  BDF_TEXT(&function->bdf),
				  function->from_driver ? function->from_driver : "no driver");
		}
	}
}

/* After this plan the running domain, or its definition, still has the group. */
static bool remains(const Planner *p)
{
	return (!p->plan->live && plan_count_hostdevs(p, true) > 0) ||
	       (!p->config && plan_count_hostdevs(p, false) > 0);
}

static void warn_remains(Planner *p)
{
	if (!p->plan->live && plan_count_hostdevs(p, true) > 0)
		plan_warn(p->plan,
			  "running %s keeps the group until it is shut off; release it then "
			  "to give the GPUs back to the host",
			  p->use.name);
	else
		plan_warn(p->plan,
			  "the definition of %s keeps the group: it is back at the next start",
			  p->use.name);
}

static void add_release_steps(Planner *p, bool whole)
{
	Plan *plan = p->plan;
	bool restore = plan_count_moves(plan) > 0;
	bool forget = whole && record_applies(p);

	/* The request holds already. */
	if (!plan->live && !plan->config && !restore && !forget)
		return;
	plan_add_step(plan, STEP_PREFLIGHT, true);
	plan_add_step(plan, STEP_DETACH, plan->live);
	plan_add_step(plan, STEP_DEFINE, plan->config);
	plan_add_step(plan, STEP_RESET, plan_resets(plan));
	plan_add_step(plan, STEP_RESTORE, restore);
	plan_add_step(plan, STEP_PERSISTENCE_ON,
		      plan_count_persistence(plan, STEP_PERSISTENCE_ON) > 0);
	plan_add_step(plan, STEP_VERIFY, true);
	plan_add_step(plan, STEP_FORGET, forget);
}

static int plan_domain(Planner *p)
{
	int r = plan_resolve_mode(p);

	if (r != 0)
		return r;
	p->plan->live = p->live && plan_count_hostdevs(p, true) > 0;
	if (p->plan->live)
		r = check_detach(p);
	return r == 0 && p->config ? plan_undefine_group(p) : r;
}

/* Not for functions that the guest or the definition keeps. */
static int check_freed_functions(const Planner *p)
{
	PlanRequest request = *p->request;
	int r;

	if (plan_count_moves(p->plan) == 0 && !plan_resets(p->plan))
		return 0;
	/* Somebody may have given a part of the group to another guest since. */
	r = plan_check_not_running_elsewhere(p);
	if (r != 0)
		return r;
	request.live = p->plan->live;
	return plan_check_functions(p->facts, &request, NULL, p->ret_problem);
}

static void fill_identity_from_record(Planner *p)
{
	if (p->facts->domain)
		return;
	p->plan->domain_uuid = xstrdup(p->record->domain_uuid);
	p->plan->domain_name = xstrdup(p->record->domain_name);
}

static int plan_turn_over(Planner *p)
{
	int r;

	plan_fill_boards(p);
	r = plan_reset(p);
	if (r == 0)
		plan_warn_of_unreset(p);
	return r;
}

int plan_release(Planner *p)
{
	int r = plan_check_state(p);

	if (r == 0)
		r = plan_check_newer(p);
	if (r != 0)
		return r;
	if (!record_applies(p) && has_only_mark(p)) {
		r = plan_fill_functions(p);
		return r == 0 ? plan_unmark(p) : r;
	}
	if (!record_applies(p) && !(p->facts->domain && plan_domain_is_ours(p)))
		return refuse_not_assigned(p);
	fill_identity_from_record(p);
	r = plan_fill_functions(p);
	if (r == 0 && p->facts->domain)
		r = plan_domain(p);
	if (r != 0)
		return r;
	if (remains(p))
		warn_remains(p);
	else
		r = plan_turn_over(p);
	if (r == 0 && !remains(p) && !p->request->keep_vfio && p->facts->group->kept == KEPT_NOT)
		plan_restore(p);
	if (r == 0)
		r = check_freed_functions(p);
	if (r != 0)
		return r;
	if (!remains(p) && record_applies(p))
		p->plan->assignment = assignment_copy(p->record);
	add_release_steps(p, !remains(p));
	return 0;
}
