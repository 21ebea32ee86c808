/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "util/arguments.h"

#include <assert.h>
#include <getopt.h>

#include "gpupass/errors.h"
#include "util/text.h"

enum {
	FIRST = 0x100, /* followed by the known ones */
	HELP = 'h',
	VERSION = 'v',
};

static void make_table(const Argument *known, size_t n_known,
		       struct option table[ARGUMENTS_MAX + 3])
{
	size_t n = 0;

	assert(n_known <= ARGUMENTS_MAX);
	for (size_t i = 0; i < n_known; i++)
		table[n++] = (struct option){
			.name = known[i].name,
			.has_arg = known[i].text ? required_argument : no_argument,
			.val = FIRST + (int)i,
		};
	table[n++] = (struct option){ .name = "help", .val = HELP };
	table[n++] = (struct option){ .name = "version", .val = VERSION };
	table[n] = (struct option){ 0 };
}

static int take(const Program *program, const Argument *argument, const char *value)
{
	if (argument->once && (argument->text ? *argument->text != NULL : *argument->flag)) {
		_cleanup_free_ char *name = strf("--%s", argument->name);

		return arguments_refuse(program, "given twice", name);
	}
	if (argument->text)
		*argument->text = value;
	else
		*argument->flag = true;
	return GPUPASS_EXIT_DONE;
}

bool arguments_parse(const Program *program, const Argument *known, size_t n_known, int argc,
		     char **argv, int *ret_first, int *ret_status)
{
	struct option table[ARGUMENTS_MAX + 3];
	int c;

	make_table(known, n_known, table);
	optind = 0; /* makes glibc's getopt start over */
	while ((c = getopt_long(argc, argv, "h", table, NULL)) >= 0) {
		*ret_status = GPUPASS_EXIT_DONE;
		if (c == HELP) {
			fputs(program->help, stdout);
			return false;
		}
		if (c == VERSION) {
			printf("%s %s\n", program->name, program->version);
			return false;
		}
		/* Below FIRST: getopt has already reported what is wrong. */
		*ret_status =
			c < FIRST ? GPUPASS_EXIT_USAGE : take(program, &known[c - FIRST], optarg);
		if (*ret_status != GPUPASS_EXIT_DONE)
			return false;
	}
	*ret_first = optind;
	return true;
}

int arguments_refuse(const Program *program, const char *what, const char *argument)
{
	fprintf(stderr, "%s: %s%s%s\nTry '%s --help'.\n", program->name, what, argument ? ": " : "",
		str_or_empty(argument), program->name);
	return GPUPASS_EXIT_USAGE;
}

int program_fail(const Program *program, const char *what, int error)
{
	fprintf(stderr, "%s: %s: %s\n", program->name, what, strerror(-error));
	return GPUPASS_EXIT_FAILED;
}
