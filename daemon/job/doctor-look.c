/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/doctor-look.h"

#include "core/doctor/capture.h"
#include "core/drift/drift.h"
#include "core/fence/report.h"
#include "job/prepare.h"
#include "job/select.h"
#include "util/xalloc.h"

typedef struct Look {
	const JobPlace *place;
	const DoctorRequest *request;
	Prepared *seen;
	char *uses_note;
	Examination *host;
	GpuHealth *health;
	size_t n_health;
	char **busy, **quarantined, **clears;
	Finding drift, split, evidence, tenant, files;
	char *fence_fault;
	LastReset *resets; /* of all GPUs; NULL: nobody keeps receipts */
	size_t n_resets;
	RecordFaults faults; /* of the stores that keep none for themselves */
	int inspection_error, host_error;
	Problem *inspection_problem, *host_problem; /* NULL: only the number is known */
} Look;

LOCAL_CLEAR(Look, look_clear)
#include "doctor-look.inc"

static void look_at_uses(Look *l)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	Host *host = l->place->host;
	int r = host->ops->domain_uses(host, true, &l->seen->uses, &problem);

	if (r != 0)
		l->uses_note = xstrdup(problem ? problem->reason : strerror(-r));
}

static int look_at_domain(Look *l, Problem **ret_problem)
{
	static const JobRequest anybody = { 0 }; /* a look needs no permission for a domain */

	if (!l->request->domain)
		return 0;
	return select_domain(l->place, &anybody, l->request->domain, l->seen->uses,
			     &l->seen->domain, ret_problem);
}

/* What a job or a quarantine has: it is not inspected, and has no drift. */
static void look_at_claims(Look *l, Group *group)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_free_ char *reason = NULL, *name = NULL;
	const Bdf *lead;

	if (group->n_gpus == 0)
		return;
	lead = &group->gpus[0]->lead->bdf;
	reason = claims_quarantine_reason(l->place->claims, lead, &name);
	if (!reason && claims_check(l->place->claims, lead, 1, NULL, &problem) != PROBLEM)
		return;
	group->state = GROUP_QUARANTINED;
	if (reason) {
		strv_append(&l->clears, name);
		strv_appendf(&l->quarantined, "%s: %s", group->name, reason);
	} else {
		strv_append(&l->busy, group->name);
	}
}

static void look_at_all_claims(Look *l)
{
	for (size_t i = 0; i < l->seen->inventory->groups->n_items; i++)
		look_at_claims(l, &l->seen->inventory->groups->items[i]);
}

/* Of all GPUs, and of the NICs that are given with them. */
static void look_at_health(Look *l)
{
	const GroupSet *groups = l->seen->inventory->groups;
	const GpuSet *gpus = l->seen->inventory->gpus;
	_cleanup_free_ const PciFunction **leads = NULL;
	size_t n = gpus->n_gpus + COUNT(groups->items, groups->n_items, it->n_companions);

	leads = xcalloc(n + 1, sizeof(*leads));
	n = 0;
	for (size_t i = 0; i < gpus->n_gpus; i++)
		leads[n++] = gpus->gpus[i].lead;
	for (size_t i = 0; i < groups->n_items; i++)
		n += group_nics(&groups->items[i], leads + n);
	health_look(l->place->health, l->place->host, leads, n, &l->health);
	l->n_health = n;
}

/* An inspection waits for the device's lock. So we leave out functions that a worker moves or is
 * stuck with, and get the facts of the others in time. */
static bool may_inspect(const Look *l, const Gpu *gpu)
{
	const Group *group = group_set_find_gpu(l->seen->inventory->groups, &gpu->lead->bdf);
	const GpuHealth *health = gpu_healths_find(l->health, l->n_health, &gpu->lead->bdf);

	return group && group->state != GROUP_QUARANTINED && health && health->error == 0;
}

static void look_closely(Look *l)
{
	const PciSnapshot *snapshot = l->seen->inventory->snapshot;
	const GpuSet *gpus = l->seen->inventory->gpus;
	const GroupSet *groups = l->seen->inventory->groups;
	_cleanup_free_ Bdf *functions = xcalloc(snapshot->n_functions + 1, sizeof(Bdf));
	Host *host = l->place->host;
	size_t n = 0;

	for (size_t i = 0; i < gpus->n_gpus; i++)
		for (size_t k = 0; may_inspect(l, &gpus->gpus[i]) && k < gpus->gpus[i].n_functions;
		     k++)
			functions[n++] = gpus->gpus[i].functions[k]->bdf;
	for (size_t i = 0; i < groups->n_items; i++)
		for (size_t k = 0; groups->items[i].state != GROUP_QUARANTINED &&
				   k < groups->items[i].n_companions;
		     k++)
			if (groups->items[i].companions[k].function)
				functions[n++] = groups->items[i].companions[k].member.bdf;
	l->inspection_error =
		host_inspect_marked(host, l->seen->tenants, functions, n, INSPECT_CONFIG_NOT,
				    &l->seen->inspection, &l->inspection_problem);
	if (l->inspection_error == 0)
		trail_note_holders(l->place->trail, l->seen->inspection);
	l->host_error = host_examine(host, &l->host, &l->host_problem);
}

/* A finding that keeps a domain from its group is worse than a wrong record. */
static bool is_of_the_books(const DriftFinding *finding)
{
	return finding->repair == DRIFT_REPAIR_RECORD || finding->repair == DRIFT_REPAIR_RENAME ||
	       finding->kind == DRIFT_MARK || finding->kind == DRIFT_OVERRIDE;
}

static void look_for_drift(Look *l)
{
	const DriftFacts facts = {
		.snapshot = l->seen->inventory->snapshot,
		.groups = l->seen->inventory->groups,
		.uses = l->seen->uses,
		.assignments = l->seen->assignments,
		.inspection = l->seen->inspection,
		.host_key = l->place->host_key,
		.n_nodes = l->seen->inventory->facts ? l->seen->inventory->facts->n_nodes : 0,
	};
	_cleanup_(drift_freep) Drift *drift = NULL;

	drift = drift_find(&facts);
	EACH (const DriftFinding, found, drift->items, drift->n_items) {
		/* look_at_files() tells of what cannot be read. */
		if (found->kind == DRIFT_UNREAD)
			continue;
		finding_add(&l->drift, is_of_the_books(found) ? FINDING_WARN : FINDING_FAIL,
			    found->group, "%s", found->what);
		finding_remedy(&l->drift, "%s", found->remedy);
	}
}

/* A job puts functions into a domain one after another. */
static void look_for_split(Look *l)
{
	_cleanup_(fence_report_freep) FenceReport *report = NULL;

	if (!l->seen->uses)
		return;
	report = fence_report(l->seen->inventory->groups, l->seen->uses, l->seen->assignments);
	EACH (const FenceFinding, found, report->items, report->n_items) {
		if (!found->split || strv_contains(l->busy, found->group))
			continue;
		finding_fail(&l->split, found->group, "%s", found->what);
		finding_remedy(&l->split, "%s", found->remedy);
	}
}

/* Its group's name, or the address of a board that is in none. */
static const char *object_of(const Look *l, const Bdf *bdf)
{
	const Group *group = group_set_find_gpu(l->seen->inventory->groups, bdf);

	return group ? group->name : BDF_TEXT(bdf);
}

/* Evidence of boards that have been replaced since. */
static void look_for_stale_evidence(Look *l)
{
	const Evidence *evidence = l->seen->inventory->identities->evidence;

	EACH_IN (const Sighting, s, evidence, items) {
		_cleanup_free_ char *why = NULL, *when = NULL;

		/* A guest's word ends with its domain's term: no finding. */
		if (!sighting_is_look(s))
			continue;
		why = sighting_stale(evidence, s, l->seen->inventory->gpus);
		if (!why)
			continue;
		when = utc_text(s->seen_usec);
		finding_warn(&l->evidence, object_of(l, &s->bdf),
			     "what was seen of the links of %s (%s, %s) does not count: %s",
			     BDF_TEXT(&s->bdf), str_or_empty(s->source), when, why);
		finding_remedy(&l->evidence, "gpupass probe");
	}
}

static bool is_free(const Look *l, const Gpu *gpu)
{
	for (size_t i = 0; i < gpu->n_functions; i++) {
		size_t at = 0;

		if (assignments_find_function(l->seen->assignments, &gpu->functions[i]->bdf) ||
		    (l->seen->uses &&
		     domain_uses_holding(l->seen->uses, &gpu->functions[i]->bdf, &at)))
			return false;
	}
	return true;
}

static void tell_tenant(Look *l, const Gpu *gpu, const Tenancy *tenancy)
{
	_cleanup_free_ char *tenant =
		tenancy_tenant_text(tenancy->domain_uuid, tenancy->domain_name);
	const Bdf *bdf = &gpu->lead->bdf;

	if (tenancy->source == TENANCY_FAULT) {
		finding_fail(&l->tenant, object_of(l, bdf), "who used %s last is not known: %s",
			     BDF_TEXT(bdf), str_or_empty(tenancy->why));
		finding_remedy(&l->tenant,
			       "the next assign resets the board and writes its mark anew");
	} else {
		finding_warn(&l->tenant, object_of(l, bdf),
			     "%s was last used by %s, and there was no way to reset it: no other "
			     "domain gets it",
			     BDF_TEXT(bdf), tenant);
		finding_remedy(&l->tenant, "power the host off and on, then as root: gpupass "
					   "assign --accept-dirty DOMAIN GROUP");
	}
}

/* What keeps the next domain from a board, and an assign does not repair by itself. */
static void look_for_tenants(Look *l)
{
	const GpuSet *gpus = l->seen->inventory->gpus;
	const TenancyFacts facts = { .gpus = gpus,
				     .assignments = l->seen->assignments,
				     .uses = l->seen->uses,
				     .tenants = l->seen->tenants };

	for (size_t i = 0; i < gpus->n_gpus; i++) {
		const Tenancy tenancy = tenancy_of(&facts, &gpus->gpus[i]);

		/* look_at_files() tells of a file that cannot be used. */
		if ((tenancy.source == TENANCY_FAULT &&
		     !tenants_fault(l->seen->tenants, &gpus->gpus[i].lead->bdf)) ||
		    (tenancy.state == TENANT_DIRTY && tenancy.no_method &&
		     is_free(l, &gpus->gpus[i])))
			tell_tenant(l, &gpus->gpus[i], &tenancy);
	}
}

static void look_at_resets(Look *l)
{
	const GpuSet *gpus = l->seen->inventory->gpus;

	if (!l->place->receipts)
		return;
	l->resets = xcalloc(gpus->n_gpus + 1, sizeof(LastReset));
	for (; l->n_resets < gpus->n_gpus; l->n_resets++)
		l->resets[l->n_resets].bdf = gpus->gpus[l->n_resets].lead->bdf;
	/* What cannot be read leaves them not known. */
	receipt_store_last(l->place->receipts, l->resets, l->n_resets);
}

/* ---- the files of our state ---- */

static void tell_faults(Look *l, const RecordFaults *faults)
{
	for (size_t i = 0; i < faults->n_items; i++) {
		_cleanup_free_ char *what = record_fault_what(&faults->items[i]);
		_cleanup_free_ char *so = record_fault_so(&faults->items[i]);

		finding_fail(&l->files, NULL, "%s: %s", what, so);
		finding_remedy(&l->files, "%s", record_fault_remedy(&faults->items[i]));
	}
}

static void tell_unwritable(Look *l, RecordStore *store)
{
	int r = records_writable(store);

	if (r == 0)
		return;
	finding_fail(&l->files, NULL, "%s cannot be written (%s): jobs that need it are refused",
		     store->kind->folder, strerror(-r));
	finding_remedy(&l->files, "see that its file system is mounted read-write and has space "
				  "left (df; dmesg)");
}

/* The claims tell of what is wrong with a quarantine's file. */
static void look_at_files(Look *l)
{
	const JobPlace *place = l->place;
	RecordStore *const written[] = { &place->store->records, place->store->kept,
					 place->receipts, place->tenants, place->quarantine };
	_cleanup_free_ char *disk = disk_watch_reason(place->disk);

	tell_faults(l, &l->seen->assignments->faults);
	if (l->seen->tenants)
		tell_faults(l, &l->seen->tenants->faults);
	for (size_t i = 1; i < 3; i++)
		if (written[i])
			records_read(written[i], NULL, NULL, &l->faults);
	if (place->topology)
		records_read(&place->topology->records, NULL, NULL, &l->faults);
	tell_faults(l, &l->faults);
	for (char *const *line = trail_faults(place->trail); line && *line; line++) {
		finding_fail(&l->files, NULL, "%s", *line);
		finding_remedy(&l->files,
			       "move away what is there, then: systemctl restart gpupassd");
	}
	for (size_t i = 0; i < ELEMENTS(written); i++)
		if (written[i])
			tell_unwritable(l, written[i]);
	if (!disk)
		return;
	finding_fail(&l->files, NULL, "%s: no job begins until it can be", disk);
	finding_remedy(&l->files, "see dmesg for that disk and mount -o remount,rw");
}

static char *make_capture(const Look *l, const CheckFacts *facts)
{
	_cleanup_free_ char *report = doctor_report(facts, l->request->symptom);
	const CaptureFacts capture = {
		.doctor = facts,
		.declarations = l->place->rules->declarations,
		.evidence = l->seen->inventory->identities->evidence,
	};

	return capture_to_json(&capture, report);
}

/* A capture has a number where there was no answer. The report in it has the words. */
static int number_of(int r)
{
	return r == PROBLEM ? -EREMOTEIO : r;
}

static char *make_report(const Look *l)
{
	const CheckFacts facts = {
		.snapshot = l->seen->inventory->snapshot,
		.gpus = l->seen->inventory->gpus,
		.groups = l->seen->inventory->groups,
		.uses = l->seen->uses,
		.uses_note = l->uses_note,
		.assignments = l->seen->assignments,
		.marks = l->seen->tenants,
		.policy = &l->place->rules->policy,
		.inspection = l->seen->inspection,
		.inspection_error = number_of(l->inspection_error),
		.inspection_problem = l->inspection_problem,
		.machine = l->seen->inventory->facts,
		.host = l->host,
		.host_error = number_of(l->host_error),
		.host_problem = l->host_problem,
		.health = l->health,
		.n_health = l->n_health,
		.resets = l->resets,
		.n_resets = l->n_resets,
		.busy = l->busy,
		.quarantined = l->quarantined,
		.clears = l->clears,
		.open_jobs = l->request->open_jobs,
		.settings = l->request->settings,
		.drift = &l->drift,
		.evidence = &l->evidence,
		.tenants = &l->tenant,
		.files = &l->files,
		.split = l->seen->uses ? &l->split : NULL,
		.fence_fault = l->fence_fault,
		.domain = l->seen->domain,
	};

	return l->request->capture ? make_capture(l, &facts)
				   : doctor_report(&facts, l->request->symptom);
}

int doctor_look(const JobPlace *place, const DoctorRequest *request, char **ret_report,
		GpuHealth **ret_health, size_t *ret_n, Problem **ret_problem)
{
	_cleanup_(look_clear) Look l = { .place = place,
					 .request = request,
					 .seen = xcalloc(1, sizeof(Prepared)) };
	int r;

	look_at_uses(&l);
	r = look_at_domain(&l, ret_problem);
	if (r == 0)
		l.seen->assignments = assignment_store_load(place->store);
	if (r == 0)
		r = look_at_groups(place, INSPECT_CONFIG_AWAKE, l.seen);
	if (r == 0) {
		look_at_all_claims(&l);
		look_at_health(&l);
		l.fence_fault = place->fence ? fence_store_check(place->fence) : NULL;
		look_closely(&l);
		look_for_drift(&l);
		look_for_split(&l);
		look_for_stale_evidence(&l);
		look_for_tenants(&l);
		look_at_resets(&l);
		look_at_files(&l);
		*ret_report = make_report(&l);
	}
	if (l.health) {
		*ret_health = TAKE_PTR(l.health);
		*ret_n = l.n_health;
		l.n_health = 0;
	}
	return r;
}
