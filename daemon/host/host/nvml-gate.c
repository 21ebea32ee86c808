/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/host/nvml-gate.h"

#include "util/clock.h"
#include "util/mutex.h"

void nvml_gate_init(NvmlGate *gate, uint64_t patience_usec)
{
	*gate = (NvmlGate){
		.patience_usec = patience_usec,
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.changed = PTHREAD_COND_INITIALIZER,
	};
}

/* Until something changes, or the deadline. */
static void wait_until(NvmlGate *gate, uint64_t deadline_usec)
{
	const struct timespec until = clock_timespec(deadline_usec);

	pthread_cond_clockwait(&gate->changed, &gate->lock, CLOCK_MONOTONIC, &until);
}

void nvml_gate_begin_move(NvmlGate *gate, NvmlMove *move, const Bdf *first)
{
	MUTEX_HOLD(&gate->lock);

	while (gate->asking)
		pthread_cond_wait(&gate->changed, &gate->lock);
	*move = (NvmlMove){ .next = gate->moves, .begun = now_monotonic(), .first = *first };
	gate->moves = move;
}

void nvml_gate_end_move(NvmlGate *gate, NvmlMove *move)
{
	MUTEX_HOLD(&gate->lock);
	NvmlMove **at = &gate->moves;

	while (*at != move)
		at = &(*at)->next;
	*at = move->next;
	gate->ended = now_monotonic();
	pthread_cond_broadcast(&gate->changed);
}

static const NvmlMove *oldest_move(const NvmlGate *gate)
{
	const NvmlMove *oldest = gate->moves;

	for (const NvmlMove *move = oldest; move; move = move->next)
		if (move->begun < oldest->begun)
			oldest = move;
	return oldest;
}

/*
 * When we may say that this move hangs. A driver may let go of its GPUs one after another, which
 * takes long for many; but then one move after another comes to its end.
 */
static uint64_t hangs_at(const NvmlGate *gate, const NvmlMove *oldest)
{
	uint64_t last = gate->ended > oldest->begun ? gate->ended : oldest->begun;

	return last + gate->patience_usec;
}

int nvml_gate_begin_question(NvmlGate *gate, uint64_t deadline_usec, Bdf *ret_stuck)
{
	MUTEX_HOLD(&gate->lock);
	int r = 0;

	while (r == 0 && (gate->moves || gate->asking)) {
		const NvmlMove *oldest = oldest_move(gate);
		uint64_t now = now_monotonic(), until = deadline_usec;

		if (oldest && hangs_at(gate, oldest) < until)
			until = hangs_at(gate, oldest);
		if (now < until) {
			wait_until(gate, until);
			continue;
		}
		r = oldest && hangs_at(gate, oldest) <= now ? -EBUSY : -ETIMEDOUT;
		if (r == -EBUSY)
			*ret_stuck = oldest->first;
	}
	gate->asking |= r == 0;
	return r;
}

void nvml_gate_end_question(NvmlGate *gate)
{
	MUTEX_HOLD(&gate->lock);

	gate->asking = false;
	pthread_cond_broadcast(&gate->changed);
}
