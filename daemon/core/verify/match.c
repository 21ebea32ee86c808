/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/verify/match.h"

#include <string.h>
#include <strings.h>

static const SmiGpu *find_uuid(const SmiGpus *seen, const char *uuid)
{
	for (size_t i = 0; i < seen->n_items; i++)
		if (strcasecmp(seen->items[i].uuid, uuid) == 0)
			return &seen->items[i];
	return NULL;
}

static const SmiGpu *find_address(const SmiGpus *seen, const Bdf *address)
{
	for (size_t i = 0; i < seen->n_items; i++)
		if (bdf_equal(&seen->items[i].address, address))
			return &seen->items[i];
	return NULL;
}

static void take_gpu(VerifiedGpu *gpu, const SmiGpu *seen)
{
	gpu->found = true;
	gpu->guest = *seen;
}

/* Matches the GPUs whose UUID is known. *ret_which: the first that the guest does not show. */
static bool match_uuids(const VerifyInput *input, const SmiGpus *seen, VerifiedGpu *gpus,
			size_t *ret_n, size_t *ret_which)
{
	*ret_n = 0;
	for (size_t i = 0; i < input->n_group; i++) {
		const SmiGpu *found;

		if (!input->gpus[i].uuid)
			continue;
		found = find_uuid(seen, input->gpus[i].uuid);
		if (!found) {
			*ret_which = i;
			return false;
		}
		take_gpu(&gpus[i], found);
		(*ret_n)++;
	}
	return true;
}

/* Every GPU of the domain is where the XML says, and the guest shows no other. */
static bool addresses_fit(const VerifyInput *input, const SmiGpus *seen)
{
	if (seen->n_items != input->n_gpus)
		return false;
	for (size_t i = 0; i < input->n_gpus; i++) {
		const SmiGpu *found =
			input->gpus[i].has_guest ? find_address(seen, &input->gpus[i].guest) : NULL;

		if (!found ||
		    (input->gpus[i].uuid && strcasecmp(found->uuid, input->gpus[i].uuid) != 0))
			return false;
		for (size_t k = 0; k < i; k++)
			if (bdf_equal(&input->gpus[k].guest, &input->gpus[i].guest))
				return false;
	}
	return true;
}

static bool is_taken(const VerifiedGpu *gpus, size_t n, const SmiGpu *seen)
{
	for (size_t i = 0; i < n; i++)
		if (gpus[i].found && gpus[i].guest.index == seen->index)
			return true;
	return false;
}

/*
 * The free GPU of the guest with the lowest address. There are as many as open GPUs of the group.
 */
static const SmiGpu *lowest_free(const SmiGpus *seen, const VerifiedGpu *gpus, size_t n)
{
	const SmiGpu *lowest = NULL;

	for (size_t i = 0; i < seen->n_items; i++)
		if (!is_taken(gpus, n, &seen->items[i]) &&
		    (!lowest || bdf_compare(&seen->items[i].address, &lowest->address) < 0))
			lowest = &seen->items[i];
	return lowest;
}

/* The first GPU of the group, by place in the guest, that has no match yet. */
static size_t lowest_open(const VerifyInput *input, const VerifiedGpu *gpus)
{
	size_t lowest = SIZE_MAX;

	for (size_t i = 0; i < input->n_group; i++) {
		const VerifyGpu *gpu = &input->gpus[i];

		if (!gpus[i].found && (lowest == SIZE_MAX ||
				       (gpu->has_guest && input->gpus[lowest].has_guest &&
					bdf_compare(&gpu->guest, &input->gpus[lowest].guest) < 0)))
			lowest = i;
	}
	return lowest;
}

VerifyCause verify_match_gpus(const VerifyInput *input, const SmiGpus *seen, VerifiedGpu *gpus,
			      VerifyMatch *ret_match, size_t *ret_which)
{
	size_t known = 0, open;

	*ret_which = SIZE_MAX;
	if (!match_uuids(input, seen, gpus, &known, ret_which))
		return seen->n_items < input->n_gpus ? VERIFY_GPU_MISSING : VERIFY_OTHER_GPUS;
	if (known == input->n_group) {
		*ret_match = VERIFY_MATCH_UUID;
		return VERIFY_NOTHING;
	}
	if (addresses_fit(input, seen)) {
		for (size_t i = 0; i < input->n_group; i++)
			take_gpu(&gpus[i], find_address(seen, &input->gpus[i].guest));
		*ret_match = VERIFY_MATCH_ADDRESS;
		return VERIFY_NOTHING;
	}
	if (input->n_gpus > input->n_group || seen->n_items > input->n_gpus)
		return VERIFY_AMBIGUOUS;
	if (seen->n_items < input->n_gpus)
		return VERIFY_GPU_MISSING;
	while ((open = lowest_open(input, gpus)) != SIZE_MAX)
		take_gpu(&gpus[open], lowest_free(seen, gpus, input->n_group));
	*ret_match = VERIFY_MATCH_COUNT;
	return VERIFY_NOTHING;
}
