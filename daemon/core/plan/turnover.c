/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From one tenant to the next: a domain that did not have a board last gets it only if it was reset
 * since. Otherwise the plan resets it first, or refuses. The host itself uses a NIC or an NVMe with
 * its data: so a companion is reset each time that it is given, and what cannot be reset is not.
 */
#include "core/plan/planner.h"

#include "util/xalloc.h"

void plan_fill_boards(Planner *p)
{
	const TenancyFacts facts = {
		.tenants = p->facts->tenants,
		.gpus = p->facts->gpus,
		.assignments = p->facts->assignments,
		.uses = p->facts->uses,
	};

	size_t n;
	_cleanup_free_ Gpu *boards = group_boards(p->facts->group, &n);

	p->plan->boards = xcalloc(n + 1, sizeof(PlanBoard));
	for (size_t i = 0; i < n; i++) {
		const Tenancy tenancy = tenancy_of(&facts, &boards[i]);

		const Companion *companion = group_companion(p->facts->group, &boards[i].lead->bdf);

		p->plan->boards[i].nvme = companion && companion->member.kind == MEMBER_NVME;
		p->plan->boards[i].last = tenancy_mark(&tenancy, &boards[i], p->request->now_usec);
		p->plan->n_boards = i + 1;
	}
}

static bool suits(const TenantMark *last, const char *domain_uuid)
{
	return last->state != TENANT_DIRTY ||
	       (last->domain_uuid && str_equal(last->domain_uuid, domain_uuid));
}

static char *last_text(const TenantMark *last)
{
	_cleanup_free_ char *tenant = tenancy_tenant_text(last->domain_uuid, last->domain_name);

	return strf("%s was last used by %s and not reset since%s%s%s", BDF_TEXT(&last->bdf),
		    tenant, last->domain_uuid ? "" : " (",
		    last->domain_uuid ? "" : str_or_empty(last->why), last->domain_uuid ? "" : ")");
}

/* The kernel would try power management first. */
static bool begins_with_pm(const Planner *p, const Bdf *lead)
{
	const PciFunction *f = pci_snapshot_find(p->facts->snapshot, lead);

	return f && f->reset_methods && str_starts_with(f->reset_methods, "pm");
}

static int refuse_unresettable(const Planner *p, const PlanBoard *board, const char *what)
{
	return problem_refuse(
		p->ret_problem, GPUPASS_ERROR_RESET_FAILED,
		.reason = strf("the kernel knows no way to reset %s, which another tenant had",
			       BDF_TEXT(&board->last.bdf)),
		.cause =
			begins_with_pm(p, &board->last.bdf)
				? strf("%s\nits first method, pm, is power management, which is no "
				       "reset between two tenants",
				       what)
				: xstrdup(what),
		.remedy = p->use.vmid > 0
				  ? strf("see /sys/bus/pci/devices/%s/reset_method",
					 BDF_TEXT(&board->last.bdf))
				  : strf("see /sys/bus/pci/devices/%s/reset_method; or power the "
					 "host off and on, which clears it, then as root: gpupass "
					 "assign --accept-dirty %s %s",
					 BDF_TEXT(&board->last.bdf), p->use.name,
					 p->facts->group->name));
}

/* No reset erases it, and nobody may accept what another tenant has left. */
static int refuse_dirty_nvme(const Planner *p, const char *what)
{
	return problem_refuse(p->ret_problem, GPUPASS_ERROR_RESET_FAILED,
			      .reason = xstrdup("an NVMe of the group was not erased"),
			      .cause = xstrdup(what),
			      .remedy = strf("if nothing on it is needed: gpupass forget %s, then "
					     "declare it again with --erase",
					     p->plan->group));
}

static int judge_board(Planner *p, const PlanBoard *board)
{
	bool can = plan_resets_board(p->plan, &board->last.bdf);
	_cleanup_free_ char *what = last_text(&board->last);

	if (board->nvme)
		return refuse_dirty_nvme(p, what);
	if (!can && !p->plan->accept_dirty)
		return refuse_unresettable(p, board, what);
	if (can)
		plan_warn(p->plan, "%s: it is reset first", what);
	else
		plan_warn(p->plan,
			  "%s, and the kernel knows no way to reset it: %s gets it as it is, with "
			  "what that tenant left in it (--accept-dirty)",
			  what, p->use.name);
	return 0;
}

/* Of those that a running guest has already, none leaves it. */
static int judge_companions(Planner *p)
{
	const Group *group = p->facts->group;

	for (size_t i = 0; i < group->n_companions; i++) {
		const Member *member = &group->companions[i].member;

		if (plan_resets_board(p->plan, &member->bdf))
			continue;
		return problem_refuse(
			p->ret_problem, GPUPASS_ERROR_RESET_FAILED,
			.reason = strf("the kernel knows no way to reset the %s %s",
				       member_kind_noun(member->kind), BDF_TEXT(&member->bdf)),
			.cause = xstrdup("a domain would get what another one left in it"),
			.remedy = strf("see /sys/bus/pci/devices/%s/reset_method; or declare the "
				       "group without it",
				       BDF_TEXT(&member->bdf)));
	}
	return 0;
}

int plan_turnover(Planner *p)
{
	bool any = false;
	int r;

	plan_fill_boards(p);
	EACH (PlanBoard, board, p->plan->boards, p->plan->n_boards) {
		board->reset = !suits(&board->last, p->use.uuid) ||
			       group_companion(p->facts->group, &board->last.bdf);
		any |= board->reset;
	}
	if (!any)
		return 0;
	r = plan_reset(p);
	for (size_t i = 0; r == 0 && i < p->plan->n_boards; i++)
		if (!suits(&p->plan->boards[i].last, p->use.uuid))
			r = judge_board(p, &p->plan->boards[i]);
	if (r == 0)
		r = judge_companions(p);
	return r == 0 ? plan_reset_partners(p) : r;
}

int plan_reset_all(Planner *p)
{
	int r;

	plan_fill_boards(p);
	for (size_t i = 0; i < p->plan->n_boards; i++)
		p->plan->boards[i].reset = true;
	r = plan_reset(p);
	if (r == 0)
		plan_warn_of_unreset(p);
	return r;
}

/*
 * The function that is on a host driver, because libvirt with managed='yes' rebound it when the
 * guest ended.
 */
static const PlanFunction *left_out(const Plan *plan, const Bdf *lead)
{
	return FIND(plan->functions, plan->n_functions,
		    it->reset == PLAN_RESET_NOT && plan_is_on_board(it, lead));
}

void plan_warn_of_unreset(Planner *p)
{
	EACH (PlanBoard, board, p->plan->boards, p->plan->n_boards) {
		const Bdf *lead = &board->last.bdf;
		const PlanFunction *f = left_out(p->plan, lead);

		board->reset = plan_resets_board(p->plan, lead);
		if (f)
			plan_warn(p->plan,
				  "%s is not reset now, since %s is on %s: it will be before "
				  "another domain gets it",
				  BDF_TEXT(lead), BDF_TEXT(&f->bdf),
				  f->from_driver ? f->from_driver : "no driver");
		else if (!board->reset)
			plan_warn(p->plan,
				  "the kernel knows no way to reset %s: it had only the reset that "
				  "vfio-pci tries when a guest ends, and %s",
				  BDF_TEXT(lead),
				  group_companion(p->facts->group, lead)
					  ? "no domain gets it before it can be reset"
					  : "another domain gets it only with --accept-dirty");
	}
}
