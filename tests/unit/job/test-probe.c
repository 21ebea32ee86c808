/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is asked, and what becomes of the answer: on the fake host of the rig, four A6000. */
#include "rig/test.h"

#include <string.h>

#include "job/prepare.h"
#include "job/probe.h"
#include "rig/job-rig.h"
#include "util/file.h"
#include "util/text.h"
#include "util/xalloc.h"

typedef struct Prober {
	Rig *rig;
	const HostOps *base;
	HostOps ops;
	TopologyStore topology;
	/* what the worker does */
	int result;
	const char *error;
	unsigned links;	  /* between 41 and 61, and between a1 and c1 */
	const char *lost; /* a GPU that tells nothing */
	uint16_t device;
	const char *uuid;
	pid_t worker; /* of an earlier probe */
	bool cancels; /* somebody cancels while the worker is asked */
	/* what it was asked */
	char *asked;
} Prober;

#define PROBE_JOB 99
static const JobRequest probe_request = { .plan.operation = OPERATION_PROBE };

static Prober *prober; /* of the test that runs: HostOps know their host only */

static Bdf bus(unsigned n)
{
	return (Bdf){ .bus = (uint8_t)n };
}

static void see(ProbeAnswer *answer, const Bdf *bdf, SightingWay way)
{
	static const uint8_t peers[][2] = {
		{ 0x41, 0x61 }, { 0x61, 0x41 }, { 0xa1, 0xc1 }, { 0xc1, 0xa1 }
	};
	Sighting s = { .bdf = *bdf,
		       .way = way,
		       .source = strdup("NVML 550"),
		       .vendor = PCI_VENDOR_NVIDIA,
		       .device = prober->device,
		       .uuid = prober->uuid ? strdup(prober->uuid) : NULL,
		       .peers = xcalloc(1, sizeof(SeenPeer)) };

	for (size_t i = 0; prober->links > 0 && i < ELEMENTS(peers); i++)
		if (peers[i][0] == bdf->bus)
			s.peers[s.n_peers++] =
				(SeenPeer){ .bdf = bus(peers[i][1]), .links = prober->links };
	assert_int_equal(evidence_add(answer->boards, &s), 0);
}

static void probe_ask(Host *host, Ask *asks, size_t n_asks, uint64_t timeout_usec)
{
	_cleanup_strv_ char **list = NULL;
	const Bdf *functions = asks->functions;
	ProbeAnswer *ret = asks->answer;

	if (asks->id != ASK_LINKS && asks->id != ASK_REGISTERS) {
		prober->base->ask(host, asks, n_asks, timeout_usec);
		return;
	}
	for (size_t i = 0; i < asks->n; i++)
		strv_appendf(&list, "%02x", functions[i].bus);
	free(prober->asked);
	prober->asked = strv_join(list, ",");
	if (prober->cancels)
		assert_int_equal(cancellation_ask(prober->rig->place.cancel, 0), 1);
	if (prober->result < 0) {
		ask_refuse(asks, prober->result, strdup("it fails as it was told to"), NULL);
		return;
	}
	ret->boards = xcalloc(1, sizeof(Evidence));
	if (prober->error) {
		ret->error = strdup(prober->error);
		return;
	}
	for (size_t i = 0; i < asks->n; i++)
		if (prober->lost && strcmp(prober->lost, BDF_TEXT(&functions[i])) == 0)
			probe_answer_unseen(ret, &functions[i], strdup("GPU is lost"));
		else
			see(ret, &functions[i], asks->id == ASK_REGISTERS ? WAY_MMIO : WAY_NVML);
}

static pid_t worker_on(Host *host, const Bdf *function)
{
	return function ? prober->base->worker_on(host, function) : prober->worker;
}

static int setup(void **state)
{
	prober = xcalloc(1, sizeof(Prober));
	prober->rig = rig_new();
	prober->base = prober->rig->fake.host.ops;
	prober->ops = *prober->base;
	prober->ops.ask = probe_ask;
	prober->ops.worker_on = worker_on;
	prober->rig->fake.host.ops = &prober->ops;
	prober->links = 4;
	prober->device = 0x2230;
	topology_store_open(prober->rig->state_directory, &prober->topology);
	topology_store_load(&prober->topology);
	assert_int_equal(prober->topology.records.faults.n_items, 0);
	prober->rig->place.topology = &prober->topology;
	*state = prober;
	return 0;
}

static int teardown(void **state)
{
	unlinkat(prober->topology.records.dir_fd, TOPOLOGY_FILE, 0);
	topology_store_close(&prober->topology);
	rig_free(prober->rig);
	free(prober->asked);
	free(prober);
	return 0;
}

/* Runs it; PROBLEM with its whole message in *ret_message, otherwise the warnings. */
static int probe(char **ret_message)
{
	const JobPlace *place = &prober->rig->place;
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_(probe_clear) Probe p = { 0 };
	int r = probe_prepare(place, &probe_request, PROBE_JOB, &p, &problem);

	if (r == 0)
		r = probe_run(place, &probe_request, &p, &problem);
	claims_release(prober->rig->claims, PROBE_JOB);
	if (r == PROBLEM) {
		_cleanup_free_ char *text = problem_message(problem, NULL);

		*ret_message = strf("%s: %s", problem_dbus_name(problem->error), text);
	} else {
		*ret_message = strv_join(p.warnings, "\n");
	}
	return r;
}

static unsigned known(unsigned n)
{
	_cleanup_(evidence_unrefp) Evidence *evidence = topology_store_get(&prober->topology);
	const Bdf bdf = bus(n);
	const Sighting *s = evidence_find_host(evidence, &bdf);

	return s && s->n_peers > 0 ? s->peers[0].links : 0;
}

static void expect(int result, const char *words)
{
	_cleanup_free_ char *message = NULL;
	int r = probe(&message);

	if (r != result || !strstr(message, words))
		fail_msg("%d: %s", r, message);
}

#define WITH_PROBER(test) TEST_WITH(test, setup, teardown)

WITH_PROBER(every_gpu_on_nvidia_is_asked_and_what_it_says_is_kept)
{
	_cleanup_free_ char *warnings = NULL;

	assert_int_equal(probe(&warnings), 0);
	assert_string_equal(warnings, "");
	assert_string_equal(prober->asked, "41,61,a1,c1");
	assert_int_equal(known(0x41), 4);
	assert_int_equal(known(0xc1), 4);
}

WITH_PROBER(gpus_elsewhere_are_named_and_left_out)
{
	fake_set_driver(&prober->rig->fake, "0000:41:00.0", "vfio-pci", "vfio-pci");
	fake_set_driver(&prober->rig->fake, "0000:61:00.0", NULL, NULL);
	expect(0,
	       "0000:41:00.0 (RTX A6000) was not looked at: it is on vfio-pci, and NVML sees GPUs "
	       "of the nvidia driver only\n0000:61:00.0 (RTX A6000) was not looked at: it has no "
	       "driver");
	assert_string_equal(prober->asked, "a1,c1");
	assert_int_equal(known(0x41), 0);
	assert_int_equal(known(0xa1), 4);
}

WITH_PROBER(what_was_seen_before_is_kept_of_gpus_that_cannot_be_asked)
{
	expect(0, "");
	fake_set_driver(&prober->rig->fake, "0000:41:00.0", "vfio-pci", "vfio-pci");
	fake_set_driver(&prober->rig->fake, "0000:61:00.0", "vfio-pci", "vfio-pci");
	prober->links = 2;
	expect(0, "0000:41:00.0");
	assert_int_equal(known(0x41), 4);
	assert_int_equal(known(0xa1), 2);
}

static void set_pair1(const char *driver)
{
	static const char *const functions[] = { "0000:a1:00.0", "0000:a1:00.1", "0000:c1:00.0",
						 "0000:c1:00.1" };

	for (size_t i = 0; i < ELEMENTS(functions); i++)
		fake_set_driver(&prober->rig->fake, functions[i], driver, driver);
}

WITH_PROBER(with_nobody_to_ask_it_is_refused)
{
	rig_bound(prober->rig);
	set_pair1("vfio-pci");
	expect(PROBLEM, "ProbeFailed: there is no GPU whose links could be looked at\n"
			"Cause:  0000:41:00.0 (RTX A6000) was not looked at");
	assert_null(prober->asked);
}

WITH_PROBER(a_group_that_a_job_moves_refuses_the_probe)
{
	const Bdf moved = bus(0x61);

	rig_claim(prober->rig->claims, 9, "pair0", &moved, 1);
	expect(PROBLEM, "GroupBusy");
	assert_null(prober->asked);
	claims_release(prober->rig->claims, 9);
	expect(0, "");
}

/* An RTX 4090, which no bridge joins to another. */
static void put_4090(const char *bdf)
{
	PciSnapshot *snapshot = prober->rig->fake.snapshot;

	for (size_t i = 0; i < snapshot->n_functions; i++)
		if (strcmp(BDF_TEXT(&snapshot->functions[i]->bdf), bdf) == 0)
			snapshot->functions[i]->device = 0x2684;
}

/* fault L16 */
WITH_PROBER(a_gpu_that_is_moved_refuses_the_probe_though_it_is_not_asked)
{
	const Bdf moved = bus(0xc1);

	put_4090("0000:c1:00.0");
	rig_claim(prober->rig->claims, 9, "odd", &moved, 1);
	expect(PROBLEM, "GroupBusy: job 9 has odd in hand");
	assert_null(prober->asked);
	claims_release(prober->rig->claims, 9);
	expect(0, "");
	assert_string_equal(prober->asked, "41,61,a1");
}

/* fault L16 */
WITH_PROBER(beside_a_probe_no_job_moves_what_nvml_may_open)
{
	static const char words[] = "job 99 probes the links and has the GPUs open";
	const JobRequest bind1 = bind_request("pair1");
	Rig *rig = prober->rig;
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_(probe_clear) Probe p = { 0 };

	set_pair1("vfio-pci");
	assert_int_equal(probe_prepare(&rig->place, &probe_request, PROBE_JOB, &p, &problem), 0);
	rig_fails(rig, &BIND, GPUPASS_ERROR_GROUP_BUSY, words);
	rig_must(rig, &group_request(OPERATION_UNBIND, "pair1"));
	/* It came to nvidia while NVML was at work. */
	rig_fails(rig, &bind1, GPUPASS_ERROR_GROUP_BUSY, words);
	claims_release(rig->claims, PROBE_JOB);
	rig_must(rig, &BIND);
	rig_must(rig, &bind1);
}

WITH_PROBER(beside_a_probe_boards_of_other_drivers_are_moved)
{
	Rig *rig = prober->rig;
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_(probe_clear) Probe p = { 0 };

	set_pair1(NULL);
	assert_int_equal(probe_prepare(&rig->place, &probe_request, PROBE_JOB, &p, &problem), 0);
	rig_must(rig, &bind_request("pair1"));
	claims_release(rig->claims, PROBE_JOB);
}

/* Of this GPU a job ends while the probe looks. */
static Bdf ending;
static unsigned looks_it_ends_in;

static void end_a_job(FakeHost *fake, FakeOp op, unsigned nth)
{
	if (op != FAKE_SCAN || nth > looks_it_ends_in)
		return;
	rig_claim(prober->rig->claims, 4711, "its", &ending, 1);
	claims_release(prober->rig->claims, 4711);
}

WITH_PROBER(a_look_that_a_job_on_these_gpus_made_old_is_taken_again)
{
	static const struct {
		unsigned bus, ends_in, looks;
		int result;
		const char *words;
	} cases[] = {
		{ 0x41, 1, 2, 0, "" },
		{ 0x41, 99, PREPARE_LOOKS_MAX, PROBLEM, "GroupBusy: other jobs ended each time" },
		/* On vfio-pci then and now. */
		{ 0xc1, 99, 1, 0, "0000:c1:00.0" },
	};

	fake_set_driver(&prober->rig->fake, "0000:c1:00.0", "vfio-pci", "vfio-pci");
	for (size_t i = 0; i < ELEMENTS(cases); i++) {
		ending = bus(cases[i].bus);
		looks_it_ends_in = cases[i].ends_in;
		fake_watch(&prober->rig->fake);
		prober->rig->fake.hook = end_a_job;
		expect(cases[i].result, cases[i].words);
		assert_int_equal(prober->rig->fake.calls[FAKE_SCAN], cases[i].looks);
	}
}

WITH_PROBER(a_group_in_quarantine_is_left_out)
{
	const Bdf stuck = bus(0x61);

	claims_add_quarantine(prober->rig->claims, "pair0", &stuck, 1, NULL,
			      "worker 7 still waits");
	expect(0, "0000:61:00.0 (RTX A6000) was not looked at: it is in quarantine");
	assert_string_equal(prober->asked, "41,a1,c1");
}

/* fault L7 */
WITH_PROBER(a_second_probe_beside_one_that_hangs_is_refused)
{
	prober->worker = 4711;
	expect(PROBLEM, "GroupBusy: worker 4711 of an earlier probe still waits");
	assert_null(prober->asked);
}

/* faults L7, L8 */
WITH_PROBER(a_worker_without_an_answer_changes_nothing)
{
	static const struct {
		int result;
		const char *error, *words;
	} rows[] = {
		{ -ETIMEDOUT, NULL,
		  "ProbeFailed: 0000:41:00.0 and 3 more could not be asked about their links\n"
		  "Cause:  it fails as it was told to" },
		{ 0, "NVML cannot be loaded: no such file",
		  "ProbeFailed: nothing could be looked at\nCause:  NVML cannot be loaded" },
	};

	expect(0, "");
	prober->links = 2;
	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		prober->result = rows[i].result;
		prober->error = rows[i].error;
		expect(PROBLEM, rows[i].words);
		assert_int_equal(known(0x41), 4);
	}
}

/* fault L8 */
WITH_PROBER(one_that_tells_nothing_is_told_and_known_to_be_there)
{
	const Bdf lost = bus(0x61);
	_cleanup_(evidence_unrefp) Evidence *evidence = NULL;

	prober->lost = "0000:61:00.0";
	expect(0, "0000:61:00.0 (RTX A6000) was not looked at: GPU is lost");
	evidence = topology_store_get(&prober->topology);
	assert_null(evidence_find_host(evidence, &lost));
	assert_int_equal(evidence->n_items, 4);
}

/* fault L8 */
/* fault 62 */
WITH_PROBER(a_cancelled_probe_keeps_nothing_of_what_it_saw)
{
	JobPlace *place = &prober->rig->place;

	cancellation_new(&place->cancel);
	prober->cancels = true;
	expect(PROBLEM, "Error.Cancelled: root cancelled the job\nState:  nothing was changed");
	assert_string_equal(prober->asked, "41,61,a1,c1");
	assert_int_equal(known(0x41), 0);
	/* One that is cancelled before asks nobody. */
	free(prober->asked);
	prober->asked = NULL;
	expect(PROBLEM, "root cancelled the job");
	assert_null(prober->asked);
	/* A probe that failed is no other than one that was cancelled, if it was. */
	place->cancel = cancellation_unref(place->cancel);
	cancellation_new(&place->cancel);
	prober->result = -EPROTO;
	expect(PROBLEM, "root cancelled the job");
}

WITH_PROBER(an_answer_about_another_board_is_not_believed)
{
	prober->device = 0x2235;
	expect(PROBLEM, "the answer is about 10de:2235, and 10de:2230 is there");
	assert_int_equal(known(0x41), 0);
}

WITH_PROBER(what_cannot_be_saved_is_known_all_the_same_and_told)
{
	static const char newer[] = "{\"schema\": \"org.gpupass1.evidence/9\"}";

	assert_int_equal(file_replace_at(prober->topology.records.dir_fd, TOPOLOGY_FILE, newer,
					 strlen(newer), 0600),
			 0);
	expect(0, "what was seen could not be saved (topology.json is of a later version)");
	assert_int_equal(known(0x41), 4);
}
