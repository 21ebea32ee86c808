/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpupass-hook: libvirt runs it before it starts a domain, and starts none if it fails.
 * It never calls libvirt, which waits for it, nor gpupassd, which may not run.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/domain/xml.h"
#include "gpupass/dbus.h"
#include "hook/decide.h"
#include "hook/note.h"
#include "util/arguments.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

/* libvirt waits for the hook, and others may wait for libvirt. */
#define SECONDS 10
/* What libvirt passes: NAME OPERATION SUBOPERATION EXTRA. */
#define OPERANDS 4

typedef struct Command {
	HookPlace place;
	const char *domain, *operation;
	const char *journal; /* NULL: the system's */
} Command;

static const char usage[] =
	"Usage: gpupass-hook [OPTION]... DOMAIN OPERATION SUBOPERATION EXTRA\n"
	"\n" GPUPASS_HOOK_SAYS ", with the domain's XML on standard input. Refuses\n"
	"that a domain starts with a group of GPUs that it may not have. See gpupass-hook(8).\n"
	"\n"
	"      --state-dir=DIR    has fence.json (default " GPUPASS_STATE_DIR ")\n"
	"      --sysfs=DIR        sysfs (default /sys)\n"
	"      --boot-id=FILE     the id of this boot (default /proc/sys/kernel/random/boot_id)\n"
	"      --journal=SOCKET   the journal (default " HOOK_JOURNAL ", or else /dev/log)\n"
	"  -h, --help             show this help\n"
	"      --version          show the version\n";

static const Program program = { "gpupass-hook", usage, GPUPASS_VERSION };

/*
 * A domain may have a name like an option. libvirt always passes four operands, so with
 * exactly four there is no option.
 */
static bool parse(int argc, char **argv, Command *command, int *ret_status)
{
	const Argument known[] = {
		{ "state-dir", .text = &command->place.state_dir },
		{ "sysfs", .text = &command->place.sysfs_dir },
		{ "boot-id", .text = &command->place.boot_id_file },
		{ "journal", .text = &command->journal },
	};
	int first = 1;

	if (argc != 1 + OPERANDS &&
	    !arguments_parse(&program, known, ELEMENTS(known), argc, argv, &first, ret_status))
		return false;
	if (argc - first != OPERANDS) {
		*ret_status = arguments_refuse(&program, "libvirt passes four arguments", NULL);
		return false;
	}
	command->domain = argv[first];
	command->operation = argv[first + 1];
	return true;
}

/*
 * libvirt kills a guest whose hook fails at "reconnect", and calls us with what has happened
 * already. "restore" and "migrate" only let a hook rewrite the XML: each is followed by "prepare".
 */
static bool decides(const char *operation)
{
	return str_equal(operation, "prepare") || str_equal(operation, "start");
}

static void put(const char *text)
{
	size_t size = strlen(text);

	while (size > 0) {
		ssize_t n = write(STDERR_FILENO, text, size);

		if (n <= 0)
			return; /* nobody else could be told */
		text += n;
		size -= (size_t)n;
	}
}

/* Only what is safe in a signal handler. */
static void on_alarm(int number)
{
	(void)number;
	put("gpupass: cannot start the domain: it could not be decided in time whether it may have "
	    "its GPUs; nothing was changed; remedy: see whether the disk of " GPUPASS_STATE_DIR
	    " answers, then try again\n");
	_exit(GPUPASS_EXIT_FAILED);
}

static int refuse(const Command *command, const Problem *problem)
{
	_cleanup_free_ char *line =
		strf("gpupass: cannot start %s: %s%s%s; nothing was changed%s%s", command->domain,
		     problem->reason, problem->cause ? ": " : "", str_or_empty(problem->cause),
		     problem->remedy ? "; remedy: " : "", str_or_empty(problem->remedy));
	_cleanup_free_ char *message = str_escaped(line);

	put(message);
	put("\n");
	hook_note(&(HookNote){ .message = message,
			       .error = problem_dbus_name(problem->error),
			       .domain = command->domain,
			       .socket = command->journal });
	return GPUPASS_EXIT_FAILED;
}

static void log_note(const Command *command, const char *note)
{
	_cleanup_free_ char *message = str_escaped(note);

	hook_note(&(HookNote){
		.message = message, .domain = command->domain, .socket = command->journal });
}

static int fail(const Command *command, int error)
{
	_cleanup_(problem_freep) Problem *problem = NULL;

	problem_refuse(&problem, GPUPASS_ERROR_INTERNAL,
		       .reason = xstrdup("whether it may have its GPUs could not be decided"),
		       .cause = xstrdup(strerror(-error)),
		       .remedy = xstrdup("see gpupass doctor, then try again"));
	return refuse(command, problem);
}

/* NUL-terminated. -EFBIG over DOMAIN_SKIM_MAX; -EBADMSG: it has a NUL inside. */
static int read_xml(char **ret)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0, space = 0;
	ssize_t n;

	do {
		if (space - size < 2) {
			space = space ? 2 * space : 64 * 1024;
			text = xrealloc(text, space);
		}
		n = read(STDIN_FILENO, text + size, space - size - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		size += (size_t)n;
		if (size > DOMAIN_SKIM_MAX)
			return -EFBIG;
	} while (n != 0);
	text[size] = '\0';
	if (strlen(text) != size)
		return -EBADMSG;
	*ret = TAKE_PTR(text);
	return 0;
}

int main(int argc, char **argv)
{
	Command command = {
		.place = {
			.state_dir = GPUPASS_STATE_DIR,
			.sysfs_dir = "/sys",
			.boot_id_file = "/proc/sys/kernel/random/boot_id",
		},
	};
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_free_ char *xml = NULL, *note = NULL;
	int r, status;

	json_use_xalloc();
	clearenv();
	if (!parse(argc, argv, &command, &status))
		return status;
	if (!decides(command.operation))
		return GPUPASS_EXIT_DONE;
	signal(SIGALRM, on_alarm);
	alarm(SECONDS);
	r = read_xml(&xml);
	if (r >= 0)
		r = hook_decide(&command.place, xml, &note, &problem);
	/* libvirt asks twice: say it once. */
	if (note && str_equal(command.operation, "prepare"))
		log_note(&command, note);
	if (r == 0)
		return GPUPASS_EXIT_DONE;
	return r == PROBLEM ? refuse(&command, problem) : fail(&command, r);
}
