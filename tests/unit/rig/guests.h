/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reading what is printed in a guest of tests/fixtures/guests/, or of the folder in its name. */
#pragma once

#include <fcntl.h>
#include <string.h>

#include "core/verify/verify.h"
#include "util/file.h"
#include "util/text.h"

#define GUEST_TEXT_MAX (1024 * 1024)

/* The text of one file, or NULL. */
static inline _unused_ char *guest_file(const char *guest, const char *name, const char *suffix,
					size_t *ret_size)
{
	_cleanup_free_ char *path = strf("%s/%s%s/%s%s", FIXTURES,
					 strchr(guest, '/') ? "" : "guests/", guest, name, suffix);
	char *text = NULL;
	int r;

	r = file_read_at(AT_FDCWD, path, GUEST_TEXT_MAX, &text, ret_size);
	if (r != -ENOENT && r < 0)
		fail_msg("cannot read %s: %s", path, strerror(-r));
	return text;
}

/* A run as the guest agent would tell of it. A guest without the file has not that command. */
static inline _unused_ GuestRun guest_run_of(const char *guest, const char *name)
{
	GuestRun run = { .outcome = GUEST_RAN };
	_cleanup_free_ char *status = guest_file(guest, name, ".status", NULL);

	run.out = guest_file(guest, name, "", &run.out_size);
	run.err = guest_file(guest, name, ".err", &run.err_size);
	run.exit_code = status ? strtol(status, NULL, 10) : run.out ? 0 : 2;
	return run;
}

static inline _unused_ void guest_runs(const char *guest, GuestRun runs[VERIFY_RUNS])
{
	static const char *const names[VERIFY_RUNS] = { "gpus", "topo", "nvlink", "p2p" };

	for (size_t i = 0; i < VERIFY_RUNS; i++) {
		runs[i] = guest_run_of(guest, names[i]);
		if (!runs[i].out)
			fail_msg("no fixture guests/%s/%s", guest, names[i]);
	}
}

static inline _unused_ void guest_diagnoses(const char *guest, GuestRun runs[VERIFY_DIAGNOSES])
{
	runs[0] = guest_run_of(guest, "mig");
	runs[1] = guest_run_of(guest, "cc");
}

static inline _unused_ void guest_runs_clear(GuestRun *runs, size_t n)
{
	for (size_t i = 0; i < n; i++)
		guest_run_clear(&runs[i]);
}
