/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/verify/verify.h"

#include <strings.h>

#include "util/grow.h"
#include "util/text.h"
#include "util/xalloc.h"

/* --- which of the guest's GPUs are the group's --- */

/*
 * The UUID decides if the host knows it: the board reports the same one everywhere. The guest's
 * firmware gives addresses, and libvirt's XML has indexes of controllers for bus numbers. These
 * mostly agree, but not always, so addresses count only if they fit for every GPU of the domain.
 */
static const SmiGpu *find_uuid(const SmiGpus *seen, const char *uuid)
{
	return FIND(seen->items, seen->n_items, strcasecmp(it->uuid, uuid) == 0);
}

static const SmiGpu *find_address(const SmiGpus *seen, const Bdf *address)
{
	return FIND(seen->items, seen->n_items, bdf_equal(&it->address, address));
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
		if (SOME(input->gpus, i, bdf_equal(&it->guest, &input->gpus[i].guest)))
			return false;
	}
	return true;
}

/*
 * The free GPU of the guest with the lowest address. There are as many as open GPUs of the group.
 */
static const SmiGpu *lowest_free(const SmiGpus *seen, const VerifiedGpu *gpus, size_t n)
{
	const SmiGpu *lowest = NULL;

	for (size_t i = 0; i < seen->n_items; i++)
		if (!SOME(gpus, n, it->found && it->guest.index == seen->items[i].index) &&
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

/*
 * Finds the group's GPUs among those that the guest shows, and fills `gpus` (n_group). NOTHING, or
 * why they cannot be identified. With GPU_MISSING and OTHER_GPUS *ret_which is the GPU that the
 * guest does not show.
 */
static VerifyCause match_gpus(const VerifyInput *input, const SmiGpus *seen, VerifiedGpu *gpus,
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

/* --- the verdict --- */

static void fill_gpu(VerifiedGpu *gpu, const SmiNvlinks *nvlinks)
{
	/* "All links are inactive" without a GPU's name is about all GPUs. */
	gpu->listed = nvlinks->all_inactive;
	EACH (const SmiNvlink, links, nvlinks->items, nvlinks->n_items) {
		if (strcmp(links->uuid, gpu->guest.uuid) != 0)
			continue;
		gpu->listed = !links->unreadable;
		gpu->not_offered = links->not_offered;
		gpu->active = links->active;
		gpu->inactive = links->inactive;
		gpu->min_mbps = links->min_mbps;
		gpu->max_mbps = links->max_mbps;
	}
}

static void fill_link(const VerifyReport *report, const Answers *answers, VerifiedLink *link)
{
	unsigned a = report->gpus[link->a].guest.index, b = report->gpus[link->b].guest.index;

	link->path_ab = answers->topology.cells[a][b];
	link->path_ba = answers->topology.cells[b][a];
	link->peer_ab = (SmiPeer)answers->peers.cells[a][b].kind;
	link->peer_ba = (SmiPeer)answers->peers.cells[b][a].kind;
}

static void settle_link(VerifiedLink *link, Verdict verdict, VerifyCause cause)
{
	link->verdict = verdict;
	link->cause = cause;
}

static bool is_down(const VerifiedGpu *gpu)
{
	return gpu->listed && gpu->inactive > 0 && gpu->active == 0;
}

static void judge_link(const VerifyReport *report, VerifiedLink *link)
{
	const VerifiedGpu *a = &report->gpus[link->a], *b = &report->gpus[link->b];
	bool nv_ab = link->path_ab.kind == SMI_PATH_NVLINK;
	bool nv_ba = link->path_ba.kind == SMI_PATH_NVLINK;
	unsigned wanted = report->links_expected * (unsigned)(report->n_gpus - 1);

	if (a->not_offered || b->not_offered)
		settle_link(link, VERDICT_BROKEN, VERIFY_NOT_OFFERED);
	else if (link->path_ab.kind == SMI_PATH_NONE || link->path_ba.kind == SMI_PATH_NONE)
		/* There is no topo, but links that are all down say enough. */
		settle_link(link, is_down(a) || is_down(b) ? VERDICT_BROKEN : VERDICT_UNKNOWN,
			    is_down(a) || is_down(b) ? VERIFY_INACTIVE : VERIFY_BAD_OUTPUT);
	else if (!nv_ab || !nv_ba)
		settle_link(link, VERDICT_BROKEN,
			    nv_ab || nv_ba ? VERIFY_ASYMMETRIC : VERIFY_NO_NVLINK);
	else if (!a->listed || !b->listed)
		settle_link(link, VERDICT_UNKNOWN, VERIFY_BAD_OUTPUT);
	else if (a->active == 0 || b->active == 0)
		/* topo -m may still show NV#. */
		settle_link(link, VERDICT_BROKEN, VERIFY_INACTIVE);
	else if (link->peer_ab == SMI_PEER_NONE || link->peer_ba == SMI_PEER_NONE)
		settle_link(link, VERDICT_UNKNOWN, VERIFY_BAD_OUTPUT);
	else if (link->peer_ab == SMI_PEER_U || link->peer_ba == SMI_PEER_U)
		settle_link(link, VERDICT_UNKNOWN, VERIFY_NO_PEER);
	else if (link->peer_ab != SMI_PEER_OK || link->peer_ba != SMI_PEER_OK)
		settle_link(link, VERDICT_BROKEN, VERIFY_NO_PEER);
	else if (link->path_ab.links != link->path_ba.links)
		settle_link(link, VERDICT_DEGRADED, VERIFY_ASYMMETRIC);
	else if (report->links_expected == 0)
		settle_link(link, VERDICT_UNKNOWN, VERIFY_NO_EXPECTATION);
	else if (link->path_ab.links < report->links_expected || a->active < wanted ||
		 b->active < wanted)
		settle_link(link, VERDICT_DEGRADED, VERIFY_FEW_LINKS);
	else
		settle_link(link, VERDICT_VERIFIED, VERIFY_NOTHING);
}

/* From best to worst. A known fault weighs more than something unknown. */
static int weight(Verdict verdict)
{
	switch (verdict) {
	case VERDICT_VERIFIED:
		return 0;
	case VERDICT_UNKNOWN:
		return 1;
	case VERDICT_DEGRADED:
		return 2;
	case VERDICT_BROKEN:
	case VERDICT_MAX_:
		break;
	}
	return 3;
}

static void judge_links(const VerifyInput *input, const Answers *answers, VerifyReport *report)
{
	const VerifiedLink *worst = &report->links[0];

	for (size_t i = 0; i < report->n_gpus; i++)
		fill_gpu(&report->gpus[i], &answers->nvlinks);
	EACH (VerifiedLink, link, report->links, report->n_links) {
		fill_link(report, answers, link);
		judge_link(report, link);
		if (weight(link->verdict) > weight(worst->verdict))
			worst = link;
	}
	report->verdict = worst->verdict;
	report->cause = worst->cause;
	verify_explain(report, input, NULL, worst);
}

/* --- GPUs that are missing, or that cannot be used --- */

static VerifyCause cause_of_alarm(const SmiAlarm *alarm)
{
	return alarm->told == TOLD_GPU_LOST	  ? VERIFY_GPU_LOST
	       : alarm->told == TOLD_RESET_NEEDED ? VERIFY_RESET_NEEDED
						  : VERIFY_NOTHING;
}

static bool is_about(const SmiAlarm *alarm, const VerifyGpu *gpu, const VerifiedGpu *seen)
{
	const char *uuid = seen->found ? seen->guest.uuid : str_or_empty(gpu->uuid);

	if (alarm->has_address)
		return bdf_equal(&alarm->address,
				 seen->found ? &seen->guest.address : &gpu->guest) &&
		       (seen->found || gpu->has_guest);
	if (*alarm->uuid)
		return strcasecmp(alarm->uuid, uuid) == 0;
	return alarm->has_index && seen->found && alarm->index == seen->guest.index;
}

/*
 * The alarm that is about a GPU of the group, and which that is. Otherwise one that may be about
 * it: where GPUs are missing any, else one that tells of no GPU, unless the guest lacks one of
 * others.
 */
static const SmiAlarm *find_alarm(const VerifyInput *input, const VerifyReport *report,
				  const Answers *answers, size_t *which)
{
	const SmiAlarm *maybe = NULL;

	EACH (const SmiAlarm, alarm, answers->alarms.items, answers->alarms.n_items) {
		bool told = alarm->has_address || alarm->has_index || *alarm->uuid;

		if (cause_of_alarm(alarm) == VERIFY_NOTHING)
			continue;
		for (size_t i = 0; i < report->n_gpus; i++)
			if (is_about(alarm, &input->gpus[i], &report->gpus[i])) {
				*which = i;
				return alarm;
			}
		if (!maybe && (report->cause == VERIFY_GPU_MISSING ||
			       (!told && answers->gpus.n_items >= input->n_gpus)))
			maybe = alarm;
	}
	if (maybe && report->cause == VERIFY_NOTHING && input->n_gpus == 1)
		*which = 0;
	return maybe;
}

/* "1 of 2 GPUs; 0000:61:00.0 (GPU-…) is missing: "GPU is lost"" */
static char *missing_text(const VerifyInput *input, const Answers *answers, const SmiAlarm *alarm,
			  size_t which)
{
	const VerifyGpu *gpu = which == SIZE_MAX ? NULL : &input->gpus[which];
	const char *uuid = gpu && gpu->uuid ? gpu->uuid : NULL;
	_cleanup_free_ char *of_it = gpu ? strf("; %s%s%s%s is missing", BDF_TEXT(&gpu->bdf),
						uuid ? " (" : "", uuid ? uuid : "", uuid ? ")" : "")
					 : xstrdup("");

	return strf("%zu of %zu GPUs%s%s%s%s", answers->gpus.n_items, input->n_gpus, of_it,
		    alarm ? ": \"" : "", alarm ? alarm->line : "", alarm ? "\"" : "");
}

static char *lost_text(const VerifyInput *input, const SmiAlarm *alarm, size_t which)
{
	if (which == SIZE_MAX)
		return strf("a GPU, it does not say which: \"%s\"", alarm->line);
	return strf("%s: \"%s\"", BDF_TEXT(&input->gpus[which].bdf), alarm->line);
}

/* The GPUs could not be matched, or one is missing or lost. `alarm` may be NULL. */
static void settle_gpus(const VerifyInput *input, const Answers *answers, const SmiAlarm *alarm,
			size_t which, VerifyReport *report)
{
	_cleanup_free_ char *what = NULL;
	bool named = which != SIZE_MAX;

	if (alarm && named)
		report->cause =
			report->gpus[which].found ? cause_of_alarm(alarm) : VERIFY_GPU_MISSING;
	else if (alarm && report->cause == VERIFY_NOTHING)
		report->cause = cause_of_alarm(alarm);
	if (report->cause == VERIFY_GPU_MISSING || (alarm && named))
		report->verdict = VERDICT_BROKEN;
	for (size_t i = 0; i < report->n_links && report->verdict == VERDICT_BROKEN; i++)
		if (report->cause == VERIFY_GPU_MISSING || report->links[i].a == which ||
		    report->links[i].b == which)
			settle_link(&report->links[i], VERDICT_BROKEN, report->cause);
	what = report->cause == VERIFY_GPU_LOST || report->cause == VERIFY_RESET_NEEDED
		       ? lost_text(input, alarm, which)
		       : missing_text(input, answers, alarm, which);
	verify_explain(report, input, what, NULL);
}

/* *ret_settled: nothing else counts. */
static void judge_gpus(const VerifyInput *input, const GuestRun runs[VERIFY_RUNS], Answers *answers,
		       VerifyReport *report, bool *ret_settled)
{
	const SmiAlarm *alarm;
	size_t which;

	report->cause = match_gpus(input, &answers->gpus, report->gpus, &report->match, &which);
	alarm = find_alarm(input, report, answers, &which);
	*ret_settled = alarm || report->cause != VERIFY_NOTHING;
	/* A list that was cut short tells of no GPU that it is missing. */
	if (answers->partial && !alarm && (*ret_settled || report->match == VERIFY_MATCH_COUNT)) {
		answers_refuse(runs, RUN_GPUS, answers);
		report->match = VERIFY_MATCH_NONE;
		for (size_t i = 0; i < report->n_gpus; i++)
			report->gpus[i].found = false;
		*ret_settled = false;
	}
	if (*ret_settled)
		settle_gpus(input, answers, alarm, which, report);
}

/* --- all of it --- */

/* "topo is not there; nvlink says 4 of 4 links are active on 0000:41:00.0, …" */
static char *describe_no_command(const VerifyReport *report, size_t which)
{
	unsigned wanted = report->links_expected * (unsigned)(report->n_gpus - 1);
	_cleanup_strv_ char **links = NULL;
	_cleanup_free_ char *said = NULL;

	for (size_t i = 0; i < report->n_gpus; i++)
		if (report->gpus[i].listed)
			strv_appendf(&links, "%u of %u links are active on %s",
				     report->gpus[i].active, wanted,
				     BDF_TEXT(&report->gpus[i].bdf));
	said = strv_join(links, ", ");
	return strf("%s is not there%s%s", verify_commands[which][1], *said ? "; nvlink says " : "",
		    said);
}

static void judge_missing(const VerifyInput *input, const GuestRun runs[VERIFY_RUNS],
			  const Answers *answers, VerifyReport *report)
{
	_cleanup_free_ char *what = NULL;
	size_t which = answers_first_missing(answers);

	report->cause = answers->missing[which];
	what = report->cause == VERIFY_NO_COMMAND ? describe_no_command(report, which)
						  : answers_describe(runs, which, answers);
	verify_explain(report, input, what, NULL);
}

static void judge_runs(const VerifyInput *input, const GuestRun runs[VERIFY_RUNS], Answers *answers,
		       VerifyReport *report)
{
	bool settled = false;

	answers_read(runs, answers);
	if (answers->missing[RUN_GPUS] == VERIFY_NOTHING)
		judge_gpus(input, runs, answers, report, &settled);
	if (settled)
		return;
	report->note = answers_note(runs, answers);
	/* Without the list of GPUs nothing else can be told. */
	if (answers->missing[RUN_GPUS] != VERIFY_NOTHING) {
		judge_missing(input, runs, answers, report);
		return;
	}
	/* A group of one has no links: that the driver has the GPU is all there is. */
	if (report->n_links == 0) {
		report->verdict = VERDICT_VERIFIED;
		verify_explain(report, input, NULL, NULL);
		return;
	}
	/* A path over PCIe, or links that are down, count whatever else is missing. */
	judge_links(input, answers, report);
	if (report->cause == VERIFY_BAD_OUTPUT && answers->bad[RUN_NVLINK] > 0)
		answers_refuse(runs, RUN_NVLINK, answers);
	if (answers_first_missing(answers) < VERIFY_RUNS && report->verdict == VERDICT_UNKNOWN)
		judge_missing(input, runs, answers, report);
}

VerifyReport *verify_judge(const VerifyInput *input, const GuestRun runs[VERIFY_RUNS])
{
	_cleanup_free_ Answers *answers = xcalloc(1, sizeof(Answers));
	VerifyReport *report = verify_report_new(input);

	judge_runs(input, runs, answers, report);
	return report;
}

VerifyReport *verify_give_up(const VerifyInput *input, VerifyCause cause)
{
	VerifyReport *report = verify_report_new(input);

	report->cause = cause;
	verify_explain(report, input, NULL, NULL);
	return report;
}

/* --- evidence --- */

/* `topo -m` may show links that are down, which do not count. */
static unsigned links_to(const VerifiedGpu *gpu, SmiCell path)
{
	return path.links < gpu->active ? path.links : gpu->active;
}

/*
 * Every pair was reported, it is certain which GPU is which, and nothing in the guest turns NVLink
 * off, bridge or not.
 */
static bool tells_of_links(const VerifyReport *report)
{
	if (report->cause == VERIFY_MIG || report->cause == VERIFY_CONFIDENTIAL ||
	    report->cause == VERIFY_NOT_OFFERED)
		return false;
	if (report->match != VERIFY_MATCH_UUID && report->match != VERIFY_MATCH_ADDRESS)
		return false;
	return !SOME(report->links, report->n_links,
		     it->path_ab.kind == SMI_PATH_NONE || it->path_ba.kind == SMI_PATH_NONE) &&
	       EVERY(report->gpus, report->n_gpus, it->listed);
}

/* Any number for a board that is not in the catalogue, or whose number of links is not known. */
static unsigned most_links(const Board *board)
{
	return !board || (board->kind == NVLINK_BRIDGE && board->links == 0) ? SIGHTING_LINKS_MAX
									     : board->links;
}

/* Adds the links that GPU i shows to others. */
static int add_peers(const VerifyReport *report, size_t i, Gpu *const *gpus, Sighting *s)
{
	unsigned all = 0;

	EACH (const VerifiedLink, link, report->links, report->n_links) {
		const Gpu *peer = gpus[link->a == i ? link->b : link->a];
		unsigned links =
			links_to(&report->gpus[i], link->a == i ? link->path_ab : link->path_ba);

		if ((link->a != i && link->b != i) || links == 0)
			continue;
		all += links;
		*GROW(s->peers, s->n_peers) = (SeenPeer){ .bdf = peer->lead->bdf, .links = links };
	}
	return all <= most_links(gpus[i]->board) ? 0 : -EINVAL;
}

int verify_evidence(const VerifyReport *report, const VerifyInput *input, Gpu *const *gpus,
		    uint64_t seen_usec, Evidence **ret)
{
	/* A domain's name may have any bytes. Here it is only shown. */
	_cleanup_free_ char *name = strf("guest %.50s", input->domain);
	_cleanup_free_ char *source = str_printable(name);
	_cleanup_(evidence_unrefp) Evidence *seen = xcalloc(1, sizeof(Evidence));
	int r = 0;

	*ret = NULL;
	if (!tells_of_links(report))
		return 0;
	for (size_t i = 0; r >= 0 && i < report->n_gpus; i++) {
		const PciFunction *lead = gpus[i]->lead;
		Sighting s = {
			.bdf = lead->bdf,
			.way = WAY_GUEST,
			.seen_usec = seen_usec,
			.source = xstrdup(source),
			.domain = xstrdup(input->domain_uuid),
			.uuid = xstrdup(gpus[i]->uuid),
			.serial_number = xstrdup(gpus[i]->serial_number),
			PCI_IDS_OF(lead),
			.inactive = report->gpus[i].inactive,
			.fresh = true,
		};

		r = add_peers(report, i, gpus, &s);
		if (r >= 0)
			r = evidence_add(seen, &s);
		else
			sighting_clear(&s);
	}
	if (r >= 0)
		*ret = TAKE_PTR(seen);
	return r;
}

/* --- what may be the reason --- */

enum { DIAGNOSIS_MIG, DIAGNOSIS_CONFIDENTIAL };

static const char *const ask_mig[] = { "nvidia-smi", "--query-gpu=index,mig.mode.current",
				       "--format=csv,noheader", NULL };
static const char *const ask_confidential[] = { "nvidia-smi", "conf-compute", "-f", NULL };

const char *const *const verify_diagnosis_commands[VERIFY_DIAGNOSES] = { ask_mig,
									 ask_confidential };

bool verify_wants_diagnosis(const VerifyReport *report)
{
	return report->verdict != VERDICT_VERIFIED && report->match != VERIFY_MATCH_NONE &&
	       report->n_gpus > 0 && report->cause != VERIFY_TIMEOUT &&
	       report->cause != VERIFY_GPU_LOST && report->cause != VERIFY_RESET_NEEDED;
}

static const VerifiedGpu *first_with_mig(const VerifyReport *report, uint64_t enabled)
{
	return FIND(report->gpus, report->n_gpus,
		    it->found && enabled & UINT64_C(1) << it->guest.index);
}

void verify_diagnose(const VerifyInput *input, const GuestRun runs[VERIFY_DIAGNOSES],
		     VerifyReport *report)
{
	const GuestRun *mig = &runs[DIAGNOSIS_MIG], *cc = &runs[DIAGNOSIS_CONFIDENTIAL];
	const VerifiedGpu *gpu = NULL;
	uint64_t enabled = 0;
	bool on = false;

	/* Not every driver knows these questions. An error means that the mode is off. */
	if (mig->outcome == GUEST_RAN && mig->out &&
	    smi_parse_mig(mig->out, mig->out_size, &enabled) == 0)
		gpu = first_with_mig(report, enabled);
	if (gpu) {
		report->cause = VERIFY_MIG;
		verify_explain(report, input, BDF_TEXT(&gpu->bdf), NULL);
	} else if (cc->outcome == GUEST_RAN && cc->out &&
		   smi_parse_confidential(cc->out, cc->out_size, &on) == 0 && on) {
		report->cause = VERIFY_CONFIDENTIAL;
		verify_explain(report, input, NULL, NULL);
	}
}
