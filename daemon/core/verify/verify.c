/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/verify/verify.h"

#include <string.h>

#include "core/verify/match.h"
#include "util/text.h"

/* nvidia-smi(1), RETURN VALUE */
#define SMI_EXIT_NO_DEVICES 6
#define SMI_EXIT_NO_DRIVER 9
#define SMI_EXIT_NO_LIBRARY 12

enum { RUN_GPUS, RUN_TOPOLOGY, RUN_NVLINK, RUN_PEERS };
enum { DIAGNOSIS_MIG, DIAGNOSIS_CONFIDENTIAL };

static const char *const ask_gpus[] = { "nvidia-smi", "--query-gpu=index,uuid,pci.bus_id",
					"--format=csv,noheader", NULL };
static const char *const ask_topology[] = { "nvidia-smi", "topo", "-m", NULL };
static const char *const ask_nvlink[] = { "nvidia-smi", "nvlink", "--status", NULL };
static const char *const ask_peers[] = { "nvidia-smi", "topo", "-p2p", "n", NULL };
static const char *const ask_mig[] = { "nvidia-smi", "--query-gpu=index,mig.mode.current",
				       "--format=csv,noheader", NULL };
static const char *const ask_confidential[] = { "nvidia-smi", "conf-compute", "-f", NULL };

const char *const *const verify_commands[VERIFY_RUNS] = { ask_gpus, ask_topology, ask_nvlink,
							  ask_peers };
const char *const *const verify_diagnosis_commands[VERIFY_DIAGNOSES] = { ask_mig,
									 ask_confidential };

/* --- what was run --- */

static VerifyCause cause_of_outcome(GuestOutcome outcome)
{
	switch (outcome) {
	case GUEST_RAN:
		return VERIFY_NOTHING;
	case GUEST_NOT_RUNNING:
		return VERIFY_NOT_RUNNING;
	case GUEST_NO_CHANNEL:
		return VERIFY_NO_CHANNEL;
	case GUEST_NO_AGENT:
		return VERIFY_NO_AGENT;
	case GUEST_EXEC_DISABLED:
		return VERIFY_EXEC_DISABLED;
	case GUEST_NOT_STARTED:
		return VERIFY_NO_SMI;
	case GUEST_TIMEOUT:
		return VERIFY_TIMEOUT;
	case GUEST_TOO_MUCH:
		return VERIFY_TOO_MUCH;
	case GUEST_NOT_ASKED:
	case GUEST_GARBLED:
	case GUEST_REFUSED:
	case GUEST_OUTCOME_MAX_:
		break;
	}
	return VERIFY_BAD_REPLY;
}

static VerifyCause cause_of_exit(const GuestRun *run)
{
	if (!run->signalled &&
	    (run->exit_code == SMI_EXIT_NO_DRIVER || run->exit_code == SMI_EXIT_NO_LIBRARY))
		return VERIFY_NO_DRIVER;
	return VERIFY_SMI_FAILED;
}

/* `nvidia-smi topo -m: ended with 3: "…"`. The quoted words are the guest's, made harmless. */
static int describe_run(const GuestRun *run, size_t which, char **ret)
{
	_cleanup_free_ char *command = strv_join((char *const *)verify_commands[which], " ");
	_cleanup_free_ char *out = smi_excerpt(run->out ? run->out : "", run->out_size);
	_cleanup_free_ char *err = smi_excerpt(run->err ? run->err : "", run->err_size);
	_cleanup_free_ char *detail =
		smi_excerpt(str_or_empty(run->detail), strlen(str_or_empty(run->detail)));
	const char *said;

	if (!command || !out || !err || !detail)
		return -ENOMEM;
	said = *detail ? detail : *out ? out : err;
	if (run->outcome != GUEST_RAN)
		*ret = *said ? strdup(said) : strf("no answer to %s", command);
	else
		*ret = strf("%s: %s %lld%s%s%s", command,
			    run->signalled ? "ended by signal" : "exit status",
			    (long long)run->exit_code, *said ? ", \"" : "", said,
			    *said ? "\"" : "");
	return *ret ? 0 : -ENOMEM;
}

/* The answers that arrived and could be parsed. */
typedef struct Answers {
	SmiGpus gpus;
	SmiMatrix topology, peers;
	SmiNvlinks nvlinks;
	VerifyCause cause; /* why there are no more answers */
	size_t which;	   /* with a cause: the run that failed */
} Answers;

static int read_answer(const GuestRun *run, size_t which, Answers *into)
{
	const char *text = run->out ? run->out : "";
	int r;

	switch (which) {
	case RUN_GPUS:
		return smi_parse_gpus(text, run->out_size, &into->gpus);
	case RUN_TOPOLOGY:
		return smi_parse_topology(text, run->out_size, &into->topology);
	case RUN_NVLINK:
		r = smi_parse_nvlinks(text, run->out_size, &into->nvlinks);
		/* Some versions print this as an error, with nothing on stdout. */
		if (r == 0 && into->nvlinks.n_items == 0 && run->err_size > 0)
			r = smi_parse_nvlinks(run->err, run->err_size, &into->nvlinks);
		return r;
	default:
		return smi_parse_peers(text, run->out_size, &into->peers);
	}
}

static bool all_inactive(const SmiNvlinks *nvlinks)
{
	bool all = nvlinks->all_inactive;

	for (size_t i = 0; i < nvlinks->n_items; i++)
		all |= nvlinks->items[i].all_inactive;
	return all;
}

/* A failed program may still have said what counts: there are no GPUs, or no links. */
static bool may_fail(const GuestRun *run, size_t which, const Answers *answers)
{
	if (run->signalled)
		return false;
	if (which == RUN_GPUS)
		return run->exit_code == SMI_EXIT_NO_DEVICES && answers->gpus.n_items == 0;
	return which == RUN_NVLINK && all_inactive(&answers->nvlinks);
}

static int read_answers(const GuestRun runs[VERIFY_RUNS], Answers *ret)
{
	for (size_t i = 0; i < VERIFY_RUNS && ret->cause == VERIFY_NOTHING; i++) {
		int r;

		ret->which = i;
		ret->cause = cause_of_outcome(runs[i].outcome);
		if (ret->cause != VERIFY_NOTHING)
			break;
		r = read_answer(&runs[i], i, ret);
		if (r == -ENOMEM)
			return r;
		if ((runs[i].signalled || runs[i].exit_code != 0) &&
		    (r < 0 || !may_fail(&runs[i], i, ret)))
			ret->cause = cause_of_exit(&runs[i]);
		else if (r < 0)
			ret->cause = r == -EFBIG ? VERIFY_TOO_MUCH : VERIFY_BAD_OUTPUT;
	}
	return 0;
}

/* --- the verdict --- */

static void fill_gpu(VerifiedGpu *gpu, const SmiNvlinks *nvlinks)
{
	/* "All links are inactive" without a GPU's name is about all GPUs. */
	gpu->listed = nvlinks->all_inactive;
	for (size_t i = 0; i < nvlinks->n_items; i++) {
		const SmiNvlink *links = &nvlinks->items[i];

		if (strcmp(links->uuid, gpu->guest.uuid) != 0)
			continue;
		gpu->listed = true;
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

static void judge_link(const VerifyReport *report, VerifiedLink *link)
{
	const VerifiedGpu *a = &report->gpus[link->a], *b = &report->gpus[link->b];
	bool nv_ab = link->path_ab.kind == SMI_PATH_NVLINK;
	bool nv_ba = link->path_ba.kind == SMI_PATH_NVLINK;
	unsigned wanted = report->links_expected * (unsigned)(report->n_gpus - 1);

	if (link->path_ab.kind == SMI_PATH_NONE || link->path_ba.kind == SMI_PATH_NONE)
		settle_link(link, VERDICT_UNKNOWN, VERIFY_BAD_OUTPUT);
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

static int judge_links(const VerifyInput *input, const Answers *answers, VerifyReport *report)
{
	const VerifiedLink *worst = NULL;

	for (size_t i = 0; i < report->n_gpus; i++)
		fill_gpu(&report->gpus[i], &answers->nvlinks);
	for (size_t i = 0; i < report->n_links; i++) {
		VerifiedLink *link = &report->links[i];

		fill_link(report, answers, link);
		judge_link(report, link);
		if (!worst || weight(link->verdict) > weight(worst->verdict))
			worst = link;
	}
	if (!worst)
		return -EINVAL; /* judge_runs() has settled a group of one */
	report->verdict = worst->verdict;
	report->cause = worst->cause;
	return verify_explain(report, input, NULL, worst);
}

/* The GPUs could not be matched, or one is missing. */
static int judge_gpus(const VerifyInput *input, const Answers *answers, size_t which,
		      VerifyReport *report)
{
	_cleanup_free_ char *what = NULL;

	if (report->cause == VERIFY_GPU_MISSING) {
		report->verdict = VERDICT_BROKEN;
		for (size_t i = 0; i < report->n_links; i++)
			settle_link(&report->links[i], VERDICT_BROKEN, VERIFY_GPU_MISSING);
	}
	what = which == SIZE_MAX ? strf("%zu of %zu GPUs", answers->gpus.n_items, input->n_gpus)
				 : strf("%zu of %zu GPUs; %s (%s) is missing",
					answers->gpus.n_items, input->n_gpus,
					BDF_TEXT(&input->gpus[which].bdf), input->gpus[which].uuid);
	return what ? verify_explain(report, input, what, NULL) : -ENOMEM;
}

static int judge_runs(const VerifyInput *input, const GuestRun runs[VERIFY_RUNS], Answers *answers,
		      VerifyReport *report)
{
	_cleanup_free_ char *what = NULL;
	size_t which;
	int r;

	r = read_answers(runs, answers);
	if (r < 0)
		return r;
	/* The list of GPUs counts, even if later answers are missing. */
	if (answers->cause == VERIFY_NOTHING || answers->which > RUN_GPUS) {
		report->cause = verify_match_gpus(input, &answers->gpus, report->gpus,
						  &report->match, &which);
		if (report->cause != VERIFY_NOTHING)
			return judge_gpus(input, answers, which, report);
		/* A group of one has no links: that the driver has the GPU is all there is. */
		if (report->n_links == 0) {
			report->verdict = VERDICT_VERIFIED;
			return verify_explain(report, input, NULL, NULL);
		}
	}
	/* A path over PCIe, or links that are down, count whatever else is missing. */
	if (answers->cause == VERIFY_NOTHING || answers->which > RUN_TOPOLOGY) {
		r = judge_links(input, answers, report);
		if (r < 0 || answers->cause == VERIFY_NOTHING || report->verdict != VERDICT_UNKNOWN)
			return r;
	}
	report->cause = answers->cause;
	r = describe_run(&runs[answers->which], answers->which, &what);
	return r < 0 ? r : verify_explain(report, input, what, NULL);
}

int verify_judge(const VerifyInput *input, const GuestRun runs[VERIFY_RUNS], VerifyReport **ret)
{
	_cleanup_(verify_report_freep) VerifyReport *report = NULL;
	_cleanup_free_ Answers *answers = calloc(1, sizeof(Answers));
	int r;

	if (!answers)
		return -ENOMEM;
	r = verify_report_new(input, &report);
	if (r == 0)
		r = judge_runs(input, runs, answers, report);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(report);
	return 0;
}

int verify_give_up(const VerifyInput *input, VerifyCause cause, VerifyReport **ret)
{
	_cleanup_(verify_report_freep) VerifyReport *report = NULL;
	int r;

	r = verify_report_new(input, &report);
	if (r < 0)
		return r;
	report->cause = cause;
	r = verify_explain(report, input, NULL, NULL);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(report);
	return 0;
}

/* --- evidence --- */

/* `topo -m` may show links that are down, which do not count. */
static unsigned links_to(const VerifiedGpu *gpu, SmiCell path)
{
	return path.links < gpu->active ? path.links : gpu->active;
}

bool verify_links_seen(const VerifyReport *report, unsigned *links, unsigned *inactive)
{
	size_t n = report->n_gpus;

	if (report->match != VERIFY_MATCH_UUID && report->match != VERIFY_MATCH_ADDRESS)
		return false;
	for (size_t i = 0; i < report->n_links; i++)
		if (report->links[i].path_ab.kind == SMI_PATH_NONE ||
		    report->links[i].path_ba.kind == SMI_PATH_NONE)
			return false;
	for (size_t i = 0; i < n; i++)
		if (!report->gpus[i].listed)
			return false;
	for (size_t i = 0; i < n; i++) {
		links[i * n + i] = 0;
		inactive[i] = report->gpus[i].inactive;
	}
	for (size_t i = 0; i < report->n_links; i++) {
		const VerifiedLink *link = &report->links[i];

		links[link->a * n + link->b] = links_to(&report->gpus[link->a], link->path_ab);
		links[link->b * n + link->a] = links_to(&report->gpus[link->b], link->path_ba);
	}
	return true;
}

/* --- what may be the reason --- */

bool verify_wants_diagnosis(const VerifyReport *report)
{
	return report->verdict != VERDICT_VERIFIED && report->match != VERIFY_MATCH_NONE &&
	       report->n_gpus > 0 && report->cause != VERIFY_TIMEOUT;
}

static const VerifiedGpu *first_with_mig(const VerifyReport *report, uint64_t enabled)
{
	for (size_t i = 0; i < report->n_gpus; i++)
		if (report->gpus[i].found && enabled & UINT64_C(1) << report->gpus[i].guest.index)
			return &report->gpus[i];
	return NULL;
}

static int replace_cause(VerifyReport *report, const VerifyInput *input, VerifyCause cause,
			 const char *what)
{
	report->cause = cause;
	return verify_explain(report, input, what, NULL);
}

int verify_diagnose(const VerifyInput *input, const GuestRun runs[VERIFY_DIAGNOSES],
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
	if (gpu)
		return replace_cause(report, input, VERIFY_MIG, BDF_TEXT(&gpu->bdf));
	if (cc->outcome == GUEST_RAN && cc->out &&
	    smi_parse_confidential(cc->out, cc->out_size, &on) == 0 && on)
		return replace_cause(report, input, VERIFY_CONFIDENTIAL, NULL);
	return 0;
}
