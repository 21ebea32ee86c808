/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps NVML's questions and moves apart. To find one GPU, NVML may open others
 * (nvmlDeviceGetHandleByPciBusId_v2), and the remove() of a GPU that is open never returns. So no
 * question begins while functions move, and no move while NVML is asked. Moves go side by side.
 *
 * A move that hangs would keep every question waiting. So a question gives up when one has gone on
 * for long while no other came to its end, and the caller does without an answer: it is never
 * asked beside a move.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "util/bdf.h"

/* On the stack of the thread that moves. */
typedef struct NvmlMove {
	struct NvmlMove *next;
	uint64_t begun;
	Bdf first; /* of its functions */
} NvmlMove;

typedef struct NvmlGate {
	uint64_t patience_usec; /* longer than any driver takes that lets go of its GPUs */
	pthread_mutex_t lock;	/* of all below */
	pthread_cond_t changed;
	NvmlMove *moves;
	uint64_t ended; /* when the last move did; 0: none has */
	bool asking;
} NvmlGate;

void nvml_gate_init(NvmlGate *gate, uint64_t patience_usec);

/* Waits while NVML is asked, which has a deadline of its own. */
void nvml_gate_begin_move(NvmlGate *gate, NvmlMove *move, const Bdf *first);
void nvml_gate_end_move(NvmlGate *gate, NvmlMove *move);

/*
 * 0: no function moves until nvml_gate_end_question(). -EBUSY: a move hangs, the one of *ret_stuck.
 * -ETIMEDOUT: there was always something until the deadline (CLOCK_MONOTONIC).
 */
int nvml_gate_begin_question(NvmlGate *gate, uint64_t deadline_usec, Bdf *ret_stuck);
void nvml_gate_end_question(NvmlGate *gate);
