/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plan that gives a group to a domain. */
#include "core/domain/ref.h"
#include "core/group/keep.h"
#include "core/plan/planner.h"
#include "util/xalloc.h"

/*
 * The record has other boards than the group has now: boards were moved or changed. The drivers in
 * the record are not theirs, so the operator must release first.
 */
static int check_record(const Planner *p)
{
	for (size_t i = 0; p->record && i < p->record->n_functions; i++) {
		const AssignedFunction *then = &p->record->functions[i];
		const FunctionFacts *facts = inspection_find(p->facts->inspection, &then->bdf);
		_cleanup_free_ char *change = NULL;
		const PciFunction *now =
			FIND_OF(p->functions, p->n_functions, bdf_equal(&it->bdf, &then->bdf));

		/* Two of one model have the same ids: the serial number tells them apart. */
		if (now)
			change = assigned_function_change(then, now,
							  facts ? facts->serial_number : NULL);
		if (now && !change)
			continue;
		return problem_refuse(
			p->ret_problem, GPUPASS_ERROR_GROUP_BUSY,
			.reason = xstrdup("its boards are not those that were assigned"),
			.cause = strf("%s %s", BDF_TEXT(&then->bdf),
				      change ? change : "is not in the group"),
			.remedy = strf(
				"put them back where they were; or if these are meant: gpupass "
				"release %s, then declare and assign anew",
				domain_ref_word(p->record->domain_name, p->record->domain_uuid)));
	}
	return 0;
}

/* libvirt attaches one function per call, each to its own port or slot. */
static int check_hotplug(const Planner *p)
{
	_cleanup_(domain_xml_freep) DomainXml *xml = NULL;
	unsigned available;
	bool pcie;
	int r = domain_xml_parse(p->facts->domain->live_xml, &xml, p->ret_problem);

	if (r != 0)
		return r;
	if (!domain_xml_sees_hotplug(xml))
		return problem_refuse(
			p->ret_problem, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
			.reason = strf(
				"running %s has no ACPI, so its guest would never see a hotplug",
				p->use.name),
			.remedy = xstrdup(
				"shut it down and assign, or add <acpi/> to its <features>"));
	pcie = domain_xml_is_pcie(xml);
	available = pcie ? domain_xml_free_root_ports(xml) : domain_xml_free_slots(xml);
	if (available >= p->n_functions)
		return 0;
	return problem_refuse(
		p->ret_problem, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		.reason = strf("running %s has %u free %s, and %zu are needed", p->use.name,
			       available, pcie ? "pcie-root-ports" : "PCI slots", p->n_functions),
		.cause = !pcie && !domain_xml_bus_hotplug(xml, 0)
				 ? xstrdup("its controller pci-root has hotplug='off'")
				 : NULL,
		.remedy =
			pcie ? strf("shut it down and assign, or define %zu more pcie-root-ports and "
				    "start it anew",
				    p->n_functions - available)
			     : xstrdup("shut it down and assign, or remove devices from it"));
}

static int plan_hostdevs(Planner *p)
{
	size_t present = plan_count_hostdevs(p, true);
	int r;

	if (present > 0)
		return problem_refuse(p->ret_problem, GPUPASS_ERROR_SPLIT_GROUP,
				      .reason = strf("running %s has only %zu of its %zu functions",
						     p->use.name, present, p->n_functions),
				      .remedy = strf("gpupass release %s, then assign again",
						     domain_ref_word(p->use.name, p->use.uuid)));
	r = check_hotplug(p);
	for (size_t i = 0; r == 0 && i < p->n_functions; i++)
		strv_append_take(&p->plan->hostdevs, plan_device_xml(p->plan, i));
	return r;
}

/*
 * What the record needs to put the function back: as an earlier record has it, else as it is now.
 */
static AssignedFunction assigned(const Planner *p, size_t i)
{
	const PciFunction *function = p->functions[i];
	const PlanFunction *planned = &p->plan->functions[i];
	const AssignedFunction *then =
		p->record ? assignment_function(p->record, &function->bdf) : NULL;
	const FunctionFacts *facts = inspection_find(p->facts->inspection, &function->bdf);
	const Gpu *gpu = gpu_set_find(p->facts->gpus, &function->bdf);
	AssignedFunction f = group_identify(p->facts->group, function, p->facts->inspection);

	if (gpu && gpu->lead == function)
		f.uuid = xstrdup(facts && facts->uuid ? facts->uuid : gpu->uuid);
	else if (then && !f.serial_number)
		f.serial_number = xstrdup(then->serial_number);
	f.original_driver = xstrdup(then ? then->original_driver : planned->from_driver);
	f.original_override = xstrdup(then ? then->original_override : planned->from_override);
	f.original_persistence = then ? then->original_persistence : planned->from_persistence;
	return f;
}

void plan_fill_record(Planner *p)
{
	Assignment *assignment = xcalloc(1, sizeof(*assignment));

	*assignment = (Assignment){
		.created_usec = p->request->now_usec,
		.created_by = p->request->caller_uid,
		.apply_fit = p->apply_fit,
		.apply_numa = p->apply_numa,
		.topology = p->topology,
		.peer_access = p->peer_access,
		.domain_uuid = xstrdup(p->use.uuid),
		.domain_name = xstrdup(p->use.name),
		.group_name = xstrdup(p->facts->group->name),
		.functions = xcalloc(p->n_functions, sizeof(AssignedFunction)),
		.n_functions = p->n_functions,
	};
	for (size_t i = 0; i < p->n_functions; i++)
		assignment->functions[i] = assigned(p, i);
	p->plan->assignment = assignment;
}

void plan_warn_of_lost_record(Planner *p)
{
	plan_warn(p->plan,
		  "the record of %s was lost: what its functions were on before it was "
		  "assigned is not known, and a release will leave them as they are now",
		  p->facts->group->name);
}

static void warn_of_facts(Planner *p)
{
	const Group *group = p->facts->group;

	if (group->provenance == PROVENANCE_INFERRED)
		plan_warn(p->plan, "the bridge of %s is inferred, not proven: %s", group->name,
			  str_or_empty(group->reasoning));
	if (!p->record && plan_domain_is_ours(p))
		plan_warn_of_lost_record(p);
}

static void warn_of_mode(Planner *p)
{
	if (p->live && !p->config && plan_count_hostdevs(p, false) == 0)
		plan_warn(p->plan,
			  "the definition of %s is not changed: the assignment ends when it "
			  "is shut off",
			  p->use.name);
	else if (!p->live && p->facts->domain->active && plan_count_hostdevs(p, true) == 0)
		plan_warn(p->plan, "running %s gets the group at its next start", p->use.name);
	else if (p->facts->domain->active && p->plan->config && !plan_topology_holds(p))
		plan_warn(p->plan, "running %s keeps the topology it has until its next start",
			  p->use.name);
}

static bool runs_with_it(const Planner *p)
{
	return plan_count_hostdevs(p, true) == p->n_functions;
}

/*
 * There is no preflight when the domain's own guest runs on the functions, because nothing is
 * written to them then.
 *
 * The order matters. A daemon that is killed between two steps finds the original drivers in the
 * journal. The record is the wish, and is written once it has come true.
 */
static void add_assign_steps(Planner *p, bool bind)
{
	Plan *plan = p->plan;

	plan_add_step(plan, STEP_PREFLIGHT, !runs_with_it(p));
	plan_add_step(plan, STEP_PERSISTENCE_OFF,
		      plan_count_persistence(plan, STEP_PERSISTENCE_OFF) > 0);
	plan_add_step(plan, STEP_BIND, bind);
	plan_add_step(plan, STEP_RESET, plan_resets(plan));
	plan_add_step(plan, STEP_ATTACH, plan->live);
	plan_add_step(plan, STEP_DEFINE, plan->config);
	plan_add_step(plan, STEP_VERIFY, true);
	plan_add_step(plan, STEP_RECORD, true);
}

static bool defined_whole(const Planner *p)
{
	return plan_count_hostdevs(p, false) == p->n_functions &&
	       domain_use_names(&p->use, p->facts->group->name) &&
	       plan_vfs_held(p->plan, &p->use) && plan_topology_holds(p) &&
	       plan_peers_held(p->plan, p->peer_access, &p->use);
}

static int fill_steps(Planner *p)
{
	Plan *plan = p->plan;
	bool bind = plan_count_moves(plan) > 0;
	int r = 0;

	plan->live = p->live && !runs_with_it(p);
	plan->config = p->config && (!defined_whole(p) || p->tune_open);
	if (!runs_with_it(p))
		r = plan_check_group_functions(p);
	if (r == 0 && plan->live)
		r = plan_hostdevs(p);
	if (r == 0 && plan->live && bind)
		r = plan_reset_for_undo(p);
	/* A board is not reset while this guest runs on it. */
	if (r == 0 && runs_with_it(p))
		plan_fill_boards(p);
	else if (r == 0)
		r = plan_turnover(p);
	if (r == 0 && plan->config)
		r = plan_define_group(p);
	else if (r == 0 && plan->live)
		r = plan_fit_running(p);
	if (r != 0)
		return r;
	warn_of_facts(p);
	warn_of_mode(p);
	plan_warn_of_unseen(p);
	plan_warn_of_persistence(p);
	plan_fill_record(p);
	add_assign_steps(p, bind);
	return 0;
}

/* What --fit=apply and --numa=apply ask for is in the definition and in the record already. */
static bool applied(const Planner *p)
{
	return !p->tune_open && p->topology == p->record->topology &&
	       (p->request->fit != FIT_APPLY || p->record->apply_fit) &&
	       (p->request->numa != FIT_APPLY || p->record->apply_numa) &&
	       p->request->peer_access <= p->record->peer_access;
}

/* Everything that the request asks for holds already, so links and policy cannot refuse it. */
static bool is_done(const Planner *p)
{
	return p->record && str_equal(p->record->domain_uuid, p->use.uuid) &&
	       (!p->live || runs_with_it(p)) && (!p->config || (defined_whole(p) && applied(p))) &&
	       plan_count_moves(p->plan) == 0;
}

/* Checks who has the group, and what an earlier assignment left. */
int plan_check_owners(const Planner *p)
{
	int r = plan_check_fence(p);

	return r == 0 ? check_record(p) : r;
}

int plan_assign(Planner *p)
{
	int r = plan_check_state(p);

	if (r == 0)
		r = plan_resolve_mode(p);
	if (r == 0)
		r = plan_fill_functions(p);
	/* Functions that a guest runs on are on vfio already, and must not be written to. */
	if (r == 0 && !runs_with_it(p))
		plan_target_vfio(p);
	if (r == 0)
		r = plan_read_wish(p);
	if (r == 0)
		r = plan_check_mirror(p);
	if (r == 0)
		r = plan_check_hot_peers(p);
	if (r == 0 && p->config)
		r = plan_tune_is_open(p, &p->tune_open);
	if (r != 0 || is_done(p))
		return r;
	r = plan_check_unread(p);
	if (r == 0)
		r = plan_check_evidence(p);
	if (r == 0)
		r = plan_check_ready(p);
	if (r == 0)
		r = plan_check_owners(p);
	if (r == 0)
		r = plan_check_all_read(p);
	return r == 0 ? fill_steps(p) : r;
}
