/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <string.h>

#include "gpupass/errors.h"
#include "util/arguments.h"
#include "util/text.h"

static const Program program = { "test", "help\n", "1" };

/* What a command line comes to. */
typedef struct Taken {
	bool go_on, all;
	const char *device, *root;
	int first, status;
} Taken;

static Taken parse(const char *const *words)
{
	Taken taken = { .root = "/", .first = -1, .status = -1 };
	const Argument known[] = {
		{ "all", .flag = &taken.all, .once = true },
		{ "device", .text = &taken.device, .once = true },
		{ "root", .text = &taken.root },
	};
	char *argv[8] = { (char[]){ "test" } };
	int argc = 1;

	for (; *words; words++)
		argv[argc++] = (char *)*words;
	taken.go_on = arguments_parse(&program, known, ELEMENTS(known), argc, argv, &taken.first,
				      &taken.status);
	return taken;
}

TEST(options_are_taken_and_operands_are_left)
{
	const struct {
		const char *words[6];
		bool all;
		const char *device, *root;
		int first;
	} rows[] = {
		{ { NULL }, false, NULL, "/", 1 },
		{ { "--all" }, true, NULL, "/", 2 },
		{ { "--device=a", "--root", "/x" }, false, "a", "/x", 4 },
		/* The last one counts, where it is not once. */
		{ { "--root=/x", "--root=/y" }, false, NULL, "/y", 3 },
		{ { "b", "--all" }, true, NULL, "/", 2 },
		{ { "--device=", "--", "--all" }, false, "", "/", 3 },
		{ { "-", "-" }, false, NULL, "/", 1 },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		Taken taken = parse(rows[i].words);

		if (!taken.go_on || taken.all != rows[i].all ||
		    !str_equal(taken.device, rows[i].device) ||
		    !str_equal(taken.root, rows[i].root) || taken.first != rows[i].first)
			fail_msg("row %zu: %d, %s, %s, operands from %d", i, taken.all,
				 str_or_empty(taken.device), taken.root, taken.first);
	}
}

TEST(wrong_usage_and_help_end_with_their_status)
{
	const struct {
		const char *words[6];
		int status;
	} rows[] = {
		{ { "--help" }, GPUPASS_EXIT_DONE },
		{ { "-h" }, GPUPASS_EXIT_DONE },
		{ { "--version" }, GPUPASS_EXIT_DONE },
		{ { "-v" }, GPUPASS_EXIT_USAGE },
		{ { "--nonsense" }, GPUPASS_EXIT_USAGE },
		{ { "--device" }, GPUPASS_EXIT_USAGE },
		{ { "--all=yes" }, GPUPASS_EXIT_USAGE },
		{ { "--all", "--all" }, GPUPASS_EXIT_USAGE },
		{ { "--device=a", "--device=b" }, GPUPASS_EXIT_USAGE },
		{ { "--nonsense", "--help" }, GPUPASS_EXIT_USAGE },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		Taken taken = parse(rows[i].words);

		if (taken.go_on || taken.status != rows[i].status)
			fail_msg("row %zu: %s with %d", i, taken.go_on ? "goes on" : "ends",
				 taken.status);
	}
}
