/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/fence/judge.h"

#include "core/domain/ref.h"
#include "util/xalloc.h"

#define SECOND 1000000ULL

/*
 * A VF of a GPU is a vGPU, and no function of a group. One of a NIC may be a companion; of what a
 * group has by its address alone nobody knows what it was.
 */
static bool is_vgpu(const FenceHostdev *hostdev, const FenceFunction *then)
{
	return hostdev->vgpu && !(then && (then->companion || then->vendor == 0));
}

static const FenceHostdev *find_hostdev(const FenceRequest *q, const FenceFunction *function)
{
	return FIND(q->hostdevs, q->n_hostdevs,
		    !is_vgpu(it, function) && bdf_equal(&it->bdf, &function->bdf));
}

static const char *word(const FenceRequest *q)
{
	return domain_ref_word(q->name, q->uuid);
}

/* The last sentence of each cause: by how old a file it was decided. */
static char *age_text(const FenceRequest *q)
{
	const Fence *fence = q->fence;
	const char *boot =
		fence->boot_id && str_equal(fence->boot_id, q->boot_id) ? "" : ", before this boot";

	if (fence->written_usec > q->now_usec)
		return strf("as gpupassd last wrote%s", boot);
	return strf("as gpupassd wrote %llu s ago%s",
		    (unsigned long long)((q->now_usec - fence->written_usec) / SECOND), boot);
}

static int judge_refuse(const FenceRequest *q, GpupassError error, char *reason, char *cause,
			char *remedy, Problem **ret_problem)
{
	_cleanup_free_ char *age = age_text(q), *owned = cause;

	return problem_refuse(ret_problem, error, .reason = reason,
			      .cause = strf("%s%s%s", str_or_empty(owned), owned ? ", " : "", age),
			      .remedy = remedy);
}

/* ---- without a fence, or with one that does not know the board ---- */

static int refuse_blind(const FenceRequest *q, const FenceHostdev *hostdev, Problem **ret_problem)
{
	return problem_refuse(
		ret_problem, GPUPASS_ERROR_FOREIGN_OWNER,
		.reason = strf("whether it may have %s is not known", BDF_TEXT(&hostdev->bdf)),
		.cause = strf("%s %s, and the fence cannot be used: %s", BDF_TEXT(&hostdev->bdf),
			      hostdev->gpu ? "is a GPU of NVIDIA" : "was in a group of GPUs",
			      str_or_empty(q->no_fence)),
		.remedy = xstrdup(
			"start gpupassd, which writes it again: systemctl restart gpupassd"));
}

static int refuse_changed(const FenceRequest *q, const FenceHostdev *hostdev, Problem **ret_problem)
{
	return judge_refuse(
		q, GPUPASS_ERROR_FOREIGN_OWNER,
		strf("whether it may have %s is not known", BDF_TEXT(&hostdev->bdf)),
		strf("%s is %04x:%04x now, a %s that was not there", BDF_TEXT(&hostdev->bdf),
		     hostdev->vendor, hostdev->device, hostdev->gpu ? "GPU" : "device"),
		xstrdup("start gpupassd, or have it look again: gpupass rescan"), ret_problem);
}

/* ---- one group ---- */

static int refuse_part(const FenceRequest *q, const FenceGroup *group, const Bdf *has,
		       const Bdf *lacks, Problem **ret_problem)
{
	bool ours = str_equal(group->domain_uuid, q->uuid);
	bool taken = group->domain_uuid && !ours;

	return judge_refuse(
		q, GPUPASS_ERROR_SPLIT_GROUP, strf("it has only a part of group %s", group->name),
		strf("%s is in it, %s is not%s%s", BDF_TEXT(has), BDF_TEXT(lacks),
		     taken ? "; the group is assigned to " : "",
		     taken ? str_or_empty(group->domain_name) : ""),
		ours	? strf("gpupass reconcile %s", group->name)
		: taken ? strf("take %s out of it: virsh edit %s", BDF_TEXT(has), word(q))
			: strf("take %s out of it (virsh edit %s), then: gpupass assign %s %s",
			       BDF_TEXT(has), word(q), word(q), group->name),
		ret_problem);
}

/* Nothing but libvirt, by an <interface>, keeps the guest of a VF to a VLAN. */
static int refuse_vf(const FenceRequest *q, const FenceGroup *group, const FenceFunction *vf,
		     Problem **ret_problem)
{
	return judge_refuse(
		q, GPUPASS_ERROR_UNSUPPORTED_DOMAIN,
		strf("it has %s otherwise than group %s", BDF_TEXT(&vf->bdf), group->name),
		strf("this VF must be an <interface> with VLAN %u (0: none)", vf->vlan),
		strf("gpupass reconcile %s, or: virsh edit %s", group->name, word(q)), ret_problem);
}

static int check_whole(const FenceRequest *q, const FenceGroup *group, const Bdf *has,
		       Problem **ret_problem)
{
	EACH (const FenceFunction, function, group->functions, group->n_functions) {
		const FenceHostdev *hostdev = find_hostdev(q, function);

		if (!hostdev)
			return refuse_part(q, group, has, &function->bdf, ret_problem);
		if (function->vf && !(hostdev->interface && hostdev->vlan == function->vlan))
			return refuse_vf(q, group, function, ret_problem);
	}
	return 0;
}

static int check_state(const FenceRequest *q, const FenceGroup *group, Problem **ret_problem)
{
	static const struct {
		GpupassError error;
		const char *is, *remedy;
	} states[] = {
		[FENCE_UNSAFE] = { GPUPASS_ERROR_NOT_BRIDGED, "cannot be used as it is",
				   "gpupass status" },
		[FENCE_UNREAD] = { GPUPASS_ERROR_GROUP_BUSY, "may be assigned to another domain",
				   "gpupass doctor" },
		[FENCE_BUSY] = { GPUPASS_ERROR_GROUP_BUSY, "is in the hands of a job",
				 "wait until it has ended: gpupass jobs" },
		[FENCE_QUARANTINED] = { GPUPASS_ERROR_QUARANTINED, "is quarantined",
					"when its cause is gone: gpupass clear" },
	};
	bool named = group->state == FENCE_UNSAFE || group->state == FENCE_QUARANTINED;

	if (group->state == FENCE_OPEN)
		return 0;
	return judge_refuse(q, states[group->state].error,
			    strf("group %s %s", group->name, states[group->state].is),
			    xstrdup(group->reason),
			    strf("%s%s%s", states[group->state].remedy, named ? " " : "",
				 named ? group->name : ""),
			    ret_problem);
}

static int check_assigned(const FenceRequest *q, const FenceGroup *group, Problem **ret_problem)
{
	if (str_equal(group->domain_uuid, q->uuid))
		return 0;
	if (group->domain_uuid)
		return judge_refuse(q, GPUPASS_ERROR_GROUP_BUSY,
				    strf("group %s is assigned to %s", group->name,
					 str_or_empty(group->domain_name)),
				    strf("the record of domain %s", group->domain_uuid),
				    strf("take the group out of it (virsh edit %s), or release it: "
					 "gpupass release %s",
					 word(q), group->name),
				    ret_problem);
	if (group->foreign_use)
		return 0;
	return judge_refuse(
		q, GPUPASS_ERROR_NOT_ASSIGNED, strf("group %s is not assigned to it", group->name),
		NULL,
		strf("take the group out of it (virsh edit %s), then: gpupass assign %s %s; or set "
		     "ForeignUse=yes in its declaration",
		     word(q), word(q), group->name),
		ret_problem);
}

/* Of what no group has: fence_make(). */
static char *cleaned_by(const FenceRequest *q, const FenceGroup *group)
{
	if (group->domain_uuid)
		return strf("gpupass release %s, then assign it again: both reset it", group->name);
	if (group->n_functions == 1 && group->functions[0].companion)
		return strf("take it out of that domain (virsh edit %s), and declare it with its "
			    "pair again",
			    word(q));
	return strf("take the group out of it (virsh edit %s), then: gpupass assign %s %s, which "
		    "resets it",
		    word(q), word(q), group->name);
}

static int check_clean(const FenceRequest *q, const FenceGroup *group, Problem **ret_problem)
{
	EACH (const FenceBoard, board, group->boards, group->n_boards) {
		_cleanup_free_ char *tenant = NULL;

		if (board->tenant != TENANT_DIRTY ||
		    (board->domain_uuid && str_equal(board->domain_uuid, q->uuid)))
			continue;
		tenant = tenancy_tenant_text(board->domain_uuid, board->domain_name);
		return judge_refuse(
			q, GPUPASS_ERROR_RESET_FAILED,
			strf("%s was not reset since another tenant had it", BDF_TEXT(&board->bdf)),
			strf("it was last used by %s", tenant), cleaned_by(q, group), ret_problem);
	}
	return 0;
}

static int check_group(const FenceRequest *q, const FenceGroup *group, const Bdf *has,
		       Problem **ret_problem)
{
	int r = check_state(q, group, ret_problem);

	if (r == 0)
		r = check_whole(q, group, has, ret_problem);
	if (r == 0)
		r = check_assigned(q, group, ret_problem);
	return r == 0 ? check_clean(q, group, ret_problem) : r;
}

/* ---- a vGPU ---- */

/*
 * It needs the nvidia driver on its board, and not the whole group: what the host does with a free
 * group is its own business. But nobody gets a part of a group that is somebody's, or moves.
 */
static int check_vgpu(const FenceRequest *q, const FenceHostdev *hostdev, Problem **ret_problem)
{
	const FenceFunction *board = NULL;
	const FenceGroup *group = q->fence ? fence_find(q->fence, &hostdev->board, &board) : NULL;
	const char *noun = board && board->companion ? "VF" : "vGPU";

	if (!group)
		return 0;
	if (group->domain_uuid)
		return judge_refuse(q, GPUPASS_ERROR_GROUP_BUSY,
				    strf("it has a %s of %s, and group %s is assigned to %s", noun,
					 BDF_TEXT(&hostdev->board), group->name,
					 str_or_empty(group->domain_name)),
				    strf("the record of domain %s", group->domain_uuid),
				    strf("take the %s out of it (virsh edit %s), or release the "
					 "group: gpupass release %s",
					 noun, word(q), group->name),
				    ret_problem);
	return group->state == FENCE_UNSAFE ? 0 : check_state(q, group, ret_problem);
}

/* ---- one function ---- */

static int check_hostdev(const FenceRequest *q, const FenceHostdev *hostdev, Problem **ret_problem)
{
	const FenceFunction *then = NULL;
	const FenceGroup *group = NULL;

	if (q->fence)
		group = fence_find(q->fence, &hostdev->bdf, &then);
	if (!q->fence && (hostdev->gpu || hostdev->given))
		return refuse_blind(q, hostdev, ret_problem);
	if (is_vgpu(hostdev, then))
		return check_vgpu(q, hostdev, ret_problem);
	if (!q->fence)
		return 0;
	if (!group)
		then = fence_find_other(q->fence, &hostdev->bdf);
	/* Addresses were dealt out anew, or a board was put in. A group closed by its
	 * addresses alone has no ids. */
	if (hostdev->present && (!then || (then->vendor != 0 && !PCI_SAME_IDS(hostdev, then))))
		return hostdev->gpu || (then && then->companion)
			       ? refuse_changed(q, hostdev, ret_problem)
			       : 0;
	if (!group)
		return 0;
	return check_group(q, group, &hostdev->bdf, ret_problem);
}

int fence_judge(const FenceRequest *request, Problem **ret_problem)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < request->n_hostdevs; i++)
		r = check_hostdev(request, &request->hostdevs[i], ret_problem);
	return r;
}
