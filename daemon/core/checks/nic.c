/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of who else uses the NICs of groups: the host's network, and RDMA. */
#include "core/checks/checks.h"

#define USED "the host uses a NIC of the group"
#define OF(kind) (1U << (kind))
#define NOT_KNOWN "whether the host uses a NIC of the group is not known"

/* What is not known refuses as much as what is seen, which says better who it is. */
static void tell_not_known(const PciFunction *function, const NicUse *use, Finding *f)
{
	const char *why = use ? use->why : "it was not looked at";
	const char *bdf = BDF_TEXT(&function->bdf);

	finding_unknown(f, bdf, "who uses %s is not known: %s", bdf, why);
	finding_remedy(f, "mend that (journalctl -t gpupass-network), and try again");
	if (!use || use->n_users == 0)
		finding_bars(f, GPUPASS_ERROR_HOST_IN_USE, NOT_KNOWN);
}

static void tell_user(const NicUse *use, const NicUser *user, Finding *f)
{
	_cleanup_free_ char *text = nic_user_text(&use->bdf, user);
	_cleanup_free_ char *remedy = nic_user_remedy(user);

	finding_warn(f, BDF_TEXT(&use->bdf), "%s", text);
	finding_remedy(f, "%s", remedy);
	/* Of the default route nothing else needs be said. */
	finding_bars(f, GPUPASS_ERROR_HOST_IN_USE, user->kind == NIC_DEFAULT_ROUTE ? NULL : USED);
}

static void tell_users(const NicUse *use, Finding *f)
{
	for (size_t i = 0; i < use->n_users; i++)
		if (f->check->users & OF(use->users[i].kind))
			tell_user(use, &use->users[i], f);
	if (use->more > 0 && f->status == FINDING_WARN)
		finding_warn(f, BDF_TEXT(&use->bdf), "%s: %llu more uses are not listed",
			     BDF_TEXT(&use->bdf), (unsigned long long)use->more);
}

static void check_nics(const Checks *c, Finding *f)
{
	EACH_OF (const PciFunction, function, c->functions, c->n_functions) {
		const FunctionFacts *facts = checks_function(c, &function->bdf);
		const NicUse *use = nic_use_find(c->facts->inspection->nics,
						 c->facts->inspection->n_nics, &function->bdf);

		/* Whoever has it by vfio is a holder. */
		if (function->class_code >> 16 != PCI_BASE_CLASS_NETWORK ||
		    (facts && function_facts_on_vfio(facts)))
			continue;
		if (!use || use->why)
			tell_not_known(function, use, f);
		if (use)
			tell_users(use, f);
	}
}

const Check checks_of_nics[] = {
	CHECK("nic-default-route", "NICs of default routes", NEEDS_INSPECTION | NEEDS_GPUS,
	      check_nics, "none is a NIC of a group", "nics",
	      "routes of all tables by rtnetlink, read by the network part",
	      .plans = REFUSES_TAKING, .users = OF(NIC_DEFAULT_ROUTE)),
	CHECK("nic-network", "NICs that the host's network uses", NEEDS_INSPECTION | NEEDS_GPUS,
	      check_nics, "none is in a group", "nics",
	      "links, addresses and routes by rtnetlink, read by the network part",
	      .plans = REFUSES_TAKING, .users = ~(OF(NIC_DEFAULT_ROUTE) | OF(NIC_RDMA))),
	CHECK("nic-rdma", "NICs that RDMA uses", NEEDS_INSPECTION | NEEDS_GPUS, check_nics,
	      "none is in a group", "nics",
	      "objects of RDMA devices by netlink, read by the network part",
	      .plans = REFUSES_TAKING, .users = OF(NIC_RDMA)),
	{ 0 },
};
