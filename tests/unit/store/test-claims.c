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

#define FOOTPRINT(functions) (&(Footprint){ (Bdf *)(functions), 2, 2 })

/* As a job takes them, having looked just now. */
static int take_now(Claims *claims, ClaimRequest request, Problem **ret_problem)
{
	_cleanup_(problem_freep) Problem *problem = NULL;

	request.looked = request.ruled = claims_now(claims);
	return claims_take(claims, &request, ret_problem ? ret_problem : &problem);
}
#define TAKE(claims, what, functions, ...)                                                         \
	take_now(claims,                                                                           \
		 (ClaimRequest){ .kind = what, .footprint = FOOTPRINT(functions), __VA_ARGS__ },   \
		 NULL)

static int take(Claims *claims, uint32_t job, const char *group, const Bdf *functions,
		const char *domain, Problem **ret_problem)
{
	return take_now(claims,
			(ClaimRequest){ .job = job,
					.group = group,
					.footprint = FOOTPRINT(functions),
					.domain_uuid = domain },
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

/* On claims that nobody has. */
#define WITH_CLAIMS(test) TEST_ON(test, Claims, setup, teardown)

WITH_CLAIMS(what_a_job_holds_no_other_takes)
{
	must_take(rig, 1, "pair0", pair0, "uuid-a");
	must_refuse(rig, "pair0", pair0, "uuid-b", GPUPASS_ERROR_GROUP_BUSY,
		    "job 1 has pair0 in hand");
	must_refuse(rig, "odd", mixed, NULL, GPUPASS_ERROR_GROUP_BUSY, "job 1 has pair0 in hand");
	/* another group for the same domain */
	must_refuse(rig, "pair1", pair1, "uuid-a", GPUPASS_ERROR_GROUP_BUSY,
		    "job 1 has pair0 in hand");
	must_take(rig, 2, "pair1", pair1, "uuid-b");
}

WITH_CLAIMS(jobs_without_a_domain_do_not_meet_in_it_and_a_check_takes_nothing)
{
	assert_int_equal(claims_check(rig, pair0, 2, "uuid-a", NULL), 0);
	must_take(rig, 1, "pair0", pair0, NULL);
	must_take(rig, 2, "pair1", pair1, NULL);
	claims_release(rig, 1);
	must_take(rig, 3, "pair0", pair0, "uuid-a");
	must_refuse(rig, "pair1", pair1, NULL, GPUPASS_ERROR_GROUP_BUSY, "job 2 has pair1 in hand");
	claims_release(rig, 4711); /* none of that number */
}

typedef struct Claimed {
	ClaimKind kind;
	const Bdf *functions; /* two, of which so many are its own, and it reaches the others */
	size_t n_own;
	const char *domain;
	bool nvidia;
} Claimed;

typedef struct Row {
	const char *name;
	Claimed ended, wanted;
	enum { RELEASED, QUARANTINED, LIFTED } how;
	bool stale;
} Row;

static ClaimRequest request_of(uint32_t job, const Claimed *of, const Footprint *footprint)
{
	return (ClaimRequest){
		.kind = of->kind,
		.job = job,
		.group = job == 1 ? "it" : "other",
		.footprint = footprint,
		.domain_uuid = of->domain,
		.nvidia = of->nvidia,
	};
}

static Footprint footprint_of(const Claimed *of)
{
	return (Footprint){ (Bdf *)of->functions, of->n_own, 2 };
}

static void end(Claims *claims, const Row *row)
{
	const Footprint footprint = footprint_of(&row->ended);

	if (row->how == LIFTED) {
		claims_add_quarantine(claims, "it", footprint.functions, footprint.n_own,
				      row->ended.domain, "stuck");
		claims_lift(claims, "it");
		return;
	}
	assert_int_equal(take_now(claims, request_of(1, &row->ended, &footprint), NULL), 0);
	if (row->how == QUARANTINED)
		claims_quarantine(claims, 1, "stuck");
	else if (row->ended.kind == CLAIM_DECLARATION)
		claims_release_declaration(claims, "it");
	else
		claims_release(claims, 1);
}

static int take_wanted(Claims *claims, const Row *row, uint64_t looked)
{
	const Footprint footprint = footprint_of(&row->wanted);
	ClaimRequest request = request_of(2, &row->wanted, &footprint);

	request.looked = looked;
	request.ruled = claims_now(claims);
	return claims_take(claims, &request, NULL);
}

#define PAIR0 .functions = pair0, .n_own = 2
#define PAIR1 .functions = pair1, .n_own = 2
#define MIXED .functions = mixed, .n_own = 2
#define FIRST_REACHES_SECOND .functions = mixed, .n_own = 1
#define OF(uuid) .domain = uuid
#define ON_NVIDIA .nvidia = true
#define PROBE .kind = CLAIM_PROBE
#define DECLARATION .kind = CLAIM_DECLARATION

static const Row rows[] = {
	{ "the same functions", { PAIR0 }, { PAIR0 }, RELEASED, true },
	{ "other functions", { PAIR0 }, { PAIR1 }, RELEASED, false },
	{ "one function of both", { PAIR0 }, { MIXED }, RELEASED, true },
	{ "one that it reaches", { PAIR1 }, { FIRST_REACHES_SECOND }, RELEASED, true },
	{ "one that was reached", { FIRST_REACHES_SECOND }, { PAIR1 }, RELEASED, true },
	{ "the same domain", { PAIR0, OF("a") }, { PAIR1, OF("a") }, RELEASED, true },
	{ "another domain", { PAIR0, OF("a") }, { PAIR1, OF("b") }, RELEASED, false },
	{ "no domain", { PAIR0 }, { PAIR1 }, RELEASED, false },
	{ "quarantined, its domain", { PAIR0, OF("a") }, { PAIR1, OF("a") }, QUARANTINED, true },
	{ "quarantined, elsewhere", { PAIR0, OF("a") }, { PAIR1, OF("b") }, QUARANTINED, false },
	{ "a quarantine that was lifted", { PAIR0 }, { MIXED }, LIFTED, true },
	{ "one that was lifted elsewhere", { PAIR0 }, { PAIR1 }, LIFTED, false },
	{ "an interrupted job's domain", { PAIR0, OF("a") }, { PAIR1, OF("a") }, LIFTED, true },
	{ "a probe", { PROBE, PAIR1 }, { MIXED }, RELEASED, true },
	{ "a probe elsewhere", { PROBE, PAIR1 }, { PAIR0 }, RELEASED, false },
	{ "a declaration", { DECLARATION, PAIR0 }, { PAIR0 }, RELEASED, true },
	{ "a declaration elsewhere", { DECLARATION, PAIR0 }, { PAIR1 }, RELEASED, false },
	{ "a job's, for a probe elsewhere", { PAIR0 }, { PROBE, PAIR1 }, RELEASED, false },
	{ "of nvidia's, for a probe", { PAIR0, ON_NVIDIA }, { PROBE, PAIR1 }, RELEASED, true },
	{ "of nvidia's, for a job", { PAIR0, ON_NVIDIA }, { PAIR1 }, RELEASED, false },
};

TEST(a_look_is_stale_when_what_it_is_about_was_let_go_after_it_began)
{
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(claims_freep) Claims *claims = claims_new();
		uint64_t before = claims_now(claims);
		int r, again;

		end(claims, &rows[i]);
		r = take_wanted(claims, &rows[i], before);
		/* Looked at again, where it was. */
		again = r < 0 ? take_wanted(claims, &rows[i], claims_now(claims)) : 0;
		if (r != (rows[i].stale ? -ESTALE : 0) || again != 0)
			fail_msg("%s: %d, then %d", rows[i].name, r, again);
	}
}

WITH_CLAIMS(a_look_that_nobody_remembers_the_time_of_is_stale)
{
	ClaimRequest request = {
		.job = 2, .group = "pair1", .footprint = FOOTPRINT(pair1), .looked = claims_now(rig)
	};

	for (unsigned i = 0; i < 256; i++) {
		must_take(rig, 1, "pair0", pair0, NULL);
		claims_release(rig, 1);
	}
	assert_false(claims_is_stale(rig, request.looked, &pair1[0]));
	assert_true(claims_is_stale(rig, request.looked, &pair0[0]));
	must_take(rig, 1, "pair0", pair0, NULL);
	claims_release(rig, 1);
	assert_true(claims_is_stale(rig, request.looked, &pair1[0]));
	assert_int_equal(claims_take(rig, &request, NULL), -ESTALE);
	/* None of them was a declaration. */
	request.looked = claims_now(rig);
	assert_int_equal(claims_take(rig, &request, NULL), 0);
}

TEST(a_job_whose_group_was_declared_since_its_rules_is_refused)
{
	static const struct {
		const Bdf *declared;
		bool held;
		int result;
		const char *reason;
	} them[] = {
		{ pair0, true, PROBLEM, "new is being declared or forgotten right now" },
		{ pair0, false, PROBLEM, "pair0 was declared or forgotten just now" },
		{ pair1, true, 0, NULL },
		{ pair1, false, 0, NULL },
	};

	for (size_t i = 0; i < ELEMENTS(them); i++) {
		_cleanup_(claims_freep) Claims *claims = claims_new();
		_cleanup_(problem_freep) Problem *problem = NULL;
		ClaimRequest request = { .job = 1,
					 .group = "pair0",
					 .footprint = FOOTPRINT(pair0) };

		assert_int_equal(TAKE(claims, CLAIM_DECLARATION, them[i].declared, .group = "new"),
				 0);
		if (!them[i].held)
			claims_release_declaration(claims, "new");
		request.looked = claims_now(claims);
		assert_int_equal(claims_take(claims, &request, &problem), them[i].result);
		if (them[i].reason)
			assert_string_equal(problem->reason, them[i].reason);
	}
}

/* Both would write the same file. What is quarantined can be declared and forgotten. */
WITH_CLAIMS(of_two_declarations_of_a_name_one_is_refused)
{
	assert_int_equal(TAKE(rig, CLAIM_DECLARATION, pair0, .group = "new"), 0);
	assert_int_equal(TAKE(rig, CLAIM_DECLARATION, pair1, .group = "new"), PROBLEM);
	claims_add_quarantine(rig, "stuck", pair1, 2, NULL, "a worker hangs");
	assert_int_equal(TAKE(rig, CLAIM_DECLARATION, pair1, .group = "another"), 0);
}

/* Its file would be replaced, or lifted with the other group's. */
WITH_CLAIMS(no_job_begins_on_another_group_of_a_name_that_is_quarantined_or_in_hand)
{
	_cleanup_(problem_freep) Problem *in_hand = NULL, *apart = NULL;

	must_take(rig, 1, "pair0", pair0, NULL);
	assert_int_equal(take(rig, 2, "pair0", pair1, NULL, &in_hand), PROBLEM);
	assert_string_equal(in_hand->reason, "job 1 has pair0 in hand");
	claims_quarantine(rig, 1, "a worker hangs");
	assert_int_equal(take(rig, 2, "pair0", pair1, NULL, &apart), PROBLEM);
	assert_string_equal(apart->reason, "pair0 is quarantined");
	must_take(rig, 2, "pair1", pair1, NULL);
}

WITH_CLAIMS(what_a_job_gives_to_nvidia_beside_a_probe_is_the_probes)
{
	assert_int_equal(TAKE(rig, CLAIM_PROBE, pair1, .job = 2), 0);
	assert_int_equal(TAKE(rig, CLAIM_JOB, pair0, .job = 1, .group = "pair0", .nvidia = true),
			 0);
	claims_release(rig, 1);
	must_refuse(rig, "pair0", pair0, NULL, GPUPASS_ERROR_GROUP_BUSY,
		    "job 2 probes the links and has the GPUs open");
	claims_release(rig, 2);
	must_take(rig, 3, "pair0", pair0, NULL);
}

WITH_CLAIMS(no_probe_begins_beside_a_job_that_moves_boards_from_or_to_nvidia)
{
	const ClaimRequest probe = { .kind = CLAIM_PROBE, .job = 2, .footprint = FOOTPRINT(pair1) };
	_cleanup_(problem_freep) Problem *problem = NULL;

	assert_int_equal(TAKE(rig, CLAIM_JOB, pair0, .job = 1, .group = "pair0", .nvidia = true),
			 0);
	assert_int_equal(take_now(rig, probe, &problem), PROBLEM);
	assert_string_equal(problem->reason, "job 1 has pair0 in hand");
	claims_release(rig, 1);
	must_take(rig, 1, "pair0", pair0, NULL);
	assert_int_equal(take_now(rig, probe, NULL), 0);
}

WITH_CLAIMS(a_group_in_hand_is_known_by_its_name)
{
	_cleanup_(problem_freep) Problem *problem = NULL;

	must_take(rig, 1, "pair0", pair0, NULL);
	claims_add_quarantine(rig, "pair1", pair1, 2, NULL, "stuck");
	assert_int_equal(claims_check_group(rig, "pair1", &problem), 0);
	assert_int_equal(claims_check_group(rig, "pair0", &problem), PROBLEM);
	assert_string_equal(problem->reason, "job 1 has pair0 in hand");
}

/* What it only reached is another's, and has nothing to do with what is stuck. */
WITH_CLAIMS(a_quarantine_is_of_the_jobs_own_functions)
{
	const Bdf beside = { 0, 0x41, 0, 1 };
	const Bdf reached[] = { pair0[0], pair0[1], beside };
	const ClaimRequest request = { .job = 1,
				       .group = "pair0",
				       .footprint = &(Footprint){ (Bdf *)reached, 2, 3 } };
	_cleanup_(problem_freep) Problem *problem = NULL;

	assert_int_equal(claims_take(rig, &request, NULL), 0);
	assert_int_equal(claims_check(rig, &beside, 1, NULL, &problem), PROBLEM);
	claims_quarantine(rig, 1, "stuck");
	assert_int_equal(claims_check(rig, &beside, 1, NULL, NULL), 0);
	must_refuse(rig, "pair0", pair0, NULL, GPUPASS_ERROR_QUARANTINED, "pair0 is quarantined");
}

WITH_CLAIMS(a_quarantine_outlives_its_job_and_lets_the_domain_go)
{
	_cleanup_free_ char *reason = NULL, *other = NULL;

	must_take(rig, 1, "pair0", pair0, "uuid-a");
	claims_quarantine(rig, 1, "a worker hangs");
	claims_release(rig, 1);
	must_refuse(rig, "pair0", pair0, NULL, GPUPASS_ERROR_QUARANTINED, "pair0 is quarantined");
	must_refuse(rig, "odd", mixed, NULL, GPUPASS_ERROR_QUARANTINED, "pair0 is quarantined");
	must_take(rig, 2, "pair1", pair1, "uuid-a");
	reason = claims_quarantine_reason(rig, &pair0[1], NULL);
	assert_string_equal(reason, "a worker hangs");
	other = claims_quarantine_reason(rig, &pair1[0], NULL);
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
		hammers[i] = (Hammer){ rig, i + 1, &owners, &broken, 0 };
		assert_int_equal(pthread_create(&threads[i], NULL, hammer, &hammers[i]), 0);
	}
	for (size_t i = 0; i < N_THREADS; i++) {
		pthread_join(threads[i], NULL);
		taken += hammers[i].taken;
	}
	assert_false(broken);
	assert_true(taken > N_THREADS);
	must_take(rig, 99, "odd", mixed, NULL);
}
