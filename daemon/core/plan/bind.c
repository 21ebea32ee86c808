/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plans that move drivers and touch no domain: bind and unbind. */

#include "core/group/keep.h"
#include "core/plan/planner.h"
#include "util/xalloc.h"

#define CLASS_DISPLAY 0x03
#define CLASS_AUDIO 0x0403
#define CLASS_USB_XHCI 0x0c0330
#define CLASS_SERIAL_OTHER 0x0c80

/*
 * A virtual machine of Proxmox VE that is about to start, or has just ended. Nothing but its
 * definition says what it is to have, so the check is of that: the whole group, surely, and nobody
 * else's. Proxmox VE itself checks no group, and two definitions with one GPU are no fault to it.
 */

static int refuse_part(const Planner *p, const Bdf *has, const Bdf *lacks)
{
	return problem_refuse(
		p->ret_problem, GPUPASS_ERROR_SPLIT_GROUP,
		.reason = strf("%s has only a part of it", p->use.name),
		.cause =
			strf("%s has %s and lacks %s", p->use.name, BDF_TEXT(has), BDF_TEXT(lacks)),
		.remedy = strf("give it the whole group: gpupass export --format=proxmox %u %s; or "
			       "take it out: qm set %u --delete hostpciN",
			       p->use.vmid, p->facts->group->name, p->use.vmid));
}

static int refuse_alternative(const Planner *p, const Bdf *bdf)
{
	return problem_refuse(
		p->ret_problem, GPUPASS_ERROR_SPLIT_GROUP,
		.reason = strf("whether %s gets %s is not certain", p->use.name, BDF_TEXT(bdf)),
		.cause = xstrdup(
			"its mapping has several devices of this node, and Proxmox VE takes "
			"any of them; or its hostpci line has a key or a value for which "
			"Proxmox VE may leave the line out"),
		.remedy =
			strf("give each GPU a hostpci of its own: gpupass export --format=proxmox "
			     "%u %s",
			     p->use.vmid, p->facts->group->name));
}

static int check_whole(const Planner *p)
{
	const Bdf *has = NULL, *lacks = NULL;

	EACH_OF (const PciFunction, f, p->functions, p->n_functions) {
		const DomainHostdev *hostdev = domain_use_hostdev(&p->use, &f->bdf);

		if (hostdev && hostdev->maybe)
			return refuse_alternative(p, &f->bdf);
		if (hostdev && hostdev->config)
			has = has ? has : &f->bdf;
		else
			lacks = lacks ? lacks : &f->bdf;
	}
	return has && lacks ? refuse_part(p, has, lacks) : 0;
}

/* It may have any function. */
static int check_read(const Planner *p)
{
	if (!p->use.unread)
		return 0;
	return problem_refuse(p->ret_problem, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
			      .reason = strf("what %s has cannot be told", p->use.name),
			      .cause = xstrdup(p->use.unread),
			      .remedy = domain_use_unread_remedy(&p->use));
}

static int check_machine(const Planner *p)
{
	int r = check_read(p);

	if (r == 0)
		r = check_whole(p);
	if (r == 0)
		r = plan_check_others(p);
	if (r == 0)
		r = plan_check_all_read(p);
	if (r == 0)
		r = plan_check_ready(p);
	return r == 0 ? plan_check_evidence(p) : r;
}

/* What a bind or an unbind does to the list of kept groups. */

/* What a person asked for, of these functions. */
static const Assignment *asked_for(const Planner *p)
{
	for (size_t i = 0; i < p->n_functions; i++) {
		const Assignment *kept =
			kept_find_function(p->facts->assignments, &p->functions[i]->bdf);

		if (kept && kept->kept == KEPT_ASKED)
			return kept;
	}
	return NULL;
}

static void fill_kept(Planner *p)
{
	_cleanup_(assignment_freep) Assignment *kept =
		group_keep(p->facts->group, KEPT_ASKED, p->request->now_usec,
			   p->request->caller_uid, p->facts->inspection);
	const Assignment *before = asked_for(p);

	if (!before || !kept_covers(before, kept))
		p->plan->kept = TAKE_PTR(kept);
}

/* By the setting alone, whatever a person asked for. */
static bool setting_keeps(const Planner *p)
{
	return group_kept(p->facts->group, NULL, 0, p->facts->assignments, p->facts->policy) ==
	       KEPT_SETTING;
}

static void fill_unkept(Planner *p)
{
	const Assignment *before = asked_for(p);

	if (setting_keeps(p))
		plan_warn(
			p->plan,
			"KeepBound= in gpupassd.conf names it: until that is changed, it shows as "
			"drift, and the next boot binds it again");
	if (before)
		p->plan->kept = assignment_copy(before);
}

/* ---- the plans ---- */

/* A machine is shut off, and its definition has the whole group: it is bound for that one. */
static bool waits_for_it(const Planner *p, const DomainUse *use)
{
	bool whole = use->vmid > 0 && !use->active;

	for (size_t i = 0; whole && i < p->n_functions; i++) {
		const DomainHostdev *hostdev = domain_use_hostdev(use, &p->functions[i]->bdf);

		whole = hostdev && hostdev->config;
	}
	return whole;
}

/* A domain that gpupass serves may have the functions. Nobody else's are touched. */
static int check_foreign(const Planner *p)
{
	for (size_t i = 0; i < p->n_functions; i++) {
		const DomainUse *use;
		size_t position = 0;

		while ((use = domain_uses_holding(p->facts->uses, &p->functions[i]->bdf,
						  &position)))
			if (!domain_use_names(use, p->facts->group->name) &&
			    !waits_for_it(p, use) &&
			    (!p->record || !str_equal(p->record->domain_uuid, use->uuid)))
				return plan_check_others(p);
	}
	return 0;
}

/* A machine gets no board that another one had last, and that was not reset since. */
static int plan_bind_resets(Planner *p)
{
	if (p->request->reset)
		return plan_reset_all(p);
	return p->facts->domain ? plan_turnover(p) : 0;
}

static int check_and_add_steps(Planner *p, StepKind move)
{
	int r = plan_check_group_functions(p);

	if (r != 0)
		return r;
	plan_warn_of_unseen(p);
	plan_warn_of_persistence(p);
	plan_warn_of_unread(p);
	plan_add_step(p->plan, STEP_PREFLIGHT, true);
	plan_add_step(p->plan, STEP_PERSISTENCE_OFF,
		      plan_count_persistence(p->plan, STEP_PERSISTENCE_OFF) > 0);
	plan_add_step(p->plan, move, plan_count_moves(p->plan) > 0);
	plan_add_step(p->plan, STEP_RESET, plan_resets(p->plan));
	plan_add_step(p->plan, STEP_VERIFY, true);
	return 0;
}

int plan_bind(Planner *p)
{
	bool moves, acts;
	int r = plan_check_state(p);

	if (r == 0 && p->facts->domain)
		r = check_machine(p);
	if (r == 0)
		r = plan_fill_functions(p);
	if (r == 0)
		plan_target_vfio(p);
	if (r == 0)
		r = plan_bind_resets(p);
	if (r == 0 && p->request->persist)
		fill_kept(p);
	if (r != 0)
		return r;
	moves = plan_count_moves(p->plan) > 0;
	acts = moves || plan_resets(p->plan);
	if (!acts && !p->plan->kept)
		return 0;
	r = plan_check_unread(p);
	if (r == 0)
		r = plan_check_evidence(p);
	if (r == 0 && acts && !p->facts->domain)
		r = check_foreign(p);
	if (r == 0 && acts)
		r = check_and_add_steps(p, STEP_BIND);
	plan_add_step(p->plan, STEP_KEEP, r == 0 && p->plan->kept);
	return r;
}

/* The usual driver for such a function on a host, by class; NULL: not known. */
static const char *usual_driver(const PciFunction *function)
{
	if (function->class_code >> 16 == CLASS_DISPLAY)
		return "nvidia";
	if (function->class_code >> 8 == CLASS_AUDIO)
		return "snd_hda_intel";
	if (function->class_code == CLASS_USB_XHCI)
		return "xhci_hcd";
	return function->class_code >> 8 == CLASS_SERIAL_OTHER ? "nvidia-gpu" : NULL;
}

/* Some function of this host uses the driver, so it is registered and a bind can work. */
static bool driver_in_use(const PciSnapshot *snapshot, const char *driver)
{
	return driver &&
	       SOME_OF(snapshot->functions, snapshot->n_functions, str_equal(it->driver, driver));
}

/*
 * No record says which driver the functions had. The request is only to leave vfio. The usual
 * driver is a guess, so it is used only when it is registered.
 */
static void plan_unbind_target(Planner *p, size_t i)
{
	PlanFunction *function = &p->plan->functions[i];
	const char *driver = usual_driver(p->functions[i]);

	if (!function->from_vfio) {
		driver = function->from_driver;
	} else if (!driver_in_use(p->facts->snapshot, driver)) {
		plan_warn(p->plan,
			  "%s stays without a driver; to let the kernel choose one: "
			  "echo %s > /sys/bus/pci/drivers_probe",
			  BDF_TEXT(&function->bdf), BDF_TEXT(&function->bdf));
		driver = NULL;
	}
	plan_set_target(function, driver,
			plan_driver_is_vfio(function, function->from_override)
				? NULL
				: function->from_override);
}

int plan_unbind(Planner *p)
{
	int r = plan_check_state(p);

	if (r == 0)
		r = plan_check_unread(p);
	if (r == 0)
		r = plan_check_others(p);
	if (r == 0)
		r = plan_fill_functions(p);
	for (size_t i = 0; r == 0 && i < p->plan->n_functions; i++)
		plan_unbind_target(p, i);
	if (r == 0)
		fill_unkept(p);
	if (r == 0 && plan_count_moves(p->plan) > 0)
		r = check_and_add_steps(p, STEP_RESTORE);
	plan_add_step(p->plan, STEP_UNKEEP, r == 0 && p->plan->kept);
	return r;
}
