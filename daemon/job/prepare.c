/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/prepare.h"

#include "core/group/observe.h"
#include "job/guest-exit.h"
#include "job/select.h"
#include "job/steps.h"
#include "util/clock.h"
#include "util/xalloc.h"

int look_at_groups(const JobPlace *place, InspectConfig most, Prepared *p)
{
	int r = inventory_take(place->host, place->rules, p->assignments, place->known, most,
			       &p->inventory);

	if (r < 0)
		return r;
	claims_settle(place->claims, p->inventory->groups);
	vf_watch_settle(place->vfs, p->inventory->groups, true);
	p->tenants = place->tenants ? tenant_store_load(place->tenants) : NULL;
	groups_observe(p->inventory->groups, p->uses, p->assignments, p->tenants,
		       &place->rules->policy);
	return 0;
}

int prepare_look(const JobPlace *place, InspectConfig most, bool fresh, Prepared *p,
		 Problem **ret_problem)
{
	int r;

	p->assignments = assignment_store_load(place->store);
	r = place->host->ops->domain_uses(place->host, fresh, &p->uses, ret_problem);
	return r == 0 ? look_at_groups(place, most, p) : r;
}

static int make_plan(const JobPlace *place, Prepared *p, Problem **ret_problem)
{
	const PlanFacts facts = prepared_facts(p, place);

	return plan_make(&p->request, &facts, &p->plan, ret_problem);
}

/*
 * true: read config space before the job, to see whether the functions answer. This wakes a device,
 * but a bind would wake it anyway. A release reads config space when it resets, and the receipt
 * says so. We leave alone what a running guest has.
 */
static bool wakes_functions(Operation operation)
{
	return operation == OPERATION_ASSIGN || operation == OPERATION_BIND ||
	       operation == OPERATION_UNBIND;
}

static bool moves_functions(Operation operation)
{
	return wakes_functions(operation) || operation == OPERATION_RELEASE ||
	       operation == OPERATION_RECONCILE || operation == OPERATION_PREPARE;
}

static InspectConfig most_config(const JobRequest *request)
{
	return request->plan.wakes_nothing ? INSPECT_CONFIG_AWAKE : INSPECT_CONFIG_ALL;
}

/*
 * A reconcile binds what has the serial number of the record, and wakes nothing under a guest. By
 * that of a prepare's NVMe its recovery knows what it has moved.
 */
static InspectConfig config_of(const JobRequest *request, const Prepared *p)
{
	bool reconciles =
		request->plan.operation == OPERATION_RECONCILE && !request->plan.only_record;

	if ((reconciles && p->domain && p->domain->active) ||
	    request->plan.operation == OPERATION_PREPARE)
		return INSPECT_CONFIG_AWAKE;
	return reconciles || wakes_functions(request->plan.operation) ? most_config(request)
								      : INSPECT_CONFIG_NOT;
}

/* What nvidia-persistenced has open has the mode on, whatever NVML says. */
static void note_kept(Prepared *p)
{
	EACH (GpuPersistence, gpu, p->persistence, p->n_persistence) {
		if (inspection_excuse(p->inspection, &gpu->bdf, gpu->kept_by))
			gpu->mode = PERSISTENCE_ON;
		else
			gpu->kept_by = 0;
	}
}

/* What a bind takes to vfio-pci now need not come back from there to be compared. */
static void note_nvmes(const JobPlace *place, const Prepared *p)
{
	EACH (const NvmeState, state, p->inspection->nvme_states, p->inspection->n_nvme_states) {
		const TenantFile *file = p->tenants ? tenants_find(p->tenants, &state->bdf) : NULL;
		_cleanup_strv_ char **lines = NULL;

		if (!file || !file->mark || file->mark->n_erases == 0)
			continue;
		nvme_changes_since(&file->mark->erases[0], NULL, state, &lines);
		vf_watch_note_nvme(place->vfs, &state->bdf, !state->unread && !lines);
	}
}

static int inspect_group(const JobPlace *place, const JobRequest *request, const Bdf *functions,
			 size_t n, Prepared *p, Problem **ret_problem)
{
	int r = inspect_past_exit(place->host, p->tenants, functions, n, config_of(request, p),
				  &p->inspection, ret_problem);

	if (r != 0)
		return r;
	trail_note_holders(place->trail, p->inspection);
	vf_watch_note(place->vfs, p->inspection->nics, p->inspection->n_nics);
	note_nvmes(place, p);
	note_kept(p);
	return 0;
}

static bool asks_persistence(const JobRequest *request)
{
	if (request->plan.wakes_nothing)
		return false; /* the plan has a warning about it */
	return request->plan.operation == OPERATION_ASSIGN ||
	       request->plan.operation == OPERATION_BIND ||
	       (request->plan.operation == OPERATION_RECONCILE && !request->plan.only_record);
}

/*
 * Comes before the inspection, which sees a worker that hangs in NVML as a holder like any other.
 * We do not ask about GPUs of other drivers: NVML takes seconds when no process has a GPU open.
 */
static void ask_persistence(const JobPlace *place, const JobRequest *request, Prepared *p)
{
	_cleanup_free_ Bdf *gpus = xcalloc(p->group->n_gpus + 1, sizeof(Bdf));
	size_t n = 0;

	for (size_t i = 0; asks_persistence(request) && i < p->group->n_gpus; i++)
		if (str_equal(p->group->gpus[i]->lead->driver, NVIDIA_DRIVER))
			gpus[n++] = p->group->gpus[i]->lead->bdf;
	if (n == 0)
		return;
	p->persistence = xcalloc(n, sizeof(GpuPersistence));
	host_persistence(place->host, gpus, n, p->persistence);
	p->n_persistence = n;
}

/* What a warning of the way between GPUs and NICs rests on; it refuses nothing. */
static void look_at_ways(const JobPlace *place, const JobRequest *request, Prepared *p)
{
	size_t n_gpus = p->group->n_gpus, n;
	_cleanup_free_ const PciFunction **leads =
		xcalloc(n_gpus + p->group->n_companions + 1, sizeof(*leads));

	for (size_t i = 0; i < n_gpus; i++)
		leads[i] = p->group->gpus[i]->lead;
	n = group_nics(p->group, leads + n_gpus);
	if (n == 0 || !place->health || !asks_persistence(request))
		return;
	p->n_health = n_gpus + n;
	health_look(place->health, place->host, leads, p->n_health, &p->health);
}

/* ---- whose the boards were ---- */

/*
 * A mark that cannot be overwritten: a domain that is given the board could not be marked as its
 * tenant. Refused before anything is written.
 */
static int check_mark(const Prepared *p, const Bdf *bdf, Problem **ret_problem)
{
	const RecordFault *fault = tenants_fault(p->tenants, bdf);

	if (!fault || (fault->what != RECORD_NEWER && !p->tenants->unread))
		return 0;
	return problem_refuse(ret_problem, GPUPASS_ERROR_GROUP_BUSY,
			      .reason = strf("who had %s last cannot be told", BDF_TEXT(bdf)),
			      .cause = record_fault_what(fault),
			      .remedy = xstrdup(record_fault_remedy(fault)));
}

/* Of whoever is given a board, or cleans it, which then needs a mark. */
static bool gives(const Prepared *p)
{
	Operation operation = p->request.operation;

	return operation == OPERATION_ASSIGN || operation == OPERATION_RECONCILE ||
	       operation == OPERATION_PREPARE || (operation == OPERATION_BIND && p->domain);
}

static int store_news(const JobPlace *place, const Prepared *p, const Gpu *gpu,
		      Problem **ret_problem)
{
	const TenancyFacts facts = {
		.tenants = p->tenants,
		.gpus = p->inventory->gpus,
		.assignments = p->assignments,
		.uses = p->uses,
	};
	const Tenancy tenancy = tenancy_of(&facts, gpu);
	_cleanup_(tenant_mark_clear) TenantMark mark = { 0 };
	int r;

	if (!tenancy_is_news(&tenancy))
		return 0;
	mark = tenancy_mark(&tenancy, gpu, p->request.now_usec);
	r = tenant_store_save(place->tenants, &mark, 1);
	return r < 0 ? tenant_not_stored(place, &mark.bdf, r, ret_problem) : 0;
}

/*
 * Reads all marks into p->tenants. `claimed`: the job has claimed the group; then news about its
 * boards is written to their marks before the plan decides by them. Does nothing without a store.
 */
static int tenant_look(const JobPlace *place, Prepared *p, bool claimed, Problem **ret_problem)
{
	_cleanup_free_ Gpu *boards = NULL;
	size_t n;
	int r = 0;

	if (!place->tenants)
		return 0;
	tenants_free(p->tenants);
	p->tenants = tenant_store_load(place->tenants);
	boards = group_boards(p->group, &n);
	for (size_t i = 0; r == 0 && gives(p) && i < n; i++)
		r = check_mark(p, &boards[i].lead->bdf, ret_problem);
	for (size_t i = 0; r == 0 && claimed && i < n; i++)
		r = store_news(place, p, &boards[i], ret_problem);
	return r;
}

/* ---- one look, and the next ---- */

/* What one look has shown that the next one has to do. */
typedef struct Attempt {
	bool fresh;   /* read all domains */
	bool closes;  /* close the fence */
	bool claimed; /* let go of that first */
	bool certain; /* nothing: what was refused rests on no domain */
} Attempt;

/* From here on no domain starts with it, until the job has ended and its end was seen. */
static int close_fence(const JobPlace *place, const Prepared *p, uint32_t job, const Bdf *functions,
		       size_t n, Problem **ret_problem)
{
	int r;

	if (!place->fence)
		return 0;
	r = fence_store_hold(place->fence, job, p->group->name, functions, n, now_realtime());
	if (r >= 0)
		return 0;
	return disk_watch_refuse(place->disk, "the fence", "fence.json", r, ret_problem);
}

/*
 * What the scan tells of functions. What is on vfio has the override that keeps it there. What it
 * does not know of NICs and VFs is no doubt yet: they are looked at before anything is written.
 */
static Inspection *inspection_of_scan(const Prepared *p)
{
	Inspection *inspection = xcalloc(1, sizeof(Inspection));
	size_t n;
	_cleanup_free_ const PciFunction **functions = group_functions(p->group, &n);

	inspection->vfio_pci = true;
	inspection->functions = xcalloc(n + 1, sizeof(FunctionFacts));
	inspection->nics = xcalloc(n + 1, sizeof(NicUse));
	for (; inspection->n_functions < n; inspection->n_functions++) {
		const PciFunction *f = functions[inspection->n_functions];
		const char *override = pci_function_on_vfio(f) ? f->driver : NULL;

		inspection->functions[inspection->n_functions] = (FunctionFacts){
			.bdf = f->bdf,
			.driver = xstrdup(f->driver),
			.driver_override = xstrdup(override),
			.device_minor = -1,
			.vpd_read = true,
		};
		inspection->nics[inspection->n_nics++] =
			(NicUse){ .bdf = f->bdf, .vf_read = true, .spoof_check = true };
	}
	return inspection;
}

/*
 * What is refused by the scan, the records and the domains is refused before the fence is closed:
 * that would refuse a start to the domain that has the group. *ret_writes: it seems to be more than
 * nothing that the job has to do.
 */
static int foresee(const JobPlace *place, Prepared *p, bool *ret_writes, Problem **ret_problem)
{
	int r;

	p->inspection = inspection_of_scan(p);
	r = make_plan(place, p, ret_problem);
	*ret_writes = r == 0 && p->plan->n_steps > 0;
	p->plan = plan_free(p->plan);
	p->inspection = inspection_free(p->inspection);
	return r;
}

/* The domains as they are now that the fence is closed. -ESTALE: another group is meant then. */
static int look_at_domains(const JobPlace *place, const JobRequest *request, Prepared *p,
			   Problem **ret_problem)
{
	_cleanup_(virt_domain_freep) VirtDomain *domain = TAKE_PTR(p->domain);
	const Group *group = p->group;
	int r;

	p->uses = domain_uses_free(p->uses);
	r = place->host->ops->domain_uses(place->host, true, &p->uses, ret_problem);
	if (r != 0)
		return r;
	groups_observe(p->inventory->groups, p->uses, p->assignments, p->tenants,
		       &place->rules->policy);
	r = select_group(place, request, p, ret_problem);
	if (r == 0 && (p->group != group || !p->domain != !domain ||
		       (domain && !str_equal(p->domain->uuid, domain->uuid))))
		r = -ESTALE;
	return r;
}

/*
 * Of a job that is to write: the fence is closed, and then everything that its first write goes by
 * is looked at once, however young what is known may be. The scan is not repeated: what it says of
 * these functions the inspection reads again.
 */
static int close_and_look(const JobPlace *place, const JobRequest *request, uint32_t job,
			  Attempt *attempt, const Bdf *functions, size_t n, Prepared *p,
			  Problem **ret_problem)
{
	_cleanup_(problem_freep) Problem *unstored = NULL;
	bool writes = false;
	int r = foresee(place, p, &writes, ret_problem);

	/* A domain that stands in the way may have used the boards. */
	if (r == PROBLEM && attempt->fresh)
		(void)tenant_look(place, p, true, &unstored);
	attempt->closes |= writes;
	if (r == 0)
		r = cancellation_check(place->cancel, ret_problem);
	if (r == 0 && attempt->closes)
		r = close_fence(place, p, job, functions, n, ret_problem);
	if (r != 0)
		return r;
	attempt->fresh = true;
	return look_at_domains(place, request, p, ret_problem);
}

static int prepare_once(const JobPlace *place, const JobRequest *request, uint32_t job,
			Attempt *attempt, Prepared *p, Problem **ret_problem)
{
	uint64_t looked = claims_now(place->claims);
	_cleanup_free_ Bdf *functions = NULL;
	size_t n = 0;
	int r = job_check_free(place, request, ret_problem);

	if (r == 0)
		r = cancellation_check(place->cancel, ret_problem);
	if (r == 0 && moves_functions(request->plan.operation))
		place->host->ops->expect_work(place->host, asks_persistence(request));
	if (r == 0)
		r = prepare_look(place, most_config(request), attempt->fresh, p, ret_problem);
	if (r == 0)
		r = cancellation_check(place->cancel, ret_problem);
	if (r == 0)
		r = select_group(place, request, p, ret_problem);
	if (r != 0)
		return r;
	functions = group_addresses(p->group, &n);
	r = job_claim(place, request, p, job, looked, ret_problem);
	attempt->claimed = r == 0 && job > 0;
	attempt->certain = r == PROBLEM;
	if (r == 0 && job > 0)
		r = close_and_look(place, request, job, attempt, functions, n, p, ret_problem);
	if (r == 0)
		r = tenant_look(place, p, job > 0, ret_problem);
	/* Each of these may wait for a worker. */
	if (r == 0)
		r = cancellation_check(place->cancel, ret_problem);
	if (r == 0)
		ask_persistence(place, request, p);
	if (r == 0)
		look_at_ways(place, request, p);
	if (r == 0)
		r = cancellation_check(place->cancel, ret_problem);
	if (r == 0)
		r = inspect_group(place, request, functions, n, p, ret_problem);
	if (r == 0)
		r = make_plan(place, p, ret_problem);
	/* An override was not what it seemed to be: once more, with the fence closed. */
	if (r == 0 && job > 0 && p->plan->n_steps > 0 && !attempt->closes) {
		attempt->closes = true;
		return -ESTALE;
	}
	return r;
}

char *prepare_prefix(const JobRequest *request, const Prepared *p)
{
	const char *group = p->group ? p->group->name : request->group;
	_cleanup_free_ char *both =
		p->domain ? domain_ref_text(p->domain->name, p->domain->uuid) : NULL;

	if (request->plan.operation == OPERATION_RELEASE && !p->group && !p->domain)
		group = request->target;
	return plan_prefix(request->plan.operation, group, both ? both : request->domain);
}

int prepare_too_busy(Problem **ret_problem)
{
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_GROUP_BUSY,
		.reason = xstrdup("other jobs ended each time that the host was looked at"),
		.remedy = xstrdup("try again when they are done: gpupass jobs"));
}

/* What others changed meanwhile; or a refusal by what may be so no more, if an event was lost. */
static bool is_to_be_repeated(int r, Attempt *attempt, Problem **problem)
{
	if (r != PROBLEM)
		return r == -ESTALE;
	if (attempt->fresh || attempt->certain || (*problem)->error == GPUPASS_ERROR_CANCELLED)
		return false;
	*problem = problem_free(*problem);
	attempt->fresh = true;
	return true;
}

int prepare(const JobPlace *place, const JobRequest *request, uint32_t job, Prepared **ret,
	    Problem **ret_problem, char **ret_prefix)
{
	const Prepared nothing = { 0 };
	/* Other machines than libvirt's are read each time. */
	Attempt attempt = { .fresh = place->rules->policy.domains != DOMAINS_LIBVIRT };

	for (unsigned looks = 0; looks < PREPARE_LOOKS_MAX; looks++) {
		_cleanup_(prepared_freep) Prepared *p = xcalloc(1, sizeof(Prepared));
		int r;

		p->request = request->plan;
		p->request.now_usec = now_realtime();
		p->caller = caller_identity_ref(request->caller);
		r = prepare_once(place, request, job, &attempt, p, ret_problem);
		if (is_to_be_repeated(r, &attempt, ret_problem)) {
			if (attempt.claimed)
				claims_release(place->claims, job);
			continue;
		}
		if (r == 0 || r == PROBLEM)
			*ret_prefix = prepare_prefix(request, p);
		if (r == 0)
			*ret = TAKE_PTR(p);
		return r;
	}
	*ret_prefix = prepare_prefix(request, &nothing);
	return prepare_too_busy(ret_problem);
}
