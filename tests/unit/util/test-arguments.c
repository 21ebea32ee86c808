/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <string.h>

#include "gpupass/errors.h"
#include "util/arguments.h"
#include "util/text.h"

static const Program program = { "test", "help\n", "1" };

/* What a command line comes to. */
typedef struct Taken {
	int status; /* -1: it goes on, with: */
	int first;  /* operand */
	bool all;
	const char *device, *root;
} Taken;

static Taken parse(const char *const *words)
{
	Taken taken = { .root = "/", .status = -1 };
	const Argument known[] = {
		{ "all", .flag = &taken.all, .once = true },
		{ "device", .text = &taken.device, .once = true },
		{ "root", .text = &taken.root },
	};
	char *argv[8] = { (char[]){ "test" } };
	int argc = 1, status = -1;

	for (; *words; words++)
		argv[argc++] = (char *)*words;
	if (!arguments_parse(&program, known, ELEMENTS(known), argc, argv, &taken.first, &status))
		taken.status = status;
	return taken;
}

TEST(options_are_taken_and_operands_are_left)
{
	static const struct {
		const char *words[6];
		Taken is;
	} rows[] = {
		{ { NULL }, { -1, 1, false, NULL, "/" } },
		{ { "--all" }, { -1, 2, true, NULL, "/" } },
		{ { "--device=a", "--root", "/x" }, { -1, 4, false, "a", "/x" } },
		/* The last one counts, where it is not once. */
		{ { "--root=/x", "--root=/y" }, { -1, 3, false, NULL, "/y" } },
		{ { "b", "--all" }, { -1, 2, true, NULL, "/" } },
		{ { "--device=", "--", "--all" }, { -1, 3, false, "", "/" } },
		{ { "-", "-" }, { -1, 1, false, NULL, "/" } },
		{ { "--help" }, { .status = GPUPASS_EXIT_DONE } },
		{ { "-h" }, { .status = GPUPASS_EXIT_DONE } },
		{ { "--version" }, { .status = GPUPASS_EXIT_DONE } },
		{ { "-v" }, { .status = GPUPASS_EXIT_USAGE } },
		{ { "--nonsense" }, { .status = GPUPASS_EXIT_USAGE } },
		{ { "--device" }, { .status = GPUPASS_EXIT_USAGE } },
		{ { "--all=yes" }, { .status = GPUPASS_EXIT_USAGE } },
		{ { "--all", "--all" }, { .status = GPUPASS_EXIT_USAGE } },
		{ { "--device=a", "--device=b" }, { .status = GPUPASS_EXIT_USAGE } },
		{ { "--nonsense", "--help" }, { .status = GPUPASS_EXIT_USAGE } },
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		Taken taken = parse(rows[i].words), is = rows[i].is;

		if (taken.status != is.status ||
		    (is.status < 0 &&
		     (taken.first != is.first || taken.all != is.all ||
		      !str_equal(taken.device, is.device) || !str_equal(taken.root, is.root))))
			fail_msg("row %zu: %d, %d, %s, %s, operands from %d", i, taken.status,
				 taken.all, str_or_empty(taken.device), taken.root, taken.first);
	}
}
