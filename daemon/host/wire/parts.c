/* SPDX-License-Identifier: GPL-2.0-or-later */

#include "gpupass/cleanup.h"
#include "host/wire/question.h"
#include "host/wire/request.h"

static const Part parts[] = {
	{ .name = PART_MOVER, .ready = 2, .serves = 16 },
	{ .name = PART_INSPECTOR, .ready = 2, .serves = 16, .limit_sec = 60 },
	{ .name = PART_CONFIG, .ready = 2, .serves = 16, .limit_sec = 120 },
	{ .name = PART_PROBER, .writes = true, .ready = 1, .serves = 1, .has_view = true },
	{ .name = PART_PERSISTENCE, .writes = true, .serves = 1 },
	{ .name = PART_EXAMINER, .serves = 1 },
	{ .name = PART_NETWORK, .serves = 1 },
	{ .name = PART_RULES, .serves = 1 },
	{ .name = PART_UEVENTS, .serves = 1 },
};
_Static_assert(ELEMENTS(parts) <= PARTS_MAX, "each has its place among the ready ones");

const Part *part_at(size_t i)
{
	return i < ELEMENTS(parts) ? &parts[i] : NULL;
}

const Part *part_find(const char *name)
{
	return FIND(parts, ELEMENTS(parts), strcmp(it->name, name) == 0);
}
