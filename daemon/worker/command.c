/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "worker/command.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>

#include "core/pci/driver-name.h"
#include "gpupass/errors.h"
#include "host/device/examine.h"
#include "host/device/inspect.h"
#include "host/device/reset.h"
#include "host/wire/document.h"
#include "util/arguments.h"
#include "util/file.h"
#include "util/text.h"
#include "worker/persistence.h"
#include "worker/probe.h"

/* A group has at most 8 GPUs of 8 functions; more than this is no question about a group. */
#define FUNCTIONS_MAX 512

static const char usage[] =
	"Usage: gpupass-worker [OPTION]... move BDF DRIVER|- OVERRIDE|-\n"
	"       gpupass-worker [OPTION]... reset [--slot] BDF\n"
	"       gpupass-worker [OPTION]... inspect [--capabilities [--awake]] [BDF]...\n"
	"       gpupass-worker [OPTION]... examine [BDF [PORT]...]\n"
	"       gpupass-worker [OPTION]... probe [--mmio] BDF...\n"
	"       gpupass-worker [OPTION]... persistence [--set=on|off] BDF...\n"
	"\n"
	"Moves one PCI function to a driver, resets one, looks closely at some, examines\n"
	"the host's setup or one GPU's health, asks NVML about the NVLinks or persistence\n"
	"mode of some, or sets the mode of one, for gpupassd(8).\n"
	"Writes one JSON document to standard output.\n"
	"\n"
	"      --sysfs=DIR     sysfs (default /sys)\n"
	"      --proc=DIR      procfs (default /proc)\n"
	"      --root=DIR      examine: where etc, run and usr are (default /)\n"
	"      --known-image=KEY\n"
	"                      examine: the initramfs that need not be read again\n"
	"      --capabilities  inspect: read config space, too\n"
	"      --awake         with --capabilities: of what is in D0 only\n"
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

/* One that is set is the only one, so that the worker at work on it can be found by it. */
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

static int parse_verb(char **arguments, size_t n, WorkerCommand *command)
{
	if (n == 0)
		return complain("nothing to do", NULL);
	if (command->awake && !command->capabilities)
		return complain("--awake is for --capabilities", NULL);
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
	if (strcmp(arguments[0], "reset") == 0)
		return parse_reset(arguments + 1, n - 1, command);
	if (strcmp(arguments[0], "persistence") == 0)
		return parse_persistence(arguments + 1, n - 1, command);
	return complain("neither move, reset, inspect, examine, probe nor persistence",
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
		{ "known-image", .text = &command.known_image },
		{ "capabilities", .flag = &command.capabilities },
		{ "awake", .flag = &command.awake },
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

static void move(const WorkerCommand *command, const DriverOps *ops, DriverResult *ret)
{
	_cleanup_close_ int sysfs_fd = -1;
	int r = dir_open_at(AT_FDCWD, command->sysfs_dir, false, &sysfs_fd);

	if (r < 0)
		*ret = (DriverResult){ .error = r, .phase = DRIVER_PHASE_READ };
	else if (ops)
		driver_move_with(ops, sysfs_fd, &command->target, ret);
	else
		driver_move(sysfs_fd, &command->target, ret);
}

static int reset(const WorkerCommand *command, const DriverOps *ops, ResetReport *ret)
{
	_cleanup_close_ int sysfs_fd = -1;
	DriverOps real = *driver_real_ops();
	int r = dir_open_at(AT_FDCWD, command->sysfs_dir, false, &sysfs_fd);

	if (r < 0) {
		*ret = (ResetReport){
			.bdf = command->target.bdf,
			.result = RESET_FAILED,
			.error = r,
		};
		return 0;
	}
	/* The files of /dev/vfio are those of /sys and of no other tree. */
	if (strcmp(command->sysfs_dir, "/sys") != 0)
		real.hot_reset = NULL;
	if (!ops)
		ops = &real;
	return command->slot ? slot_reset_with(ops, sysfs_fd, &command->target.bdf, ret)
			     : function_reset_with(ops, sysfs_fd, &command->target.bdf, ret);
}

/* The running kernel's modules; -1 when there are none to read. */
static int open_modules(void)
{
	_cleanup_free_ char *path = NULL;
	struct utsname name;
	int fd = -1;

	if (uname(&name) < 0)
		return -1;
	path = strf("/lib/modules/%s", name.release);
	return path && dir_open_at(AT_FDCWD, path, false, &fd) >= 0 ? fd : -1;
}

static InspectConfig config_space(const WorkerCommand *command)
{
	if (!command->capabilities)
		return INSPECT_CONFIG_NOT;
	return command->awake ? INSPECT_CONFIG_AWAKE : INSPECT_CONFIG_ALL;
}

static int inspect(const WorkerCommand *command, Inspection **ret)
{
	_cleanup_close_ int sysfs_fd = -1, proc_fd = -1, modules_fd = open_modules();
	InspectRoots roots;
	int r;

	r = dir_open_at(AT_FDCWD, command->sysfs_dir, false, &sysfs_fd);
	if (r >= 0)
		r = dir_open_at(AT_FDCWD, command->proc_dir, false, &proc_fd);
	if (r < 0)
		return r;
	roots = (InspectRoots){
		.sysfs_fd = sysfs_fd,
		.proc_fd = proc_fd,
		.modules_fd = modules_fd,
	};
	return inspect_functions(&roots, command->functions, command->n_functions,
				 config_space(command), ret);
}

static int examine(const WorkerCommand *command, Examination **ret_host, GpuHealth *ret_gpu)
{
	_cleanup_close_ int sysfs_fd = -1, proc_fd = -1, root_fd = -1;
	ExamineRoots roots;
	int r;

	r = dir_open_at(AT_FDCWD, command->sysfs_dir, false, &sysfs_fd);
	if (r >= 0)
		r = dir_open_at(AT_FDCWD, command->proc_dir, false, &proc_fd);
	if (r >= 0)
		r = dir_open_at(AT_FDCWD, command->root_dir, false, &root_fd);
	if (r < 0)
		return r;
	roots = (ExamineRoots){ .sysfs_fd = sysfs_fd, .proc_fd = proc_fd, .root_fd = root_fd };
	if (command->n_functions == 0)
		return examine_host(&roots, command->known_image, ret_host);
	return examine_gpu(&roots, &command->functions[0], command->functions + 1,
			   command->n_functions - 1, ret_gpu);
}

static char *examine_answer(const WorkerCommand *command)
{
	_cleanup_(examination_freep) Examination *host = NULL;
	_cleanup_(gpu_health_clear) GpuHealth gpu = { 0 };
	int r = examine(command, &host, &gpu);

	return worker_examine_document(r, host, r == 0 && !host ? &gpu : NULL);
}

static char *answer(const WorkerCommand *command, const DriverOps *ops)
{
	_cleanup_(inspection_freep) Inspection *inspection = NULL;
	_cleanup_(driver_result_clear) DriverResult result = { 0 };
	_cleanup_(reset_report_clear) ResetReport report = { 0 };
	int r;

	switch (command->verb) {
	case WORKER_MOVE:
		move(command, ops, &result);
		return worker_move_document(&command->target.bdf, &result);
	case WORKER_RESET:
		r = reset(command, ops, &report);
		return r < 0 ? NULL : worker_reset_document(&report);
	case WORKER_PROBE:
		return probe_command(command);
	case WORKER_INSPECT:
		r = inspect(command, &inspection);
		return worker_inspect_document(r, inspection);
	case WORKER_EXAMINE:
		return examine_answer(command);
	case WORKER_PERSISTENCE:
		return persistence_command(command);
	}
	return NULL;
}

int worker_command_run(const WorkerCommand *command, const DriverOps *ops)
{
	_cleanup_free_ char *text = answer(command, ops);

	if (!text) {
		fputs("gpupass-worker: memory is out\n", stderr);
		return GPUPASS_EXIT_FAILED;
	}
	if (puts(text) != EOF && fflush(stdout) != EOF)
		return GPUPASS_EXIT_DONE;
	/* A reader that has given up waiting has closed its end. The log may want to know. */
	if (errno != EPIPE || command->verb == WORKER_INSPECT)
		return GPUPASS_EXIT_FAILED;
	fprintf(stderr, "gpupass-worker: nobody waits any more for this answer: %s\n", text);
	return GPUPASS_EXIT_DONE;
}

void worker_command_clear(WorkerCommand *command)
{
	free(command->functions);
	command->functions = NULL;
}
