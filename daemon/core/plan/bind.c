/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The plans that move drivers and touch no domain: bind and unbind. */
#include "core/plan/planner.h"

#define CLASS_DISPLAY 0x03
#define CLASS_AUDIO 0x0403
#define CLASS_USB_XHCI 0x0c0330
#define CLASS_SERIAL_OTHER 0x0c80

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
	int r;

	r = plan_check_group_functions(p);
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
	int r;

	r = plan_check_state(p);
	if (r == 0 && p->facts->domain)
		r = plan_check_machine(p);
	if (r == 0)
		r = plan_fill_functions(p);
	if (r == 0)
		plan_target_vfio(p);
	if (r == 0)
		r = plan_bind_resets(p);
	if (r == 0 && p->request->persist)
		plan_fill_kept(p);
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
	for (size_t i = 0; driver && i < snapshot->n_functions; i++)
		if (str_equal(snapshot->functions[i]->driver, driver))
			return true;
	return false;
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
	int r;

	r = plan_check_state(p);
	if (r == 0)
		r = plan_check_unread(p);
	if (r == 0)
		r = plan_check_others(p);
	if (r == 0)
		r = plan_fill_functions(p);
	for (size_t i = 0; r == 0 && i < p->plan->n_functions; i++)
		plan_unbind_target(p, i);
	if (r == 0)
		plan_fill_unkept(p);
	if (r == 0 && plan_count_moves(p->plan) > 0)
		r = check_and_add_steps(p, STEP_RESTORE);
	plan_add_step(p->plan, STEP_UNKEEP, r == 0 && p->plan->kept);
	return r;
}
