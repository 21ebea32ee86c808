/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "store/claims.h"
#include "util/text.h"

static const Bdf pair0[] = { { 0, 0x41, 0, 0 }, { 0, 0x61, 0, 0 } };
static const Bdf pair1[] = { { 0, 0xa1, 0, 0 }, { 0, 0xc1, 0, 0 } };
/* Shares one function with each. */
static const Bdf mixed[] = { { 0, 0x61, 0, 0 }, { 0, 0xa1, 0, 0 } };

static int setup(void **state)
{
	*state = claims_new();
	return 0;
}

static int teardown(void **state)
{
	claims_free(*state);
	return 0;
}

/* As a job takes them, having looked just now. */
static int take(Claims *claims, uint32_t job, const char *group, const Bdf *functions,
		const char *domain, Problem **ret_problem)
{
	return claims_take(claims, claims_generation(claims), job, group, functions, 2, domain,
			   ret_problem);
}

static void must_take(Claims *claims, uint32_t job, const char *group, const Bdf *functions,
		      const char *domain)
{
	_cleanup_(problem_freep) Problem *problem = NULL;

	if (take(claims, job, group, functions, domain, &problem) != 0)
		fail_msg("job %u: %s", job, problem ? problem->reason : "errno");
}

static void must_refuse(Claims *claims, const char *group, const Bdf *functions, const char *domain,
			GpupassError error, const char *reason)
{
	_cleanup_(problem_freep) Problem *taken = NULL, *checked = NULL;

	assert_int_equal(take(claims, 99, group, functions, domain, &taken), PROBLEM);
	assert_int_equal(taken->error, error);
	assert_string_equal(taken->reason, reason);
	assert_false(str_is_empty(taken->remedy));
	assert_int_equal(claims_check(claims, functions, 2, domain, &checked), PROBLEM);
	assert_string_equal(checked->reason, reason);
}

#define WITH_CLAIMS(test) TEST_WITH(test, setup, teardown)

WITH_CLAIMS(what_a_job_holds_no_other_takes)
{
	Claims *claims = *state;

	must_take(claims, 1, "pair0", pair0, "uuid-a");
	must_refuse(claims, "pair0", pair0, "uuid-b", GPUPASS_ERROR_GROUP_BUSY,
		    "job 1 has pair0 in hand");
	must_refuse(claims, "odd", mixed, NULL, GPUPASS_ERROR_GROUP_BUSY,
		    "job 1 has pair0 in hand");
	/* another group for the same domain */
	must_refuse(claims, "pair1", pair1, "uuid-a", GPUPASS_ERROR_GROUP_BUSY,
		    "job 1 has pair0 in hand");
	must_take(claims, 2, "pair1", pair1, "uuid-b");
}

WITH_CLAIMS(jobs_without_a_domain_do_not_meet_in_it)
{
	Claims *claims = *state;

	must_take(claims, 1, "pair0", pair0, NULL);
	must_take(claims, 2, "pair1", pair1, NULL);
}

WITH_CLAIMS(a_check_takes_nothing)
{
	Claims *claims = *state;
	Problem *problem = NULL;

	assert_int_equal(claims_check(claims, pair0, 2, "uuid-a", &problem), 0);
	must_take(claims, 1, "pair0", pair0, "uuid-a");
}

WITH_CLAIMS(what_is_released_can_be_taken)
{
	Claims *claims = *state;

	must_take(claims, 1, "pair0", pair0, "uuid-a");
	must_take(claims, 2, "pair1", pair1, "uuid-b");
	claims_release(claims, 1);
	must_take(claims, 3, "pair0", pair0, "uuid-a");
	must_refuse(claims, "pair1", pair1, NULL, GPUPASS_ERROR_GROUP_BUSY,
		    "job 2 has pair1 in hand");
	claims_release(claims, 4711); /* none of that number */
}

WITH_CLAIMS(who_looked_before_a_job_let_go_has_to_look_again)
{
	Claims *claims = *state;
	uint64_t before = claims_generation(claims);
	Problem *problem = NULL;

	must_take(claims, 1, "pair0", pair0, NULL);
	assert_int_equal(claims_generation(claims), before);
	claims_release(claims, 1);
	assert_int_equal(claims_take(claims, before, 2, "pair0", pair0, 2, NULL, &problem),
			 -ESTALE);
	assert_null(problem);
	before = claims_generation(claims);
	must_take(claims, 3, "pair0", pair0, NULL);
	claims_quarantine(claims, 3, "stuck");
	assert_int_equal(claims_take(claims, before, 4, "pair1", pair1, 2, NULL, &problem),
			 -ESTALE);
}

WITH_CLAIMS(a_quarantine_outlives_its_job_and_lets_the_domain_go)
{
	Claims *claims = *state;
	_cleanup_free_ char *reason = NULL, *other = NULL;

	must_take(claims, 1, "pair0", pair0, "uuid-a");
	claims_quarantine(claims, 1, "a worker hangs");
	claims_release(claims, 1);
	must_refuse(claims, "pair0", pair0, NULL, GPUPASS_ERROR_QUARANTINED,
		    "pair0 is quarantined");
	must_refuse(claims, "odd", mixed, NULL, GPUPASS_ERROR_QUARANTINED, "pair0 is quarantined");
	must_take(claims, 2, "pair1", pair1, "uuid-a");
	reason = claims_quarantine_reason(claims, &pair0[1], NULL);
	assert_string_equal(reason, "a worker hangs");
	other = claims_quarantine_reason(claims, &pair1[0], NULL);
	assert_null(other);
}

/* ---- threads ---- */

#define ROUNDS 20000
#define N_THREADS 4

typedef struct Hammer {
	Claims *claims;
	uint32_t job;
	atomic_int *owners; /* of pair0's and pair1's functions, together */
	atomic_bool *broken;
	unsigned taken;
} Hammer;

/* Whoever has the claim is alone: two of `mixed`, pair0 and pair1 never are, but the latter two. */
static void *hammer(void *userdata)
{
	Hammer *h = userdata;

	for (unsigned i = 0; i < ROUNDS; i++) {
		_cleanup_(problem_freep) Problem *problem = NULL;
		bool whole = (i + h->job) % 3 == 0;
		const Bdf *functions = whole ? mixed : i % 2 ? pair0 : pair1;
		int weight = whole ? 2 : 1;

		if (take(h->claims, h->job, "g", functions, NULL, &problem) != 0)
			continue;
		h->taken++;
		if (atomic_fetch_add(h->owners, weight) + weight > 2)
			atomic_store(h->broken, true);
		atomic_fetch_sub(h->owners, weight);
		claims_release(h->claims, h->job);
	}
	return NULL;
}

WITH_CLAIMS(threads_never_hold_the_same_function)
{
	pthread_t threads[N_THREADS];
	Hammer hammers[N_THREADS];
	atomic_bool broken = false;
	atomic_int owners = 0;
	unsigned taken = 0;

	for (uint32_t i = 0; i < N_THREADS; i++) {
		hammers[i] = (Hammer){ *state, i + 1, &owners, &broken, 0 };
		assert_int_equal(pthread_create(&threads[i], NULL, hammer, &hammers[i]), 0);
	}
	for (size_t i = 0; i < N_THREADS; i++) {
		pthread_join(threads[i], NULL);
		taken += hammers[i].taken;
	}
	assert_false(broken);
	assert_true(taken > N_THREADS);
	must_take(*state, 99, "odd", mixed, NULL);
}
