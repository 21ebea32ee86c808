/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * vGPUs of a group's boards. Whoever has one runs on the board by way of the nvidia driver, so the
 * board cannot go to vfio-pci; and a domain that is shut off would not start any more.
 */
#include "core/domain/vgpu.h"
#include "core/plan/planner.h"
#include "util/xalloc.h"

static int refuse_domain(const Planner *p, const VgpuUse *vgpu)
{
	_cleanup_free_ char *text = vgpu_text(vgpu);
	const DomainUse *use = vgpu->domain;

	return problem_refuse(
		p->ret_problem, GPUPASS_ERROR_HOST_IN_USE,
		.reason = strf("%s has a vGPU of %s", use->name, BDF_TEXT(&vgpu->board)),
		.cause = strf("domain %s (%s, %s) is %s %s", use->name, use->uuid,
			      use->active ? "running" : "shut off",
			      vgpu->live ? "running with" : "defined with", text),
		.remedy = vgpu_remedy(vgpu));
}

static int refuse_unnamed(const Planner *p, const VgpuUse *vgpu)
{
	return problem_refuse(
		p->ret_problem, GPUPASS_ERROR_HOST_IN_USE,
		.reason = strf("%s has a vGPU that no domain names", BDF_TEXT(&vgpu->board)),
		.cause = vgpu_text(vgpu), .remedy = vgpu_remedy(vgpu));
}

int plan_check_vgpus(const Planner *p)
{
	for (size_t i = 0; i < p->n_functions; i++) {
		const Bdf *bdf = &p->functions[i]->bdf;
		size_t position = 0;
		VgpuUse vgpu;

		if (vgpu_next_domain(p->facts->uses, p->facts->snapshot, bdf, &position, &vgpu))
			return refuse_domain(p, &vgpu);
		if (vgpu_unnamed_mdev(p->facts->uses, p->facts->snapshot, bdf, &vgpu))
			return refuse_unnamed(p, &vgpu);
	}
	return 0;
}
