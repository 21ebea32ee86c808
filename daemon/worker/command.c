/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/pci/driver-name.h"
#include "gpupass/errors.h"
#include "util/arguments.h"
#include "util/text.h"
#include "util/xalloc.h"

/* More than any group has; see core/base/limits.h. */
#define FUNCTIONS_MAX 512

static const char usage[] =
	"Usage: gpupass-worker [OPTION]... move BDF DRIVER|- OVERRIDE|-\n"
	"       gpupass-worker [OPTION]... reset [--slot] BDF\n"
	"       gpupass-worker [OPTION]... inspect [--glance] [--capabilities [--awake]] [BDF]...\n"
	"       gpupass-worker [OPTION]... config [--awake] [BDF]...\n"
	"       gpupass-worker [OPTION]... examine --without-image | BDF [PORT]...\n"
	"       gpupass-worker [OPTION]... probe [--mmio] BDF...\n"
	"       gpupass-worker [OPTION]... persistence [--set=on|off] BDF...\n"
	"       gpupass-worker [OPTION]... memory BDF...\n"
	"       gpupass-worker [OPTION]... machines\n"
	"       gpupass-worker uevents\n"
	"       gpupass-worker --part=NAME\n"
	"\n"
	"Moves one PCI function to a driver, resets one, looks closely at some, reads their\n"
	"config space, examines the host's setup or one GPU's health, asks NVML about the\n"
	"NVLinks or persistence mode of some, sets the mode of one, or reads whether some have\n"
	"cleared their memory, or the virtual machines of Proxmox VE, for gpupassd(8).\n"
	"Writes one JSON document to standard output; uevents, a byte for each message of the\n"
	"kernel about a PCI device, while standard output is open. With --part it reads the\n"
	"verb and what follows from its standard input, and does only what this part is there\n"
	"for.\n"
	"\n"
	"      --sysfs=DIR     sysfs (default /sys)\n"
	"      --proc=DIR      procfs (default /proc)\n"
	"      --root=DIR      examine, machines, persistence: where etc, run and usr are (default /)\n"
	"      --without-image examine: the host, without its initramfs\n"
	"      --capabilities  inspect: read config space, too\n"
	"      --glance        inspect: the functions, and not who holds them\n"
	"      --awake         config, --capabilities: of what is in D0 only\n"
	"      --mmio          probe: read link registers (Hopper) instead of NVML\n"
	"      --nvml=LIBRARY  NVML's library (default libnvidia-ml.so.1)\n"
	"      --slot          reset: all functions of its slot, through vfio\n"
	"      --set=on|off    persistence: of one GPU, set it, and read it again\n"
	"  -h, --help          show this help\n"
	"      --version       show the version\n";

static const Program program = { "gpupass-worker", usage, GPUPASS_VERSION };

static int complain(const char *what, const char *argument)
{
	return arguments_refuse(&program, what, argument);
}

static const char *none_if_dash(const char *argument)
{
	return strcmp(argument, "-") == 0 ? NULL : argument;
}

static int parse_move(char **arguments, _unused_ size_t n, WorkerCommand *command)
{
	DriverTarget *target = &command->target;

	if (bdf_parse(arguments[0], &target->bdf) < 0)
		return complain("not a PCI address", arguments[0]);
	target->driver = none_if_dash(arguments[1]);
	if (target->driver && !driver_name_valid(target->driver))
		return complain("not the name of a driver", arguments[1]);
	target->driver_override = none_if_dash(arguments[2]);
	if (target->driver_override && !driver_override_valid(target->driver_override))
		return complain("not a driver_override", arguments[2]);
	return GPUPASS_EXIT_DONE;
}

static int parse_reset(char **arguments, _unused_ size_t n, WorkerCommand *command)
{
	if (bdf_parse(arguments[0], &command->target.bdf) < 0)
		return complain("not a PCI address", arguments[0]);
	return GPUPASS_EXIT_DONE;
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

static const struct Verb {
	const char *name;
	WorkerVerb verb;
	size_t least, most; /* operands */
	int (*parse)(char **arguments, size_t n, WorkerCommand *command);
} verbs[] = {
	{ "move", WORKER_MOVE, 3, 3, parse_move },
	{ "reset", WORKER_RESET, 1, 1, parse_reset },
	{ "inspect", WORKER_INSPECT, 0, FUNCTIONS_MAX, parse_functions },
	{ "config", WORKER_CONFIG, 0, FUNCTIONS_MAX, parse_functions },
	{ "examine", WORKER_EXAMINE, 0, FUNCTIONS_MAX, parse_functions },
	{ "probe", WORKER_PROBE, 1, FUNCTIONS_MAX, parse_functions },
	{ "persistence", WORKER_PERSISTENCE, 1, FUNCTIONS_MAX, parse_functions },
	{ "memory", WORKER_MEMORY, 1, FUNCTIONS_MAX, parse_functions },
	{ "machines", WORKER_MACHINES, 0, 0, parse_functions },
	{ "uevents", WORKER_UEVENTS, 0, 0, parse_functions },
};

/*
 * An option that does not go with the verb, or is missing; NULL: none. A worker that sets a mode
 * has only one function, so that its command line identifies it.
 */
static const char *misplaced(const WorkerCommand *c)
{
	if ((c->capabilities || c->glance) && c->verb != WORKER_INSPECT)
		return "--capabilities and --glance are for inspect";
	if (c->awake && !c->capabilities && c->verb != WORKER_CONFIG)
		return "--awake is for config and --capabilities";
	if (c->without_image != (c->verb == WORKER_EXAMINE && c->n_functions == 0))
		return "examine takes a GPU, or --without-image, which is for it alone";
	if (c->slot && c->verb != WORKER_RESET)
		return "--slot is for reset";
	if (c->mmio && c->verb != WORKER_PROBE)
		return "--mmio is for probe";
	if (!c->set_to)
		return NULL;
	if (c->verb != WORKER_PERSISTENCE || c->n_functions != 1)
		return "--set is for persistence, of one function";
	return c->set == PERSISTENCE_UNKNOWN ? "--set is on or off" : NULL;
}

static int parse_verb(char **arguments, size_t n, WorkerCommand *command)
{
	const struct Verb *verb = verbs;
	const char *wrong;
	int status;

	if (n == 0)
		return complain("nothing to do", NULL);
	while (verb < verbs + ELEMENTS(verbs) && strcmp(verb->name, arguments[0]) != 0)
		verb++;
	if (verb == verbs + ELEMENTS(verbs))
		return complain("no such verb", arguments[0]);
	if (n - 1 < verb->least || n - 1 > verb->most)
		return complain("wrong number of operands", verb->name);
	command->verb = verb->verb;
	status = verb->parse(arguments + 1, n - 1, command);
	if (status != GPUPASS_EXIT_DONE)
		return status;
	if (command->set_to)
		(void)persistence_mode_from_string(command->set_to, &command->set);
	wrong = misplaced(command);
	return wrong ? complain(wrong, NULL) : GPUPASS_EXIT_DONE;
}

bool worker_command_parse(int argc, char **argv, WorkerCommand *ret, int *ret_status)
{
	_cleanup_(worker_command_clear) WorkerCommand command = {
		.sysfs_dir = "/sys",
		.proc_dir = "/proc",
		.root_dir = "/",
	};
	const Argument known[] = {
		{ "sysfs", .text = &command.sysfs_dir },
		{ "proc", .text = &command.proc_dir },
		{ "root", .text = &command.root_dir },
		{ "without-image", .flag = &command.without_image },
		{ "capabilities", .flag = &command.capabilities },
		{ "awake", .flag = &command.awake },
		{ "glance", .flag = &command.glance },
		{ "mmio", .flag = &command.mmio },
		{ "nvml", .text = &command.nvml },
		{ "slot", .flag = &command.slot },
		{ "set", .text = &command.set_to },
	};
	int first, status;

	if (!arguments_parse(&program, known, ELEMENTS(known), argc, argv, &first, ret_status))
		return false;
	status = parse_verb(argv + first, (size_t)(argc - first), &command);
	if (status != GPUPASS_EXIT_DONE) {
		*ret_status = status;
		return false;
	}
	*ret = command;
	command.functions = NULL;
	return true;
}

void worker_command_clear(WorkerCommand *command)
{
	free(command->functions);
	command->functions = NULL;
}
