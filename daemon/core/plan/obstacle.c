/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the host tells of a guest's start that will fail: in a plan, as doctor says it. */
#include "core/facts/obstacle.h"
#include "core/plan/planner.h"
#include "util/xalloc.h"

static GpupassError error_of(ObstacleKind kind)
{
	return kind == OBSTACLE_REGION ? GPUPASS_ERROR_IOMMU_GROUP_NOT_VIABLE
				       : GPUPASS_ERROR_UNSUPPORTED_BOARD;
}

static int judge(const Planner *p, const Obstacles *found)
{
	for (size_t i = 0; i < found->n_items; i++) {
		const Obstacle *one = &found->items[i];

		if (one->weight == OBSTACLE_REFUSES)
			return problem_refuse(p->ret_problem, error_of(one->kind),
					      .reason = xstrdup(one->what),
					      .remedy = xstrdup(one->remedy));
		plan_warn(p->plan, "%s; %s", one->what, one->remedy);
	}
	return 0;
}

int plan_judge_obstacles(Planner *p)
{
	Obstacles found;
	int r;

	found = obstacles_find(p->functions, p->n_functions, p->facts->inspection, p->facts->host);
	r = judge(p, &found);
	obstacles_clear(&found);
	return r;
}
