/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Guests as they are in the field: for each fixtures/guests-in-the-field/NAME, what is said of it
 * must be NAME/expected, word for word. "input" has what the host knows: the links and rates that
 * the boards should have, and a line for each GPU (host address, UUID, address in the guest). The
 * other files are what programs printed: NAME.err their errors, NAME.status their exit status,
 * bw.which which command measured (measure.h), and bw2 a later one.
 *
 *   test-core-verify-field --describe NAME     prints such a text
 */
#define OWN_MAIN
#include "rig/test.h"

#include <dirent.h>
#include <stdio.h>

#include "core/verify/measure.h"
#include "rig/guests.h"
#include "rig/text-diff.h"

#define FIELD "guests-in-the-field"
#define GPUS_MAX 8

typedef struct Scene {
	char words[GPUS_MAX][4][48];
	VerifyGpu gpus[GPUS_MAX];
	VerifyInput input;
	GuestRun runs[VERIFY_RUNS];
	VerifyReport *report;
} Scene;

static void read_gpu(Scene *s, const char *line)
{
	VerifyGpu *gpu = &s->gpus[s->input.n_gpus];
	char(*w)[48] = s->words[s->input.n_gpus++];

	assert_true(s->input.n_gpus <= GPUS_MAX);
	assert_int_equal(sscanf(line, "gpu %47s %47s %47s %47s", w[0], w[1], w[2], w[3]), 4);
	assert_int_equal(bdf_parse(w[0], &gpu->bdf), 0);
	gpu->uuid = strcmp(w[1], "-") == 0 ? NULL : w[1];
	gpu->has_guest = bdf_parse(w[2], &gpu->guest) == 0;
	if (strcmp(w[3], "group") == 0)
		s->input.n_group++;
}

static void read_input(Scene *s, const char *guest)
{
	_cleanup_free_ char *text = guest_file(guest, "input", "", NULL);
	char *rest = text, *line = strtok_r(text, "\n", &rest);

	s->input = (VerifyInput){ .domain = "vm42", .group = "pair0", .gpus = s->gpus };
	assert_int_equal(sscanf(line, "expected %u link %u pcie %u", &s->input.links_expected,
				&s->input.link_mbps, &s->input.pcie_mbps),
			 3);
	while ((line = strtok_r(NULL, "\n", &rest)))
		read_gpu(s, line);
}

static void scene_init(Scene *s, const char *name)
{
	_cleanup_free_ char *guest = strf(FIELD "/%s", name);

	*s = (Scene){ 0 };
	read_input(s, guest);
	guest_runs(guest, s->runs);
}

static void judge(Scene *s)
{
	s->report = verify_judge(&s->input, s->runs);
}

static void scene_clear(Scene *s)
{
	guest_runs_clear(s->runs, VERIFY_RUNS);
	verify_report_free(s->report);
}

/* --- what is said of a guest --- */

static void print_line(FILE *f, const char *what, const char *text)
{
	if (text)
		fprintf(f, "%s: %s\n", what, text);
}

static void print_report(FILE *f, const VerifyReport *report)
{
	fprintf(f, "%s, %s\n", verdict_to_string(report->verdict),
		verify_cause_to_string(report->cause));
	print_line(f, "reason", report->reason);
	print_line(f, "remedy", report->remedy);
	print_line(f, "note", report->note);
}

static void print_workload(FILE *f, const Workload *w)
{
	fprintf(f, "workload %s, %s, by %s", workload_verdict_to_string(w->verdict),
		workload_cause_to_string(w->cause), w->program ? w->program : "none");
	if (w->ring_mbps > 0)
		fprintf(f, ", %u MB/s", w->ring_mbps);
	fputc('\n', f);
	print_line(f, "reason", w->reason);
	print_line(f, "remedy", w->remedy);
}

/* A later run is heard even if the first one was enough. */
static void measure(const Scene *s, const char *guest, FILE *f)
{
	static const char *const names[] = { "bw", "bw2" };
	_cleanup_(workload_freep) Workload *w = NULL;

	for (size_t i = 0; i < ELEMENTS(names); i++) {
		_cleanup_free_ char *which = guest_file(guest, names[i], ".which", NULL);
		_cleanup_(guest_run_clear) GuestRun run = { 0 };
		bool done;

		if (!which)
			continue;
		if (!w)
			w = measure_begin(&s->input, s->report);
		run = guest_run_of(guest, names[i]);
		measure_hear(w, &s->input, s->report, strtoul(which, NULL, 10), &run, &done);
	}
	if (w)
		print_workload(f, w);
}

static char *describe(const char *name)
{
	_cleanup_free_ char *guest = strf(FIELD "/%s", name);
	GuestRun diagnoses[VERIFY_DIAGNOSES];
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);
	Scene s;

	assert_true(f);
	scene_init(&s, name);
	judge(&s);
	guest_diagnoses(guest, diagnoses);
	if (verify_wants_diagnosis(s.report))
		verify_diagnose(&s.input, diagnoses, s.report);
	guest_runs_clear(diagnoses, VERIFY_DIAGNOSES);
	print_report(f, s.report);
	measure(&s, guest, f);
	fclose(f);
	scene_clear(&s);
	return text;
}

/* field: guest/01 to guest/39; 40 was printed by a real board */
TEST(guests_are_judged_as_expected)
{
	DIR *d = opendir(FIXTURES "/" FIELD);
	size_t n = 0, bad = 0;

	assert_non_null(d);
	for (const struct dirent *entry; (entry = readdir(d));) {
		_cleanup_free_ char *guest = strf(FIELD "/%s", entry->d_name);
		_cleanup_free_ char *is = NULL, *expected = NULL, *diff = NULL;

		if (*entry->d_name == '.')
			continue;
		expected = guest_file(guest, "expected", "", NULL);
		is = describe(entry->d_name);
		diff = text_diff(str_or_empty(expected), is);
		if (*diff)
			print_error("%s\n%s", entry->d_name, diff);
		bad += *diff != '\0';
		n++;
	}
	closedir(d);
	assert_int_equal(bad, 0);
	assert_int_equal(n, 26);
}

/* One change to a guest of the field: the other words, exit statuses and noises of its kind. */
typedef struct Variant {
	const char *guest;
	size_t run;
	const char *from, *to; /* in what is printed; from NULL: all of it */
	int status;	       /* negative: ended by that signal */
	const char *verdict;   /* and cause */
	const char *words;     /* of the reason, or of the note */
} Variant;

#define GOOD "06-pos-numa-na-double-tab"
#define WARNED "13-inforom-exit14"
#define THREE "03-pos-driver595-unsupported-third-board"
#define ROW2 "1, GPU-00000002-1111-4222-8333-000000000002, 00000000:02:00.0\n"
#define WARNING "WARNING: infoROM is corrupted at gpu 0000:01:00.0\n"
#define HANDLE "Unable to determine the device handle for "
#define OTHER_ROW "2, GPU-00000003-1111-4222-8333-000000000003, 00000000:03:00.0\n"
#define GPUS RUN_GPUS
#define TOPO RUN_TOPOLOGY
#define LINKS RUN_NVLINK
#define PEERS RUN_PEERS

static const Variant variants[] = {
	/* a list that is whole, and one that is not */
	{ WARNED, GPUS, WARNING, "", 0, "verified, none", "" },
	{ WARNED, GPUS, WARNING, WARNING, 0, "verified, none", "infoROM is corrupted" },
	{ WARNED, GPUS, WARNING, "", 255, "verified, none", "exit status 255" },
	{ GOOD, GPUS, ROW2, "", 255, "unknown, nvidia-smi-failed", "exit status 255" },
	{ GOOD, GPUS, ROW2, "", 15, "broken, gpu-missing", "0000:61:00.0" },
	{ GOOD, GPUS, ROW2, "", -9, "unknown, nvidia-smi-failed", "ended by signal 9" },
	{ GOOD, GPUS, ROW2, "1, [N/A], 00000000:02:00.0\n", 0, "unknown, bad-output", "1, [N/A]" },
	{ GOOD, GPUS, ROW2, "1, [Not Supported], [N/A]\n", 0, "unknown, bad-output", "[N/A]" },
	{ GOOD, GPUS, ROW2, "1, [Insufficient Permissions], 00000000:02:00.0\n", 0,
	  "unknown, not-permitted", "Insufficient Permissions" },
	{ GOOD, GPUS, ROW2, "1, GPU-2, 00000000:02:00.0\n", 0, "unknown, bad-output", "1, GPU-2" },
	/* a GPU that is lost, in all its spellings */
	{ GOOD, GPUS, ROW2, "1, [Unknown Error], 00000000:02:00.0\n", 0, "broken, gpu-missing",
	  "0000:61:00.0" },
	{ GOOD, GPUS, ROW2, "[Unknown Error], [Unknown Error], [Unknown Error]\n", 15,
	  "broken, gpu-missing", "[Unknown Error]" },
	{ GOOD, GPUS, ROW2, "1, ERR!, 00000000:02:00.0\n", 0, "broken, gpu-missing", "ERR!" },
	{ GOOD, GPUS, ROW2, HANDLE "GPU1: 0000:02:00.0: Unknown Error\n", 15, "broken, gpu-missing",
	  "0000:61:00.0" },
	{ GOOD, GPUS, ROW2, HANDLE "GPU 00000000:02:00.0: Insufficient External Power\n", 8,
	  "broken, gpu-missing", "External Power" },
	{ GOOD, GPUS, ROW2, HANDLE "GPU1: Unknown Error\n", 255, "broken, gpu-missing",
	  "0000:61:00.0" },
	{ GOOD, GPUS, ROW2, "1, [GPU requires reset], 00000000:02:00.0\n", 0, "broken, gpu-missing",
	  "requires reset" },
	{ WARNED, GPUS, WARNING, "WARNING: GPU 00000000:02:00.0 requires reset\n", 0,
	  "broken, reset-needed", "0000:61:00.0" },
	{ WARNED, GPUS, WARNING, "WARNING: a GPU has fallen off the bus\n", 0, "unknown, gpu-lost",
	  "does not say which" },
	{ GOOD, TOPO, NULL, HANDLE "GPU0000:02:00.0: GPU is lost\n", 15, "broken, gpu-lost",
	  "0000:61:00.0" },
	{ GOOD, LINKS, "000002)\n\t Link 0: 14.062 GB/s", "000002)\nNVML: GPU requires reset", 0,
	  "broken, reset-needed", "0000:61:00.0" },
	/* and that is of others */
	{ THREE, GPUS, OTHER_ROW, HANDLE "GPU0000:03:00.0: Unknown Error\n", 15, "verified, none",
	  "GPU0000:03:00.0" },
	{ THREE, GPUS, OTHER_ROW, HANDLE "GPU2: Unknown Error\n", 15, "verified, none", "GPU2" },
	{ THREE, GPUS, OTHER_ROW, "2, [N/A], 00000000:03:00.0\n", 0, "verified, none", "" },
	{ THREE, GPUS, OTHER_ROW, "[Unknown Error], [Unknown Error], [Unknown Error]\n", 0,
	  "verified, none", "" },
	{ THREE, LINKS, "Device does not have or support Nvlink", "NVML: Unknown Error", 0,
	  "verified, none", "" },
	/* other programs' lines */
	{ GOOD, GPUS, "0, GPU",
	  "\xef\xbb\xbf"
	  "0, GPU",
	  0, "verified, none", "" },
	{ GOOD, GPUS, "0, GPU", "\033[K0, GPU", 0, "verified, none", "" },
	{ WARNED, GPUS, WARNING, "2026-11-26 10:00:00 [info] a, b, c\n", 0, "verified, none", "" },
	{ WARNED, GPUS, WARNING, "[HAMI-core Warn(80:1:a.c:1)]: x, y, z\n", 0, "verified, none",
	  "" },
	{ GOOD, TOPO, "GPU0\t X", "GPU0 is slow\nGPU0\t X", 0, "verified, none", "" },
	{ GOOD, LINKS, "\t Link 0", "  MIG 1g.10gb Device 0: (UUID: MIG-1)\n\t Link 0", 0,
	  "verified, none", "" },
	/* what nvidia-smi says instead of an answer */
	{ GOOD, GPUS, NULL, "No devices were found\n", 6, "broken, gpu-missing", "0 of 2 GPUs" },
	{ GOOD, GPUS, NULL, "No devices were found\n", 0, "broken, gpu-missing", "0 of 2 GPUs" },
	{ GOOD, GPUS, NULL, "", 0, "unknown, bad-output", "exit status 0" },
	{ GOOD, GPUS, NULL, "Failed to initialize NVML: Driver/library version mismatch\n", 0,
	  "unknown, driver-mismatch", "mismatch" },
	{ GOOD, GPUS, NULL, "Failed to initialize NVML: Driver Not Loaded\n", 9,
	  "unknown, no-driver", "Driver Not Loaded" },
	{ GOOD, GPUS, NULL, "Failed to initialize NVML: Unknown Error\n", 255,
	  "unknown, nvidia-smi-failed", "Unknown Error" },
	{ GOOD, GPUS, NULL, "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.\n",
	  12, "unknown, no-driver", "libnvidia-ml.so" },
	{ GOOD, GPUS, NULL, "", 4, "unknown, not-permitted", "exit status 4" },
	{ GOOD, GPUS, NULL,
	  "Failed to initialize NVML: GPU access blocked by the operating system\n", 17,
	  "unknown, not-permitted", "blocked" },
	/* what is wrong with one of the two alone, either of them, is wrong */
	{ GOOD, LINKS, "Link 0: 14.062 GB/s", "Link 0: <inactive>", 0, "degraded, few-links",
	  "0000:41:00.0" },
	{ GOOD, LINKS, "000002)\n\t Link 0: 14.062 GB/s", "000002)\n\t Link 0: <inactive>", 0,
	  "degraded, few-links", "0000:61:00.0" },
	{ GOOD, PEERS, " GPU0\tX\tOK", " GPU0\tX\tNS", 0, "broken, no-peer-access", "is NS" },
	{ GOOD, PEERS, " GPU1\tOK", " GPU1\tNS", 0, "broken, no-peer-access", "is NS" },
	{ GOOD, TOPO, "X \tNV4", "X \tNV3", 0, "degraded, asymmetric", "by NV3" },
	{ GOOD, TOPO, "GPU1\tNV4", "GPU1\tPIX", 0, "broken, asymmetric", "is PIX" },
	/* tables */
	{ GOOD, TOPO, "", "", 255, "verified, none", "topo -m: exit status 255" },
	{ GOOD, TOPO, "", "", -11, "unknown, nvidia-smi-failed", "ended by signal 11" },
	{ GOOD, TOPO, "GPU1\tNV4", "GPU1\tNV4\n", 255, "unknown, nvidia-smi-failed", "GPU1 NV4" },
	{ GOOD, TOPO, "GPU1\tNV4", "GPU1\tC2C", 0, "unknown, bad-output", "\"GPU1 C2C X" },
	{ GOOD, TOPO, NULL, "Invalid combination of input arguments.\n", 2,
	  "unknown, no-such-command", "nvlink says 4 of 4" },
	{ GOOD, PEERS, "GPU1\tOK", "GPU1\tPNS", 0, "unknown, bad-output", "\"GPU1 PNS X\"" },
	{ GOOD, PEERS, "GPU1\tOK", "GPU1\tN/A", 0, "unknown, bad-output", "\"GPU1 N/A X\"" },
	{ GOOD, PEERS, "", "", 15, "verified, none", "p2p n: exit status 15" },
	/* links */
	{ GOOD, LINKS, "Link 3: 14.062 GB/s", "Link 3: <sleep>", 0, "unknown, bad-output",
	  "Link 3: <sleep>" },
	{ GOOD, LINKS, "Link 3: 14.062 GB/s", "Link 3: N/A", 0, "unknown, bad-output", "3: N/A" },
	{ GOOD, LINKS, "", "", 255, "unknown, nvidia-smi-failed", "exit status 255" },
	{ GOOD, LINKS, NULL, "", 0, "unknown, bad-output", "nothing about" },
	{ GOOD, LINKS, NULL,
	  "NVML: Unable to retrieve NVLink information as all links are inActive\n", 255,
	  "broken, links-inactive", "no link is active" },
	{ "04-driver595-nvlink-disabled-pair", LINKS, "support Nvlink\nGPU 1",
	  "support Nvlink.\nGPU 1", 3, "broken, nvlink-not-offered", "both" },
};

static void change(Scene *s, const Variant *v)
{
	GuestRun *run = &s->runs[v->run];
	char *at = v->from ? strstr(run->out, v->from) : run->out, *text;

	if (!at)
		fail_msg("%s: no \"%s\"", v->guest, v->from);
	text = strf("%.*s%s%s", (int)(at - run->out), run->out, v->to,
		    v->from ? at + strlen(v->from) : "");
	free(run->out);
	run->out = text;
	run->out_size = strlen(text);
	run->signalled = v->status < 0;
	run->exit_code = v->status < 0 ? -v->status : v->status;
}

TEST(variants_are_judged_as_their_kind)
{
	size_t bad = 0;

	for (size_t i = 0; i < ELEMENTS(variants); i++) {
		const Variant *v = &variants[i];
		_cleanup_free_ char *is = NULL;
		const char *said, *command;
		_cleanup_(scene_clear) Scene s;

		scene_init(&s, v->guest);
		change(&s, v);
		judge(&s);
		is = strf("%s, %s", verdict_to_string(s.report->verdict),
			  verify_cause_to_string(s.report->cause));
		said = s.report->reason ? s.report->reason : str_or_empty(s.report->note);
		if (strcmp(is, v->verdict) != 0 || !strstr(said, v->words)) {
			print_error("%zu %s, run %zu, \"%s\": %s: %s\n", i, v->guest, v->run, v->to,
				    is, said);
			bad++;
		}
		/* No remedy is to do again what just failed. */
		command = v->run == RUN_PEERS ? "topo -p2p" : verify_commands[v->run][1];
		assert_null(strstr(str_or_empty(s.report->remedy), command));
	}
	assert_int_equal(bad, 0);
}

/* A group of one GPU has no links that could be missing: what warns of it counts all the more. */
TEST(a_single_gpu_that_wants_a_reset_is_not_verified)
{
	static const struct {
		const char *row, *verdict;
	} rows[] = {
		{ "0, GPU-00000001-1111-4222-8333-000000000001, 00000000:01:00.0\n",
		  "verified, none" },
		{ "0, GPU-00000001-1111-4222-8333-000000000001, 00000000:01:00.0\n"
		  "WARNING: GPU requires reset\n",
		  "broken, reset-needed" },
		{ "0, GPU-00000001-1111-4222-8333-000000000001, 00000000:01:00.0, "
		  "[GPU requires reset]\n",
		  "broken, gpu-missing" },
		{ "0, [GPU requires reset], 00000000:01:00.0\n", "broken, gpu-missing" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		const Variant v = { GOOD, RUN_GPUS, NULL, rows[i].row, 0, NULL, NULL };
		_cleanup_free_ char *is = NULL;
		_cleanup_(scene_clear) Scene s;

		scene_init(&s, GOOD);
		s.input.n_gpus = s.input.n_group = 1;
		change(&s, &v);
		judge(&s);
		is = strf("%s, %s", verdict_to_string(s.report->verdict),
			  verify_cause_to_string(s.report->cause));
		assert_string_equal(is, rows[i].verdict);
	}
}

/* --- programs that measure --- */

#define BW_TEXT "36-pos-nvbandwidth-v08-hostname-line"
#define BW_JSON "35-nvbandwidth-v08-json-wrong-data"
#define BW_P2P "38-pos-p2p-cuda12"
#define BW_NCCL "31-allreduce-nccl-log-digit-hostname"
#define JSON_OF(tests)                                                                             \
	"{\n\"nvbandwidth\" : { \"GPU Device list\" : [ \"0: A (00000000:01:00): (h)\", "          \
	"\"1: A (00000000:02:00): (h)\" ], " tests " }\n}\n"

TEST(measures_are_judged_as_their_kind)
{
	static const struct {
		const char *guest, *from, *to;
		int status;
		const char *verdict, *words;
	} rows[] = {
		{ BW_TEXT, "\n 1 ", "\n[HAMI-core Info(1)]: x\n 1 ", 0, "pass, none", "" },
		{ BW_TEXT, "Running", " Invalid value when checking the pattern at 0x1\nRunning", 1,
		  "wrong, wrong-data", "" },
		{ BW_TEXT, NULL, "ASSERT in expression h_errorFlag == 0 in void f() : a.cpp:1\n", 1,
		  "wrong, wrong-data", "" },
		{ BW_TEXT, NULL, "[CUDA_ERROR_ECC_UNCORRECTABLE] uncorrectable ECC error\n", 1,
		  "unknown, gpu-fault", "uncorrectable ECC" },
		{ BW_TEXT, NULL, "Error: uncorrectable NVLink error detected\n", 1,
		  "unknown, gpu-fault", "NVLink error" },
		{ BW_TEXT, NULL,
		  "Device 0: A (00000000:01:00)\nDevice 1: A (00000000:02:00)\n"
		  "Waiving device_to_device_memcpy_read_ce.\n",
		  0, "slow, pcie-path", "do not reach" },
		{ BW_TEXT, NULL, "a\nERROR: Testcase x not found!\n", 0, "unknown, bad-output",
		  "not found!" },
		{ BW_JSON, NULL,
		  "[HAMI-core Info(1)]: x\n" JSON_OF(
			  "\"testcases\": [ { \"name\": \"device_to_device_memcpy_read_ce\", "
			  "\"status\": \"Waived\" } ]") "[HAMI-core Info(1)]: y\n",
		  0, "slow, pcie-path", "do not reach" },
		{ BW_JSON, NULL,
		  JSON_OF("\"error\" : \" Invalid value when checking the pattern at <0x1>: 7\""),
		  134, "wrong, wrong-data", "" },
		{ BW_P2P, "   D\\D     0      1 \n     0 838.25  52.87",
		  "   D\\D     0      1 \nguest: a line\n     0 838.25  52.87", 0, "pass, none",
		  "" },
		{ BW_P2P, "Unidirectional P2P=Enabled", "Cuda failure a.cu:1: 'no device'\n", 1,
		  "unknown, program-failed", "Cuda failure" },
		{ BW_NCCL, "43.46       0", "43.46     N/A", 0, "unknown, not-checked", "N/A" },
		{ BW_NCCL, "43.46       0", "43.46   1e+03", 0, "wrong, wrong-data", "" },
		{ BW_NCCL, "43.08       0", "43.08   7\n   999 12 float torn\n", 3,
		  "wrong, wrong-data", "" },
		{ BW_NCCL, "0 OK", "3 FAILED", 0, "wrong, wrong-data", "" },
		{ BW_NCCL, "NCCL version", "2 GPUs, says NCCL\nNCCL version", 0, "pass, none", "" },
		{ BW_NCCL, "NCCL version", "h: Test CUDA failure common.cu:1 'no device'\n#", 2,
		  "unknown, program-failed", "Test CUDA failure" },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		const Variant v = { rows[i].guest,  RUN_GPUS, rows[i].from, rows[i].to,
				    rows[i].status, NULL,     NULL };
		_cleanup_free_ char *guest = strf(FIELD "/%s", rows[i].guest), *is = NULL;
		_cleanup_free_ char *which = guest_file(guest, "bw", ".which", NULL);
		_cleanup_(workload_freep) Workload *w = NULL;
		GuestRun good = guest_run_of(FIELD "/" BW_TEXT, "bw");
		WorkloadVerdict was;
		bool done = false;
		_cleanup_(scene_clear) Scene s;

		scene_init(&s, rows[i].guest);
		judge(&s);
		guest_run_clear(&s.runs[RUN_GPUS]);
		s.runs[RUN_GPUS] = guest_run_of(guest, "bw");
		change(&s, &v);
		w = measure_begin(&s.input, s.report);
		measure_hear(w, &s.input, s.report, strtoul(which, NULL, 10), &s.runs[RUN_GPUS],
			     &done);
		is = strf("%s, %s", workload_verdict_to_string(w->verdict),
			  workload_cause_to_string(w->cause));
		if (strcmp(is, rows[i].verdict) != 0 ||
		    !strstr(str_or_empty(w->reason), rows[i].words))
			fail_msg("%zu, \"%s\": %s: %s", i, rows[i].to, is, str_or_empty(w->reason));
		/* An alarm stands whatever a later run says. */
		was = w->verdict;
		if (was == WORKLOAD_WRONG || w->cause == WORKLOAD_GPU_FAULT)
			measure_hear(w, &s.input, s.report, 1, &good, &done);
		assert_int_equal(w->verdict, was);
		guest_run_clear(&good);
	}
}

int main(int argc, char **argv)
{
	if (argc == 3 && strcmp(argv[1], "--describe") == 0) {
		_cleanup_free_ char *text = describe(argv[2]);

		fputs(text, stdout);
		return 0;
	}
	return tests_run();
}
