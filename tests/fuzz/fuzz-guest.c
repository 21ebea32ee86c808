/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a guest can send. Whatever is taken must be within its bounds, and a verdict of "verified"
 * never comes from one fuzzed answer alone.
 */
#include "core/verify/bandwidth.h"
#include "core/verify/guest-report.h"
#include "core/verify/guest-topology.h"
#include "core/verify/measure.h"
#include "core/verify/peer-test.h"
#include "core/verify/verify.h"
#include "fuzz.h"
#include "util/json.h"

static const VerifyGpu pair[] = {
	{ .bdf = { .bus = 1 }, .uuid = "GPU-00000001-5c3e-4f7a-9d21-012345678901" },
	{ .bdf = { .bus = 2 }, .uuid = "GPU-00000002-5c3e-4f7a-9d21-012345678902" },
};
static const VerifyInput input = { "vm42", "pair0", NULL, pair, 2, 2, 4, 14062, 31508 };

static void check_matrix(const SmiMatrix *m, uint8_t kinds)
{
	for (size_t a = 0; a < SMI_GPUS_MAX; a++)
		for (size_t b = 0; b < SMI_GPUS_MAX; b++) {
			const SmiCell *cell = &m->cells[a][b];
			bool listed = m->gpus >> a & m->gpus >> b & 1;

			EXPECT(cell->kind < kinds && cell->links <= SMI_LINKS_MAX);
			EXPECT(listed == (cell->kind != 0));
			EXPECT(!listed || (cell->kind == SMI_PATH_SELF) == (a == b));
		}
}

static void parse_tables(const char *text, size_t size)
{
	SmiMatrix topology, peers;

	if (smi_parse_topology(text, size, &topology, NULL) == 0)
		check_matrix(&topology, SMI_PATH_MAX_);
	if (smi_parse_peers(text, size, &peers, NULL) == 0)
		check_matrix(&peers, SMI_PEER_MAX_);
}

static void parse_lists(const char *text, size_t size)
{
	SmiGpus gpus;
	SmiNvlinks links;
	uint64_t mig;
	bool on;
	char *excerpt = smi_excerpt(text, size);

	EXPECT(strlen(excerpt) <= 200);
	for (const char *c = excerpt; *c; c++)
		EXPECT(*c >= ' ' && *c < 0x7f);
	free(excerpt);
	if (smi_parse_gpus(text, size, &gpus, NULL) == 0)
		for (size_t i = 0; i < gpus.n_items; i++)
			EXPECT(gpus.items[i].index < SMI_GPUS_MAX &&
			       strlen(gpus.items[i].uuid) == SMI_UUID_SIZE - 1);
	if (smi_parse_nvlinks(text, size, &links, NULL) == 0)
		for (size_t i = 0; i < links.n_items; i++)
			EXPECT(links.items[i].active + links.items[i].inactive <= SMI_LINKS_MAX &&
			       links.items[i].min_mbps <= links.items[i].max_mbps);
	smi_parse_mig(text, size, &mig);
	smi_parse_confidential(text, size, &on);
}

static void parse_replies(const char *bytes, size_t size, const char *reply)
{
	static const GuestRun nothing;
	bool may_exec, ended = false;
	GuestRun run = { 0 };
	char *decoded = NULL;
	int64_t pid;
	size_t n;

	agent_parse_info(reply, &may_exec);
	agent_parse_pid(reply, &pid);
	if (agent_parse_status(reply, &ended, &run) == 0 && ended)
		EXPECT(run.out_size <= AGENT_STREAM_MAX && run.err_size <= AGENT_STREAM_MAX);
	else
		EXPECT(memcmp(&run, &nothing, sizeof(run)) == 0);
	guest_run_clear(&run);
	if (base64_decode(bytes, size, AGENT_STREAM_MAX, &decoded, &n) == 0)
		EXPECT(n <= AGENT_STREAM_MAX && decoded[n] == '\0');
	free(decoded);
}

/* One of the answers is the fuzzer's, the others are those of a healthy pair without links. */
static void judge(const char *text, size_t size, size_t which)
{
	const char *const healthy[VERIFY_RUNS] = {
		"0, GPU-00000001-5c3e-4f7a-9d21-012345678901, 00000000:01:00.0\n"
		"1, GPU-00000002-5c3e-4f7a-9d21-012345678902, 00000000:02:00.0\n",
		"\tGPU0\tGPU1\nGPU0\tX\tSYS\nGPU1\tSYS\tX\n",
		"GPU 0: A (UUID: GPU-00000001-5c3e-4f7a-9d21-012345678901)\n Link 0: <inactive>\n"
		"GPU 1: A (UUID: GPU-00000002-5c3e-4f7a-9d21-012345678902)\n Link 0: <inactive>\n",
		"\tGPU0\tGPU1\nGPU0\tX\tNS\nGPU1\tNS\tX\n",
	};
	GuestRun runs[VERIFY_RUNS] = { 0 };
	VerifyReport *report = NULL;
	char *json;

	for (size_t i = 0; i < VERIFY_RUNS; i++) {
		runs[i].outcome = GUEST_RAN;
		runs[i].out_size = i == which ? size : strlen(healthy[i]);
		runs[i].out = malloc(runs[i].out_size + 1);
		EXPECT(runs[i].out);
		memcpy(runs[i].out, i == which ? text : healthy[i], runs[i].out_size);
		runs[i].out[runs[i].out_size] = '\0';
	}
	report = verify_judge(&input, runs);
	EXPECT(report->verdict != VERDICT_VERIFIED && report->reason && report->remedy);
	json = verify_report_to_json(report, &input, "uuid", 1, NULL, NULL, NULL, NULL);
	EXPECT(json);
	free(json);
	verify_report_free(report);
	for (size_t i = 0; i < VERIFY_RUNS; i++)
		guest_run_clear(&runs[i]);
}

static void check_bandwidth(const Bandwidth *b)
{
	EXPECT((b->n_gpus > 0 || b->wrong_data) && b->n_gpus <= BANDWIDTH_GPUS_MAX);
	EXPECT(b->ring_mbps <= BANDWIDTH_GBPS_MAX * 1000U + 999);
	for (size_t from = 0; from < BANDWIDTH_GPUS_MAX; from++)
		for (size_t to = 0; to < BANDWIDTH_GPUS_MAX; to++) {
			const BandwidthPath *path = &b->paths[from][to];
			bool listed = from < b->n_gpus && to < b->n_gpus && from != to;

			EXPECT(path->mbps <= BANDWIDTH_GBPS_MAX * 1000U + 999);
			EXPECT(listed || (path->mbps == 0 && path->plain_mbps == 0));
		}
}

static void parse_bandwidth(const char *text, size_t size)
{
	static int (*const parsers[])(const char *, size_t, Bandwidth *) = {
		bandwidth_parse_nvbandwidth,
		bandwidth_parse_p2p,
		bandwidth_parse_all_reduce,
	};

	for (size_t i = 0; i < ELEMENTS(parsers); i++) {
		Bandwidth b = { 0 };

		if (parsers[i](text, size, &b) == 0)
			check_bandwidth(&b);
	}
}

/* What the program prints that writes and reads: nothing but an "ok" each way proves anything. */
static void peers_of(const char *text, size_t size, const VerifyReport *report)
{
	GuestRun run = { .outcome = GUEST_RAN, .out = (char *)text, .out_size = size };
	bool wanted = false;
	PeerTest *test = peer_test_begin(&input, report, true, true, &wanted);
	const char *ok = memmem(text, size, " ok\n", 4);

	EXPECT(wanted);
	peer_test_hear(test, &input, report, &run);
	EXPECT((test->verdict == PEERS_PROVED) == (test->reason == NULL));
	EXPECT(test->verdict != PEERS_PROVED || ok);
	peer_test_free(test);
}

/* What a program prints, as the measure of a healthy pair: never of more GPUs than it has. */
static void measure(const char *text, size_t size, size_t which)
{
	GuestRun run = { .outcome = GUEST_RAN, .out = (char *)text, .out_size = size };
	VerifyReport *report = NULL;
	Workload *w = NULL;
	json_t *json;
	bool done;

	report = verify_give_up(&input, VERIFY_NOTHING);
	report->match = VERIFY_MATCH_UUID;
	for (size_t i = 0; i < 2; i++) {
		report->gpus[i].found = true;
		report->gpus[i].guest.address = (Bdf){ .bus = (uint8_t)(i + 1) };
	}
	peers_of(text, size, report);
	w = measure_begin(&input, report);
	measure_hear(w, &input, report, which, &run, &done);
	EXPECT(w->n_paths == 0 || w->n_paths == 2);
	EXPECT((w->verdict == WORKLOAD_PASS) == (w->reason == NULL));
	json = json_struct_write(workload_members, w);
	EXPECT(json);
	json_decref(json);
	workload_free(w);
	verify_report_free(report);
}

/* The report of a guest: whatever it is, what is passed on has no character to be escaped. */
static void report_of(const char *text, size_t size)
{
	const char boot[] = "5c3e4f7a-0001-4c1d-8a00-000000000001\n";
	const GuestRun runs[GUEST_REPORT_RUNS] = {
		{ .outcome = GUEST_RAN, .out = (char *)boot, .out_size = strlen(boot) },
		{ .outcome = GUEST_RAN, .out = (char *)text, .out_size = size },
	};
	GuestReport *report = NULL;
	json_t *json;

	report = guest_report_judge(runs, "11111111-1111-4111-8111-111111111111", 1);
	if (report->state == GUEST_REPORT_CURRENT)
		for (const char *c = report->detail; *c; c++)
			EXPECT(*c >= ' ' && *c <= '~' && *c != '"' && *c != '\\');
	json = guest_report_to_json(report);
	EXPECT(json);
	json_decref(json);
	guest_report_free(report);
}

/* A pair's sysfs, or its file for NCCL: what is told has the host's addresses and our own words. */
static void topology_of(const char *text)
{
	static const PciFunction gpu = { .bdf = { .bus = 1 }, .class_code = 0x030200 },
				 nic = { .bdf = { .bus = 2 }, .class_code = 0x020700 };
	static const PciFunction *const members[] = { &gpu, &nic };
	DomainHostdev hostdevs[] = {
		{ .bdf = { .bus = 1 }, .path = "00/02.0/00.0" },
		{ .bdf = { .bus = 2 }, .path = "00/02.2/00.0" },
	};
	const DomainUse use = { .hostdevs = hostdevs, .n_hostdevs = 2 };
	const TopologyInput all = {
		.verify = &input, .members = members, .n_members = 2, .use = &use
	};
	const GuestRun run = { .outcome = GUEST_RAN,
			       .out = (char *)text,
			       .out_size = strlen(text) };
	const GuestRun runs[SIGHT_RUNS] = { run, run };
	GuestTopology *topology = guest_topology_judge(&all, runs);
	json_t *json = json_struct_write(guest_topology_members, topology);

	EXPECT(json);
	for (const char *c = topology->seen; *c; c++)
		EXPECT(*c >= ' ' && *c <= '~');
	json_decref(json);
	guest_topology_free(topology);
}

/* promise G1 */
/* promise G9 */
/* fault 54 */
void fuzz_one(const char *bytes, size_t size, const char *text)
{
	parse_tables(bytes, size);
	parse_lists(bytes, size);
	parse_replies(bytes, size, text);
	parse_bandwidth(bytes, size);
	for (size_t which = 0; which < MEASURE_COMMANDS; which += 3)
		measure(bytes, size, which);
	report_of(bytes, size);
	topology_of(text);
	for (size_t which = 0; which < VERIFY_RUNS; which++)
		judge(bytes, size, which);
}
