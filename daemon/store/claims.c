/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/claims.h"

#include "util/mutex.h"
#include "util/text.h"
#include "util/xalloc.h"

/* Of so many claims that ended. A look that is older than all of them counts as stale. */
#define ENDED_MAX 256

typedef struct Claim Claim;
struct Claim {
	Claim *next _borrowed_;
	ClaimKind kind;
	uint32_t job; /* 0: a quarantine or a declaration */
	bool nvidia;
	char *group;	   /* NULL: a probe's, of GPUs of any group */
	char *domain_uuid; /* NULL: none */
	char *reason;	   /* of a quarantine */
	Bdf *functions;	   /* its own first, then those that it reaches besides */
	size_t n_own, n_functions;
	char *name;   /* of a quarantine: what clear calls it */
	char *file;   /* of a quarantine by a file that cannot be read; NULL: it is none */
	bool settled; /* with a file: its group was found */
};
LOCAL_FREE(Claim, claim_free)

struct Claims {
	pthread_mutex_t lock;
	Claim *first;
	uint64_t now;	    /* the number of the claim that ended last */
	uint64_t forgotten; /* of the last that is not remembered any more */
	uint64_t forgotten_declaration;
	Claim *ended[ENDED_MAX];
};

Claims *claims_free(Claims *claims)
{
	if (!claims)
		return NULL;
	while (claims->first) {
		Claim *next = claims->first->next;

		claim_free(claims->first);
		claims->first = next;
	}
	for (size_t i = 0; i < ENDED_MAX; i++)
		claim_free(claims->ended[i]);
	pthread_mutex_destroy(&claims->lock);
	free(claims);
	return NULL;
}

uint64_t claims_now(Claims *claims)
{
	MUTEX_HOLD(&claims->lock);

	return claims->now;
}

static bool is_quarantine(const Claim *claim)
{
	return claim->kind == CLAIM_QUARANTINE;
}

/* true: its functions are not known, so it may be about any function. */
static bool is_of_all(const Claim *claim)
{
	return claim->file && claim->n_functions == 0;
}

/* What a job only reaches may be in quarantine: the plan sees to that. */
static bool shares_function(const Claim *a, const Claim *b)
{
	bool own = is_quarantine(a);

	if (is_of_all(a) && b->n_functions > 0)
		return true;
	return SOME(a->functions, (own ? a->n_own : a->n_functions),
		    bdf_in(it, b->functions, own ? b->n_own : b->n_functions));
}

static bool meets(const Claim *a, const Claim *b)
{
	return shares_function(a, b) ||
	       (a->domain_uuid && str_equal(a->domain_uuid, b->domain_uuid));
}

/* All that it is known to be about is among these. */
static bool is_within(const Claim *claim, const Bdf *functions, size_t n)
{
	return !SOME(claim->functions, claim->n_functions, !bdf_in(it, functions, n)) &&
	       claim->n_functions > 0;
}

/* Quoted if a shell would split it into several words. */
static const char *quote(const Claim *claim)
{
	return strchr(claim->name, ' ') ? "'" : "";
}

static int conflict_quarantine(const Claim *held, Problem **ret_problem)
{
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_QUARANTINED,
		.reason =
			is_of_all(held)
				? xstrdup("every group is quarantined: what a file keeps apart cannot be read")
				: strf("%s is quarantined", held->group ? held->group : "it"),
		.cause = xstrdup(held->reason),
		.remedy = strf("%s: gpupass clear %s%s%s%s",
			       held->file ? "see what it says and what the GPUs are doing (gpupass "
					    "doctor); then"
					  : "when its cause is gone",
			       quote(held), held->name, quote(held),
			       held->file ? ", which sets the file aside" : ""));
}

static int conflict(const Claim *held, Problem **ret_problem)
{
	if (is_quarantine(held))
		return conflict_quarantine(held, ret_problem);
	if (held->kind == CLAIM_DECLARATION)
		return problem_refuse(
			ret_problem, GPUPASS_ERROR_GROUP_BUSY,
			.reason = strf("%s is being declared or forgotten right now", held->group),
			.remedy = xstrdup("try again"));
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_GROUP_BUSY,
		.reason = held->kind == CLAIM_PROBE
				  ? strf("job %u probes the links and has the GPUs open", held->job)
				  : strf("job %u has %s in hand", held->job, held->group),
		.remedy = strf("wait for it (gpupass jobs %u), then try again", held->job));
}

/* To a claim that reaches nothing besides its own. */
static void add_own(Claim *claim, const Bdf *functions, size_t n)
{
	claim->functions = xreallocarray(claim->functions, claim->n_own + n, sizeof(Bdf));
	for (size_t i = 0; i < n; i++)
		if (!bdf_in(&functions[i], claim->functions, claim->n_own))
			claim->functions[claim->n_own++] = functions[i];
	claim->n_functions = claim->n_own;
}

static Claim *claim_new(const ClaimRequest *request)
{
	const Footprint *footprint = request->footprint;
	Claim *claim = xmalloc(sizeof(Claim));

	*claim = (Claim){
		.kind = request->kind,
		.job = request->job,
		.nvidia = request->nvidia,
		.group = xstrdup(request->group),
		.functions = xmemdup(footprint->functions, footprint->n_functions * sizeof(Bdf)),
		.n_own = footprint->n_own,
		.n_functions = footprint->n_functions,
		.domain_uuid = xstrdup(request->domain_uuid),
	};
	return claim;
}

static Claim *quarantine_new(const char *group, const Bdf *functions, size_t n,
			     const char *domain_uuid, const char *reason)
{
	const Footprint footprint = {
		.functions = (Bdf *)functions,
		.n_own = n,
		.n_functions = n,
	};
	Claim *claim = claim_new(&(ClaimRequest){
		.kind = CLAIM_QUARANTINE,
		.group = group,
		.footprint = &footprint,
		.domain_uuid = domain_uuid,
	});

	claim->name = xstrdup(str_or_empty(group));
	claim->reason = xstrdup(reason);
	return claim;
}

/* With the lock. */
static void add(Claims *claims, Claim *claim)
{
	claim->next = claims->first;
	claims->first = claim;
}

/* ---- what ended ---- */

/*
 * Takes the claim. What it gave to nvidia, a probe that runs may open from now on: whoever wants to
 * take it from the driver again waits for the probe.
 */
static void remember(Claims *claims, Claim *claim)
{
	Claim **place = &claims->ended[++claims->now % ENDED_MAX];

	if (*place)
		claims->forgotten = claims->now - ENDED_MAX;
	if (*place && (*place)->kind == CLAIM_DECLARATION)
		claims->forgotten_declaration = claims->forgotten;
	claim_free(*place);
	*place = claim;
	claim->next = NULL;
	for (Claim *held = claims->first; claim->nvidia && held; held = held->next)
		if (held->kind == CLAIM_PROBE)
			add_own(held, claim->functions, claim->n_own);
}

/* A probe's look is about all GPUs of nvidia, so a job that gave it some counts, whatever it saw. */
static bool is_stale_for(const Claim *ended, const Claim *wanted)
{
	return (ended->nvidia && wanted->kind == CLAIM_PROBE) || meets(ended, wanted);
}

/* declared: only declarations count. What is not remembered counts. */
static bool has_ended(const Claims *claims, uint64_t since, const Claim *wanted, bool declared)
{
	if (since < (declared ? claims->forgotten_declaration : claims->forgotten))
		return true;
	if (since < claims->forgotten)
		since = claims->forgotten;
	while (since < claims->now) {
		const Claim *ended = claims->ended[++since % ENDED_MAX];

		if ((!declared || ended->kind == CLAIM_DECLARATION) && is_stale_for(ended, wanted))
			return true;
	}
	return false;
}

bool claims_is_stale(Claims *claims, uint64_t since, const Bdf *function)
{
	const Claim wanted = { .functions = (Bdf *)function, .n_own = 1, .n_functions = 1 };
	MUTEX_HOLD(&claims->lock);

	return has_ended(claims, since, &wanted, false);
}

/* ---- taking ---- */

/*
 * What is stuck may be given another name, or none: its quarantine is about the functions. Its files
 * are of the name: a job on another group that has that by now would replace or lift it.
 */
static bool keeps_away(const Claim *held, const Claim *wanted)
{
	bool named = held->group && str_equal(held->group, wanted->group);

	if (wanted->kind == CLAIM_DECLARATION && is_quarantine(held))
		return false;
	if (named && (wanted->kind == CLAIM_DECLARATION) == (held->kind == CLAIM_DECLARATION))
		return true;
	return meets(held, wanted) || (held->nvidia && wanted->kind == CLAIM_PROBE);
}

static int check_locked(const Claims *claims, const Claim *wanted, Problem **ret_problem)
{
	for (const Claim *held = claims->first; held; held = held->next)
		if (keeps_away(held, wanted))
			return conflict(held, ret_problem);
	return 0;
}

static int refuse_declared(const ClaimRequest *request, Problem **ret_problem)
{
	return problem_refuse(ret_problem, GPUPASS_ERROR_GROUP_BUSY,
			      .reason =
				      strf("%s was declared or forgotten just now", request->group),
			      .remedy = xstrdup("try again"));
}

int claims_take(Claims *claims, const ClaimRequest *request, Problem **ret_problem)
{
	_cleanup_(claim_freep) Claim *claim = claim_new(request);
	int r;
	MUTEX_HOLD(&claims->lock);

	if (request->kind == CLAIM_JOB && has_ended(claims, request->ruled, claim, true))
		return refuse_declared(request, ret_problem);
	if (has_ended(claims, request->looked, claim, false))
		return -ESTALE;
	r = check_locked(claims, claim, ret_problem);
	if (r == 0)
		add(claims, TAKE_PTR(claim));
	return r;
}

int claims_check(Claims *claims, const Bdf *functions, size_t n_functions, const char *domain_uuid,
		 Problem **ret_problem)
{
	const Claim wanted = {
		.domain_uuid = (char *)domain_uuid,
		.functions = (Bdf *)functions,
		.n_own = n_functions,
		.n_functions = n_functions,
	};
	MUTEX_HOLD(&claims->lock);

	return check_locked(claims, &wanted, ret_problem);
}

int claims_check_group(Claims *claims, const char *group, Problem **ret_problem)
{
	MUTEX_HOLD(&claims->lock);

	for (const Claim *held = claims->first; held; held = held->next)
		if (!is_quarantine(held) && str_equal(held->group, group))
			return conflict(held, ret_problem);
	return 0;
}

static int refuse_name(const Claim *held, const Bdf *other, Problem **ret_problem)
{
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_QUARANTINED,
		.reason = strf("a group of this name is quarantined%s%s",
			       other ? ", and was another one: it had " : "",
			       other ? BDF_TEXT(other) : ""),
		.cause = xstrdup(held->reason),
		.remedy = strf("take another name, or when the cause is gone: gpupass clear %s%s%s",
			       quote(held), held->name, quote(held)));
}

int claims_check_name(Claims *claims, const char *group, const Bdf *functions, size_t n,
		      Problem **ret_problem)
{
	MUTEX_HOLD(&claims->lock);

	for (const Claim *held = claims->first; held; held = held->next)
		if (is_quarantine(held) && str_equal(held->group, group) &&
		    !is_within(held, functions, n))
			return refuse_name(
				held,
				FIND(held->functions, held->n_functions, !bdf_in(it, functions, n)),
				ret_problem);
	return 0;
}

/* With the lock. */
static bool drop(Claims *claims, bool (*goes)(const Claim *claim, const void *what),
		 const void *what)
{
	bool any = false;

	for (Claim **at = &claims->first; *at;) {
		Claim *claim = *at;

		if (!goes(claim, what)) {
			at = &claim->next;
			continue;
		}
		*at = claim->next;
		remember(claims, claim);
		any = true;
	}
	return any;
}

static bool is_of_job(const Claim *claim, const void *job)
{
	return (claim->kind == CLAIM_JOB || claim->kind == CLAIM_PROBE) &&
	       claim->job == *(const uint32_t *)job;
}

bool claims_release(Claims *claims, uint32_t job)
{
	MUTEX_HOLD(&claims->lock);

	return drop(claims, is_of_job, &job);
}

static bool is_declaration_of(const Claim *claim, const void *group)
{
	return claim->kind == CLAIM_DECLARATION && str_equal(claim->group, group);
}

void claims_release_declaration(Claims *claims, const char *group)
{
	MUTEX_HOLD(&claims->lock);

	drop(claims, is_declaration_of, group);
}

/* What the job only reached is no part of it. */
void claims_quarantine(Claims *claims, uint32_t job, const char *reason)
{
	MUTEX_HOLD(&claims->lock);

	for (Claim *claim = claims->first; claim; claim = claim->next)
		if (is_of_job(claim, &job))
			add(claims, quarantine_new(claim->group, claim->functions, claim->n_own,
						   NULL, reason));
	drop(claims, is_of_job, &job);
}

static bool is_quarantine_of(const Claim *claim, const void *of)
{
	return is_quarantine(claim) && str_equal(claim->file ? claim->file : claim->group, of);
}

void claims_add_quarantine(Claims *claims, const char *group, const Bdf *functions,
			   size_t n_functions, const char *domain_uuid, const char *reason)
{
	MUTEX_HOLD(&claims->lock);

	drop(claims, is_quarantine_of, group);
	add(claims, quarantine_new(group, functions, n_functions, domain_uuid, reason));
}

void claims_lift(Claims *claims, const char *of)
{
	MUTEX_HOLD(&claims->lock);

	drop(claims, is_quarantine_of, of);
}

int claims_find_quarantine(Claims *claims, const char *name, char **ret_file, Bdf **ret,
			   size_t *ret_n)
{
	const Claim *found = NULL;
	MUTEX_HOLD(&claims->lock);

	for (const Claim *claim = claims->first; claim; claim = claim->next)
		if (is_quarantine(claim) && str_equal(claim->name, name) &&
		    (!found || (claim->file && !found->file)))
			found = claim;
	if (found) {
		*ret = xmemdup(found->functions, found->n_functions * sizeof(Bdf));
		*ret_n = found->n_functions;
		*ret_file = xstrdup(found->file);
	}
	return found ? 0 : -ENOENT;
}

/* ---- by files that cannot be read ---- */

/* Makes the name printable on the bus, and safe between apostrophes in a shell. */
static char *name_of(const char *path)
{
	char *name = str_printable(path);

	for (char *c = name; *c; c++)
		if (*c == '\'')
			*c = '?';
	return name;
}

void claims_add_fault(Claims *claims, const RecordFault *fault)
{
	_cleanup_free_ char *base = xstrndup(fault->file, strcspn(fault->file, "."));
	_cleanup_free_ char *what = record_fault_what(fault);
	_cleanup_free_ char *why = strf(
		"%s%s", what, *fault->file ? "" : "; once it can be: systemctl restart gpupassd");
	Claim *claim = quarantine_new(fault->group, fault->functions, fault->n_functions,
				      fault->domain_uuid, why);

	claim->file = strf("%s/%s", fault->kind->folder, fault->file);
	if (!str_equal(base, fault->group)) {
		free(claim->name);
		claim->name = name_of(claim->file);
	}
	MUTEX_HOLD(&claims->lock);
	add(claims, claim);
}

static void settle(Claim *claim, const GroupSet *groups)
{
	const Group *group = claim->group ? group_set_find(groups, claim->group) : NULL;
	_cleanup_free_ Bdf *functions = NULL;
	size_t n = 0;

	if (group)
		functions = group_addresses(group, &n);
	if (n == 0)
		return;
	add_own(claim, functions, n);
	claim->settled = true;
}

void claims_settle(Claims *claims, const GroupSet *groups)
{
	MUTEX_HOLD(&claims->lock);

	for (Claim *claim = claims->first; claim; claim = claim->next)
		if (claim->file && !claim->settled)
			settle(claim, groups);
}

char *claims_file_of(Claims *claims, const Bdf *functions, size_t n)
{
	MUTEX_HOLD(&claims->lock);

	for (const Claim *claim = claims->first; claim; claim = claim->next)
		if (claim->file && is_within(claim, functions, n))
			return xstrdup(claim->file);
	return NULL;
}

void claims_note_files(Claims *claims, char ***notes)
{
	MUTEX_HOLD(&claims->lock);

	for (const Claim *claim = claims->first; claim; claim = claim->next)
		if (claim->file)
			strv_appendf(notes,
				     "%s: %s; when the cause is gone: gpupass clear %s%s%s, "
				     "which sets it aside",
				     claim->reason,
				     is_of_all(claim) ? "every group is quarantined"
						      : "its group is quarantined",
				     quote(claim), claim->name, quote(claim));
}

void claims_count(Claims *claims, size_t *ret_jobs, size_t *ret_quarantines)
{
	MUTEX_HOLD(&claims->lock);

	*ret_jobs = *ret_quarantines = 0;
	for (const Claim *claim = claims->first; claim; claim = claim->next)
		*(is_quarantine(claim) ? ret_quarantines : ret_jobs) += 1;
}

char *claims_quarantine_names(Claims *claims)
{
	_cleanup_strv_ char **names = NULL;
	MUTEX_HOLD(&claims->lock);

	for (const Claim *claim = claims->first; claim; claim = claim->next)
		if (is_quarantine(claim))
			strv_append(&names, claim->name);
	return strv_join(names, ", ");
}

/* ---- what is quarantined ---- */

/* Prefers a quarantine that names the function to one that only may be about it. */
static const Claim *quarantine_of(const Claims *claims, const Bdf *function)
{
	const Claim *all = NULL;

	for (const Claim *claim = claims->first; claim; claim = claim->next) {
		if (is_quarantine(claim) && bdf_in(function, claim->functions, claim->n_functions))
			return claim;
		if (is_of_all(claim))
			all = claim;
	}
	return all;
}

char *claims_quarantine_reason(Claims *claims, const Bdf *function, char **ret_name)
{
	MUTEX_HOLD(&claims->lock);
	const Claim *claim = quarantine_of(claims, function);

	if (claim && ret_name)
		*ret_name = strf("%s%s%s", quote(claim), claim->name, quote(claim));
	if (claim)
		return xstrdup(claim->reason ? claim->reason : "a job could not be undone");
	return NULL;
}

bool claims_quarantined_itself(Claims *claims, const Bdf *function)
{
	MUTEX_HOLD(&claims->lock);
	const Claim *claim = quarantine_of(claims, function);

	return claim && !is_of_all(claim);
}

#include "claims.inc"
