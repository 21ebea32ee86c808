/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/verify/report.h"

#include "core/domain/ref.h"
#include "gpupass/dbus.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

DEFINE_STRING_TABLE(verdict, Verdict, GPUPASS_VERDICTS)

VerifyReport *verify_report_new(const VerifyInput *input)
{
	VerifyReport *report = xcalloc(1, sizeof(VerifyReport));
	size_t n = input->n_group;

	report->verdict = VERDICT_UNKNOWN;
	report->links_expected = input->links_expected;
	report->gpus = xcalloc(n + 1, sizeof(VerifiedGpu));
	report->links = xcalloc(n * n + 1, sizeof(VerifiedLink));
	for (size_t i = 0; i < n; i++)
		report->gpus[report->n_gpus++].bdf = input->gpus[i].bdf;
	for (size_t a = 0; a < n; a++)
		for (size_t b = a + 1; b < n; b++)
			report->links[report->n_links++] = (VerifiedLink){
				.a = a,
				.b = b,
				.verdict = VERDICT_UNKNOWN,
			};
	return report;
}

#include "report.inc"

char *verify_fill(const char *form, const VerifyInput *in, const char *what, const char *more)
{
	const char *const texts[] = { domain_ref_word(in->domain, in->domain_uuid), in->group,
				      in->domain, what, more };
	const char *at;
	_cleanup_free_ char *text = xstrdup("");

	while ((at = strchr(form, '%'))) {
		char *longer = strf("%s%.*s%s", text, (int)(at - form), form, texts[at[1] - '1']);

		free(text);
		text = longer;
		form = at + strlen("%1$s");
	}
	return strf("%s%s", text, form);
}

/* "NV4", "SYS", "nothing"; new. */
static char *path_text(SmiCell cell)
{
	if (cell.kind == SMI_PATH_NVLINK)
		return strf("NV%u", cell.links);
	return xstrdup(smi_path_to_string((SmiPath)cell.kind));
}

/* --- reasons --- */

static char *peer_reason(const VerifiedLink *link, const char *a, const char *b)
{
	static const char *const words[] = { SMI_PEERS(STRING_TABLE_WORDS_) };
	SmiPeer peer = link->peer_ab != SMI_PEER_OK ? link->peer_ab : link->peer_ba;

	return strf("peer-to-peer over NVLink between %s and %s is %s: %s", a, b,
		    smi_peer_to_string(peer), words[peer]);
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

/* The one that does not offer it, or both. */
static const char *offered_text(const VerifyReport *report, const VerifiedLink *link, const char *a,
				const char *b)
{
	if (!report->gpus[link->b].not_offered)
		return a;
	return report->gpus[link->a].not_offered ? "both GPUs" : b;
}

static char *link_reason(const VerifyReport *report, const VerifiedLink *link)
{
	const char *a = BDF_TEXT(&report->gpus[link->a].bdf);
	const char *b = BDF_TEXT(&report->gpus[link->b].bdf);
	_cleanup_free_ char *ab = path_text(link->path_ab), *ba = path_text(link->path_ba);

	switch (link->cause) {
	case VERIFY_NOT_OFFERED:
		return strf("the guest's driver offers no NVLink on %s: \"Device does not have or "
			    "support Nvlink\"",
			    offered_text(report, link, a, b));
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

/*
 * Azure's pairs of H100 lost their links at 29 of 50 starts, and had them again after a reboot of
 * the guest: Azure/azhpc-images issue 443.
 */
#define MISSING_LINKS                                                                              \
	"reboot the guest, then: gpupass verify %1$s; if it says the same, compare with what the " \
	"host saw: gpupass status %2$s; only then, with the host switched off, look at the "       \
	"bridge's seat"

/*
 * What to do, from cause to action: what is cheap first, hardware last, and never the command that
 * just failed.
 */
static const struct {
	const char *reason; /* NULL: nothing was proven, or it is of a link */
	const char *remedy;
} texts[VERIFY_CAUSE_MAX_] = {
	[VERIFY_NOTHING] = { NULL, "see the reason above" },
	[VERIFY_NOT_RUNNING] = { "%3$s is not running", "start it: virsh start %1$s" },
	[VERIFY_NOT_ATTACHED] = { "the running %3$s does not have all GPUs of %2$s",
				  "shut it down and start it again, or give them to it live: "
				  "gpupass assign %1$s %2$s --live" },
	[VERIFY_CHANGED] = { "the GPUs of %3$s changed while its guest was asked", "try again" },
	[VERIFY_NO_CHANNEL] = { "%3$s has no channel for the guest agent",
				"add the channel org.qemu.guest_agent.0 (virsh edit %1$s) and install "
				"qemu-guest-agent in the guest; see gpupassd(8), VERIFY" },
	[VERIFY_NO_AGENT] = { "the guest agent of %3$s does not answer: %4$s",
			      "start qemu-guest-agent in the guest, and see: virsh qemu-agent-command "
			      "%1$s '{\"execute\":\"guest-ping\"}'" },
	[VERIFY_EXEC_DISABLED] = { "the guest agent of %3$s may not run programs",
				   "allow guest-exec and guest-exec-status in the guest, in the "
				   "settings of qemu-guest-agent; see gpupassd(8), VERIFY" },
	[VERIFY_NO_SMI] = { "the guest cannot run nvidia-smi: %4$s",
			    "install NVIDIA's driver with nvidia-smi in the guest, in the PATH of the "
			    "guest agent; see gpupassd(8), VERIFY" },
	[VERIFY_TIMEOUT] = { "the guest did not answer in time: %4$s",
			     "see in the guest what it waits for: dmesg | grep -i nvrm; to wait "
			     "longer: gpupass verify %1$s --timeout=10min" },
	[VERIFY_TOO_MUCH] = { "nvidia-smi in the guest printed more than 64 KiB",
			      "look in the guest for a wrapper of nvidia-smi, or a library in "
			      "LD_PRELOAD or /etc/ld.so.preload, that prints more" },
	[VERIFY_BAD_REPLY] = { "the guest agent's reply cannot be used: %4$s",
			       "restart qemu-guest-agent in the guest; its log there: "
			       "journalctl -u qemu-guest-agent" },
	[VERIFY_NO_DRIVER] = { "the guest has no working NVIDIA driver: %4$s",
			       "see in the guest: lsmod | grep nvidia; dmesg | grep -i nvrm; after an "
			       "update of the kernel the driver has to be built for it" },
	[VERIFY_MISMATCH] = { "the guest's driver and its library are of different versions: %4$s",
			      "reboot the guest: its driver was updated, and the module of the old "
			      "one is still loaded" },
	[VERIFY_NOT_PERMITTED] = { "the guest agent may not use nvidia-smi: %4$s",
				   "see in the guest whether SELinux confines the agent: ausearch -m avc -c "
				   "nvidia-smi; allow it as in gpupassd(8), VERIFY; without SELinux look at the "
				   "owner and mode of /dev/nvidia*" },
	[VERIFY_NO_COMMAND] = { "nvidia-smi in the guest lacks a command: %4$s",
				"measure instead of asking, which also works on Windows: gpupass "
				"verify %1$s --workload" },
	[VERIFY_SMI_FAILED] = { "nvidia-smi failed in the guest: %4$s",
				"see in the guest: dmesg | grep -i -e nvrm -e xid; then reboot it" },
	[VERIFY_BAD_OUTPUT] = { "what the guest prints is not understood: %4$s",
				"measure instead of asking: gpupass verify %1$s --workload; and "
				"report what nvidia-smi prints there, with the driver's version" },
	[VERIFY_GPU_MISSING] = { "the guest's driver shows %4$s",
				 "reboot the guest, then: gpupass verify %1$s; if it is missing again, see in the "
				 "guest: lspci -d 10de:; dmesg | grep -i -e nvrm -e xid; BARs that do not fit are "
				 "the usual reason where it never worked" },
	[VERIFY_GPU_LOST] = { "the guest's driver cannot use %4$s",
			      "reboot the guest, then: gpupass verify %1$s; if it is lost again, see "
			      "in the guest: dmesg | grep -i xid; and on the host: gpupass doctor "
			      "%1$s" },
	[VERIFY_RESET_NEEDED] = { "the guest's driver wants a reset of %4$s",
				  "shut the guest down and start it again, which resets its GPUs: "
				  "virsh shutdown %1$s; virsh start %1$s" },
	[VERIFY_OTHER_GPUS] = { "the guest shows GPUs that are not those of %2$s: %4$s",
				"see in the guest: nvidia-smi -L; on the host: gpupass show %2$s" },
	[VERIFY_AMBIGUOUS] = { "it is not clear which of the guest's GPUs are those of %2$s (%4$s)",
			       "bind %2$s to the nvidia driver of the host once, so that its UUIDs "
			       "become known, or take the other GPUs out of %1$s" },
	[VERIFY_MIG] = { "%4$s is in multi-instance mode (MIG), which turns NVLink off",
			 "in the guest: nvidia-smi -mig 0" },
	[VERIFY_CONFIDENTIAL] = { "confidential computing is on, which turns NVLink peer-to-peer off",
				  "NVLink needs a guest without it; see NVIDIA's guide to "
				  "confidential computing" },
	[VERIFY_NOT_OFFERED] = { NULL,
				 "look in the guest for NVreg_NvLinkDisable and NVreg_RegistryDwords, which turn it "
				 "off: grep -rs NVreg_ /etc/modprobe.d /proc/cmdline; take them out, reboot the "
				 "guest, then: gpupass verify %1$s; without them something hides NVLink from the "
				 "guest: compare with what the host saw: gpupass status %2$s" },
	[VERIFY_NO_NVLINK] = { NULL, MISSING_LINKS },
	[VERIFY_INACTIVE] = { NULL, MISSING_LINKS },
	[VERIFY_FEW_LINKS] = { NULL, MISSING_LINKS },
	[VERIFY_ASYMMETRIC] = { NULL, MISSING_LINKS },
	[VERIFY_NO_PEER] = { NULL,
			     "look in the guest for NVreg_RegistryDwords among the driver's settings "
			     "(/etc/modprobe.d), and at: dmesg | grep -i nvrm" },
	[VERIFY_NO_EXPECTATION] = { NULL, "compare with NVIDIA's data sheet of the board" },
};

void verify_explain(VerifyReport *report, const VerifyInput *input, const char *what,
		    const VerifiedLink *link)
{
	const char *reason = texts[report->cause].reason;

	free(report->reason);
	free(report->remedy);
	report->reason = report->remedy = NULL;
	if (report->verdict == VERDICT_VERIFIED)
		return;
	report->reason = link ? link_reason(report, link)
			      : verify_fill(reason ? reason : "nothing was proven", input,
					    what ? what : "no further word", "");
	report->remedy = verify_fill(texts[report->cause].remedy, input, "", "");
}

/* --- JSON --- */

static json_t *gpu_to_json(const VerifiedGpu *gpu)
{
	if (!gpu->found)
		return json_build("{s:s, s:b}", "address", BDF_TEXT(&gpu->bdf), "found", 0);
	return json_build("{s:s, s:b, s:i, s:s, s:s, s:b, s:i, s:i, s:i, s:i}", "address",
			  BDF_TEXT(&gpu->bdf), "found", 1, "index", (int)gpu->guest.index, "uuid",
			  gpu->guest.uuid, "guest_address", BDF_TEXT(&gpu->guest.address), "listed",
			  gpu->listed, "links_active", (int)gpu->active, "links_inactive",
			  (int)gpu->inactive, "min_mbps", (int)gpu->min_mbps, "max_mbps",
			  (int)gpu->max_mbps);
}

/* The document's own reason tells of it. */
static bool is_of_gpu(VerifyCause cause)
{
	return cause == VERIFY_GPU_MISSING || cause == VERIFY_GPU_LOST ||
	       cause == VERIFY_RESET_NEEDED;
}

static json_t *link_to_json(const VerifyReport *report, const VerifiedLink *link)
{
	const char *a = BDF_TEXT(&report->gpus[link->a].bdf);
	const char *b = BDF_TEXT(&report->gpus[link->b].bdf);
	_cleanup_free_ char *ab = path_text(link->path_ab), *ba = path_text(link->path_ba);
	_cleanup_free_ char *reason = NULL;

	if (link->verdict != VERDICT_VERIFIED && link->cause != VERIFY_NOTHING &&
	    !is_of_gpu(link->cause))
		reason = link_reason(report, link);
	return json_build("{s:[ss], s:s, s:s, s:s?, s:[ss], s:[ss]}", "gpus", a, b, "verdict",
			  verdict_to_string(link->verdict), "cause",
			  verify_cause_to_string(link->cause), "reason", reason, "paths", ab, ba,
			  "peer_to_peer", smi_peer_to_string(link->peer_ab),
			  smi_peer_to_string(link->peer_ba));
}

static json_t *links_to_json(const VerifyReport *report)
{
	return JSON_ARRAY(report->links, report->n_links, link_to_json(report, it));
}

char *verify_report_to_json(const VerifyReport *report, const VerifyInput *input,
			    const char *domain_uuid, uint64_t asked_usec, json_t *guest_report,
			    json_t *topology, json_t *workload, json_t *peer_access)
{
	_cleanup_json_ json_t *root = json_build(
		"{s:s, s:s, s:s, s:o, s:o, s:o, s:{s:o, s:s}, s:s, s:I, s:s, s:i, s:o, s:o, s:o, s:o, s:o, s:o}",
		"schema", GPUPASS_SCHEMA_VERIFY, "verdict", verdict_to_string(report->verdict),
		"cause", verify_cause_to_string(report->cause), "reason",
		json_string_or_null(report->reason), "remedy", json_string_or_null(report->remedy),
		"note", json_string_or_null(report->note), "domain", "name",
		json_text(input->domain), "uuid", domain_uuid, "group", input->group, "asked_at",
		(json_int_t)asked_usec, "matched_by", verify_match_to_string(report->match),
		"links_expected", (int)report->links_expected, "gpus",
		JSON_ARRAY(report->gpus, report->n_gpus, gpu_to_json(it)), "links",
		links_to_json(report), "guest_report", guest_report ? guest_report : json_null(),
		"topology", topology ? topology : json_null(), "workload",
		workload ? workload : json_null(), "peer_access",
		peer_access ? peer_access : json_null());

	return json_dumps(root, JSON_COMPACT | JSON_ENSURE_ASCII);
}
