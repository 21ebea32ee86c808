/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "host/launch/worker-memory.h"

#include <errno.h>
#include <string.h>

#include "host/launch/call.h"
#include "host/wire/memory.h"
#include "util/text.h"

#define OUTPUT_MAX 65536U
/* The worker polls for 5 s, and all it does besides is quick. */
#define TIMEOUT_USEC (20 * 1000000ULL)

static int ask(const WorkerConfig *config, const Bdf *boards, size_t n, MemoryReport *ret)
{
	_cleanup_(children_freep) Children *children = NULL;
	_cleanup_strv_ char **argv = worker_arguments_begin(config, "memory");
	int r;

	for (size_t i = 0; i < n; i++)
		strv_append(&argv, BDF_TEXT(&boards[i]));
	r = worker_run_one(config, PART_CONFIG, argv, OUTPUT_MAX, TIMEOUT_USEC, &children);
	if (r >= 0)
		r = worker_child_error(&children->items[0]);
	return r < 0 ? r
		     : memory_document_parse(children->items[0].output, children->items[0].size,
					     boards, n, ret);
}

void worker_memory(const WorkerConfig *config, const Bdf *boards, size_t n, MemoryReport *ret)
{
	int r = n > 0 ? ask(config, boards, n, ret) : 0;

	for (size_t i = 0; r < 0 && i < n; i++)
		ret[i] = (MemoryReport){
			.bdf = boards[i],
			.why = strf("it could not be asked: %s", strerror(-r)),
		};
}
