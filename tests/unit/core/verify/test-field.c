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
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>

#include "core/verify/measure.h"
#include "rig/guests.h"
#include "util/text-diff.h"

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
	assert_non_null(guest);
	read_input(s, guest);
	guest_runs(guest, s->runs);
}

static void judge(Scene *s)
{
	assert_int_equal(verify_judge(&s->input, s->runs, &s->report), 0);
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
		GuestRun run;
		bool done;

		if (!which)
			continue;
		if (!w)
			assert_int_equal(measure_begin(&s->input, s->report, &w), 0);
		run = guest_run_of(guest, names[i]);
		assert_int_equal(measure_hear(w, &s->input, s->report, strtoul(which, NULL, 10),
					      &run, &done),
				 0);
		guest_run_clear(&run);
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

	assert_true(guest && f);
	scene_init(&s, name);
	judge(&s);
	guest_diagnoses(guest, diagnoses);
	if (verify_wants_diagnosis(s.report))
		assert_int_equal(verify_diagnose(&s.input, diagnoses, s.report), 0);
	guest_runs_clear(diagnoses, VERIFY_DIAGNOSES);
	print_report(f, s.report);
	measure(&s, guest, f);
	fclose(f);
	scene_clear(&s);
	return text;
}

/* field: guest/01 to guest/39 */
static void guests_are_judged_as_expected(_unused_ void **state)
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
	assert_int_equal(n, 25);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(guests_are_judged_as_expected),
	};

	if (argc == 3 && strcmp(argv[1], "--describe") == 0) {
		_cleanup_free_ char *text = describe(argv[2]);

		fputs(text, stdout);
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
