/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/verify/text.h"

#include <string.h>

#include "core/domain/ref.h"
#include "core/verify/workload-text.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"

char *smi_path_text(SmiCell cell)
{
	if (cell.kind == SMI_PATH_NVLINK)
		return strf("NV%u", cell.links);
	return strdup(smi_path_to_string((SmiPath)cell.kind));
}

/* --- reasons --- */

static const char *peer_words(SmiPeer peer)
{
	switch (peer) {
	case SMI_PEER_CNS:
		return "the chipset does not support it";
	case SMI_PEER_GNS:
		return "a GPU does not support it";
	case SMI_PEER_TNS:
		return "the topology does not support it";
	case SMI_PEER_DR:
		return "a setting of the driver disables it";
	case SMI_PEER_U:
		return "it is not known";
	case SMI_PEER_NS:
	case SMI_PEER_NONE:
	case SMI_PEER_SELF:
	case SMI_PEER_OK:
	case SMI_PEER_MAX_:
		break;
	}
	return "it is not supported";
}

static char *peer_reason(const VerifiedLink *link, const char *a, const char *b)
{
	SmiPeer peer = link->peer_ab != SMI_PEER_OK ? link->peer_ab : link->peer_ba;

	return strf("peer-to-peer over NVLink between %s and %s is %s: %s", a, b,
		    smi_peer_to_string(peer), peer_words(peer));
}

/* Names the GPU of the two with fewer active links. */
static char *few_links_reason(const VerifyReport *report, const VerifiedLink *link, const char *a,
			      const char *b)
{
	const VerifiedGpu *ga = &report->gpus[link->a], *gb = &report->gpus[link->b];
	const VerifiedGpu *less = gb->active < ga->active ? gb : ga;
	unsigned wanted = report->links_expected * (unsigned)(report->n_gpus - 1);

	if (less->active < wanted)
		return strf("%u of %u links are active on %s", less->active, wanted,
			    BDF_TEXT(&less->bdf));
	return strf("%u of %u links join %s and %s", link->path_ab.links, report->links_expected, a,
		    b);
}

static char *link_reason(const VerifyReport *report, const VerifiedLink *link)
{
	const char *a = BDF_TEXT(&report->gpus[link->a].bdf);
	const char *b = BDF_TEXT(&report->gpus[link->b].bdf);
	_cleanup_free_ char *ab = smi_path_text(link->path_ab), *ba = smi_path_text(link->path_ba);

	if (!ab || !ba)
		return NULL;
	switch (link->cause) {
	case VERIFY_NO_NVLINK:
		return strf("%s and %s reach each other by PCIe (%s), not by NVLink", a, b, ab);
	case VERIFY_ASYMMETRIC:
		return strf("%s reaches %s by %s, but the way back is %s", a, b, ab, ba);
	case VERIFY_INACTIVE:
		return strf("no link is active between %s and %s", a, b);
	case VERIFY_FEW_LINKS:
		return few_links_reason(report, link, a, b);
	case VERIFY_NO_PEER:
		return peer_reason(link, a, b);
	case VERIFY_NO_EXPECTATION:
		return strf("%u links join %s and %s; how many this board should have is not known",
			    link->path_ab.links, a, b);
	default:
		return strf("nvidia-smi in the guest says nothing about %s and %s", a, b);
	}
}

static char *reason_text(const VerifyReport *report, const VerifyInput *in, const char *what)
{
	switch (report->cause) {
	case VERIFY_NOT_RUNNING:
		return strf("%s is not running", in->domain);
	case VERIFY_NOT_ATTACHED:
		return strf("the running %s does not have all GPUs of %s", in->domain, in->group);
	case VERIFY_CHANGED:
		return strf("the GPUs of %s changed while its guest was asked", in->domain);
	case VERIFY_NO_CHANNEL:
		return strf("%s has no channel for the guest agent", in->domain);
	case VERIFY_NO_AGENT:
		return strf("the guest agent of %s does not answer: %s", in->domain, what);
	case VERIFY_EXEC_DISABLED:
		return strf("the guest agent of %s may not run programs", in->domain);
	case VERIFY_NO_SMI:
		return strf("the guest cannot run nvidia-smi: %s", what);
	case VERIFY_TIMEOUT:
		return strf("the guest did not answer in time: %s", what);
	case VERIFY_TOO_MUCH:
		return strdup("nvidia-smi in the guest printed more than 64 KiB");
	case VERIFY_BAD_REPLY:
		return strf("the guest agent's reply cannot be used: %s", what);
	case VERIFY_NO_DRIVER:
		return strf("the guest has no working NVIDIA driver: %s", what);
	case VERIFY_SMI_FAILED:
		return strf("nvidia-smi failed in the guest: %s", what);
	case VERIFY_BAD_OUTPUT:
		return strf("what the guest prints is not understood: %s", what);
	case VERIFY_GPU_MISSING:
		return strf("the guest's driver shows %s", what);
	case VERIFY_OTHER_GPUS:
		return strf("the guest shows GPUs that are not those of %s: %s", in->group, what);
	case VERIFY_AMBIGUOUS:
		return strf("it is not clear which of the guest's GPUs are those of %s (%s)",
			    in->group, what);
	case VERIFY_MIG:
		return strf("%s is in multi-instance mode (MIG), which turns NVLink off", what);
	case VERIFY_CONFIDENTIAL:
		return strdup("confidential computing is on, which turns NVLink peer-to-peer off");
	default:
		return strdup("nothing was proven");
	}
}

/* --- remedies --- */

static const char *remedy_form(VerifyCause cause)
{
	switch (cause) {
	case VERIFY_NOT_RUNNING:
		return "start it: virsh start %1$s";
	case VERIFY_NOT_ATTACHED:
		return "shut it down and start it again, or give them to it live: "
		       "gpupass assign %1$s %2$s --live";
	case VERIFY_CHANGED:
		return "try again";
	case VERIFY_NO_CHANNEL:
		return "add the channel org.qemu.guest_agent.0 (virsh edit %1$s) and install "
		       "qemu-guest-agent in the guest; see gpupassd(8), VERIFY";
	case VERIFY_NO_AGENT:
		return "start qemu-guest-agent in the guest, and see: virsh qemu-agent-command "
		       "%1$s '{\"execute\":\"guest-ping\"}'";
	case VERIFY_EXEC_DISABLED:
		return "allow guest-exec and guest-exec-status in the guest, in the settings of "
		       "qemu-guest-agent; see gpupassd(8), VERIFY";
	case VERIFY_NO_SMI:
		return "install NVIDIA's driver with nvidia-smi in the guest, in the PATH of the "
		       "guest agent; see gpupassd(8), VERIFY";
	case VERIFY_TIMEOUT:
		return "run nvidia-smi in the guest and see what it waits for; to wait longer: "
		       "gpupass verify %1$s --timeout=10min";
	case VERIFY_NO_DRIVER:
		return "see in the guest: nvidia-smi; dmesg | grep -i nvrm";
	case VERIFY_GPU_MISSING:
		return "see in the guest: lspci -d 10de:; dmesg | grep -i nvrm; BARs that do not fit "
		       "are the usual reason";
	case VERIFY_OTHER_GPUS:
		return "see in the guest: nvidia-smi -L; on the host: gpupass show %2$s";
	case VERIFY_AMBIGUOUS:
		return "bind %2$s to the nvidia driver of the host once, so that its UUIDs become "
		       "known, or take the other GPUs out of %1$s";
	case VERIFY_MIG:
		return "in the guest: nvidia-smi -mig 0";
	case VERIFY_CONFIDENTIAL:
		return "NVLink needs a guest without it; see NVIDIA's guide to confidential computing";
	case VERIFY_NO_NVLINK:
	case VERIFY_INACTIVE:
	case VERIFY_FEW_LINKS:
		/* Azure's pairs of H100 lost their links at 29 of 50 starts, and had them again
		 * after a reboot of the guest: Azure/azhpc-images issue 443. */
		return "reboot the guest, then: gpupass verify %1$s; if it says the same, compare "
		       "with what the host saw: gpupass status %2$s; only then, with the host "
		       "switched off, look at the bridge's seat";
	case VERIFY_NO_PEER:
		return "see in the guest: nvidia-smi topo -p2p n; dmesg | grep -i nvrm; and look "
		       "for NVreg_RegistryDwords among the driver's settings";
	default:
		return "see in the guest: nvidia-smi topo -m; nvidia-smi nvlink --status";
	}
}

/* %1$s is the domain, %2$s the group. The formats have no other per cent sign. */
static char *remedy_text(VerifyCause cause, const VerifyInput *in)
{
	const char *const names[] = { domain_ref_word(in->domain, in->domain_uuid), in->group };
	const char *form = remedy_form(cause), *at;
	_cleanup_free_ char *text = strdup("");

	while (text && (at = strchr(form, '%'))) {
		char *more = strf("%s%.*s%s", text, (int)(at - form), form, names[at[1] - '1']);

		free(text);
		text = more;
		form = at + strlen("%1$s");
	}
	return text ? strf("%s%s", text, form) : NULL;
}

int verify_explain(VerifyReport *report, const VerifyInput *input, const char *what,
		   const VerifiedLink *link)
{
	free(report->reason);
	free(report->remedy);
	report->reason = report->remedy = NULL;
	if (report->verdict == VERDICT_VERIFIED)
		return 0;
	report->reason = link ? link_reason(report, link)
			      : reason_text(report, input, what ? what : "no further word");
	report->remedy = remedy_text(report->cause, input);
	return report->reason && report->remedy ? 0 : -ENOMEM;
}

/* --- JSON --- */

static json_t *gpu_to_json(const VerifiedGpu *gpu)
{
	if (!gpu->found)
		return json_pack("{s:s, s:b}", "address", BDF_TEXT(&gpu->bdf), "found", 0);
	return json_pack("{s:s, s:b, s:i, s:s, s:s, s:b, s:i, s:i, s:i, s:i}", "address",
			 BDF_TEXT(&gpu->bdf), "found", 1, "index", (int)gpu->guest.index, "uuid",
			 gpu->guest.uuid, "guest_address", BDF_TEXT(&gpu->guest.address), "listed",
			 gpu->listed, "links_active", (int)gpu->active, "links_inactive",
			 (int)gpu->inactive, "min_mbps", (int)gpu->min_mbps, "max_mbps",
			 (int)gpu->max_mbps);
}

static json_t *link_to_json(const VerifyReport *report, const VerifiedLink *link)
{
	const char *a = BDF_TEXT(&report->gpus[link->a].bdf);
	const char *b = BDF_TEXT(&report->gpus[link->b].bdf);
	_cleanup_free_ char *ab = smi_path_text(link->path_ab), *ba = smi_path_text(link->path_ba);
	_cleanup_free_ char *reason = NULL;

	if (link->verdict != VERDICT_VERIFIED && link->cause != VERIFY_NOTHING &&
	    link->cause != VERIFY_GPU_MISSING) {
		reason = link_reason(report, link);
		if (!reason)
			return NULL;
	}
	if (!ab || !ba)
		return NULL;
	return json_pack("{s:[ss], s:s, s:s, s:s?, s:[ss], s:[ss]}", "gpus", a, b, "verdict",
			 verdict_to_string(link->verdict), "cause",
			 verify_cause_to_string(link->cause), "reason", reason, "paths", ab, ba,
			 "peer_to_peer", smi_peer_to_string(link->peer_ab),
			 smi_peer_to_string(link->peer_ba));
}

/* jansson refuses a NULL item, so one failure makes the whole fail. */
static json_t *gpus_to_json(const VerifyReport *report)
{
	_cleanup_json_ json_t *a = json_array();

	for (size_t i = 0; i < report->n_gpus; i++)
		if (json_array_append_new(a, gpu_to_json(&report->gpus[i])) < 0)
			return NULL;
	return TAKE_PTR(a);
}

static json_t *links_to_json(const VerifyReport *report)
{
	_cleanup_json_ json_t *a = json_array();

	for (size_t i = 0; i < report->n_links; i++)
		if (json_array_append_new(a, link_to_json(report, &report->links[i])) < 0)
			return NULL;
	return TAKE_PTR(a);
}

char *verify_report_to_json(const VerifyReport *report, const VerifyInput *input,
			    const char *domain_uuid, uint64_t asked_usec, const VerifyMore *more)
{
	_cleanup_json_ json_t *root = json_pack(
		"{s:s, s:s, s:s, s:s?, s:s?, s:{s:s, s:s}, s:s, s:I, s:s, s:i, s:o, s:o, s:o, s:o}",
		"schema", GPUPASS_SCHEMA_VERIFY, "verdict", verdict_to_string(report->verdict),
		"cause", verify_cause_to_string(report->cause), "reason", report->reason, "remedy",
		report->remedy, "domain", "name", input->domain, "uuid", domain_uuid, "group",
		input->group, "asked_at", (json_int_t)asked_usec, "matched_by",
		verify_match_to_string(report->match), "links_expected",
		(int)report->links_expected, "gpus", gpus_to_json(report), "links",
		links_to_json(report), "guest_report",
		more->guest_report ? guest_report_to_json(more->guest_report) : json_null(),
		"workload",
		more->workload ? workload_to_json(more->workload, report) : json_null());

	return root ? json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII) : NULL;
}
