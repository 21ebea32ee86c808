/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/cancel.h"

#include <inttypes.h>

#include "util/text.h"
#include "util/xalloc.h"

/* Any other value is the uid of who asked. */
#define OPEN UINT64_MAX
#define CLOSED (UINT64_MAX - 1)

struct Cancellation {
	_Atomic uint64_t state;
	atomic_uint shared; /* references beside the first */
};

#include "cancel.inc"

void cancellation_new(Cancellation **ret)
{
	Cancellation *c = xcalloc(1, sizeof(Cancellation));

	atomic_init(&c->state, OPEN);
	*ret = c;
}

int cancellation_ask(Cancellation *c, uint32_t uid)
{
	uint64_t state = OPEN;

	if (atomic_compare_exchange_strong(&c->state, &state, uid))
		return 1;
	return state == CLOSED ? -EBUSY : 0;
}

static int refuse(uint64_t uid, Problem **ret_problem)
{
	return problem_refuse(ret_problem, GPUPASS_ERROR_CANCELLED,
			      .reason = uid == 0 ? xstrdup("root cancelled the job")
						 : strf("user %" PRIu64 " cancelled the job", uid));
}

int cancellation_check(const Cancellation *c, Problem **ret_problem)
{
	uint64_t state = c ? atomic_load(&c->state) : OPEN;

	return state == OPEN || state == CLOSED ? 0 : refuse(state, ret_problem);
}

int cancellation_close(Cancellation *c, Problem **ret_problem)
{
	uint64_t state = OPEN;

	if (!c || atomic_compare_exchange_strong(&c->state, &state, CLOSED) || state == CLOSED)
		return 0;
	return refuse(state, ret_problem);
}

void cancellation_shut(Cancellation *c)
{
	if (c)
		atomic_store(&c->state, CLOSED);
}

JobState cancellation_state(const Problem *problem)
{
	return problem && problem->error == GPUPASS_ERROR_CANCELLED ? JOB_CANCELLED : JOB_FAILED;
}
