/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "core/verify/peer-test.h"

#include "util/text.h"
#include "util/xalloc.h"

#include "peer-test.inc"

static const char program[] =
#include "core/verify/peer-test.py.h"
	;

/* What the kernel calls SIGALRM: the program lets it end itself, since an agent ends nothing. */
#define SIGNAL_ALARM 14

/* As texts of report.c: %4$s is two boards, or what a program said. */
static const struct {
	const char *reason;
	const char *remedy;
} texts[PEER_CAUSE_MAX_] = {
	[PEERS_NOT_GIVEN] = { "running %3$s was started without peer access for all of %2$s",
			      "shut it down and start it again: virsh shutdown %1$s; virsh start "
			      "%1$s; see also gpupass doctor %1$s" },
	[PEERS_NOT_RUN] = { "which of the guest's GPUs are those of %2$s is not known",
			    "see the reason above" },
	[PEERS_NOT_ASKED] = { "the proof uses the guest's GPUs for some seconds, and was not asked "
			      "for",
			      "when they have no work: gpupass verify %1$s --workload" },
	[PEERS_NO_PYTHON] = { "python3 cannot be started in the guest",
			      "install python3 in the guest, in the PATH of the guest agent; the "
			      "program needs Linux" },
	[PEERS_NO_CUDA] = { "the guest has no libcuda.so.1",
			    "install NVIDIA's driver with its CUDA library in the guest; the "
			    "program needs Linux" },
	[PEERS_NOT_HEARD] = { "the guest agent gave no answer", "ask again: gpupass verify %1$s "
								"--workload" },
	[PEERS_FAILED] = { "the program that writes and reads failed in the guest: %4$s",
			   "see in the guest: nvidia-smi; dmesg | grep -i -e nvrm -e xid; and "
			   "whether SELinux keeps programs of the guest agent from its GPUs: "
			   "ausearch -m avc" },
	[PEERS_TIMEOUT] = { "the program that writes and reads did not end in time",
			    "look for work on the GPUs in the guest: nvidia-smi" },
	[PEERS_BAD_OUTPUT] = { "what the program printed in the guest is not understood",
			       "look in the guest for a wrapper of python3" },
	[PEERS_OTHER_GPUS] = { "CUDA in the guest does not show all GPUs of %2$s",
			       "see in the guest: nvidia-smi -L; and the agent's environment" },
	[PEERS_NO_ACCESS] = { "the guest's driver grants none between %4$s",
			      "see in the guest: nvidia-smi topo -p2p r; on the host: gpupass doctor "
			      "%1$s" },
	[PEERS_NVLINK] = { "all GPUs of %2$s reach each other by NVLink, and need no PCIe", NULL },
	[PEERS_NO_WAY] = { "what was written arrived; whether by PCIe or by NVLink is not known",
			   "see in the guest: nvidia-smi topo -m" },
	[PEERS_LOST] = { "what was written between %4$s did not arrive",
			 "trust nothing that used peer access; release %2$s and assign it without "
			 "--peer-access" },
};

static void settle(PeerTest *test, const VerifyInput *input, PeerCause cause, const char *what)
{
	test->verdict = cause == PEERS_NOTHING	? PEERS_PROVED
			: cause == PEERS_NVLINK ? PEERS_NOT_USED
			: cause == PEERS_LOST	? PEERS_WRONG
						: PEERS_NOT_PROVED;
	test->cause = cause;
	free(test->reason);
	free(test->remedy);
	test->reason = test->remedy = NULL;
	if (texts[cause].reason)
		test->reason = verify_fill(texts[cause].reason, input, what, "");
	if (texts[cause].remedy)
		test->remedy = verify_fill(texts[cause].remedy, input, what, "");
}

PeerTest *peer_test_begin(const VerifyInput *input, const VerifyReport *report, bool given,
			  bool asked, bool *ret_run)
{
	PeerTest *test = xcalloc(1, sizeof(PeerTest));
	bool known = report->match != VERIFY_MATCH_NONE && report->n_gpus > 1 &&
		     EVERY(report->gpus, report->n_gpus, it->found);

	settle(test, input,
	       !given	? PEERS_NOT_GIVEN
	       : !known ? PEERS_NOT_RUN
	       : !asked ? PEERS_NOT_ASKED
			: PEERS_NOT_HEARD,
	       "");
	*ret_run = given && known && asked;
	return test;
}

char **peer_test_command(const VerifyReport *report)
{
	/* Isolated: nothing of the folder or the environment that the agent runs in. */
	static const char *const words[] = { "python3", "-I", "-c", program };
	char **argv = NULL;

	for (size_t i = 0; i < ELEMENTS(words); i++)
		strv_append(&argv, words[i]);
	for (size_t i = 0; i < report->n_gpus; i++)
		strv_append(&argv, BDF_TEXT(&report->gpus[i].guest.address));
	return argv;
}

/* ---- what it printed ---- */

/* What it can say of two, from good to bad; the first: nothing. */
static const struct {
	const char *word;
	PeerCause cause;
} answers[] = {
	{ NULL, PEERS_OTHER_GPUS }, { "ok", PEERS_NOTHING }, { "none", PEERS_NO_ACCESS },
	{ "error", PEERS_FAILED },  { "lost", PEERS_LOST },
};

/* "0000:06:00.0 0000:07:00.0 ok". `told` has a place for each two of the group, both ways. */
static int read_line(char *line, const VerifyReport *report, uint8_t *told)
{
	char *second = smi_cut(line, ' '), *word = second ? smi_cut(second, ' ') : NULL;
	const VerifiedGpu *gpus = report->gpus, *a, *b;
	size_t w = 1;
	uint8_t *of;
	Bdf from, to;

	while (word && w < ELEMENTS(answers) && !str_equal(word, answers[w].word))
		w++;
	if (!word || w == ELEMENTS(answers) || bdf_parse(line, &from) < 0 ||
	    bdf_parse(second, &to) < 0 || bdf_equal(&from, &to))
		return -EBADMSG;
	a = FIND(gpus, report->n_gpus, bdf_equal(&it->guest.address, &from));
	b = FIND(gpus, report->n_gpus, bdf_equal(&it->guest.address, &to));
	if (!a || !b)
		return -EBADMSG;
	of = &told[(size_t)(a - gpus) * report->n_gpus + (size_t)(b - gpus)];
	if (*of > 0)
		return -EBADMSG;
	*of = (uint8_t)w;
	return 0;
}

static int read_lines(char *text, const VerifyReport *report, uint8_t *told)
{
	char *rest = text, *line = smi_next_line(&rest);
	int r = str_equal(line, "gpupass-peers 1") ? 0 : -EBADMSG;

	while (r == 0 && (line = smi_next_line(&rest)) && !str_equal(line, "end"))
		r = read_line(line, report, told);
	return r == 0 && line && str_is_empty(rest) ? 0 : -EBADMSG;
}

/* By which way two boards reach each other. topo -m may still show links that are down. */
static PeerCause way_of(const VerifiedLink *link, const VerifyReport *report)
{
	const SmiPath kinds[] = { link->path_ab.kind, link->path_ba.kind };

	if (kinds[0] == SMI_PATH_NONE || kinds[1] == SMI_PATH_NONE)
		return PEERS_NO_WAY;
	if (kinds[0] != SMI_PATH_NVLINK && kinds[1] != SMI_PATH_NVLINK)
		return PEERS_NOTHING;
	return kinds[0] == kinds[1] && report->gpus[link->a].active > 0 &&
			       report->gpus[link->b].active > 0
		       ? PEERS_NVLINK
		       : PEERS_NO_WAY;
}

/* PCIe is the way between any two, or NVLink between all. */
static PeerCause way_of_all(const VerifyReport *report)
{
	PeerCause all = PEERS_NVLINK;

	EACH (const VerifiedLink, link, report->links, report->n_links) {
		PeerCause way = way_of(link, report);

		if (way == PEERS_NO_WAY)
			return way;
		if (way == PEERS_NOTHING)
			all = way;
	}
	return all;
}

/* By the worst that was told, of *ret_two. */
static PeerCause judge(const VerifyReport *report, const uint8_t *told, char **ret_two)
{
	size_t n = report->n_gpus, worst = 0;
	bool whole = true;
	PeerCause cause;

	for (size_t i = 0; i < n * n; i++) {
		whole &= told[i] > 0 || i / n == i % n;
		if (told[i] > told[worst])
			worst = i;
	}
	*ret_two = strf("%s and %s", BDF_TEXT(&report->gpus[worst / n].bdf),
			BDF_TEXT(&report->gpus[worst % n].bdf));
	cause = answers[told[worst]].cause;
	if (!whole && cause != PEERS_LOST)
		return PEERS_OTHER_GPUS;
	return cause == PEERS_NOTHING ? way_of_all(report) : cause;
}

/* NOTHING: it printed what counts, which is judged. */
static PeerCause failure_of(const GuestRun *run)
{
	switch (run->outcome) {
	case GUEST_RAN:
		if (run->signalled && run->exit_code == SIGNAL_ALARM)
			return PEERS_TIMEOUT;
		return run->signalled || run->exit_code != 0 ? PEERS_FAILED : PEERS_NOTHING;
	case GUEST_NOT_STARTED:
		return PEERS_NO_PYTHON;
	case GUEST_TIMEOUT:
		return PEERS_TIMEOUT;
	case GUEST_TOO_MUCH:
	case GUEST_GARBLED:
		return PEERS_BAD_OUTPUT;
	default:
		return PEERS_NOT_HEARD;
	}
}

void peer_test_hear(PeerTest *test, const VerifyInput *input, const VerifyReport *report,
		    const GuestRun *run)
{
	_cleanup_free_ char *text = NULL, *two = NULL, *said = smi_excerpt(run->err, run->err_size);
	_cleanup_free_ uint8_t *told = xcalloc(report->n_gpus + 1, report->n_gpus);
	PeerCause cause = failure_of(run);

	if (cause == PEERS_NOTHING && smi_clean(str_or_empty(run->out), run->out_size, &text) < 0)
		cause = PEERS_BAD_OUTPUT;
	if (text && str_equal(text, "no-cuda\n"))
		cause = PEERS_NO_CUDA;
	if (cause == PEERS_NOTHING && read_lines(text, report, told) < 0)
		cause = PEERS_BAD_OUTPUT;
	if (cause == PEERS_NOTHING)
		cause = judge(report, told, &two);
	if (cause == PEERS_FAILED)
		settle(test, input, cause, *said ? said : "no further word");
	else
		settle(test, input, cause, str_or_empty(two));
}
