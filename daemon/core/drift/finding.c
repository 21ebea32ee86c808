/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finding drift: compares each record, group and mark of ours with what was observed. */
#include "core/drift/finding.h"

#include "core/domain/ref.h"
#include "core/domain/xml.h"
#include "core/group/record.h"
#include "util/xalloc.h"

static DriftSubject subject(const DriftFacts *facts, Drift *drift, const char *name)
{
	return (DriftSubject){
		.facts = facts, .drift = drift, .first = drift->n_items, .name = name
	};
}

/*
 * Gives the findings with a repair their remedy. If another finding of the group needs a person,
 * that comes first, and until then nothing of the group is changed.
 */
static void drift_settle(DriftSubject *s)
{
	for (size_t i = s->first; i < s->drift->n_items; i++) {
		DriftFinding *finding = &s->drift->items[i];

		if (finding->repair == DRIFT_REPAIR_NONE)
			continue;
		free(finding->remedy);
		finding->remedy =
			s->blocked ? strf("first follow the remedies of the other findings of %s",
					  s->name)
				   : strf("gpupass reconcile %s", s->name);
		if (s->blocked)
			finding->repair = DRIFT_REPAIR_NONE;
	}
}

/* ---- records and marks ---- */

static const char *file_of(const Assignment *record)
{
	return record->file ? record->file : record->domain_uuid;
}

static void drift_check_second_record(DriftSubject *s)
{
	EACH_OF (Assignment, other, s->facts->assignments->items, s->facts->assignments->n_items) {
		if (other == s->record ||
		    !SOME_OF(s->functions, s->n_functions, assignment_function(other, &it->bdf)))
			continue;
		drift_add(s, DRIFT_TWO_RECORDS, DRIFT_REPAIR_NONE,
			  strf("two records name it: of %s and of %s", s->record->domain_name,
			       other->domain_name),
			  strf("decide which domain gets it, then remove the other one's file "
			       "(%s or %s in assignments.d) and run: gpupass rescan",
			       file_of(s->record), file_of(other)));
		return;
	}
}

static void drift_check_recorded(DriftSubject *s)
{
	if (s->group->provenance == PROVENANCE_NONE) {
		drift_add(
			s, DRIFT_NO_GROUP, DRIFT_REPAIR_NONE,
			strf("%s is assigned group %s, which is no longer declared, and its links "
			     "are not known either",
			     s->record->domain_name, s->record->group_name),
			strf("look at its links: gpupass probe; or declare it again: gpupass "
			     "declare %s GPU GPU",
			     s->record->group_name));
		return;
	}
	drift_check_second_record(s);
	drift_check_boards(s);
	if (s->facts->uses)
		drift_check_domain(s);
	/* With other boards than those assigned, drivers and overrides say nothing. */
	if (!s->blocked)
		drift_check_drivers(s);
	if (!s->blocked)
		drift_check_overrides(s);
}

/*
 * Anybody may have written this text into the metadata. It is reported, but does not stop
 * reconcile.
 */
static void drift_add_lone_mark(DriftSubject *s)
{
	bool blocked = s->blocked;

	drift_add(s, DRIFT_MARK, DRIFT_REPAIR_NONE,
		  strf("%s (%s) is marked as having it, but has none of its functions, "
		       "and there is no record: the mark does not count",
		       s->domain->name, s->domain->uuid),
		  strf("virsh metadata %s --uri %s %s --remove", s->domain->uuid,
		       s->domain->former_mark ? DOMAIN_XML_FORMER_NAMESPACE : DOMAIN_XML_NAMESPACE,
		       s->domain->persistent ? "--config" : "--live"));
	s->blocked = blocked;
}

/* Metadata alone is not enough for a record: the hostdevs must be as gpupass writes them, too. */
static void drift_check_unrecorded(DriftSubject *s)
{
	if (!mark_is_ours(s->domain, s->functions, s->n_functions)) {
		drift_add(s, DRIFT_MARK, DRIFT_REPAIR_NONE,
			  strf("%s is marked as having it, but gpupass did not write its "
			       "hostdevs, and there is no record",
			       s->domain->name),
			  strf("take the hostdevs out (virsh edit %s), then assign it; or: "
			       "gpupass release %s",
			       domain_ref_word(s->domain->name, s->domain->uuid),
			       domain_ref_word(s->domain->name, s->domain->uuid)));
		return;
	}
	drift_check_others(s);
	drift_add(s, DRIFT_NO_RECORD, DRIFT_REPAIR_RECORD,
		  strf("%s %s with all of it and gpupass' mark, but there is no record",
		       s->domain->name, s->domain->active ? "runs" : "is defined"),
		  NULL);
	if (s->group->fault)
		drift_add(s, DRIFT_BOARD, DRIFT_REPAIR_NONE,
			  strf("the group cannot be used as it is: %s", s->group->fault),
			  strf("gpupass status %s", s->name));
}

static bool has_boards(const DriftFacts *facts, const Assignment *record)
{
	return SOME(record->functions, record->n_functions,
		    group_set_find_gpu(facts->groups, &it->bdf));
}

/* No group has the record's name, and no group has one of its boards. */
static bool is_homeless(const DriftFacts *facts, const Assignment *record)
{
	return !has_boards(facts, record) && !group_set_find(facts->groups, record->group_name);
}

/*
 * A record of the domain has this group's name, or is this group's: reported with that record. One
 * whose boards are not there may mean these, which have other addresses now; a person decides.
 */
static bool has_record(const DriftSubject *s)
{
	const Assignment *record;
	size_t position = 0;

	while ((record = assignments_of_domain(s->facts->assignments, s->domain->uuid, &position)))
		if (record == s->record || str_equal(record->group_name, s->name) ||
		    !has_boards(s->facts, record))
			return true;
	return false;
}

static void drift_check_mark(DriftSubject *s)
{
	DriftHeld held = drift_count_held(s);

	if (has_record(s))
		return;
	if (!mark_counts(s->facts->groups, s->domain, s->name)) {
		drift_add_lone_mark(s);
		return;
	}
	if (s->record)
		return; /* the group is another domain's: drift_check_others() reports it */
	if (held.config == s->n_functions || held.live == s->n_functions) {
		drift_check_unrecorded(s);
		return;
	}
	drift_about_lacking(s, held.config == 0 && held.live > 0);
	drift_add(s, DRIFT_MARK, DRIFT_REPAIR_NONE,
		  strf("%s is marked as having it, but lacks %s, and there is no record",
		       s->domain->name, BDF_TEXT(&s->about[0])),
		  strf("gpupass release %s", domain_ref_word(s->domain->name, s->domain->uuid)));
}

static void drift_check_marks(DriftSubject *s)
{
	const DomainUse *before = s->domain;

	s->marked = true;
	for (size_t i = 0; s->facts->uses && i < s->facts->uses->n_items; i++) {
		s->domain = &s->facts->uses->items[i];
		if (domain_use_names(s->domain, s->name))
			drift_check_mark(s);
	}
	s->domain = before;
	s->marked = false;
}

/*
 * A group that a job works on is between two states, and so is one that is yet to be prepared; a
 * quarantined one has its own remedy.
 */
static bool is_settled(const Group *group)
{
	switch (group->state) {
	case GROUP_BINDING:
	case GROUP_ATTACHING:
	case GROUP_DETACHING:
	case GROUP_RELEASING:
	case GROUP_ROLLING_BACK:
	case GROUP_UNREADY:
	case GROUP_QUARANTINED:
		return false;
	default:
		return true;
	}
}

/* Nobody has it, and it is not on vfio-pci as it should be. */
static void drift_check_kept(DriftSubject *s)
{
	const Group *group = s->group;

	if (group->kept == KEPT_NOT || group->domain_uuid || group->fault)
		return;
	drift_check_drivers(s);
	drift_check_overrides(s);
}

static void drift_find_in_group(const DriftFacts *facts, const Group *group, Drift *drift)
{
	_cleanup_free_ const PciFunction **functions = NULL;
	DriftSubject s = subject(facts, drift, group->name);

	s.group = group;
	if (!is_settled(group))
		return;
	functions = group_functions(group, &s.n_functions);
	s.functions = functions;
	s.record = group_record(group, functions, s.n_functions, facts->groups, facts->assignments);
	if (s.record)
		drift_check_recorded(&s);
	else
		drift_check_kept(&s);
	if (group->provenance != PROVENANCE_NONE)
		drift_check_marks(&s);
	drift_settle(&s);
}

static void drift_add_homeless(const DriftFacts *facts, const Assignment *record, Drift *drift)
{
	DriftSubject s = subject(facts, drift, record->group_name);

	s.record = record;
	drift_add(&s, DRIFT_NO_GROUP, DRIFT_REPAIR_NONE,
		  strf("%s is assigned group %s, but none of its boards is there",
		       record->domain_name, record->group_name),
		  strf("put the boards back, or move assignments.d/%s away", file_of(record)));
}

/* What it says may have drifted. */
static void drift_add_unread(const DriftFacts *facts, const RecordFault *fault, Drift *drift)
{
	_cleanup_free_ char *path = record_fault_path(fault), *shown = str_printable(path);
	DriftSubject s = subject(facts, drift, fault->group ? fault->group : shown);

	drift_add(&s, DRIFT_UNREAD, DRIFT_REPAIR_NONE, record_fault_what(fault),
		  xstrdup(record_fault_remedy(fault)));
}

Drift *drift_find(const DriftFacts *facts)
{
	Drift *drift = xcalloc(1, sizeof(Drift));

	drift->domains_known = facts->uses != NULL;
	for (size_t i = 0; i < facts->groups->n_items; i++)
		drift_find_in_group(facts, &facts->groups->items[i], drift);
	for (size_t i = 0; i < facts->assignments->n_items; i++)
		if (is_homeless(facts, facts->assignments->items[i]))
			drift_add_homeless(facts, facts->assignments->items[i], drift);
	for (size_t i = 0; i < facts->assignments->faults.n_items; i++)
		drift_add_unread(facts, &facts->assignments->faults.items[i], drift);
	return drift;
}
