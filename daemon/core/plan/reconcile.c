/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plan that restores what the assignment of a group says: functions on vfio, the definition,
 * the record. It takes nothing from anybody, and never changes a running domain.
 */
#include "core/domain/ref.h"
#include "core/drift/drift.h"
#include "core/plan/planner.h"
#include "util/xalloc.h"

static int refuse_gone(const Planner *p)
{
	const Assignment *record = p->record;
	const DomainUse *namesake = domain_uses_find_name(p->facts->uses, record->domain_name);

	return problem_refuse(
		p->ret_problem, GPUPASS_ERROR_NO_SUCH_DOMAIN,
		.reason = xstrdup("libvirt no longer has the domain it is assigned to"),
		.cause =
			namesake
				? strf("it was %s (%s); the domain of that name is another one (%s)",
				       record->domain_name, record->domain_uuid, namesake->uuid)
				: strf("it was %s (%s)", record->domain_name, record->domain_uuid),
		.remedy = strf("define it again, or: gpupass release %s", p->facts->group->name));
}

static int refuse_part(const Planner *p, const char *where)
{
	return problem_refuse(p->ret_problem, GPUPASS_ERROR_SPLIT_GROUP,
			      .reason = strf("%s %s has only a part of it", where, p->use.name),
			      .remedy = strf("gpupass release %s, then assign again",
					     domain_ref_word(p->use.name, p->use.uuid)));
}

/* A missing record is written only if the domain visibly has the whole group. */
static int check_whole(const Planner *p)
{
	size_t live = plan_count_hostdevs(p, true), config = plan_count_hostdevs(p, false);

	if (live > 0 && live < p->n_functions)
		return refuse_part(p, "running");
	if (!p->record && live < p->n_functions && config < p->n_functions)
		return refuse_part(p, "the definition of");
	return 0;
}

/*
 * Also if a hostdev was edited, or the name of the group has changed. If only the running domain
 * has the group, it was assigned with --live.
 */
static bool needs_definition(const Planner *p)
{
	size_t config = plan_count_hostdevs(p, false);
	_cleanup_free_ Bdf *functions = NULL;

	if (!p->facts->domain->persistent || !p->facts->domain->config_xml)
		return false;
	if (config < p->n_functions)
		return config > 0 || plan_count_hostdevs(p, true) == 0;
	functions = group_addresses(p->facts->group, NULL);
	return !drift_defined_by_us(&p->use, p->facts->group->name, functions, p->n_functions) ||
	       !plan_vfs_held(p->plan, &p->use) || !plan_topology_holds(p);
}

/* The record must get the name that the mark in the definition has. */
static bool name_follows(const Planner *p)
{
	return p->old_name && (p->plan->config || !needs_definition(p));
}

static void copy_record(Planner *p)
{
	Assignment *record;

	p->plan->assignment = assignment_copy(p->record);
	record = p->plan->assignment;
	record->apply_fit = p->apply_fit;
	record->apply_numa = p->apply_numa;
	plan_copy_text(p->use.name, &record->domain_name);
	if (name_follows(p))
		plan_copy_text(p->facts->group->name, &record->group_name);
}

/* An older version wrote the record, and did not keep the wish. */
static bool lacks_wish(const Planner *p)
{
	return p->record->apply_fit != p->apply_fit || p->record->apply_numa != p->apply_numa;
}

static void add_reconcile_steps(Planner *p, bool bind, bool record)
{
	Plan *plan = p->plan;
	/* As for assign: nothing is written to functions while their own guest runs on them. */
	bool preflight = bind || (plan->config && plan_count_hostdevs(p, true) == 0);

	plan_add_step(plan, STEP_PREFLIGHT, preflight);
	plan_add_step(plan, STEP_PERSISTENCE_OFF,
		      plan_count_persistence(plan, STEP_PERSISTENCE_OFF) > 0);
	plan_add_step(plan, STEP_BIND, bind);
	plan_add_step(plan, STEP_RESET, plan_resets(plan));
	plan_add_step(plan, STEP_DEFINE, plan->config);
	plan_add_step(plan, STEP_VERIFY, bind || plan->config);
	plan_add_step(plan, STEP_RECORD, record);
}

/* Plans the functions and the definition. */
static int plan_machine(Planner *p, bool *ret_bind)
{
	/* Functions that a guest runs on are on vfio already, and must not be written to. */
	bool idle = plan_count_hostdevs(p, true) == 0;
	int r;

	if (idle)
		plan_target_vfio(p);
	*ret_bind = plan_count_moves(p->plan) > 0;
	p->plan->config = needs_definition(p);
	if (!*ret_bind && !p->plan->config)
		return 0;
	r = plan_check_evidence(p);
	if (r == 0 && idle)
		r = plan_check_group_functions(p);
	if (r == 0 && idle)
		r = plan_turnover(p);
	if (r != 0)
		return r;
	if (!idle)
		plan_fill_boards(p);
	plan_warn_of_persistence(p);
	plan_warn_of_unread(p);
	return p->plan->config ? plan_define_group(p) : 0;
}

static bool plan_books(Planner *p)
{
	bool record = !p->record || !str_equal(p->record->domain_name, p->use.name) ||
		      name_follows(p) || (p->plan->config && lacks_wish(p));

	if (record && p->record) {
		copy_record(p);
	} else if (record) {
		plan_warn_of_lost_record(p);
		plan_fill_record(p);
	}
	return record;
}

int plan_reconcile(Planner *p)
{
	bool bind = false;
	int r = plan_check_state(p);

	if (r == 0)
		r = plan_check_newer(p);
	if (r != 0)
		return r;
	if (p->record && !p->facts->domain)
		return refuse_gone(p);
	if (!p->record && !p->facts->domain && p->facts->group->kept != KEPT_NOT)
		return p->request->only_record ? 0 : plan_bind(p);
	r = plan_fill_functions(p);
	/* If an operator put it into the domain by hand, there is nothing of ours to repair. */
	if (r != 0 || !p->facts->domain || !plan_domain_is_ours(p))
		return r;
	r = plan_check_ready(p);
	if (r == 0)
		r = plan_check_owners(p);
	if (r == 0)
		r = check_whole(p);
	if (r == 0)
		r = plan_read_wish(p);
	if (r == 0 && !p->request->only_record)
		r = plan_machine(p, &bind);
	if (r == 0)
		add_reconcile_steps(p, bind, plan_books(p));
	return r;
}
