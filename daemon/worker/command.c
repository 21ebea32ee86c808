/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/command.h"

#include <stdio.h>
#include <string.h>

#include "core/pci/driver-name.h"
#include "gpupass/errors.h"
#include "host/wire/request.h"
#include "mover/command.h"
#include "util/text.h"
#include "util/xalloc.h"

static const char usage[] =
	"Usage: gpupass-worker [OPTION]... move BDF DRIVER|- OVERRIDE|-\n"
	"       gpupass-worker [OPTION]... reset [--slot] BDF\n"
	"       gpupass-worker [OPTION]... vfs BDF NUMBER\n"
	"       gpupass-worker [OPTION]... inspect [--glance] [BDF]...\n"
	"       gpupass-worker [OPTION]... config [--awake] [BDF]...\n"
	"       gpupass-worker [OPTION]... nic BDF...\n"
	"       gpupass-worker [OPTION]... rules BDF...\n"
	"       gpupass-worker [OPTION]... examine --without-image | BDF [PORT]...\n"
	"       gpupass-worker [OPTION]... probe [--mmio] BDF...\n"
	"       gpupass-worker [OPTION]... persistence [--set=on|off] BDF...\n"
	"       gpupass-worker [OPTION]... memory BDF...\n"
	"       gpupass-worker [OPTION]... nvme BDF...\n"
	"       gpupass-worker [OPTION]... machines\n"
	"       gpupass-worker uevents\n"
	"       gpupass-worker --part=NAME\n"
	"\n"
	"Moves one PCI function to a driver, resets one, gives a NIC its VFs, looks closely at\n"
	"some, reads their config space, finds who uses NICs, sets what VFs may do, examines the\n"
	"host's setup or one GPU's health, asks NVML about the NVLinks or persistence mode of\n"
	"some, sets the mode of one, or reads whether some have cleared their memory, what uses\n"
	"NVMes, or the virtual machines of Proxmox VE, for gpupassd(8).\n"
	"Writes one JSON document to standard output; uevents, a byte for each message of the\n"
	"kernel about a PCI device, while standard output is open. With --part it reads the\n"
	"verb and what follows from its standard input, and does only what this part is there\n"
	"for.\n"
	"\n"
	"      --sysfs=DIR     sysfs (default /sys)\n"
	"      --proc=DIR      procfs (default /proc)\n"
	"      --root=DIR      examine, machines, persistence: where etc, run and usr are (default /)\n"
	"      --without-image examine: the host, without its initramfs\n"
	"      --glance        inspect: the functions, and not who holds them\n"
	"      --awake         config: of what is in D0 only\n"
	"      --mmio          probe: read link registers (Hopper) instead of NVML\n"
	"      --nvml=LIBRARY  NVML's library (default libnvidia-ml.so.1)\n"
	"      --slot          reset: all functions of its slot, through vfio\n"
	"      --set=on|off    persistence: of one GPU, set it, and read it again\n"
	"  -h, --help          show this help\n"
	"      --version       show the version\n";

const Program worker_program = { "gpupass-worker", usage, GPUPASS_VERSION };

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
	const char *set;
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
	size_t operands = !q ? 0 : question_id(q) == ASK_MOVE ? 2 : question_id(q) == ASK_VFS;
	int status;

	/* Other programs' */
	if (!q || str_equal(q->part, PART_INITRAMFS) || str_equal(q->part, PART_ERASER))
		return complain("no such question", n > 0 ? arguments[0] : NULL);
	if (n - 1 < q->least + operands || n - 1 > q->most + operands)
		return complain("wrong number of operands", q->verb);
	if ((command->slot && question_id(q) != ASK_RESET) ||
	    (command->awake && question_id(q) != ASK_CONFIG))
		return complain("--slot is for reset, and --awake for config", NULL);
	command->question = q;
	if (asked->set && (persistence_mode_from_string(asked->set, &command->set) < 0 ||
			   command->set == PERSISTENCE_UNKNOWN))
		return complain("--set is on or off", NULL);
	status = parse_functions(arguments + 1, n - 1 - operands, command);
	if (status == GPUPASS_EXIT_DONE && operands == 1 &&
	    mover_number_parse(arguments[2], &command->number) < 0)
		status = complain("not a number of VFs", arguments[2]);
	if (status == GPUPASS_EXIT_DONE && operands == 2)
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
		{ "glance", .flag = &asked.glance },
		{ "mmio", .flag = &asked.mmio },
		{ "nvml", .text = &command.nvml },
		{ "slot", .flag = &command.slot },
		{ "set", .text = &asked.set },
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
