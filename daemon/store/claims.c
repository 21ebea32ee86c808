/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/claims.h"

#include <pthread.h>
#include <string.h>

#include "util/text.h"
#include "util/xalloc.h"

typedef struct Claim Claim;
struct Claim {
	Claim *next;
	uint32_t job;	   /* 0: a quarantine */
	char *group;	   /* NULL: a probe's, of GPUs of any group */
	char *domain_uuid; /* NULL: none */
	char *reason;	   /* of a quarantine */
	Bdf *functions;
	size_t n_functions;
	char *file;   /* of a quarantine by a file that cannot be read; NULL: it is none */
	char *name;   /* with a file: what clear calls it */
	bool settled; /* with a file: its group was found */
};

struct Claims {
	pthread_mutex_t lock;
	Claim *first;
	uint64_t generation;
};

static Claim *claim_free(Claim *claim)
{
	if (!claim)
		return NULL;
	free(claim->group);
	free(claim->domain_uuid);
	free(claim->reason);
	free(claim->functions);
	free(claim->file);
	free(claim->name);
	free(claim);
	return NULL;
}
DEFINE_CLEANUP(Claim, claim_free)

Claims *claims_new(void)
{
	Claims *claims = xcalloc(1, sizeof(Claims));

	pthread_mutex_init(&claims->lock, NULL);
	return claims;
}

Claims *claims_free(Claims *claims)
{
	if (!claims)
		return NULL;
	while (claims->first) {
		Claim *next = claims->first->next;

		claim_free(claims->first);
		claims->first = next;
	}
	pthread_mutex_destroy(&claims->lock);
	free(claims);
	return NULL;
}

uint64_t claims_generation(Claims *claims)
{
	uint64_t generation;

	pthread_mutex_lock(&claims->lock);
	generation = claims->generation;
	pthread_mutex_unlock(&claims->lock);
	return generation;
}

/* true: its functions are not known, so it may be about any function. */
static bool is_of_all(const Claim *claim)
{
	return claim->file && claim->n_functions == 0;
}

static bool shares_function(const Claim *a, const Claim *b)
{
	if (is_of_all(a) && b->n_functions > 0)
		return true;
	for (size_t i = 0; i < a->n_functions; i++)
		if (bdf_in(&a->functions[i], b->functions, b->n_functions))
			return true;
	return false;
}

/* Quoted if a shell would split it into several words. */
static const char *quote(const Claim *claim)
{
	return strchr(claim->name, ' ') ? "'" : "";
}

static int conflict_unread(const Claim *held, Problem **ret_problem)
{
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_QUARANTINED,
		.reason =
			is_of_all(held)
				? xstrdup("every group is quarantined: what a file keeps apart cannot be read")
				: strf("%s is quarantined", held->group ? held->group : "it"),
		.cause = xstrdup(held->reason),
		.remedy = strf("see what it says and what the GPUs are doing (gpupass doctor); "
			       "then: gpupass clear %s%s%s, which sets the file aside",
			       quote(held), held->name, quote(held)));
}

static int conflict(const Claim *held, Problem **ret_problem)
{
	if (held->file)
		return conflict_unread(held, ret_problem);
	if (held->job == 0)
		return problem_refuse(
			ret_problem, GPUPASS_ERROR_QUARANTINED,
			.reason = strf("%s is quarantined", held->group),
			.cause = xstrdup(str_or_empty(held->reason)),
			.remedy = strf("when its cause is gone: gpupass clear %s", held->group));
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_GROUP_BUSY,
		.reason = held->group ? strf("job %u has %s in hand", held->job, held->group)
				      : strf("job %u probes the links and has the GPUs open",
					     held->job),
		.remedy = strf("wait for it (gpupass jobs %u), then try again", held->job));
}

static Bdf *copy_functions(const Bdf *functions, size_t n)
{
	Bdf *copy = xcalloc(n, sizeof(Bdf));

	if (n > 0)
		memcpy(copy, functions, n * sizeof(Bdf));
	return copy;
}

static Claim *claim_new(uint32_t job, const char *group, const Bdf *functions, size_t n_functions,
			const char *domain_uuid)
{
	Claim *claim = xmalloc(sizeof(Claim));

	*claim = (Claim){
		.job = job,
		.group = xstrdup(group),
		.functions = copy_functions(functions, n_functions),
		.n_functions = n_functions,
		.domain_uuid = xstrdup(domain_uuid),
	};
	return claim;
}

static int check_locked(const Claims *claims, const Claim *wanted, Problem **ret_problem)
{
	for (const Claim *held = claims->first; held; held = held->next)
		if (shares_function(held, wanted) ||
		    (held->domain_uuid && str_equal(held->domain_uuid, wanted->domain_uuid)))
			return conflict(held, ret_problem);
	return 0;
}

static int take_locked(Claims *claims, uint64_t generation, Claim **claim, Problem **ret_problem)
{
	int r;

	if (claims->generation != generation)
		return -ESTALE;
	r = check_locked(claims, *claim, ret_problem);
	if (r != 0)
		return r;
	(*claim)->next = claims->first;
	claims->first = TAKE_PTR(*claim);
	return 0;
}

int claims_take(Claims *claims, uint64_t generation, uint32_t job, const char *group,
		const Bdf *functions, size_t n_functions, const char *domain_uuid,
		Problem **ret_problem)
{
	_cleanup_(claim_freep) Claim *claim =
		claim_new(job, group, functions, n_functions, domain_uuid);
	int r;

	pthread_mutex_lock(&claims->lock);
	r = take_locked(claims, generation, &claim, ret_problem);
	pthread_mutex_unlock(&claims->lock);
	return r;
}

int claims_check(Claims *claims, const Bdf *functions, size_t n_functions, const char *domain_uuid,
		 Problem **ret_problem)
{
	const Claim wanted = {
		.domain_uuid = (char *)domain_uuid,
		.functions = (Bdf *)functions,
		.n_functions = n_functions,
	};
	int r;

	pthread_mutex_lock(&claims->lock);
	r = check_locked(claims, &wanted, ret_problem);
	pthread_mutex_unlock(&claims->lock);
	return r;
}

/* With the lock. */
static void drop(Claims *claims, bool (*goes)(const Claim *claim, const void *what),
		 const void *what)
{
	for (Claim **at = &claims->first; *at;) {
		Claim *claim = *at;

		if (!goes(claim, what)) {
			at = &claim->next;
			continue;
		}
		*at = claim->next;
		claim_free(claim);
	}
	claims->generation++;
}

static bool is_of_job(const Claim *claim, const void *job)
{
	return claim->job == *(const uint32_t *)job;
}

void claims_release(Claims *claims, uint32_t job)
{
	pthread_mutex_lock(&claims->lock);
	drop(claims, is_of_job, &job);
	pthread_mutex_unlock(&claims->lock);
}

void claims_quarantine(Claims *claims, uint32_t job, const char *reason)
{
	pthread_mutex_lock(&claims->lock);
	for (Claim *claim = claims->first; claim; claim = claim->next) {
		if (claim->job != job)
			continue;
		claim->job = 0;
		free(claim->domain_uuid);
		claim->domain_uuid = NULL;
		free(claim->reason);
		claim->reason = xstrdup(reason);
	}
	claims->generation++;
	pthread_mutex_unlock(&claims->lock);
}

static bool is_quarantine_of(const Claim *claim, const void *group)
{
	return claim->job == 0 && !claim->file && str_equal(claim->group, group);
}

void claims_add_quarantine(Claims *claims, const char *group, const Bdf *functions,
			   size_t n_functions, const char *domain_uuid, const char *reason)
{
	Claim *claim = claim_new(0, group, functions, n_functions, domain_uuid);

	claim->reason = xstrdup(reason);
	pthread_mutex_lock(&claims->lock);
	drop(claims, is_quarantine_of, group);
	claim->next = claims->first;
	claims->first = claim;
	pthread_mutex_unlock(&claims->lock);
}

void claims_lift(Claims *claims, const char *group)
{
	pthread_mutex_lock(&claims->lock);
	drop(claims, is_quarantine_of, group);
	pthread_mutex_unlock(&claims->lock);
}

int claims_quarantined(Claims *claims, const char *group, Bdf **ret, size_t *ret_n)
{
	int r = -ENOENT;

	pthread_mutex_lock(&claims->lock);
	for (const Claim *claim = claims->first; claim && r == -ENOENT; claim = claim->next)
		if (is_quarantine_of(claim, group)) {
			*ret = copy_functions(claim->functions, claim->n_functions);
			*ret_n = claim->n_functions;
			r = 0;
		}
	pthread_mutex_unlock(&claims->lock);
	return r;
}

/* ---- by files that cannot be read ---- */

void claims_add_unread(Claims *claims, const UnreadClaim *unread)
{
	Claim *claim = claim_new(0, unread->group, unread->functions, unread->n_functions,
				 unread->domain_uuid);

	claim->file = xstrdup(unread->file);
	claim->name = xstrdup(unread->name);
	claim->reason = xstrdup(unread->why);
	pthread_mutex_lock(&claims->lock);
	claim->next = claims->first;
	claims->first = claim;
	pthread_mutex_unlock(&claims->lock);
}

static void add_functions(Claim *claim, const Bdf *functions, size_t n)
{
	claim->functions = xreallocarray(claim->functions, claim->n_functions + n, sizeof(Bdf));
	for (size_t i = 0; i < n; i++)
		if (!bdf_in(&functions[i], claim->functions, claim->n_functions))
			claim->functions[claim->n_functions++] = functions[i];
	claim->settled = true;
}

void claims_settle_unread(Claims *claims, const char *group, const Bdf *functions, size_t n)
{
	pthread_mutex_lock(&claims->lock);
	for (Claim *claim = claims->first; claim; claim = claim->next)
		if (n > 0 && claim->file && !claim->settled && str_equal(claim->group, group))
			add_functions(claim, functions, n);
	pthread_mutex_unlock(&claims->lock);
}

int claims_find_unread(Claims *claims, const char *name, char **ret_file, Bdf **ret, size_t *ret_n)
{
	int r = -ENOENT;

	pthread_mutex_lock(&claims->lock);
	for (const Claim *claim = claims->first; claim && r == -ENOENT; claim = claim->next) {
		if (!claim->file || !str_equal(claim->name, name))
			continue;
		*ret = copy_functions(claim->functions, claim->n_functions);
		*ret_n = claim->n_functions;
		*ret_file = xstrdup(claim->file);
		r = 0;
	}
	pthread_mutex_unlock(&claims->lock);
	return r;
}

static bool is_within(const Claim *claim, const Bdf *functions, size_t n)
{
	for (size_t i = 0; i < claim->n_functions; i++)
		if (!bdf_in(&claim->functions[i], functions, n))
			return false;
	return claim->n_functions > 0;
}

char *claims_unread_of(Claims *claims, const Bdf *functions, size_t n)
{
	char *file = NULL;

	pthread_mutex_lock(&claims->lock);
	for (const Claim *claim = claims->first; claim && !file; claim = claim->next)
		if (claim->file && is_within(claim, functions, n))
			file = xstrdup(claim->file);
	pthread_mutex_unlock(&claims->lock);
	return file;
}

static bool is_of_file(const Claim *claim, const void *file)
{
	return str_equal(claim->file, file);
}

void claims_lift_unread(Claims *claims, const char *file)
{
	pthread_mutex_lock(&claims->lock);
	drop(claims, is_of_file, file);
	pthread_mutex_unlock(&claims->lock);
}

void claims_note_unread(Claims *claims, char ***notes)
{
	pthread_mutex_lock(&claims->lock);
	for (const Claim *claim = claims->first; claim; claim = claim->next)
		if (claim->file)
			strv_appendf(notes,
				     "%s: %s; when the cause is gone: gpupass clear %s%s%s, "
				     "which sets it aside",
				     claim->reason,
				     is_of_all(claim) ? "every group is quarantined"
						      : "its group is quarantined",
				     quote(claim), claim->name, quote(claim));
	pthread_mutex_unlock(&claims->lock);
}

void claims_count(Claims *claims, size_t *ret_jobs, size_t *ret_quarantines)
{
	size_t jobs = 0, quarantines = 0;

	pthread_mutex_lock(&claims->lock);
	for (const Claim *claim = claims->first; claim; claim = claim->next)
		*(claim->job > 0 ? &jobs : &quarantines) += 1;
	pthread_mutex_unlock(&claims->lock);
	*ret_jobs = jobs;
	*ret_quarantines = quarantines;
}

char *claims_quarantine_names(Claims *claims)
{
	_cleanup_strv_ char **names = NULL;

	pthread_mutex_lock(&claims->lock);
	for (const Claim *claim = claims->first; claim; claim = claim->next)
		if (claim->job == 0)
			strv_append(&names, claim->file ? claim->name : str_or_empty(claim->group));
	pthread_mutex_unlock(&claims->lock);
	return strv_join(names, ", ");
}

/* ---- what is quarantined ---- */

/* Prefers a quarantine that names the function to one that only may be about it. */
static const Claim *quarantine_of(const Claims *claims, const Bdf *function)
{
	const Claim *all = NULL;

	for (const Claim *claim = claims->first; claim; claim = claim->next) {
		if (claim->job == 0 && bdf_in(function, claim->functions, claim->n_functions))
			return claim;
		if (is_of_all(claim))
			all = claim;
	}
	return all;
}

char *claims_quarantine_reason(Claims *claims, const Bdf *function, char **ret_name)
{
	char *reason = NULL;
	const Claim *claim;

	pthread_mutex_lock(&claims->lock);
	claim = quarantine_of(claims, function);
	if (claim)
		reason = xstrdup(claim->reason ? claim->reason : "a job could not be undone");
	if (reason && ret_name)
		*ret_name = claim->file ? strf("%s%s%s", quote(claim), claim->name, quote(claim))
					: xstrdup(str_or_empty(claim->group));
	pthread_mutex_unlock(&claims->lock);
	return reason;
}

bool claims_quarantined_itself(Claims *claims, const Bdf *function)
{
	const Claim *claim;
	bool itself;

	pthread_mutex_lock(&claims->lock);
	claim = quarantine_of(claims, function);
	itself = claim && !is_of_all(claim);
	pthread_mutex_unlock(&claims->lock);
	return itself;
}
