/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/command.h"

#include "util/xalloc.h"

#include "command.inc"

static int complain(const char *what, const char *argument)
{
	return arguments_refuse(&worker_program, what, argument);
}

static const char *none_if_dash(const char *argument)
{
	return strcmp(argument, "-") == 0 ? NULL : argument;
}

static int parse_functions(char **arguments, size_t n, WorkerCommand *command)
{
	command->functions = xcalloc(n + 1, sizeof(Bdf));
	for (size_t i = 0; i < n; i++) {
		if (bdf_parse(arguments[i], &command->functions[i]) < 0)
			return complain("not a PCI address", arguments[i]);
		if (bdf_in(&command->functions[i], command->functions, i))
			return complain("named twice", arguments[i]);
	}
	command->n_functions = n;
	return GPUPASS_EXIT_DONE;
}

/* What follows the function of a move. */
static int parse_target(char **arguments, WorkerCommand *command)
{
	DriverTarget *target = &command->target;

	target->bdf = command->functions[0];
	target->driver = none_if_dash(arguments[0]);
	if (target->driver && !driver_name_valid(target->driver))
		return complain("not the name of a driver", arguments[0]);
	target->driver_override = none_if_dash(arguments[1]);
	if (target->driver_override && !driver_override_valid(target->driver_override))
		return complain("not a driver_override", arguments[1]);
	return GPUPASS_EXIT_DONE;
}

/* The options that tell questions of one verb apart. */
typedef struct Asked {
	bool without_image, glance, mmio;
	const char *set, *way;
} Asked;

/* NULL: there is no such question. */
static const Question *find_question(const char *verb, const Asked *asked)
{
	const char *option = asked->without_image ? "--without-image"
			     : asked->glance	  ? "--glance"
			     : asked->mmio	  ? "--mmio"
			     : asked->set	  ? "--set"
						  : NULL;
	unsigned n = asked->without_image + asked->glance + asked->mmio + (asked->set != NULL);

	return n > 1 ? NULL : question_find(verb, option);
}

static int parse_question(char **arguments, size_t n, const Asked *asked, WorkerCommand *command)
{
	const Question *q = n > 0 ? find_question(arguments[0], asked) : NULL;
	bool vfs = q && question_id(q) == ASK_VFS;
	size_t operands = vfs || (q && question_id(q) == ASK_MOVE) ? 2 : 0;
	int status;

	if (!q)
		return complain("no such question", n > 0 ? arguments[0] : NULL);
	if (n - 1 < q->least + operands || n - 1 > q->most + operands)
		return complain("wrong number of operands", q->verb);
	if ((command->slot && question_id(q) != ASK_RESET) ||
	    (command->awake && question_id(q) != ASK_CONFIG) ||
	    (command->no_labels && question_id(q) != ASK_NVME))
		return complain("--slot is for reset, --awake for config, --no-labels for nvme",
				NULL);
	if ((asked->way != NULL) != (question_id(q) == ASK_ERASE) ||
	    (command->serial != NULL) != (question_id(q) == ASK_ERASE))
		return complain("--way and --serial are for erase, and must be there", NULL);
	command->question = q;
	if (asked->way &&
	    (nvme_way_from_string(asked->way, &command->way) < 0 || command->way == NVME_WAY_NONE))
		return complain("not a way of erasing", asked->way);
	if (asked->set && (persistence_mode_from_string(asked->set, &command->set) < 0 ||
			   command->set == PERSISTENCE_UNKNOWN))
		return complain("--set is on or off", NULL);
	status = parse_functions(arguments + 1, n - 1 - operands, command);
	if (status == GPUPASS_EXIT_DONE && vfs &&
	    (str_to_unsigned(arguments[2], 10, UINT16_MAX, &command->number) < 0 ||
	     str_to_unsigned(arguments[3], 10, 1, &command->autoprobe) < 0))
		status = complain("not a number of VFs", arguments[2]);
	if (status == GPUPASS_EXIT_DONE && operands == 2 && !vfs)
		status = parse_target(arguments + 2, command);
	return status;
}

bool worker_command_parse(int argc, char **argv, WorkerCommand *ret, int *ret_status)
{
	_cleanup_(worker_command_clear) WorkerCommand command = {
		.sysfs_dir = "/sys",
		.proc_dir = "/proc",
		.root_dir = "/",
	};
	Asked asked = { 0 };
	const Argument known[] = {
		{ "sysfs", .text = &command.sysfs_dir },
		{ "proc", .text = &command.proc_dir },
		{ "root", .text = &command.root_dir },
		{ "without-image", .flag = &asked.without_image },
		{ "awake", .flag = &command.awake },
		{ "no-labels", .flag = &command.no_labels },
		{ "glance", .flag = &asked.glance },
		{ "mmio", .flag = &asked.mmio },
		{ "nvml", .text = &command.nvml },
		{ "slot", .flag = &command.slot },
		{ "set", .text = &asked.set },
		{ "way", .text = &asked.way },
		{ "serial", .text = &command.serial },
	};
	int first, status;

	if (!arguments_parse(&worker_program, known, ELEMENTS(known), argc, argv, &first,
			     ret_status))
		return false;
	status = parse_question(argv + first, (size_t)(argc - first), &asked, &command);
	if (status != GPUPASS_EXIT_DONE) {
		*ret_status = status;
		return false;
	}
	*ret = command;
	command.functions = NULL;
	return true;
}
