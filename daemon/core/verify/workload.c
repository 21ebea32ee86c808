/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/verify/workload.h"

#include <stdlib.h>

DEFINE_STRING_TABLE(workload_verdict, WorkloadVerdict, WORKLOAD_VERDICTS)
DEFINE_STRING_TABLE(workload_cause, WorkloadCause, WORKLOAD_CAUSES)

static void workload_clear(Workload *w)
{
	free(w->reason);
	free(w->remedy);
	free(w->paths);
}

DEFINE_FREE(Workload, workload_free, workload_clear)
