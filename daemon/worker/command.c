/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "core/pci/driver-name.h"
#include "gpupass/errors.h"
#include "util/arguments.h"
#include "util/text.h"

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
	"config space, examines the host's setup or one GPU's health, asks NVML about the NVLinks or persistence\n"
	"mode of some, sets the mode of one, or reads whether some have cleared their memory, or the virtual\n"
	"machines of Proxmox VE, for gpupassd(8).\n"
	"Writes one JSON document to standard output; uevents, a byte for each message of the\n"
	"kernel about a PCI device, while standard output is open. With --part it reads the verb and what\n"
	"follows from its standard input, and does only what this part is there for.\n"
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

static int parse_move(char **arguments, size_t n, WorkerCommand *command)
{
	DriverTarget *target = &command->target;

	if (command->capabilities)
		return complain("--capabilities is for inspect", NULL);
	if (n != 3)
		return complain("move takes a function, a driver and an override", NULL);
	if (bdf_parse(arguments[0], &target->bdf) < 0)
		return complain("not a PCI address", arguments[0]);
	target->driver = none_if_dash(arguments[1]);
	if (target->driver && !driver_name_valid(target->driver))
		return complain("not the name of a driver", arguments[1]);
	target->driver_override = none_if_dash(arguments[2]);
	if (target->driver_override && !driver_override_valid(target->driver_override))
		return complain("not a driver_override", arguments[2]);
	command->verb = WORKER_MOVE;
	return GPUPASS_EXIT_DONE;
}

static int parse_reset(char **arguments, size_t n, WorkerCommand *command)
{
	if (command->capabilities)
		return complain("--capabilities is for inspect", NULL);
	if (n != 1)
		return complain("reset takes a function", NULL);
	if (bdf_parse(arguments[0], &command->target.bdf) < 0)
		return complain("not a PCI address", arguments[0]);
	command->verb = WORKER_RESET;
	return GPUPASS_EXIT_DONE;
}

static int parse_functions(char **arguments, size_t n, WorkerVerb verb, WorkerCommand *command)
{
	if (n > FUNCTIONS_MAX)
		return complain("too many functions", NULL);
	command->functions = calloc(n + 1, sizeof(Bdf));
	if (!command->functions)
		return GPUPASS_EXIT_FAILED;
	for (size_t i = 0; i < n; i++) {
		if (bdf_parse(arguments[i], &command->functions[i]) < 0)
			return complain("not a PCI address", arguments[i]);
		if (bdf_in(&command->functions[i], command->functions, i))
			return complain("named twice", arguments[i]);
	}
	command->n_functions = n;
	command->verb = verb;
	return GPUPASS_EXIT_DONE;
}

static int parse_examine(char **arguments, size_t n, WorkerCommand *command)
{
	if (command->capabilities)
		return complain("--capabilities is for inspect", NULL);
	if (n == 0 && !command->without_image)
		return complain("examine takes a GPU, or --without-image", NULL);
	return parse_functions(arguments, n, WORKER_EXAMINE, command);
}

static int parse_probe(char **arguments, size_t n, WorkerCommand *command)
{
	if (command->capabilities)
		return complain("--capabilities is for inspect", NULL);
	if (n == 0)
		return complain("probe takes functions", NULL);
	return parse_functions(arguments, n, WORKER_PROBE, command);
}

static int parse_memory(char **arguments, size_t n, WorkerCommand *command)
{
	if (command->capabilities)
		return complain("--capabilities is for inspect", NULL);
	if (n == 0)
		return complain("memory takes functions", NULL);
	return parse_functions(arguments, n, WORKER_MEMORY, command);
}

static int parse_config(char **arguments, size_t n, WorkerCommand *command)
{
	if (command->capabilities)
		return complain("--capabilities is for inspect", NULL);
	return parse_functions(arguments, n, WORKER_CONFIG, command);
}

/* A worker that sets a mode has only one function, so that its command line identifies it. */
static int parse_persistence(char **arguments, size_t n, WorkerCommand *command)
{
	if (command->capabilities)
		return complain("--capabilities is for inspect", NULL);
	if (n == 0)
		return complain("persistence takes functions", NULL);
	if (command->set_to && n != 1)
		return complain("--set takes one function", NULL);
	if (command->set_to && (persistence_mode_from_string(command->set_to, &command->set) < 0 ||
				command->set == PERSISTENCE_UNKNOWN))
		return complain("--set is on or off", command->set_to);
	return parse_functions(arguments, n, WORKER_PERSISTENCE, command);
}

static int parse_alone(const char *verb, size_t n, WorkerVerb is, WorkerCommand *command)
{
	if (n != 0)
		return complain("it takes nothing", verb);
	command->verb = is;
	return GPUPASS_EXIT_DONE;
}

static int parse_verb(char **arguments, size_t n, WorkerCommand *command)
{
	if (n == 0)
		return complain("nothing to do", NULL);
	if (command->awake && !command->capabilities && strcmp(arguments[0], "config") != 0)
		return complain("--awake is for config and --capabilities", NULL);
	if (command->without_image && (strcmp(arguments[0], "examine") != 0 || n != 1))
		return complain("--without-image is for examine, of the host", NULL);
	if (command->glance && strcmp(arguments[0], "inspect") != 0)
		return complain("--glance is for inspect", NULL);
	if (command->slot && strcmp(arguments[0], "reset") != 0)
		return complain("--slot is for reset", NULL);
	if (command->set_to && strcmp(arguments[0], "persistence") != 0)
		return complain("--set is for persistence", NULL);
	if (strcmp(arguments[0], "probe") == 0)
		return parse_probe(arguments + 1, n - 1, command);
	if (command->mmio)
		return complain("--mmio is for probe", NULL);
	if (strcmp(arguments[0], "move") == 0)
		return parse_move(arguments + 1, n - 1, command);
	if (strcmp(arguments[0], "inspect") == 0)
		return parse_functions(arguments + 1, n - 1, WORKER_INSPECT, command);
	if (strcmp(arguments[0], "examine") == 0)
		return parse_examine(arguments + 1, n - 1, command);
	if (strcmp(arguments[0], "config") == 0)
		return parse_config(arguments + 1, n - 1, command);
	if (strcmp(arguments[0], "reset") == 0)
		return parse_reset(arguments + 1, n - 1, command);
	if (strcmp(arguments[0], "persistence") == 0)
		return parse_persistence(arguments + 1, n - 1, command);
	if (strcmp(arguments[0], "memory") == 0)
		return parse_memory(arguments + 1, n - 1, command);
	if (strcmp(arguments[0], "uevents") == 0)
		return parse_alone(arguments[0], n - 1, WORKER_UEVENTS, command);
	if (strcmp(arguments[0], "machines") == 0)
		return parse_alone(arguments[0], n - 1, WORKER_MACHINES, command);
	return complain(
		"neither move, reset, inspect, config, examine, probe, persistence, memory, "
		"machines nor uevents",
		arguments[0]);
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
