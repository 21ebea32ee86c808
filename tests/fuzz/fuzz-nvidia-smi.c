/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a guest can send: the first byte selects the parser, the rest is the text. Whatever is taken
 * must be within its bounds, and a verdict of "verified" never comes from one fuzzed answer alone.
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "core/verify/verify.h"
#include "util/json.h"

/* promise G1 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char uuid_a[] = "GPU-00000001-5c3e-4f7a-9d21-012345678901";
static const char uuid_b[] = "GPU-00000002-5c3e-4f7a-9d21-012345678902";

static void check_matrix(const SmiMatrix *m, uint8_t kinds)
{
	for (size_t a = 0; a < SMI_GPUS_MAX; a++)
		for (size_t b = 0; b < SMI_GPUS_MAX; b++) {
			const SmiCell *cell = &m->cells[a][b];
			bool listed = m->gpus >> a & m->gpus >> b & 1;

			assert(cell->kind < kinds && cell->links <= SMI_LINKS_MAX);
			assert(listed == (cell->kind != 0));
			assert(!listed || (cell->kind == SMI_PATH_SELF) == (a == b));
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

	assert(excerpt && strlen(excerpt) <= 200);
	for (const char *c = excerpt; *c; c++)
		assert(*c >= ' ' && *c < 0x7f);
	free(excerpt);
	if (smi_parse_gpus(text, size, &gpus) == 0)
		for (size_t i = 0; i < gpus.n_items; i++)
			assert(gpus.items[i].index < SMI_GPUS_MAX &&
			       strlen(gpus.items[i].uuid) == SMI_UUID_SIZE - 1);
	if (smi_parse_nvlinks(text, size, &links) == 0)
		for (size_t i = 0; i < links.n_items; i++)
			assert(links.items[i].active + links.items[i].inactive <= SMI_LINKS_MAX &&
			       links.items[i].min_mbps <= links.items[i].max_mbps);
	smi_parse_mig(text, size, &mig);
	smi_parse_confidential(text, size, &on);
}

static void parse_replies(const char *text, size_t size)
{
	char *reply = strndup(text, size), *bytes = NULL;
	bool may_exec, ended = false;
	GuestRun run = { 0 };
	int64_t pid;
	size_t n;

	assert(reply);
	agent_parse_info(reply, &may_exec);
	agent_parse_pid(reply, &pid);
	if (agent_parse_status(reply, &ended, &run) == 0 && ended)
		assert(run.out_size <= AGENT_STREAM_MAX && run.err_size <= AGENT_STREAM_MAX);
	guest_run_clear(&run);
	if (base64_decode(text, size, AGENT_STREAM_MAX, &bytes, &n) == 0)
		assert(n <= AGENT_STREAM_MAX && bytes[n] == '\0');
	free(bytes);
	free(reply);
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
		assert(runs[i].out);
		memcpy(runs[i].out, i == which ? text : healthy[i], runs[i].out_size);
		runs[i].out[runs[i].out_size] = '\0';
	}
	assert(verify_judge(&input, runs, &report) == 0);
	assert(report->verdict != VERDICT_VERIFIED && report->reason && report->remedy);
	json = verify_report_to_json(report, &input, "uuid", 1);
	assert(json);
	free(json);
	verify_report_free(report);
	for (size_t i = 0; i < VERIFY_RUNS; i++)
		guest_run_clear(&runs[i]);
}

/* fault 54 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *text;
	char *copy;

	if (size == 0)
		return 0;
	/* A copy of its own, so that reading past its end is seen. */
	copy = malloc(size - 1 ? size - 1 : 1);
	assert(copy);
	memcpy(copy, data + 1, size - 1);
	text = copy;
	switch (data[0] & 7) {
	case 0:
		parse_tables(text, size - 1);
		break;
	case 1:
		parse_lists(text, size - 1);
		break;
	case 2:
	case 3:
		parse_replies(text, size - 1);
		break;
	default:
		judge(text, size - 1, data[0] & 3);
	}
	free(copy);
	return 0;
}
