/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/nvme/erase.h"

#include "erase.inc"

bool nvme_way_is_sanitize(NvmeWay way)
{
	return way == NVME_WAY_SANITIZE_CRYPTO || way == NVME_WAY_SANITIZE_BLOCK;
}

/* What a format would leave out. */
static void tell_left_out(const NvmeState *state, char ***reasons)
{
	bool attached = false;

	if (state->has_free)
		strv_append(reasons, "a part of it is in no namespace, and a format leaves that "
				     "part out");
	for (size_t i = 0; i < state->n_namespaces; i++) {
		attached |= state->namespaces[i].attached;
		if (!state->namespaces[i].attached && !state->erases_all)
			strv_appendf(reasons,
				     "namespace %u is not attached, and a format leaves it out",
				     state->namespaces[i].id);
	}
	if (!attached)
		strv_append(reasons, "it has no namespace that could be formatted");
}

NvmeWay nvme_erase_choose(const NvmeState *state, char ***reasons)
{
	size_t before = strv_length(*reasons);

	if (state->sanitizes_crypto)
		return NVME_WAY_SANITIZE_CRYPTO;
	if (state->sanitizes_block)
		return NVME_WAY_SANITIZE_BLOCK;
	if (!state->formats)
		strv_append(reasons, "it can neither sanitize nor format");
	else
		tell_left_out(state, reasons);
	if (strv_length(*reasons) > before)
		return NVME_WAY_NONE;
	return state->formats_crypto ? NVME_WAY_FORMAT_CRYPTO : NVME_WAY_FORMAT_USER;
}

/* A crypto erase takes seconds; one that erases blocks, minutes, and more where it is large. */
#define MARGIN_SEC 60U
#define CRYPTO_SEC 600U
#define BLOCK_SEC 7200U
/* What no controller needs: a mistaken estimate must not keep a group for days. */
#define LIMIT_MAX_SEC 86400U

unsigned nvme_erase_limit_sec(const NvmeState *state, NvmeWay way)
{
	uint64_t sec = 0;

	if (way == NVME_WAY_SANITIZE_CRYPTO)
		sec = state->estimates.crypto_sec;
	else if (way == NVME_WAY_SANITIZE_BLOCK)
		sec = state->estimates.block_sec;
	if (sec > 0)
		sec = 2 * sec + MARGIN_SEC;
	else
		sec = way == NVME_WAY_SANITIZE_CRYPTO || way == NVME_WAY_FORMAT_CRYPTO ? CRYPTO_SEC
										       : BLOCK_SEC;
	return sec < LIMIT_MAX_SEC ? (unsigned)sec : LIMIT_MAX_SEC;
}

NvmeEraseEnd nvme_erase_judge(const NvmeState *now, NvmeWay way)
{
	for (size_t i = 0; i < now->n_namespaces; i++)
		if (now->namespaces[i].format_percent > 0)
			return NVME_ERASE_RUNS;
	if (now->sanitize == NVME_SANITIZE_RUNS)
		return NVME_ERASE_RUNS;
	if (!nvme_way_is_sanitize(way))
		return NVME_ERASE_DUE;
	if (now->sanitize == NVME_SANITIZE_FAILED)
		return NVME_ERASE_FAILED;
	return now->sanitize == NVME_SANITIZE_DONE && now->erased ? NVME_ERASE_DONE
								  : NVME_ERASE_DUE;
}

unsigned nvme_erase_permille(const NvmeState *now)
{
	return now->sanitize == NVME_SANITIZE_RUNS ? now->sanitize_progress * 1000U / 65536U : 0;
}

bool nvme_use_is_whole(const NvmeUse *use, const NvmeState *state)
{
	size_t disks = 0;

	if (!use || !str_equal(use->state, "live") || !state ||
	    (state->unread && state->n_namespaces == 0))
		return false;
	for (char **node = use->nodes; node && *node; node++) {
		_cleanup_free_ char *disk = nvme_disk_name(*node + strlen("/dev/"));

		disks += disk != NULL;
	}
	return disks >= COUNT(state->namespaces, state->n_namespaces, it->attached);
}

void nvme_changes_since(const NvmeReceipt *receipt, const NvmeUse *use, const NvmeState *state,
			char ***lines)
{
	_cleanup_strv_ char **differences = NULL;
	bool compares = receipt && state && !state->unread;
	bool written = use && use->n_labels > 0;

	if (compares)
		nvme_state_differences(&receipt->state, state, &differences);
	/* Labels do not show raw writes, nor what was wiped of its label: the controller does. */
	if (compares && nvme_way_is_sanitize(receipt->way))
		written |= !state->erased;
	if (written)
		strv_append(lines, "was written on since gpupass erased it");
	for (char **line = differences; line && *line; line++)
		strv_appendf(lines, "is not as gpupass erased it: %s", *line);
}
