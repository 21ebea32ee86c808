/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "job/tenant-look.h"

#include <string.h>

#include "util/text.h"
#include "util/xalloc.h"

int tenant_not_stored(const JobPlace *place, const Bdf *bdf, int error, Problem **ret_problem)
{
	bool foreign = error == -EPROTO;

	disk_watch_note(place->disk, "a mark of a tenant", error);
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_INTERNAL,
		.reason = strf("who uses %s could not be stored: %s", BDF_TEXT(bdf),
			       foreign ? "there is a mark of another version of gpupass"
				       : strerror(-error)),
		.cause = strf("tenants/%s.json", BDF_TEXT(bdf)),
		.remedy = xstrdup(
			foreign ? "use the version that wrote it; or, when the host has been off "
				  "since, remove the file"
				: "see that the state directory's file system is writable and "
				  "has space left"));
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
	r = tenant_store_save(place->tenants, &mark);
	return r < 0 ? tenant_not_stored(place, &mark.bdf, r, ret_problem) : 0;
}

int tenant_look(const JobPlace *place, Prepared *p, bool claimed, Problem **ret_problem)
{
	int r = 0;

	if (!place->tenants)
		return 0;
	p->tenants = tenant_store_load(place->tenants);
	for (size_t i = 0; r == 0 && claimed && i < p->group->n_gpus; i++)
		r = store_news(place, p, p->group->gpus[i], ret_problem);
	return r;
}
