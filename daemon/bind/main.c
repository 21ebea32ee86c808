/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpupass-bind: binds assigned functions to vfio-pci before another driver has them, at boot and
 * when a device appears. Runs before there is a bus: needs the root file system and sysfs, nothing
 * else.
 */
#include <fcntl.h>

#include "bind/vfs.h"
#include "gpupass/errors.h"
#include "host/device/capabilities.h"
#include "host/launch/child.h"
#include "host/launch/part.h"
#include "util/arguments.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

typedef struct Command {
	enum { ALL, DEVICE, PROBE, PEERS } what;
	Bdf bdf;
	bool vfs; /* of ALL */
	const char *config_dir, *runtime_dir, *sysfs_dir;
} Command;

/*
 * For a rescan of the bus to announce the rest of a group. A rescan goes from one root bus to the
 * next (pci_rescan_bus()), and shares the processors with whatever else runs. With 3 s a starved
 * host once missed a function.
 */
#define PEERS_USEC (30 * USEC_PER_SEC)

/*
 * A NIC's driver takes seconds, mostly. mlx5_core waits 120 s for its firmware at most
 * (MLX5_TO_FW_PRE_INIT_TIMEOUT_MS); the boot waits half of that, and the daemon makes VFs later.
 */
#define NICS_USEC (60 * USEC_PER_SEC)

static const char usage[] =
	"Usage: gpupass-bind [OPTION]... --all\n"
	"       gpupass-bind [OPTION]... --device=BDF\n"
	"\n"
	"Binds GPUs that are assigned to domains, or kept, to vfio-pci, before another driver has\n"
	"them.\n"
	"\n"
	"      --all              all these functions (gpupass-bind.service)\n"
	"      --vfs              the same once NICs have made those that are VFs (…-verify)\n"
	"      --device=BDF       this one, if it is one of them (a udev rule)\n"
	"      --probe=BDF        bind one whose driver_override is set (the rule)\n"
	"      --peers=BDF        wait for the rest of its group, and reserve that (the rule)\n"
	"      --config-dir=DIR   has assignments.d, kept.d (default " GPUPASS_CONFIG_DIR ")\n"
	"      --runtime-dir=DIR  where --all leaves boot.json (default /run/gpupass)\n"
	"      --sysfs=DIR        sysfs (default /sys)\n"
	"  -h, --help             show this help\n"
	"      --version          show the version\n";

/*
 * A probe resets some devices, and the kernel waits up to a minute for one that does not come back.
 * The boot does not wait that long: the daemon sees what happens later.
 */
#define PROBE_TIMEOUT_USEC (20 * 1000000ULL)
#define ERROR_MAX 4096

typedef struct Probe {
	const BootMachine *machine;
	Bdf bdf;
} Probe;

/* In a process of its own. */
static int probe_one(const void *data)
{
	const Probe *probe = data;
	_cleanup_free_ char *error =
		boot_probe(probe->machine->sysfs_fd, &probe->machine->ops, &probe->bdf);

	if (!error)
		return GPUPASS_EXIT_DONE;
	dprintf(STDOUT_FILENO, "%s\n", error);
	return GPUPASS_EXIT_FAILED;
}

static char *read_error(const Child *child)
{
	if (child->running)
		return strf("binding it to " BOOT_DRIVER " still waits in the kernel (process %d)",
			    (int)child->pid);
	if (child->signal != 0)
		return strf("binding it ended by signal %d", child->signal);
	return child->size > 0 ? xstrdup(str_strip(child->output)) : NULL;
}

static void probe_all(const BootMachine *machine, const Bdf *functions, size_t n, char **ret_errors)
{
	_cleanup_(children_freep) Children *children = children_new(n, ERROR_MAX);

	for (size_t i = 0; i < n; i++) {
		const Probe data = { .machine = machine, .bdf = functions[i] };

		int r = children_fork(children, i, probe_one, &data);

		if (r < 0)
			ret_errors[i] = strf("cannot start a process to bind it: %s", strerror(-r));
	}
	children_wait(children, PROBE_TIMEOUT_USEC);
	for (size_t i = 0; i < n; i++)
		if (!ret_errors[i])
			ret_errors[i] = read_error(&children->items[i]);
}

static int read_serial_number(const BootMachine *machine, const Bdf *bdf, char **ret)
{
	FunctionFacts facts = { .bdf = *bdf };
	int r = capabilities_read(machine->sysfs_fd, &facts);

	free(facts.link_speed);
	free(facts.link_speed_max);
	if (r < 0) {
		free(facts.serial_number);
		return r;
	}
	*ret = facts.serial_number;
	return 0;
}

static int fail(const char *what, const char *object, int error)
{
	fprintf(stderr, "gpupass-bind: %s %s: %s\n", what, object, strerror(-error));
	return GPUPASS_EXIT_FAILED;
}

static const Program program = { "gpupass-bind", usage, GPUPASS_VERSION };

/* What to do: --all, or something about one function. */
static int choose(bool all, const char *const texts[PEERS + 1], Command *command)
{
	const char *bdf = NULL;
	unsigned n = all;

	command->what = ALL;
	for (int i = DEVICE; i <= PEERS; i++) {
		if (!texts[i])
			continue;
		n++;
		bdf = texts[i];
		command->what = i;
	}
	if (n > 1)
		return arguments_refuse(&program,
					"only one of --all, --device, --probe and --peers", NULL);
	if (n == 0)
		return arguments_refuse(
			&program, "one of --all, --device, --probe and --peers is needed", NULL);
	if (bdf && bdf_parse(bdf, &command->bdf) < 0)
		return arguments_refuse(&program, "not a PCI address", bdf);
	return GPUPASS_EXIT_DONE;
}

/* false: stop with *ret_status. */
static bool parse(int argc, char **argv, Command *command, int *ret_status)
{
	const char *texts[PEERS + 1] = { NULL };
	bool all = false;
	const Argument known[] = {
		{ "all", .flag = &all, .once = true },
		{ "vfs", .flag = &command->vfs, .once = true },
		{ "device", .text = &texts[DEVICE], .once = true },
		{ "probe", .text = &texts[PROBE], .once = true },
		{ "peers", .text = &texts[PEERS], .once = true },
		{ "config-dir", .text = &command->config_dir },
		{ "runtime-dir", .text = &command->runtime_dir },
		{ "sysfs", .text = &command->sysfs_dir },
	};
	int first;

	if (!arguments_parse(&program, known, ELEMENTS(known), argc, argv, &first, ret_status))
		return false;
	*ret_status = first < argc ? arguments_refuse(&program, "too many arguments", argv[first])
				   : choose(all || command->vfs, texts, command);
	return *ret_status == GPUPASS_EXIT_DONE;
}

/* For the daemon, and for people later: the journal of an early boot may be gone. */
static int leave_report(const Command *command, const BootReport *report)
{
	_cleanup_free_ char *text = boot_report_to_json(report);
	_cleanup_close_ int fd = -1;
	int r = dir_open_at(AT_FDCWD, command->runtime_dir, true, &fd);

	return r < 0 ? r : file_replace_at(fd, "boot.json", text, strlen(text), FILE_MODE_PRIVATE);
}

/* Prints a line for every function that is not on vfio-pci. */
static void complain(const BootReport *report)
{
	for (char **note = report->notes; note && *note; note++)
		fprintf(stderr, "gpupass-bind: %s\n", *note);
	EACH (const BootFunction, f, report->functions, report->n_functions) {
		_cleanup_free_ char *text = NULL, *shown = NULL;

		if (f->outcome == BOOT_BOUND)
			continue;
		text = boot_function_text(f);
		shown = str_escaped(text);
		fprintf(stderr, "gpupass-bind: %s\n", shown);
	}
}

static int tell_all(const Command *command, const BootMachine *machine, const BootReport *report)
{
	size_t bound = boot_report_count(report, BOOT_BOUND);
	/* --vfs comes later. */
	size_t to_come = command->vfs ? 0 : vfs_count_missing(machine->sysfs_fd, report);
	int r;

	complain(report);
	printf("%zu of %zu assigned%s functions are on " BOOT_DRIVER "\n", bound,
	       report->n_functions, report->assignments->n_kept > 0 ? " or kept" : "");
	r = leave_report(command, report);
	if (r < 0)
		fail("cannot leave a report in", command->runtime_dir, r);
	return bound + to_come < report->n_functions || report->notes ? GPUPASS_EXIT_FAILED
								      : GPUPASS_EXIT_DONE;
}

/*
 * udev drops a program's errors unless it runs in debug mode. The kernel's log also exists in an
 * initramfs, and reaches the journal.
 */
static void log_to_kernel(const BootFunction *f)
{
	_cleanup_free_ char *text = boot_function_text(f);
	_cleanup_free_ char *line = strf("<4>gpupass-bind: %s\n", text);

	file_write_exact_at(AT_FDCWD, "/dev/kmsg", line);
}

/* udev imports these lines as properties; its rule goes on only for our functions. */
static int tell_device(const BootReport *report)
{
	for (size_t i = 0; i < report->n_functions; i++) {
		BootOutcome outcome = report->functions[i].outcome;
		bool fails = outcome != BOOT_BOUND && outcome != BOOT_RESERVED;

		printf("GPUPASS_BIND=%s\n", boot_outcome_to_string(outcome));
		if (fails && !report->functions[i].early) {
			complain(report);
			log_to_kernel(&report->functions[i]);
		} else if (report->lacks_peers) {
			puts("GPUPASS_PEERS=missing");
		}
	}
	return GPUPASS_EXIT_DONE; /* or udev would not import */
}

static int bind_probed(const Command *command, const BootMachine *machine)
{
	_cleanup_free_ char *error = boot_probe(machine->sysfs_fd, &machine->ops, &command->bdf);

	if (!error)
		return GPUPASS_EXIT_DONE;
	puts(error);
	return GPUPASS_EXIT_FAILED;
}

/* -1 in *ret: there is no such directory, since nothing was ever assigned or kept. */
static int open_wishes(const Command *command, const char *name, int *ret)
{
	_cleanup_free_ char *directory = strf("%s/%s", command->config_dir, name);
	int r = dir_open_at(AT_FDCWD, directory, false, ret);

	if (r == -ENOENT)
		return GPUPASS_EXIT_DONE;
	return r < 0 ? fail("cannot read", directory, r) : GPUPASS_EXIT_DONE;
}

static int bind_wishes(const Command *command, const BootMachine *machine, const BootWishes *wishes)
{
	_cleanup_(boot_report_freep) BootReport *report = NULL;

	if (wishes->assigned_fd < 0 && wishes->kept_fd < 0)
		return GPUPASS_EXIT_DONE;
	if (command->what == PEERS) {
		/*
		 * A board that does not come is no failure here: --all and the daemon report it. A
		 * companion that was announced before its GPUs is theirs only now.
		 */
		if (boot_await_peers(machine, wishes, &command->bdf, PEERS_USEC))
			boot_report_free(boot_bind(machine, wishes, &command->bdf));
		return GPUPASS_EXIT_DONE;
	}
	report = boot_bind(machine, wishes, command->what == DEVICE ? &command->bdf : NULL);
	if (command->vfs) {
		vfs_make(machine, command->config_dir, NICS_USEC, report);
		boot_bind_missing(machine, report);
	}
	return command->what == ALL ? tell_all(command, machine, report) : tell_device(report);
}

static int run(const Command *command, const BootMachine *machine)
{
	_cleanup_close_ int assigned_fd = -1, kept_fd = -1;
	int status;

	if (command->what == PROBE)
		return bind_probed(command, machine);
	status = open_wishes(command, "assignments.d", &assigned_fd);
	if (status == GPUPASS_EXIT_DONE)
		status = open_wishes(command, "kept.d", &kept_fd);
	return status != GPUPASS_EXIT_DONE
		       ? status
		       : bind_wishes(command, machine, &(BootWishes){ assigned_fd, kept_fd });
}

int main(int argc, char **argv)
{
	Command command = {
		.config_dir = GPUPASS_CONFIG_DIR,
		.runtime_dir = "/run/gpupass",
		.sysfs_dir = "/sys",
	};
	WorkerConfig parts = {
		.program = GPUPASS_LIBEXEC_DIR "/gpupass-worker",
		.proc_dir = "/proc",
		.parts_dir = PARTS_DIR,
		.locks_dir = PARTS_LOCKS_DIR,
	};
	BootMachine machine = {
		.sysfs_fd = -1,
		.ops = *driver_real_ops(),
		.probe = probe_all,
		.serial_number = read_serial_number,
		.rule_vf = vf_rule,
		.parts = &parts,
	};
	int status, r;

	json_use_xalloc();
	if (!parse(argc, argv, &command, &status))
		return status;
	parts.sysfs_dir = command.sysfs_dir;
	r = dir_open_at(AT_FDCWD, command.sysfs_dir, false, &machine.sysfs_fd);
	if (r < 0)
		return fail("cannot open", command.sysfs_dir, r);
	status = run(&command, &machine);
	close_fd(machine.sysfs_fd);
	return status;
}
