/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks of NVMes that groups have: who uses one, what is on it, and whether it can be cleaned. */

#include "core/checks/checks.h"

#define IN_USE "the host uses an NVMe of the group"
#define NOT_KNOWN "whether the host uses an NVMe of the group is not known"
#define DATA_LOST "what is on an NVMe of the group would be lost"
#define NOT_FIT "an NVMe of the group cannot be given to a domain"

/* One that is checked, and what was seen of it. */
typedef struct Nvme {
	const Companion *companion;
	const Group *group;
	char bdf[BDF_TEXT_MAX];
	bool hosts; /* the host's driver has it: without that there is no disk, and nobody to ask */
	const NvmeUse *use;	/* NULL: it was not looked at */
	const NvmeState *state; /* likewise */
} Nvme;

static void each_nvme(const Checks *c, Finding *f,
		      void (*tell)(const Checks *c, const Nvme *nvme, Finding *f))
{
	const Inspection *in = c->facts->inspection;

	EACH (const Companion, companion, c->companions, c->n_companions) {
		const Bdf *bdf = &companion->member.bdf;
		const FunctionFacts *facts = checks_function(c, bdf);
		Nvme nvme = {
			.companion = companion,
			.group = group_set_find_gpu(c->facts->groups, bdf),
			.hosts = !facts || function_facts_on_nvme(facts),
			.use = nvme_use_find(in->nvmes, in->n_nvmes, bdf),
			.state = nvme_state_find(in->nvme_states, in->n_nvme_states, bdf),
		};

		/* The scan, by which a job foresees its plan, says of none that it is one. */
		if (companion->member.kind != MEMBER_NVME || !companion->function ||
		    (facts && !facts->nvme))
			continue;
		bdf_format(bdf, nvme.bdf);
		tell(c, &nvme, f);
	}
}

static void tell_not_seen(const Nvme *nvme, const char *reason, Finding *f)
{
	finding_unknown(f, nvme->bdf, "%s was not looked at", nvme->bdf);
	finding_remedy(f, "see journalctl -t gpupass-inspector -t gpupass-eraser");
	finding_bars(f, GPUPASS_ERROR_HOST_IN_USE, reason);
}

/* ---- who uses it ---- */

#define UMOUNT "umount it, and take it out of /etc/fstab and of units that mount it"
#define FIND_IT "find what has it (lsblk, zpool status), and take it out"

static const char *const remedies[] = {
	[NVME_HOLD_MOUNT] = UMOUNT,
	[NVME_HOLD_BTRFS] = UMOUNT,
	[NVME_HOLD_SWAP] = "swapoff it, and take it out of /etc/fstab",
	[NVME_HOLD_DM] =
		("take it out of its volume group (pvmove, vgreduce), close it (cryptsetup "
		 "close), or blacklist it in multipath.conf"),
	[NVME_HOLD_MD] = "take it out of that RAID (mdadm --fail, --remove)",
	[NVME_HOLD_LOOP] = "losetup -d that device",
	[NVME_HOLD_EXPORT] = "take it out of that target (nvmetcli, targetcli)",
	[NVME_HOLD_BOOT] = "the host boots from it: declare another one",
	[NVME_HOLD_FSTAB] = "take that line out of /etc/fstab",
	[NVME_HOLD_HOLDER] = FIND_IT,
	[NVME_HOLD_CLAIM] = FIND_IT,
};

static void tell_hold(const Nvme *nvme, const char *remedy, const char *text, Finding *f)
{
	finding_warn(f, nvme->bdf, "%s: %s", nvme->bdf, text);
	finding_remedy(f, "%s", remedy);
	finding_bars(f, GPUPASS_ERROR_HOST_IN_USE, IN_USE);
}

/* Of any domain, the group's own too: its disk would go. A running one is a holder besides. */
static void tell_domains(const Checks *c, const Nvme *nvme, Finding *f)
{
	const DomainUses *uses = c->facts->uses;

	for (size_t i = 0; uses && i < uses->n_items; i++)
		for (char **path = uses->items[i].disks; path && *path; path++) {
			_cleanup_free_ char *text = NULL;

			if (!nvme_use_resolve(nvme->use, *path))
				continue;
			text = strf("%s is a disk of the domain %s", *path, uses->items[i].name);
			tell_hold(nvme, "take that disk out of it (virsh edit)", text, f);
		}
}

static void tell_unread(const Nvme *nvme, const char *what, Finding *f)
{
	finding_unknown(f, nvme->bdf, "%s: not known: %s", nvme->bdf, what);
	finding_remedy(f, "see journalctl -t gpupass-inspector; then try again");
	finding_bars(f, GPUPASS_ERROR_HOST_IN_USE, NOT_KNOWN);
}

static void tell_use(const Checks *c, const Nvme *nvme, Finding *f)
{
	const NvmeUse *use = nvme->use;

	if (nvme_is_behind_vmd(&nvme->companion->member.bdf)) {
		finding_fail(f, nvme->bdf, "%s is behind Intel's VMD, and cannot be given alone",
			     nvme->bdf);
		finding_remedy(f, "turn VMD off for its port in the firmware's setup");
		finding_bars(f, GPUPASS_ERROR_UNSUPPORTED_BOARD, NULL);
	}
	if (!nvme->hosts)
		return;
	if (!use) {
		tell_not_seen(nvme, NOT_KNOWN, f);
		return;
	}
	for (size_t i = 0; i < use->n_holds; i++) {
		_cleanup_free_ char *text = nvme_hold_text(&use->holds[i]);

		tell_hold(nvme, remedies[use->holds[i].kind], text, f);
	}
	for (char **sibling = use->siblings; sibling && *sibling; sibling++) {
		_cleanup_free_ char *text = strf("%s reaches the same namespaces", *sibling);

		tell_hold(nvme, "declare an NVMe whose subsystem has one controller", text, f);
	}
	tell_domains(c, nvme, f);
	/* What is erased is looked at again, once all of it is seen. */
	if (nvme->companion->need != COMPANION_TO_ERASE &&
	    nvme->companion->need != COMPANION_TO_COMPARE && nvme->state && !nvme->state->unread &&
	    !nvme_use_is_whole(use, nvme->state))
		tell_unread(nvme, "the host does not show all of its namespaces", f);
	for (char **what = use->unread; what && *what; what++)
		tell_unread(nvme, *what, f);
}

static void check_use(const Checks *c, Finding *f)
{
	each_nvme(c, f, tell_use);
}

/* ---- what is on it ---- */

/*
 * A tenant's is erased before another one gets it. Anything else is the host's, also what was
 * written on one that we have erased.
 */
static void tell_data(const Checks *c, const Nvme *nvme, Finding *f)
{
	const TenancyFacts facts = { c->facts->marks, c->facts->gpus, c->facts->assignments,
				     c->facts->uses };
	const PciFunction *function = nvme->companion->function;
	const Gpu board = { .lead = function, .functions = &function, .n_functions = 1 };
	const Tenancy tenancy = tenancy_of(&facts, &board);
	const TenantMark *mark = tenants_mark(facts.tenants, function);
	bool erase = nvme->group && nvme->group->erase;
	_cleanup_strv_ char **lines = NULL;

	/* A job's first guess knows of none. */
	if (!facts.tenants)
		return;
	if (tenancy.state == TENANT_CLEAN)
		nvme_changes_since(mark && mark->n_erases > 0 ? &mark->erases[0] : NULL, nvme->use,
				   nvme->state, &lines);
	/* What is to be erased keeps a domain away by itself. */
	else if (!tenancy.domain_uuid && nvme->companion->need != COMPANION_TO_ERASE)
		strv_append(&lines,
			    erase ? "was not erased by gpupass yet"
				  : "was not erased by gpupass, and nobody said that it may be");
	if (!lines)
		return;
	for (char **line = lines; *line; line++) {
		finding_warn(f, nvme->bdf, "%s %s", nvme->bdf, *line);
		finding_bars(f, GPUPASS_ERROR_HOST_IN_USE, DATA_LOST);
	}
	if (erase)
		finding_remedy(f, "erase it: gpupass prepare %s", nvme->group->name);
	else
		finding_remedy(f,
			       "if nothing on it is needed: gpupass forget %s, then declare it "
			       "again with --erase",
			       nvme->group ? nvme->group->name : "GROUP");
	for (size_t k = 0; nvme->use && k < nvme->use->n_labels; k++) {
		_cleanup_free_ char *text = nvme_label_text(&nvme->use->labels[k]);

		finding_warn(f, nvme->bdf, "%s: %s", nvme->bdf, text);
		finding_bars(f, GPUPASS_ERROR_HOST_IN_USE, DATA_LOST);
	}
}

static void check_data(const Checks *c, Finding *f)
{
	each_nvme(c, f, tell_data);
}

/* ---- whether it can be cleaned ---- */

/* On vfio it waits for a tenant or has one, and was asked before it went there. */
static void tell_state(_unused_ const Checks *c, const Nvme *nvme, Finding *f)
{
	const NvmeState *state = nvme->state;
	_cleanup_strv_ char **lines = NULL;

	if (!nvme->hosts)
		return;
	if (!state) {
		tell_not_seen(nvme, NOT_FIT, f);
		return;
	}
	nvme_state_faults(state, &lines);
	if (!state->unread && nvme_erase_choose(state, &lines) == NVME_WAY_NONE)
		strv_append(&lines, "so it could not be cleaned between two tenants");
	for (char **line = lines; line && *line; line++) {
		finding_add(f, state->unread ? FINDING_UNKNOWN : FINDING_WARN, nvme->bdf, "%s: %s",
			    nvme->bdf, *line);
		finding_remedy(f, state->unread
					  ? "see journalctl -t gpupass-eraser; then try again"
					  : "mend it by hand (nvme-cli, sedutil-cli), or declare "
					    "another");
		finding_bars(f, GPUPASS_ERROR_UNSUPPORTED_BOARD, NOT_FIT);
	}
}

static void check_state(const Checks *c, Finding *f)
{
	each_nvme(c, f, tell_state);
}

const Check checks_of_nvme[] = {
	CHECK("nvme-use", "Who uses NVMes", NEEDS_NVMES | NEEDS_INSPECTION, check_use,
	      "the host uses none of a group", "nvmes",
	      "mounts, holders and exclusive opens of their disks, read by the inspector",
	      .plans = REFUSES_TAKING | REFUSES_ERASING),
	CHECK("nvme-data", "Data on NVMes", NEEDS_NVMES | NEEDS_INSPECTION, check_data,
	      "all may be erased, or were", "nvmes", "receipts, and groups.d",
	      .plans = REFUSES_TAKING),
	CHECK("nvme-state", "State of NVMes", NEEDS_NVMES | NEEDS_INSPECTION, check_state,
	      "all can be cleaned, and have no fault", "nvmes",
	      "identify data and log pages, read by the eraser", .plans = REFUSES_TAKING),
	{ 0 },
};
