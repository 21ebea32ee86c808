/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/nvme/state.h"

#include "util/xalloc.h"

#include "state.inc"

/* ---- what is wrong with it ---- */

/* SMART's critical warnings (NVM Express Base Specification, "SMART / Health Information"). */
static const char *const warnings[] = {
	"its spare blocks are used up",
	"it is too hot or too cold",
	"its media or its electronics are degraded",
	"its media is read-only",
	"its volatile memory's backup has failed",
	"its persistent memory region is read-only",
};

void nvme_state_faults(const NvmeState *state, char ***lines)
{
	for (unsigned bit = 0; bit < 8; bit++)
		if (state->critical_warning & (1U << bit))
			strv_append(lines, bit < ELEMENTS(warnings)
						   ? warnings[bit]
						   : "SMART warns of what is not known here");
	if (state->lock == NVME_LOCK_LOCKED)
		strv_append(lines, "it is locked (TCG)");
	else if (state->lock == NVME_LOCK_ENABLED)
		strv_append(lines, "somebody has enabled its lock (TCG): it is locked after its "
				   "power was off");
	else if (state->lock == NVME_LOCK_UNKNOWN)
		strv_append(lines, "whether somebody has locked it (TCG) is not known");
	if (state->sanitize == NVME_SANITIZE_RUNS)
		strv_append(lines, "a sanitize is in progress");
	else if (state->sanitize == NVME_SANITIZE_FAILED)
		strv_append(lines, "its last sanitize has failed");
	else if (state->sanitize == NVME_SANITIZE_UNKNOWN)
		strv_append(lines, "whether a sanitize is in progress is not known");
	if (state->shared)
		strv_append(lines, "its subsystem may have other ports, controllers or functions, "
				   "which reach the same namespaces");
	if (state->firmware_next > 0)
		strv_appendf(lines, "its next reset activates the firmware in slot %u",
			     state->firmware_next);
	EACH (const NvmeNamespace, ns, state->namespaces, state->n_namespaces) {
		if (ns->write_protected)
			strv_appendf(lines, "namespace %u is write-protected", ns->id);
		if (ns->shared)
			strv_appendf(lines, "namespace %u may be shared with other controllers",
				     ns->id);
		if (ns->format_percent > 0)
			strv_appendf(lines, "namespace %u is being formatted", ns->id);
	}
	for (char **what = state->unread; what && *what; what++)
		strv_appendf(lines, "not known: %s", *what);
}

/* ---- what is not as it was ---- */

static void differ(char ***lines, const char *what, const char *before, const char *after)
{
	if (!str_equal(before, after))
		strv_appendf(lines, "its %s is %s, and was %s", what, after ? after : "not known",
			     before ? before : "not known");
}

static const NvmeNamespace *find_namespace(const NvmeState *state, uint32_t id)
{
	for (size_t i = 0; i < state->n_namespaces; i++)
		if (state->namespaces[i].id == id)
			return &state->namespaces[i];
	return NULL;
}

static void differ_namespaces(const NvmeState *before, const NvmeState *after, char ***lines)
{
	EACH (const NvmeNamespace, was, before->namespaces, before->n_namespaces) {
		const NvmeNamespace *is = find_namespace(after, was->id);

		if (!is)
			strv_appendf(lines, "namespace %u is gone", was->id);
		else if (is->blocks != was->blocks || is->format != was->format)
			strv_appendf(lines, "namespace %u has another size or LBA format", was->id);
		else if (is->attached != was->attached)
			strv_appendf(lines, "namespace %u %s attached", was->id,
				     is->attached ? "is" : "is no longer");
	}
	for (size_t i = 0; i < after->n_namespaces; i++)
		if (!find_namespace(before, after->namespaces[i].id))
			strv_appendf(lines, "namespace %u is new", after->namespaces[i].id);
}

void nvme_state_differences(const NvmeState *before, const NvmeState *after, char ***lines)
{
	_cleanup_free_ char *slots_before = strv_join(before->firmware_slots, ", ");
	_cleanup_free_ char *slots_after = strv_join(after->firmware_slots, ", ");

	differ(lines, "model", before->model, after->model);
	differ(lines, "serial number", before->serial, after->serial);
	differ(lines, "firmware", before->firmware, after->firmware);
	differ(lines, "list of firmware slots", slots_before, slots_after);
	differ_namespaces(before, after, lines);
}

/* ---- TCG ---- */

#define DISCOVERY_HEADER 48
#define FEATURE_HEADER 4
#define FEATURE_LOCKING 0x0002
#define LOCKING_SUPPORTED 0x01
#define LOCKING_ENABLED 0x02
#define LOCKED 0x04

static NvmeLock lock_of_bits(uint8_t bits)
{
	if (!(bits & LOCKING_SUPPORTED))
		return NVME_LOCK_NONE;
	if (bits & LOCKED)
		return NVME_LOCK_LOCKED;
	return bits & LOCKING_ENABLED ? NVME_LOCK_ENABLED : NVME_LOCK_OFF;
}

NvmeLock nvme_lock_parse(const uint8_t *data, size_t size)
{
	size_t length, at = DISCOVERY_HEADER;

	if (size < DISCOVERY_HEADER)
		return NVME_LOCK_UNKNOWN;
	/* Without the four bytes of the length itself. */
	length = ((size_t)data[0] << 24 | (size_t)data[1] << 16 | (size_t)data[2] << 8 | data[3]) +
		 4;
	if (length < DISCOVERY_HEADER || length > size)
		return NVME_LOCK_UNKNOWN;
	while (at < length) {
		size_t room = length - at, body;

		if (room < FEATURE_HEADER)
			return NVME_LOCK_UNKNOWN;
		body = data[at + 3];
		if (room < FEATURE_HEADER + body)
			return NVME_LOCK_UNKNOWN;
		if ((data[at] << 8 | data[at + 1]) == FEATURE_LOCKING)
			return body > 0 ? lock_of_bits(data[at + FEATURE_HEADER])
					: NVME_LOCK_UNKNOWN;
		at += FEATURE_HEADER + body;
	}
	return NVME_LOCK_NONE;
}
