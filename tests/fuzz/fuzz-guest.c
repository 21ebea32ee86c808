/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a guest can send. Whatever is taken must be within its bounds, and a verdict of "verified"
 * never comes from one fuzzed answer alone.
 */
#include "core/verify/verify.h"
#include "fuzz.h"
#include "util/json.h"

static const char uuid_a[] = "GPU-00000001-5c3e-4f7a-9d21-012345678901";
static const char uuid_b[] = "GPU-00000002-5c3e-4f7a-9d21-012345678902";

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

	if (smi_parse_topology(text, size, &topology) == 0)
		check_matrix(&topology, SMI_PATH_MAX_);
	if (smi_parse_peers(text, size, &peers) == 0)
		check_matrix(&peers, SMI_PEER_MAX_);
}

static void parse_lists(const char *text, size_t size)
{
	SmiGpus gpus;
	SmiNvlinks links;
	uint64_t mig;
	bool on;
	char *excerpt = smi_excerpt(text, size);

	EXPECT(excerpt && strlen(excerpt) <= 200);
	for (const char *c = excerpt; *c; c++)
		EXPECT(*c >= ' ' && *c < 0x7f);
	free(excerpt);
	if (smi_parse_gpus(text, size, &gpus) == 0)
		for (size_t i = 0; i < gpus.n_items; i++)
			EXPECT(gpus.items[i].index < SMI_GPUS_MAX &&
			       strlen(gpus.items[i].uuid) == SMI_UUID_SIZE - 1);
	if (smi_parse_nvlinks(text, size, &links) == 0)
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
	const VerifyGpu gpus[] = { { .bdf = { .bus = 1 }, .uuid = uuid_a },
				   { .bdf = { .bus = 2 }, .uuid = uuid_b } };
	const VerifyInput input = { "vm42", "pair0", NULL, gpus, 2, 2, 4 };
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
	EXPECT(verify_judge(&input, runs, &report) == 0);
	EXPECT(report->verdict != VERDICT_VERIFIED && report->reason && report->remedy);
	json = verify_report_to_json(report, &input, "uuid", 1);
	EXPECT(json);
	free(json);
	verify_report_free(report);
	for (size_t i = 0; i < VERIFY_RUNS; i++)
		guest_run_clear(&runs[i]);
}

/* promise G1 */
/* fault 54 */
void fuzz_one(const char *bytes, size_t size, const char *text)
{
	parse_tables(bytes, size);
	parse_lists(bytes, size);
	parse_replies(bytes, size, text);
	for (size_t which = 0; which < VERIFY_RUNS; which++)
		judge(bytes, size, which);
}
