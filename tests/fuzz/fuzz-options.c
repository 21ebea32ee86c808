/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What callers ask with: command lines (a line an argument) of the worker, which has the parser of
 * all of the daemon's programs, and the options of methods, in a message that the input builds.
 */
#include "bus/options.h"
#include "gpupass/dbus.h"
#include "message.h"
#include "util/text.h"
#include "worker/command.h"

#define ARGUMENTS 24

int LLVMFuzzerInitialize(int *argc, char ***argv);

/* Wrong usage is reported on stderr, and the output of --help on stdout. */
int LLVMFuzzerInitialize(_unused_ int *argc, _unused_ char ***argv)
{
	stderr = fopen("/dev/null", "we");
	stdout = fopen("/dev/null", "we");
	EXPECT(stderr && stdout);
	return 0;
}

/* ---- command lines ---- */

const Program worker_program = { "fuzz-options", "", "0" };

static void a_worker_is_told(int argc, char **argv)
{
	WorkerCommand command = { 0 };
	int status = -1;

	if (!worker_command_parse(argc, argv, &command, &status)) {
		EXPECT(status >= 0 && status < 256);
		return;
	}
	EXPECT(command.sysfs_dir && command.proc_dir);
	EXPECT(command.functions || command.n_functions == 0);
	EXPECT(command.question);
	EXPECT(command.n_functions >= command.question->least &&
	       command.n_functions <= command.question->most);
	/* Some drivers of the kernel have blanks in their names; none is a path. */
	EXPECT(!command.target.driver || !strpbrk(command.target.driver, "/\n"));
	worker_command_clear(&command);
}

static void command_lines_are_read(const char *text)
{
	_cleanup_strv_ char **list = NULL;
	char *argv[ARGUMENTS + 2] = { (char *)"program" };
	int argc = 1;

	strv_split(text, "\n", &list);
	for (; list && list[argc - 1] && argc <= ARGUMENTS; argc++)
		argv[argc] = list[argc - 1];
	a_worker_is_told(argc, argv);
}

/* ---- options of methods ---- */

#define ASKED (TAKES(LIVE) | TAKES(CONFIG) | TAKES(TIMEOUT) | TAKES(MODEL))

static const char *const keys[] = { GPUPASS_OPTION_LIVE, GPUPASS_OPTION_CONFIG,
				    GPUPASS_OPTION_TIMEOUT, GPUPASS_OPTION_MODEL };

/* Of one of these options, seldom of another one. */
static int append_entry(sd_bus_message *m, FuzzBytes *from)
{
	static const char *const types[] = { "b", "t", "i", "as", "s", "s" };
	uint8_t which = fuzz_byte(from);
	_cleanup_free_ char *other = which < 200 ? NULL : fuzz_string(from, 20);

	return message_append_entry(m, other ? other : keys[which % ELEMENTS(keys)],
				    types[fuzz_byte(from) % ELEMENTS(types)], from);
}

static void options_of_a_call_are_read(const char *bytes, size_t size)
{
	_cleanup_(sd_bus_message_unrefp) sd_bus_message *m = message_new();
	_cleanup_(sd_bus_error_free) sd_bus_error error = SD_BUS_ERROR_NULL;
	FuzzBytes from = fuzz_bytes(bytes, size);
	size_t n = fuzz_byte(&from) % 40;
	CallOptions target = { 0 };
	int r = sd_bus_message_open_container(m, 'a', "{sv}");

	for (size_t i = 0; r >= 0 && i < n; i++)
		r = append_entry(m, &from);
	if (r < 0)
		return;
	message_seal(m);
	r = call_options_read(m, ASKED, &target, &error);
	if (r < 0)
		EXPECT(sd_bus_error_has_name(&error, "org.gpupass1.Error.InvalidArgument"));
	else
		EXPECT(sd_bus_message_at_end(m, true) == 1);
	call_options_clear(&target);
}

void fuzz_one(const char *bytes, size_t size, const char *text)
{
	command_lines_are_read(text);
	options_of_a_call_are_read(bytes, size);
}
