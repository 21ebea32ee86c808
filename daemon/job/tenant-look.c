/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/tenant-look.h"

#include <string.h>

#include "util/text.h"
#include "util/xalloc.h"

int tenant_not_stored(const JobPlace *place, const Bdf *bdf, int error, Problem **ret_problem)
{
	_cleanup_free_ char *name = tenant_file_name(bdf), *file = strf("tenants/%s", name);
	_cleanup_free_ char *what = strf("the mark of who uses %s", BDF_TEXT(bdf));

	return disk_watch_refuse(place->disk, what, file, error, ret_problem);
}

/*
 * A mark that cannot be overwritten: a domain that is given the board could not be marked as its
 * tenant. Refused before anything is written.
 */
static int check_mark(const Prepared *p, const Bdf *bdf, Problem **ret_problem)
{
	const RecordFault *fault = tenants_fault(p->tenants, bdf);

	if (!fault || (fault->what != RECORD_NEWER && !p->tenants->unread))
		return 0;
	return problem_refuse(ret_problem, GPUPASS_ERROR_GROUP_BUSY,
			      .reason = strf("who had %s last cannot be told", BDF_TEXT(bdf)),
			      .cause = record_fault_what(fault),
			      .remedy = xstrdup(record_fault_remedy(fault)));
}

/* Of whoever is given a board, which then needs a mark. */
static bool gives(const Prepared *p)
{
	Operation operation = p->request.operation;

	return operation == OPERATION_ASSIGN || operation == OPERATION_RECONCILE ||
	       (operation == OPERATION_BIND && p->domain);
}

static int store_news(const JobPlace *place, const Prepared *p, const Gpu *gpu,
		      Problem **ret_problem)
{
	const TenancyFacts facts = {
		.tenants = p->tenants,
		.gpus = p->inventory->gpus,
		.assignments = p->assignments,
		.uses = p->uses,
	};
	const Tenancy tenancy = tenancy_of(&facts, gpu);
	_cleanup_(tenant_mark_clear) TenantMark mark = { 0 };
	int r;

	if (!tenancy_is_news(&tenancy))
		return 0;
	mark = tenancy_mark(&tenancy, gpu, p->request.now_usec);
	r = tenant_store_save(place->tenants, &mark, 1);
	return r < 0 ? tenant_not_stored(place, &mark.bdf, r, ret_problem) : 0;
}

int tenant_look(const JobPlace *place, Prepared *p, bool claimed, Problem **ret_problem)
{
	int r = 0;

	if (!place->tenants)
		return 0;
	p->tenants = tenant_store_load(place->tenants);
	for (size_t i = 0; r == 0 && gives(p) && i < p->group->n_gpus; i++)
		r = check_mark(p, &p->group->gpus[i]->lead->bdf, ret_problem);
	for (size_t i = 0; r == 0 && claimed && i < p->group->n_gpus; i++)
		r = store_news(place, p, p->group->gpus[i], ret_problem);
	return r;
}
