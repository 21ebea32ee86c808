/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding drift: each record, each group and each of our marks against what is there. */
#include <string.h>

#include "core/drift.h"
#include "core/plan-private.h"
#include "core/xml-marks.h"

/* One group, or one record of no group, under examination. */
typedef struct Subject {
	const DriftFacts *facts;
	Drift *drift;
	size_t first; /* of its findings */
	bool blocked; /* one of them is for a person: reconcile keeps off the others, too */
	const char *name;
	const Group *group; /* NULL: a record's that is no longer known */
	const PciFunction **functions;
	size_t n_functions;
	const Assignment *record;
	const DomainUse *domain; /* that the record names, or that is marked */
	Bdf about[64];		 /* of the next finding */
	size_t n_about;
} Subject;

static void forget_about(Subject *s)
{
	s->n_about = 0;
}

static void about(Subject *s, const Bdf *bdf)
{
	if (s->n_about < ELEMENTS(s->about))
		s->about[s->n_about++] = *bdf;
}

static int copy_text(const char *from, char **ret)
{
	*ret = from ? strdup(from) : NULL;
	return from && !*ret ? -ENOMEM : 0;
}

static int fill(const Subject *s, DriftFinding *finding)
{
	const char *uuid = s->record ? s->record->domain_uuid : s->domain ? s->domain->uuid : NULL;
	const char *name = s->domain ? s->domain->name : s->record ? s->record->domain_name : NULL;

	if (copy_text(s->name, &finding->group) < 0 || copy_text(uuid, &finding->domain_uuid) < 0 ||
	    copy_text(name, &finding->domain_name) < 0)
		return -ENOMEM;
	if (s->n_about == 0)
		return 0;
	finding->functions = calloc(s->n_about, sizeof(Bdf));
	if (!finding->functions)
		return -ENOMEM;
	memcpy(finding->functions, s->about, s->n_about * sizeof(Bdf));
	finding->n_functions = s->n_about;
	return 0;
}

/*
 * Takes both texts; NULL for `what`: memory was out. `remedy` may be NULL with a repair: it is
 * written once the group's other findings are known. It is about what about() has gathered.
 */
static int add(Subject *s, DriftKind kind, DriftRepair repair, char *what, char *remedy)
{
	DriftFinding *bigger =
		reallocarray(s->drift->items, s->drift->n_items + 1, sizeof(DriftFinding));
	DriftFinding *finding;
	int r;

	if (bigger)
		s->drift->items = bigger;
	if (!bigger || !what || (!remedy && repair == DRIFT_REPAIR_NONE)) {
		free(what);
		free(remedy);
		return -ENOMEM;
	}
	finding = &bigger[s->drift->n_items++];
	*finding = (DriftFinding){ .kind = kind, .repair = repair, .what = what, .remedy = remedy };
	s->blocked |= repair == DRIFT_REPAIR_NONE;
	r = fill(s, finding);
	forget_about(s);
	return r;
}

/* What a person must see to comes first: until then nothing of the group is touched. */
static int settle(Subject *s)
{
	for (size_t i = s->first; i < s->drift->n_items; i++) {
		DriftFinding *finding = &s->drift->items[i];

		if (finding->repair == DRIFT_REPAIR_NONE)
			continue;
		free(finding->remedy);
		finding->remedy = s->blocked
					  ? strf("see to the other findings of %s first", s->name)
					  : strf("gpupass reconcile %s", s->name);
		if (s->blocked)
			finding->repair = DRIFT_REPAIR_NONE;
		if (!finding->remedy)
			return -ENOMEM;
	}
	return 0;
}

/* ---- boards and drivers ---- */

static const PciFunction *function_of_group(const Subject *s, const Bdf *bdf)
{
	for (size_t i = 0; i < s->n_functions; i++)
		if (bdf_equal(&s->functions[i]->bdf, bdf))
			return s->functions[i];
	return NULL;
}

static bool same_board(const AssignedFunction *then, const PciFunction *now)
{
	return now->vendor == then->vendor && now->device == then->device &&
	       now->subsystem_vendor == then->subsystem_vendor &&
	       now->subsystem_device == then->subsystem_device;
}

/* " (at boot: taken: nvidia was first)" */
static char *at_boot(const Subject *s, const Bdf *bdf)
{
	const BootFault *fault = boot_faults_find(s->facts->boot, bdf);
	_cleanup_free_ char *text = fault ? boot_fault_text(fault) : NULL;

	if (!fault)
		return strdup("");
	return text ? strf(" (at boot: %s)", text) : NULL;
}

static int add_board(Subject *s, const Bdf *bdf, const char *how)
{
	_cleanup_free_ char *boot = at_boot(s, bdf);

	about(s, bdf);
	return add(s, DRIFT_BOARD, DRIFT_REPAIR_NONE,
		   boot ? strf("%s, which was assigned to %s, %s%s", BDF_TEXT(bdf),
			       s->record->domain_name, how, boot)
			: NULL,
		   strf("put the board back where it was, or: gpupass release %s", s->name));
}

static int check_boards(Subject *s)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < s->record->n_functions; i++) {
		const AssignedFunction *then = &s->record->functions[i];
		const PciFunction *now = pci_snapshot_find(s->facts->snapshot, &then->bdf);

		if (!now)
			r = add_board(s, &then->bdf, "is not there");
		else if (!same_board(then, now))
			r = add_board(s, &then->bdf, "is another board now");
		else if (!function_of_group(s, &then->bdf))
			r = add_board(s, &then->bdf, "is not in the group");
	}
	for (size_t i = 0; r == 0 && i < s->n_functions; i++) {
		const Bdf *bdf = &s->functions[i]->bdf;

		if (assignment_function(s->record, bdf))
			continue;
		about(s, bdf);
		r = add(s, DRIFT_BOARD, DRIFT_REPAIR_NONE,
			strf("%s is in the group, but was not assigned with it", BDF_TEXT(bdf)),
			strf("gpupass release %s, then assign it again", s->name));
	}
	return r;
}

static bool is_live(const Subject *s, const Bdf *bdf)
{
	const DomainHostdev *hostdev = s->domain ? domain_use_hostdev(s->domain, bdf) : NULL;

	return hostdev && hostdev->live;
}

static int check_drivers(Subject *s)
{
	const PciFunction *first = NULL;
	_cleanup_free_ char *boot = NULL;

	for (size_t i = 0; i < s->n_functions; i++) {
		const PciFunction *function = s->functions[i];

		/* What a guest has open is bound; a look in between says otherwise. */
		if (driver_is_vfio(function->driver) || is_live(s, &function->bdf))
			continue;
		about(s, &function->bdf);
		if (!first)
			first = function;
	}
	if (!first)
		return 0;
	boot = at_boot(s, &first->bdf);
	return add(s, DRIFT_DRIVER, DRIFT_REPAIR_BIND,
		   boot ? strf("%zu of %zu functions are not on " VFIO_PCI ": %s is on %s%s",
			       s->n_about, s->n_functions, BDF_TEXT(&first->bdf),
			       first->driver ? first->driver : "no driver", boot)
			: NULL,
		   NULL);
}

/* Without it, whatever driver is loaded next may take the function when it appears again. */
static int check_overrides(Subject *s)
{
	const FunctionFacts *first = NULL;

	for (size_t i = 0; s->facts->inspection && i < s->n_functions; i++) {
		const Bdf *bdf = &s->functions[i]->bdf;
		const FunctionFacts *facts = inspection_find(s->facts->inspection, bdf);

		if (!facts || !driver_is_vfio(facts->driver) || is_live(s, bdf) ||
		    str_equal(facts->driver, facts->driver_override))
			continue;
		about(s, bdf);
		if (!first)
			first = facts;
	}
	if (!first)
		return 0;
	return add(s, DRIFT_OVERRIDE, DRIFT_REPAIR_BIND,
		   strf("the driver_override of %s is %s, not %s", BDF_TEXT(&first->bdf),
			first->driver_override ? first->driver_override : "not set", first->driver),
		   NULL);
}

/* ---- domains ---- */

static const DomainUse *find_by_name(const DomainUses *uses, const char *name)
{
	for (size_t i = 0; i < uses->n_items; i++)
		if (str_equal(uses->items[i].name, name))
			return &uses->items[i];
	return NULL;
}

static int check_gone(Subject *s)
{
	const DomainUse *other = find_by_name(s->facts->uses, s->record->domain_name);

	if (other)
		return add(
			s, DRIFT_OTHER_DOMAIN, DRIFT_REPAIR_NONE,
			strf("it is assigned to %s (%s), which libvirt no longer has; the domain "
			     "of that name now is another one (%s), and does not get it",
			     s->record->domain_name, s->record->domain_uuid, other->uuid),
			strf("gpupass release %s", s->name));
	return add(
		s, DRIFT_NO_DOMAIN, DRIFT_REPAIR_NONE,
		strf("it is assigned to %s (%s), which libvirt no longer has; it is not given to "
		     "anybody else",
		     s->record->domain_name, s->record->domain_uuid),
		strf("define %s again, or: gpupass release %s", s->record->domain_name, s->name));
}

static int check_others(Subject *s)
{
	for (size_t i = 0; i < s->n_functions; i++) {
		const Bdf *bdf = &s->functions[i]->bdf;
		const DomainUse *use;
		size_t at = 0;
		int r;

		while ((use = domain_uses_holding(s->facts->uses, bdf, &at))) {
			if (use == s->domain)
				continue;
			about(s, bdf);
			r = add(s, DRIFT_TAKEN, DRIFT_REPAIR_NONE,
				strf("domain %s (%s) has %s, too", use->name, use->uuid,
				     BDF_TEXT(bdf)),
				strf("take the hostdev out of that domain: virsh edit %s",
				     use->name));
			if (r != 0)
				return r;
		}
	}
	return 0;
}

typedef struct Held {
	size_t live, config;
} Held;

static Held count_held(const Subject *s)
{
	Held held = { 0 };

	for (size_t i = 0; i < s->n_functions; i++) {
		const DomainHostdev *hostdev = domain_use_hostdev(s->domain, &s->functions[i]->bdf);

		held.live += hostdev && hostdev->live;
		held.config += hostdev && hostdev->config;
	}
	return held;
}

static void about_lacking(Subject *s, bool live)
{
	for (size_t i = 0; i < s->n_functions; i++) {
		const Bdf *bdf = &s->functions[i]->bdf;
		const DomainHostdev *hostdev = domain_use_hostdev(s->domain, bdf);

		if (!hostdev || !(live ? hostdev->live : hostdev->config))
			about(s, bdf);
	}
}

static int check_edited(Subject *s)
{
	const char *mark = s->record ? s->record->group_name : s->name;
	Bdf functions[ELEMENTS(s->about)];
	size_t n = 0;

	for (size_t i = 0; i < s->n_functions && n < ELEMENTS(functions); i++)
		functions[n++] = s->functions[i]->bdf;
	if (drift_defined_by_us(s->domain, mark, functions, n))
		return 0;
	return add(s, DRIFT_EDITED, DRIFT_REPAIR_DEFINE,
		   strf("the definition of %s has it, but not as gpupass put it there: an alias or "
			"the mark is missing, or a hostdev is managed by libvirt",
			s->domain->name),
		   NULL);
}

/* A guest that runs with the whole group and was never defined with it: assign --live. */
static int check_definition(Subject *s, Held held)
{
	if (!s->domain->persistent && held.live > 0)
		return add(
			s, DRIFT_NO_DEFINITION, DRIFT_REPAIR_NONE,
			strf("%s runs with it, but is no longer defined: the assignment outlives "
			     "its domain",
			     s->domain->name),
			strf("define it again (virsh dumpxml, virsh define), or shut it down "
			     "and: gpupass release %s",
			     s->name));
	if (held.config == s->n_functions)
		return check_edited(s);
	if (held.config == 0 && held.live == s->n_functions)
		return 0;
	about_lacking(s, false);
	if (held.config == 0)
		return add(s, DRIFT_LACKS_ALL, DRIFT_REPAIR_DEFINE,
			   strf("the definition of %s has none of its functions", s->domain->name),
			   NULL);
	return add(s, DRIFT_LACKS_SOME, DRIFT_REPAIR_DEFINE,
		   strf("the definition of %s lacks %s and has others", s->domain->name,
			BDF_TEXT(&s->about[0])),
		   NULL);
}

static int check_guest(Subject *s, Held held)
{
	if (held.live == 0 || held.live == s->n_functions)
		return 0;
	about_lacking(s, true);
	return add(
		s, DRIFT_GUEST, DRIFT_REPAIR_NONE,
		strf("running %s lacks %s and has others", s->domain->name, BDF_TEXT(&s->about[0])),
		strf("shut %s down, then: gpupass reconcile %s", s->domain->name, s->name));
}

static int check_domain(Subject *s)
{
	Held held;
	int r;

	s->domain = domain_uses_find(s->facts->uses, s->record->domain_uuid);
	r = s->domain ? 0 : check_gone(s);
	if (r == 0)
		r = check_others(s);
	if (r != 0 || !s->domain)
		return r;
	held = count_held(s);
	if (!str_equal(s->domain->name, s->record->domain_name))
		r = add(s, DRIFT_RENAMED, DRIFT_REPAIR_RENAME,
			strf("domain %s is called %s now", s->record->domain_name, s->domain->name),
			NULL);
	if (r == 0 && s->domain->migrated)
		r = add(s, DRIFT_MIGRATED, DRIFT_REPAIR_NONE,
			strf("the guest of %s was migrated to another host, where it has other "
			     "boards",
			     s->domain->name),
			strf("if it does not come back: gpupass release %s", s->name));
	if (r == 0)
		r = check_guest(s, held);
	return r == 0 ? check_definition(s, held) : r;
}

/* ---- records and marks ---- */

static const Assignment *find_record(const DriftFacts *facts, const Group *group,
				     const PciFunction *const *functions, size_t n)
{
	const Assignment *named;

	for (size_t i = 0; i < n; i++) {
		const Assignment *record =
			assignments_find_function(facts->assignments, &functions[i]->bdf);

		if (record)
			return record;
	}
	named = assignments_find_group(facts->assignments, group->name);
	for (size_t i = 0; named && i < named->n_functions; i++)
		if (group_set_find_gpu(facts->groups, &named->functions[i].bdf))
			return NULL;
	return named;
}

static bool names_function_of(const Assignment *record, const Subject *s)
{
	for (size_t i = 0; i < s->n_functions; i++)
		if (assignment_function(record, &s->functions[i]->bdf))
			return true;
	return false;
}

static int check_second_record(Subject *s)
{
	for (size_t i = 0; i < s->facts->assignments->n_items; i++) {
		const Assignment *other = s->facts->assignments->items[i];

		if (other == s->record || !names_function_of(other, s))
			continue;
		return add(s, DRIFT_TWO_RECORDS, DRIFT_REPAIR_NONE,
			   strf("two records name it: of %s and of %s", s->record->domain_name,
				other->domain_name),
			   strf("see which domain shall have it, then remove the other's file "
				"(%s.json or %s.json in assignments.d) and: gpupass rescan",
				s->record->domain_uuid, other->domain_uuid));
	}
	return 0;
}

static int check_recorded(Subject *s)
{
	int r;

	if (s->group->provenance == PROVENANCE_NONE)
		return add(s, DRIFT_NO_GROUP, DRIFT_REPAIR_NONE,
			   strf("%s is assigned group %s, which is no longer declared: its GPUs "
				"are candidates only",
				s->record->domain_name, s->record->group_name),
			   strf("declare it again: gpupass declare %s GPU GPU",
				s->record->group_name));
	r = check_second_record(s);
	if (r == 0)
		r = check_boards(s);
	if (r == 0 && s->facts->uses)
		r = check_domain(s);
	/* Of other boards nothing can be said. */
	if (r == 0 && !s->blocked)
		r = check_drivers(s);
	return r == 0 && !s->blocked ? check_overrides(s) : r;
}

static int check_mark(Subject *s)
{
	Held held = count_held(s);
	int r;

	if (assignments_find_domain(s->facts->assignments, s->domain->uuid))
		return 0; /* it has another group, and this one is told there */
	if (held.config != s->n_functions && held.live != s->n_functions) {
		about_lacking(s, held.config == 0 && held.live > 0);
		return add(s, DRIFT_MARK, DRIFT_REPAIR_NONE,
			   strf("%s is marked as having it, lacks %s, and there is no record",
				s->domain->name, BDF_TEXT(&s->about[0])),
			   strf("gpupass release %s", s->domain->name));
	}
	r = check_others(s);
	if (r == 0)
		r = add(s, DRIFT_NO_RECORD, DRIFT_REPAIR_RECORD,
			strf("%s %s with all of it and gpupass' mark, and there is no record",
			     s->domain->name, s->domain->active ? "runs" : "is defined"),
			NULL);
	if (r == 0 && s->group->fault)
		r = add(s, DRIFT_BOARD, DRIFT_REPAIR_NONE,
			strf("the group cannot be used as it is: %s", s->group->fault),
			strf("gpupass status %s", s->name));
	return r;
}

static int check_marks(Subject *s)
{
	int r = 0;

	for (size_t i = 0; r == 0 && s->facts->uses && i < s->facts->uses->n_items; i++) {
		s->domain = &s->facts->uses->items[i];
		if (str_equal(s->domain->gpupass_group, s->name))
			r = check_mark(s);
	}
	return r;
}

/* What a job works on is not whole, and what is quarantined has a remedy of its own. */
static bool is_settled(const Group *group)
{
	switch (group->state) {
	case GROUP_BINDING:
	case GROUP_ATTACHING:
	case GROUP_DETACHING:
	case GROUP_RELEASING:
	case GROUP_ROLLING_BACK:
	case GROUP_QUARANTINED:
		return false;
	default:
		return true;
	}
}

static int find_in_group(const DriftFacts *facts, const Group *group, Drift *drift)
{
	_cleanup_free_ const PciFunction **functions = NULL;
	Subject s = {
		.facts = facts,
		.drift = drift,
		.first = drift->n_items,
		.name = group->name,
		.group = group,
	};
	int r;

	if (!is_settled(group))
		return 0;
	r = group_functions(group, &functions, &s.n_functions);
	if (r < 0)
		return r;
	s.functions = functions;
	s.record = find_record(facts, group, functions, s.n_functions);
	if (s.record)
		r = check_recorded(&s);
	else if (group->provenance != PROVENANCE_NONE)
		r = check_marks(&s);
	return r == 0 ? settle(&s) : r;
}

/* Its boards are in no group at all, and no group has its name. */
static bool is_homeless(const DriftFacts *facts, const Assignment *record)
{
	for (size_t i = 0; i < record->n_functions; i++)
		if (group_set_find_gpu(facts->groups, &record->functions[i].bdf))
			return false;
	return !group_set_find(facts->groups, record->group_name);
}

static int add_homeless(const DriftFacts *facts, const Assignment *record, Drift *drift)
{
	Subject s = {
		.facts = facts,
		.drift = drift,
		.first = drift->n_items,
		.name = record->group_name,
		.record = record,
	};

	return add(&s, DRIFT_NO_GROUP, DRIFT_REPAIR_NONE,
		   strf("%s is assigned group %s, and none of its boards is there",
			record->domain_name, record->group_name),
		   strf("put the boards back, or move assignments.d/%s.json away",
			record->domain_uuid));
}

int drift_find(const DriftFacts *facts, Drift **ret)
{
	_cleanup_(drift_freep) Drift *drift = calloc(1, sizeof(Drift));
	int r = 0;

	if (!drift)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && i < facts->groups->n_items; i++)
		r = find_in_group(facts, &facts->groups->items[i], drift);
	for (size_t i = 0; r == 0 && i < facts->assignments->n_items; i++)
		if (is_homeless(facts, facts->assignments->items[i]))
			r = add_homeless(facts, facts->assignments->items[i], drift);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(drift);
	return 0;
}

bool drift_defined_by_us(const DomainUse *use, const char *group, const Bdf *functions, size_t n)
{
	if (!str_equal(use->gpupass_group, group))
		return false;
	for (size_t i = 0; i < n; i++) {
		const DomainHostdev *hostdev = domain_use_hostdev(use, &functions[i]);

		if (!hostdev || !hostdev->config || hostdev->managed || !hostdev->alias ||
		    !str_starts_with(hostdev->alias, ALIAS_PREFIX))
			return false;
	}
	return true;
}
