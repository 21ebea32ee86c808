/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/claims.h"

#include <pthread.h>
#include <string.h>

#include "util/text.h"

typedef struct Claim Claim;
struct Claim {
	Claim *next;
	uint32_t job;	   /* 0: a quarantine */
	char *group;	   /* NULL: a probe's, of GPUs of any group */
	char *domain_uuid; /* NULL: none */
	char *reason;	   /* of a quarantine */
	Bdf *functions;
	size_t n_functions;
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
	free(claim);
	return NULL;
}
DEFINE_CLEANUP(Claim, claim_free)

int claims_new(Claims **ret)
{
	Claims *claims = calloc(1, sizeof(Claims));

	if (!claims)
		return -ENOMEM;
	pthread_mutex_init(&claims->lock, NULL);
	*ret = claims;
	return 0;
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

static bool shares_function(const Claim *a, const Claim *b)
{
	for (size_t i = 0; i < a->n_functions; i++)
		if (bdf_in(&a->functions[i], b->functions, b->n_functions))
			return true;
	return false;
}

static int conflict(const Claim *held, Problem **ret_problem)
{
	int r;

	if (held->job == 0) {
		r = problem_set(ret_problem, GPUPASS_ERROR_QUARANTINED, "%s is quarantined",
				held->group);
		if (r != PROBLEM)
			return r;
		problem_cause(*ret_problem, "%s", str_or_empty(held->reason));
		return problem_remedy(*ret_problem, "when its cause is gone: gpupass clear %s",
				      held->group);
	}
	if (held->group)
		r = problem_set(ret_problem, GPUPASS_ERROR_GROUP_BUSY, "job %u has %s in hand",
				held->job, held->group);
	else
		r = problem_set(ret_problem, GPUPASS_ERROR_GROUP_BUSY,
				"job %u probes the links and has the GPUs open", held->job);
	if (r != PROBLEM)
		return r;
	return problem_remedy(*ret_problem, "wait for it (gpupass jobs %u), then try again",
			      held->job);
}

static int claim_new(uint32_t job, const char *group, const Bdf *functions, size_t n_functions,
		     const char *domain_uuid, Claim **ret)
{
	_cleanup_(claim_freep) Claim *claim = calloc(1, sizeof(Claim));

	if (!claim)
		return -ENOMEM;
	claim->job = job;
	claim->group = group ? strdup(group) : NULL;
	claim->functions = calloc(n_functions ? n_functions : 1, sizeof(Bdf));
	if ((group && !claim->group) || !claim->functions)
		return -ENOMEM;
	memcpy(claim->functions, functions, n_functions * sizeof(Bdf));
	claim->n_functions = n_functions;
	if (domain_uuid) {
		claim->domain_uuid = strdup(domain_uuid);
		if (!claim->domain_uuid)
			return -ENOMEM;
	}
	*ret = TAKE_PTR(claim);
	return 0;
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
	_cleanup_(claim_freep) Claim *claim = NULL;
	int r;

	r = claim_new(job, group, functions, n_functions, domain_uuid, &claim);
	if (r < 0)
		return r;
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

void claims_release(Claims *claims, uint32_t job)
{
	pthread_mutex_lock(&claims->lock);
	for (Claim **at = &claims->first; *at;) {
		Claim *claim = *at;

		if (claim->job != job) {
			at = &claim->next;
			continue;
		}
		*at = claim->next;
		claim_free(claim);
	}
	claims->generation++;
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
		claim->reason = strdup(reason);
	}
	claims->generation++;
	pthread_mutex_unlock(&claims->lock);
}

static bool is_quarantine_of(const Claim *claim, const char *group)
{
	return claim->job == 0 && str_equal(claim->group, group);
}

static void lift_locked(Claims *claims, const char *group)
{
	for (Claim **at = &claims->first; *at;) {
		Claim *claim = *at;

		if (!is_quarantine_of(claim, group)) {
			at = &claim->next;
			continue;
		}
		*at = claim->next;
		claim_free(claim);
	}
	claims->generation++;
}

int claims_add_quarantine(Claims *claims, const char *group, const Bdf *functions,
			  size_t n_functions, const char *domain_uuid, const char *reason)
{
	_cleanup_(claim_freep) Claim *claim = NULL;
	int r;

	r = claim_new(0, group, functions, n_functions, domain_uuid, &claim);
	if (r < 0)
		return r;
	claim->reason = strdup(reason);
	if (!claim->reason)
		return -ENOMEM;
	pthread_mutex_lock(&claims->lock);
	lift_locked(claims, group);
	claim->next = claims->first;
	claims->first = TAKE_PTR(claim);
	pthread_mutex_unlock(&claims->lock);
	return 0;
}

void claims_lift(Claims *claims, const char *group)
{
	pthread_mutex_lock(&claims->lock);
	lift_locked(claims, group);
	pthread_mutex_unlock(&claims->lock);
}

static int copy_functions(const Claim *claim, Bdf **ret, size_t *ret_n)
{
	Bdf *copy = calloc(claim->n_functions + 1, sizeof(Bdf));

	if (!copy)
		return -ENOMEM;
	memcpy(copy, claim->functions, claim->n_functions * sizeof(Bdf));
	*ret = copy;
	*ret_n = claim->n_functions;
	return 0;
}

int claims_quarantined(Claims *claims, const char *group, Bdf **ret, size_t *ret_n)
{
	int r = -ENOENT;

	pthread_mutex_lock(&claims->lock);
	for (const Claim *claim = claims->first; claim && r == -ENOENT; claim = claim->next)
		if (is_quarantine_of(claim, group))
			r = copy_functions(claim, ret, ret_n);
	pthread_mutex_unlock(&claims->lock);
	return r;
}

char *claims_quarantine_reason(Claims *claims, const Bdf *function)
{
	char *reason = NULL;

	pthread_mutex_lock(&claims->lock);
	for (const Claim *claim = claims->first; claim && !reason; claim = claim->next)
		if (claim->job == 0 && bdf_in(function, claim->functions, claim->n_functions))
			reason =
				strdup(claim->reason ? claim->reason : "a job could not be undone");
	pthread_mutex_unlock(&claims->lock);
	return reason;
}
