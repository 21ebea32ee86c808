/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding drift: each record, each group and each of our marks against what is there. */
#include <string.h>

#include "core/domain/ref.h"
#include "core/domain/xml-marks.h"
#include "core/domain/xml.h"
#include "core/drift/finding.h"
#include "core/group/mark.h"
#include "core/group/record.h"

static void forget_about(DriftSubject *s)
{
	s->n_about = 0;
}

void drift_about(DriftSubject *s, const Bdf *bdf)
{
	if (s->n_about < ELEMENTS(s->about))
		s->about[s->n_about++] = *bdf;
}

static int copy_text(const char *from, char **ret)
{
	*ret = from ? strdup(from) : NULL;
	return from && !*ret ? -ENOMEM : 0;
}

static int fill(const DriftSubject *s, DriftFinding *finding)
{
	const char *uuid = s->record && !s->marked ? s->record->domain_uuid
			   : s->domain		   ? s->domain->uuid
						   : NULL;
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

int drift_add(DriftSubject *s, DriftKind kind, DriftRepair repair, char *what, char *remedy)
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
static int settle(DriftSubject *s)
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

/* ---- records and marks ---- */

static bool names_function_of(const Assignment *record, const DriftSubject *s)
{
	for (size_t i = 0; i < s->n_functions; i++)
		if (assignment_function(record, &s->functions[i]->bdf))
			return true;
	return false;
}

static int check_second_record(DriftSubject *s)
{
	for (size_t i = 0; i < s->facts->assignments->n_items; i++) {
		const Assignment *other = s->facts->assignments->items[i];

		if (other == s->record || !names_function_of(other, s))
			continue;
		return drift_add(
			s, DRIFT_TWO_RECORDS, DRIFT_REPAIR_NONE,
			strf("two records name it: of %s and of %s", s->record->domain_name,
			     other->domain_name),
			strf("see which domain shall have it, then remove the other's file "
			     "(%s.json or %s.json in assignments.d) and: gpupass rescan",
			     s->record->domain_uuid, other->domain_uuid));
	}
	return 0;
}

static int check_recorded(DriftSubject *s)
{
	int r;

	if (s->group->provenance == PROVENANCE_NONE)
		return drift_add(
			s, DRIFT_NO_GROUP, DRIFT_REPAIR_NONE,
			strf("%s is assigned group %s, which is no longer declared, nor known by "
			     "its links",
			     s->record->domain_name, s->record->group_name),
			strf("look at its links: gpupass probe; or declare it again: gpupass "
			     "declare %s GPU GPU",
			     s->record->group_name));
	r = check_second_record(s);
	if (r == 0)
		r = drift_check_boards(s);
	if (r == 0 && s->facts->uses)
		r = drift_check_domain(s);
	/* Of other boards nothing can be said. */
	if (r == 0 && !s->blocked)
		r = drift_check_drivers(s);
	return r == 0 && !s->blocked ? drift_check_overrides(s) : r;
}

/*
 * Text in metadata, which anybody may have put there: it is told, and keeps reconcile from nothing.
 */
static int tell_lone_mark(DriftSubject *s)
{
	bool blocked = s->blocked;
	int r = drift_add(s, DRIFT_MARK, DRIFT_REPAIR_NONE,
			  strf("%s (%s) is marked as having it, has nothing of it, and there is no "
			       "record: the mark does not count",
			       s->domain->name, s->domain->uuid),
			  strf("virsh metadata %s --uri " DOMAIN_XML_NAMESPACE " %s --remove",
			       s->domain->uuid, s->domain->persistent ? "--config" : "--live"));

	s->blocked = blocked;
	return r;
}

/* Metadata alone makes no record: the hostdevs have to be those that gpupass defines, too. */
static int check_unrecorded(DriftSubject *s)
{
	int r;

	if (!mark_is_ours(s->domain, s->functions, s->n_functions))
		return drift_add(s, DRIFT_MARK, DRIFT_REPAIR_NONE,
				 strf("%s is marked as having it, its hostdevs are not those of "
				      "gpupass, and there is no record",
				      s->domain->name),
				 strf("take the hostdevs out (virsh edit %s), then assign it; or: "
				      "gpupass release %s",
				      domain_ref_word(s->domain->name, s->domain->uuid),
				      domain_ref_word(s->domain->name, s->domain->uuid)));
	r = drift_check_others(s);
	if (r == 0)
		r = drift_add(s, DRIFT_NO_RECORD, DRIFT_REPAIR_RECORD,
			      strf("%s %s with all of it and gpupass' mark, and there is no record",
				   s->domain->name, s->domain->active ? "runs" : "is defined"),
			      NULL);
	if (r == 0 && s->group->fault)
		r = drift_add(s, DRIFT_BOARD, DRIFT_REPAIR_NONE,
			      strf("the group cannot be used as it is: %s", s->group->fault),
			      strf("gpupass status %s", s->name));
	return r;
}

static int check_mark(DriftSubject *s)
{
	DriftHeld held = drift_count_held(s);

	if (assignments_find_domain(s->facts->assignments, s->domain->uuid))
		return 0; /* it has another group, and this one is told there */
	if (!mark_counts(s->facts->groups, s->domain))
		return tell_lone_mark(s);
	if (s->record)
		return 0; /* that it has a part of another's group is told there */
	if (held.config == s->n_functions || held.live == s->n_functions)
		return check_unrecorded(s);
	drift_about_lacking(s, held.config == 0 && held.live > 0);
	return drift_add(s, DRIFT_MARK, DRIFT_REPAIR_NONE,
			 strf("%s is marked as having it, lacks %s, and there is no record",
			      s->domain->name, BDF_TEXT(&s->about[0])),
			 strf("gpupass release %s", s->domain->name));
}

static int check_marks(DriftSubject *s)
{
	const DomainUse *before = s->domain;
	int r = 0;

	s->marked = true;
	for (size_t i = 0; r == 0 && s->facts->uses && i < s->facts->uses->n_items; i++) {
		s->domain = &s->facts->uses->items[i];
		if (str_equal(s->domain->gpupass_group, s->name))
			r = check_mark(s);
	}
	s->domain = before;
	s->marked = false;
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
	DriftSubject s = {
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
	s.record = group_record(group, functions, s.n_functions, facts->groups, facts->assignments);
	if (s.record)
		r = check_recorded(&s);
	if (r == 0 && group->provenance != PROVENANCE_NONE)
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
	DriftSubject s = {
		.facts = facts,
		.drift = drift,
		.first = drift->n_items,
		.name = record->group_name,
		.record = record,
	};

	return drift_add(&s, DRIFT_NO_GROUP, DRIFT_REPAIR_NONE,
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
