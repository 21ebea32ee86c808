/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Erasing the NVMes of a group between two tenants. Each is asked what it says of itself, before
 * and after: what is not as the receipt of its last erase has it was changed by a tenant, and is
 * for a person to judge. What a sanitize has begun goes on in the device, whatever becomes of the
 * job, the daemon or the host; the next prepare waits for its end, and begins its own.
 */

#include "job/steps.h"
#include "util/clock.h"
#include "util/text.h"
#include "util/xalloc.h"

/* How often it is asked how far it is: a crypto erase takes a moment, others an hour. */
#define POLL_FIRST_USEC (50 * USEC_PER_MSEC)
#define POLL_MOST_USEC (5 * USEC_PER_SEC)
/* The kernel resets a controller that does not answer. */
#define SILENT_MAX 3
/* One that is found idle, and not erased, is begun once more. */
#define BEGIN_MAX 2
/* An erase of an earlier job of which nothing is known. */
#define OLDER_USEC (7200 * USEC_PER_SEC)

#define NOT_ERASED "could not be erased"

typedef struct Erasing {
	StepContext *context;
	const Bdf *bdf;
	const TenantMark *mark;	   /* as it was; NULL: none that can be used */
	const TenantMark *tenants; /* the same, where what its domain left is on this NVMe */
	Inspection *seen;	   /* as it was looked at just before */
	const NvmeUse *use;	   /* in that */
	NvmeState before;	   /* what it said then */
	NvmeReceipt receipt;	   /* of this erase, once it has begun */
	uint64_t deadline;	   /* CLOCK_MONOTONIC */
	uint64_t poll_usec;
} Erasing;

static Host *host_of(const Erasing *e)
{
	return e->context->place->host;
}

/* ---- what is wrong ---- */

/* Takes the cause. */
static int refuse(const Erasing *e, const char *reason, char *cause, Problem **ret_problem)
{
	return problem_refuse(ret_problem, GPUPASS_ERROR_RESET_FAILED,
			      .reason = strf("%s %s", BDF_TEXT(e->bdf), reason), .cause = cause,
			      .remedy = strf("see nvme-cli, and dmesg | grep %s; then: gpupass "
					     "prepare %s",
					     BDF_TEXT(e->bdf), e->context->plan->group));
}

/* What nobody but a person can settle, whatever is put back. */
static int keep_apart(Erasing *e, const char *reason, char *cause, Problem **ret_problem)
{
	StepContext *c = e->context;

	free(c->apart);
	c->apart = strf("%s %s: %s", BDF_TEXT(e->bdf), reason, cause);
	free(c->note.text);
	c->note = (JobNote){ .kind = JOB_NOTE_RESET_FAILED,
			     .text = strf("%s: %s", c->plan->group, c->apart) };
	return refuse(e, reason, cause, ret_problem);
}

/* An answer that did not come, or says that it failed. */
static int failed(Erasing *e, int r, Problem **problem, Problem **ret_problem)
{
	char *cause = r == PROBLEM ? xstrdup((*problem)->cause) : xstrdup(strerror(-r));

	*problem = problem_free(*problem);
	return keep_apart(e, NOT_ERASED, cause ? cause : xstrdup("it is not known why"),
			  ret_problem);
}

static char *serial_cause(const char *is, const char *was)
{
	return strf("its serial number is %s, and was %s", str_or_empty(is), str_or_empty(was));
}

/* ---- waiting ---- */

/* Takes the detail. */
static void tell(StepContext *c, char *detail)
{
	if (!str_equal(c->detail, detail)) {
		free(c->detail);
		c->detail = TAKE_PTR(detail);
		if (c->tell)
			c->tell(c);
	}
	free(detail);
}

static int wait_a_moment(Erasing *e, char *detail, Problem **ret_problem)
{
	tell(e->context, detail);
	usleep((useconds_t)e->poll_usec);
	e->poll_usec = e->poll_usec < POLL_MOST_USEC / 2 ? 2 * e->poll_usec : POLL_MOST_USEC;
	return cancellation_check(e->context->place->cancel, ret_problem);
}

/* One that an earlier job has begun, and that a daemon's restart did not end. */
static int wait_for_older(Erasing *e, Problem **ret_problem)
{
	uint64_t deadline = now_monotonic() + OLDER_USEC;
	int r = 0;

	e->poll_usec = POLL_FIRST_USEC;
	while (r == 0 && host_of(e)->ops->worker_on(host_of(e), e->bdf) > 0)
		r = now_monotonic() < deadline
			    ? wait_a_moment(e,
					    strf("%s: what an earlier job began goes on",
						 BDF_TEXT(e->bdf)),
					    ret_problem)
			    : keep_apart(e, NOT_ERASED,
					 xstrdup("what an earlier job began does not end"),
					 ret_problem);
	return r;
}

/* Until what has begun is no longer in progress. */
static int wait_for_end(Erasing *e, NvmeEraseEnd *ret, Problem **ret_problem)
{
	unsigned silent = 0;
	int r = 0;

	for (*ret = NVME_ERASE_RUNS; r == 0 && *ret == NVME_ERASE_RUNS;) {
		_cleanup_(nvme_state_clear) NvmeState now = { 0 };
		_cleanup_(problem_freep) Problem *problem = NULL;
		unsigned permille = 0;

		if (now_monotonic() >= e->deadline)
			return keep_apart(e, NOT_ERASED, xstrdup("it did not end in time"),
					  ret_problem);
		r = host_nvme_state(host_of(e), e->bdf, &now, &problem);
		if (r != 0 && ++silent > SILENT_MAX)
			return failed(e, r, &problem, ret_problem);
		/* It was silent while somebody has put another one in. */
		if (r == 0 && now.serial && !str_equal(now.serial, e->before.serial))
			return keep_apart(e, NOT_ERASED, serial_cause(now.serial, e->before.serial),
					  ret_problem);
		if (r == 0) {
			silent = 0;
			*ret = nvme_erase_judge(&now, e->receipt.way);
			permille = nvme_erase_permille(&now);
		}
		r = 0;
		if (*ret == NVME_ERASE_RUNS)
			r = wait_a_moment(e, strf("%s: %u %%", BDF_TEXT(e->bdf), permille / 10),
					  ret_problem);
	}
	return r;
}

/* ---- one NVMe ---- */

static int begin_and_wait(Erasing *e, Problem **ret_problem)
{
	NvmeEraseEnd end = NVME_ERASE_DUE;
	int r = 0;

	for (unsigned i = 0; r == 0 && end == NVME_ERASE_DUE && i < BEGIN_MAX; i++) {
		_cleanup_(nvme_erase_clear) NvmeErase erase = { 0 };
		_cleanup_(problem_freep) Problem *problem = NULL;
		uint64_t now = now_monotonic();

		r = now < e->deadline
			    ? host_nvme_erase(host_of(e), e->bdf, e->receipt.way, e->before.serial,
					      e->deadline - now, &erase, &problem)
			    : -ETIMEDOUT;
		if (r != 0)
			return failed(e, r, &problem, ret_problem);
		if (erase.end == NVME_ERASE_FAILED)
			return keep_apart(e, NOT_ERASED, xstrdup(erase.why), ret_problem);
		end = erase.end;
		if (end == NVME_ERASE_RUNS)
			r = wait_for_end(e, &end, ret_problem);
		/* A format that an earlier job began has told nobody how it ended. */
	}
	if (r != 0 || end == NVME_ERASE_DONE)
		return r;
	return keep_apart(e, NOT_ERASED,
			  xstrdup(end == NVME_ERASE_FAILED
					  ? "the controller says that its sanitize has failed"
					  : "the controller does not say that it is erased"),
			  ret_problem);
}

static const PciFunction *function_of(const Erasing *e)
{
	return pci_snapshot_find(e->context->prepared->inventory->snapshot, e->bdf);
}

/* Why it is another one than the mark is of; NULL: it is that one, as far as it is known. */
static char *other_cause(const Erasing *e, const NvmeState *is)
{
	const TenantMark *mark = e->mark;
	const char *was = mark->n_erases > 0 ? mark->erases[0].state.serial : mark->begun_serial;
	const PciFunction *function = function_of(e);

	if (mark->n_erases == 0 && !was)
		return NULL;
	if (!str_equal(was, is->serial))
		return serial_cause(is->serial, was);
	if (!PCI_SAME_IDS(e->mark, function))
		return strf("its PCI ids are %04x:%04x %04x:%04x, and were %04x:%04x %04x:%04x",
			    PCI_IDS(function), PCI_IDS(e->mark));
	return NULL;
}

static int check_users(const StepContext *c, const Inspection *now, Problem **ret_problem)
{
	PlanFacts facts = prepared_facts(c->prepared, c->place);

	facts.inspection = now;
	return plan_check_functions(&facts, &c->prepared->request, NULL, ret_problem);
}

/* What a tenant gave back was asked without its labels. This is no tenant's, but the host's. */
static int refuse_claims(const Erasing *e, Problem **ret_problem)
{
	const StepContext *c = e->context;
	_cleanup_free_ Bdf *functions = plan_addresses(c->plan);
	_cleanup_(inspection_freep) Inspection *now = NULL;
	int r = host_inspect_marked(host_of(e), &(Tenants){ 0 }, functions, c->plan->n_functions,
				    INSPECT_CONFIG_NOT, &now, ret_problem);

	return r == 0 ? check_users(c, now, ret_problem) : r;
}

/*
 * No tenant has changed what is another device: somebody has put it in, with what is on it, or the
 * numbers of the buses have moved. Nor has one written on what was clean. Erase= allowed what was at
 * this address when it was written. So of anything else a person has to ask. Takes the cause.
 */
static int judge_other(const Erasing *e, const char *reason, char *cause, Problem **ret_problem)
{
	const StepContext *c = e->context;
	_cleanup_free_ char *why = cause;
	const char *group = c->plan->group;

	if (c->prepared->group->erase && !c->prepared->request.unasked)
		return refuse_claims(e, ret_problem);
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_HOST_IN_USE,
		.reason = strf("%s %s", BDF_TEXT(e->bdf), reason), .cause = TAKE_PTR(why),
		.remedy = c->prepared->group->erase
				  ? strf("if nothing on it is needed: gpupass prepare %s", group)
				  : strf("if nothing on it is needed: gpupass forget %s, declare "
					 "it again with --erase, then: gpupass prepare %s",
					 group, group));
}

static bool is_clean(const Erasing *e)
{
	return e->mark && e->mark->state == TENANT_CLEAN && e->mark->n_erases > 0;
}

/* A clean one that was on vfio-pci, and of which only that had to be known. */
static bool is_as_erased(const Erasing *e, const NvmeState *now)
{
	_cleanup_strv_ char **lines = NULL;

	if (is_clean(e))
		nvme_changes_since(&e->mark->erases[0], e->use, now, &lines);
	return is_clean(e) && !now->unread && !lines;
}

/* Nothing was begun where this refuses. */
static int judge_before(Erasing *e, const NvmeState *state, Problem **ret_problem)
{
	const NvmeState *was = e->mark && e->mark->n_erases > 0 ? &e->mark->erases[0].state : NULL;
	_cleanup_strv_ char **lines = NULL, **reasons = NULL;
	char *other = e->mark ? other_cause(e, state) : NULL;
	int r = 0;

	if (other)
		r = judge_other(e,
				was ? "is another NVMe than was erased last"
				    : "is another NVMe than was begun to be erased",
				other, ret_problem);
	else if (e->mark && e->mark->state == TENANT_DIRTY && PCI_SAME_IDS(e->mark, function_of(e)))
		e->tenants = e->mark;
	if (was && !other)
		nvme_state_differences(was, state, &lines);
	if (lines && e->tenants && !e->tenants->cleared)
		r = keep_apart(e, "is not as it was erased last", strv_join(lines, "; "),
			       ret_problem);
	/* What is not as it was on a clean one, no tenant has changed. */
	if (r == 0 && !other && is_clean(e))
		r = judge_other(e, "is not known to be as it was erased",
				lines ? strv_join(lines, "; ") : NULL, ret_problem);
	if (r != 0)
		return r;
	e->receipt.way = nvme_erase_choose(state, &reasons);
	if (e->receipt.way == NVME_WAY_NONE)
		return refuse(e, "cannot be erased", strv_join(reasons, "; "), ret_problem);
	e->deadline = now_monotonic() + nvme_erase_limit_sec(state, e->receipt.way) * USEC_PER_SEC;
	return 0;
}

static int judge_after(Erasing *e, const NvmeState *before, Problem **ret_problem)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_strv_ char **lines = NULL;
	int r = host_nvme_state(host_of(e), e->bdf, &e->receipt.state, &problem);

	if (r != 0)
		return failed(e, r, &problem, ret_problem);
	nvme_state_differences(before, &e->receipt.state, &lines);
	nvme_state_faults(&e->receipt.state, &lines);
	return lines ? keep_apart(e, "was erased, and is not fit for a tenant",
				  strv_join(lines, "; "), ret_problem)
		     : 0;
}

static void note_erased(const Erasing *e)
{
	StepContext *c = e->context;
	_cleanup_free_ char *before = c->note.text;

	c->note = (JobNote){
		.kind = JOB_NOTE_RESET,
		.text = strf("%s%s%s: %s was erased by %s in %llu s", str_or_empty(before),
			     before ? "; " : "", c->plan->group, BDF_TEXT(e->bdf),
			     nvme_way_to_string(e->receipt.way),
			     (unsigned long long)((e->receipt.ended_usec - e->receipt.begun_usec) /
						  USEC_PER_SEC)),
	};
}

/*
 * Its mark and the receipt are one file: neither can be without the other. From before the erase
 * begins until it has ended it is dirty, also where the host has written on a clean one, or it is
 * another one: half an erase may leave the rest of that behind, and no label to see it by. That is
 * no domain's, and nothing of it is for a person to judge.
 */
static int save_mark(const Erasing *e, TenantState state, Problem **ret_problem)
{
	bool clean = state == TENANT_CLEAN, begun = !clean && (!e->mark || e->mark->begun);
	const StepContext *c = e->context;
	const PciFunction *function = function_of(e);
	_cleanup_free_ char *why = clean ? strf("erased: %s", nvme_way_to_string(e->receipt.way))
					 : xstrdup("its erase has begun");
	const TenantMark mark = {
		.bdf = *e->bdf,
		PCI_IDS_OF(function),
		.state = state,
		.domain_uuid = e->tenants ? e->tenants->domain_uuid : NULL,
		.domain_name = e->tenants ? e->tenants->domain_name : NULL,
		.since_usec = now_realtime(),
		.why = why,
		.erases = clean	    ? (NvmeReceipt *)&e->receipt
			  : e->mark ? e->mark->erases
				    : NULL,
		.n_erases = clean     ? 1
			    : e->mark ? e->mark->n_erases
				      : 0,
		.begun = begun,
		.begun_serial = begun ? e->before.serial : NULL,
		.cleared = !clean,
	};
	int r = tenant_store_save(c->place->tenants, &mark, 1);

	return r < 0 ? tenant_not_stored(c->place, e->bdf, r, ret_problem) : 0;
}

/*
 * Before the host's driver gets one that nobody knows: by its mark udev hides what is on it
 * (59-gpupass-nvme.rules). Of one that this driver has already udev has seen all.
 */
static int hide(Erasing *e, Problem **ret_problem)
{
	return e->mark || str_equal(function_of(e)->driver, NVME_DRIVER)
		       ? 0
		       : save_mark(e, TENANT_DIRTY, ret_problem);
}

/* ---- who uses them ---- */

/* The first one that is to be erased, and of which the host does not have all yet; NULL: none. */
static const Bdf *find_unseen(const StepContext *c, const Inspection *now)
{
	const PlanFunction *f = FIND(
		c->plan->functions, c->plan->n_functions,
		it->erase && !nvme_use_is_whole(nvme_use_find(now->nvmes, now->n_nvmes, &it->bdf),
						nvme_state_find(now->nvme_states,
								now->n_nvme_states, &it->bdf)));

	return f ? &f->bdf : NULL;
}

static char *unseen_cause(const Bdf *bdf, const Inspection *now)
{
	const NvmeUse *use = nvme_use_find(now->nvmes, now->n_nvmes, bdf);

	return use && !str_equal(use->state, "live")
		       ? strf("its state is %s", use->state ? use->state : "not known")
		       : xstrdup("the host does not show all of its namespaces");
}

/* Looks until the host's driver, which has just got them, has all that may be used of them. */
static int look_when_whole(StepContext *c, Inspection **ret, Problem **ret_problem)
{
	uint64_t deadline = now_monotonic() + c->timeout_usec;
	Erasing e = { .context = c, .poll_usec = POLL_FIRST_USEC };
	int r;

	for (;;) {
		_cleanup_(inspection_freep) Inspection *now = NULL;

		r = step_inspect(c, &now, ret_problem);
		if (r != 0)
			return r;
		e.bdf = find_unseen(c, now);
		if (!e.bdf) {
			tell(c, plan_step_detail(c->plan, STEP_ERASE));
			*ret = TAKE_PTR(now);
			return 0;
		}
		if (now_monotonic() >= deadline)
			return refuse(&e, "does not come up on the host's driver",
				      unseen_cause(e.bdf, now), ret_problem);
		r = wait_a_moment(&e, strf("%s: it comes up", BDF_TEXT(e.bdf)), ret_problem);
		if (r != 0)
			return r;
	}
}

/*
 * Whoever uses one, now that the host's driver has it: whatever it is, it is not erased. Looked for
 * before each, as another one's erase may take hours.
 */
static int refuse_users(StepContext *c, Inspection **ret, Problem **ret_problem)
{
	int r = look_when_whole(c, ret, ret_problem);

	return r == 0 ? check_users(c, *ret, ret_problem) : r;
}

/* Who uses it, and what it says of itself. */
static int look(Erasing *e, Problem **ret_problem)
{
	int r;

	e->use = NULL;
	e->seen = inspection_free(e->seen);
	nvme_state_clear(&e->before);
	r = refuse_users(e->context, &e->seen, ret_problem);
	if (r == 0 && e->seen)
		e->use = nvme_use_find(e->seen->nvmes, e->seen->n_nvmes, e->bdf);
	return r == 0 ? host_nvme_state(host_of(e), e->bdf, &e->before, ret_problem) : r;
}

static int wait_for_running(Erasing *e, Problem **ret_problem)
{
	uint64_t limit = nvme_erase_limit_sec(&e->before, NVME_WAY_SANITIZE_BLOCK) * USEC_PER_SEC;
	NvmeEraseEnd end;

	e->deadline = now_monotonic() + (limit > OLDER_USEC ? limit : OLDER_USEC);
	e->poll_usec = POLL_FIRST_USEC;
	return wait_for_end(e, &end, ret_problem);
}

/*
 * A sanitize that runs already may be an earlier job's, or a tenant's own, of another kind. A
 * controller tells less of itself meanwhile than its receipt has: it is looked at behind that.
 */
static int look_when_done(Erasing *e, Problem **ret_problem)
{
	bool runs;
	int r;

	do {
		r = look(e, ret_problem);
		runs = r == 0 && nvme_erase_judge(&e->before, NVME_WAY_NONE) == NVME_ERASE_RUNS;
		if (runs)
			r = wait_for_running(e, ret_problem);
	} while (r == 0 && runs);
	return r;
}

static int erase_one(Erasing *e, Problem **ret_problem)
{
	int r = look_when_done(e, ret_problem);

	if (r == 0 && is_as_erased(e, &e->before))
		return 0;
	if (r == 0)
		r = judge_before(e, &e->before, ret_problem);
	if (r != 0)
		return r;
	e->receipt.begun_usec = now_realtime();
	e->poll_usec = POLL_FIRST_USEC;
	if (!e->tenants || (e->mark->begun && !e->mark->begun_serial))
		r = save_mark(e, TENANT_DIRTY, ret_problem);
	if (r == 0)
		r = begin_and_wait(e, ret_problem);
	e->receipt.ended_usec = now_realtime();
	if (r == 0)
		r = judge_after(e, &e->before, ret_problem);
	if (r == 0)
		r = save_mark(e, TENANT_CLEAN, ret_problem);
	if (r != 0)
		return r;
	note_erased(e);
	return 0;
}

/* It is where the host writes nothing on it, if it is kept. */
static int note_seen(Erasing *e, Problem **ret_problem)
{
	vf_watch_note_nvme(e->context->place->vfs, e->bdf, true);
	return 0;
}

/* ---- the step ---- */

/* Of all of them, which come and go. */
static int each(StepContext *c, int (*act)(Erasing *e, Problem **ret_problem),
		Problem **ret_problem)
{
	_cleanup_(tenants_freep) Tenants *tenants = tenant_store_load(c->place->tenants);
	int r = 0;

	for (size_t i = 0; r == 0 && i < c->plan->n_functions; i++) {
		const PlanFunction *f = &c->plan->functions[i];
		const TenantFile *file = tenants_find(tenants, &f->bdf);
		Erasing e = { .context = c, .bdf = &f->bdf };

		if (file && bdf_equal(&file->bdf, &f->bdf))
			e.mark = file->mark;
		if (f->erase)
			r = act(&e, ret_problem);
		nvme_receipt_clear(&e.receipt);
		nvme_state_clear(&e.before);
		inspection_free(e.seen);
	}
	return r;
}

static int erase(StepContext *c, Problem **ret_problem)
{
	int r = c->place->tenants ? each(c, wait_for_older, ret_problem) : -ENOSYS;

	if (r == 0)
		r = step_refuse_while_in_guest(c, ret_problem);
	if (r == 0)
		r = each(c, hide, ret_problem);
	if (r == 0)
		r = step_move(c, STEP_MOVE_ASIDE, ret_problem);
	if (r == 0)
		r = each(c, erase_one, ret_problem);
	free(c->detail);
	c->detail = plan_step_detail(c->plan, STEP_ERASE);
	if (r == 0)
		r = step_move(c, STEP_MOVE_ON, ret_problem);
	return r == 0 ? each(c, note_seen, ret_problem) : r;
}

/* A boot has set all drivers. Else somebody may have given one to a guest by hand meanwhile. */
static int put_back(StepContext *c, Problem **ret_problem)
{
	int r = 0;

	if (c->rebooted || step_drivers_are_back(c))
		return 0;
	r = step_refuse_while_in_guest(c, ret_problem);
	return r == 0 ? step_move(c, STEP_MOVE_BACK, ret_problem) : r;
}

static int check_clean(Erasing *e, Problem **ret_problem)
{
	if (is_clean(e))
		return 0;
	return refuse(e, "is not erased", NULL, ret_problem);
}

static int are_clean(StepContext *c, Problem **ret_problem)
{
	int r = c->place->tenants ? each(c, check_clean, ret_problem) : -ENOSYS;

	return r == 0 ? step_drivers_hold(c, ret_problem) : r;
}

const StepOps step_erase = {
	.act = erase,
	.undo = put_back,
	.holds = are_clean,
	.changes = STEP_CHANGES_FUNCTIONS,
	.shows = GROUP_UNREADY,
};
