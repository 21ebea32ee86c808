/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * gpupass-hook: libvirt runs it before it starts a domain, and starts none if it fails.
 * It never calls libvirt, which waits for it, nor gpupassd, which may not run.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "core/domain/xml-bounds.h"
#include "core/domain/xml.h"
#include "core/fence/judge.h"
#include "core/pci/pci-snapshot.h"
#include "gpupass/dbus.h"
#include "hook/late-xml.h"
#include "host/scan/function.h"
#include "host/scan/mdev.h"
#include "host/scan/sysfs.h"
#include "util/arguments.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/json.h"
#include "util/log.h"
#include "util/text.h"
#include "util/xalloc.h"

/* What it reads. */
typedef struct Place {
	const char *state_dir; /* has fence.json */
	const char *sysfs_dir;
	const char *boot_id_file;
} Place;

#define FENCE_FILE "fence.json"
#define FENCE_MAX (4U * 1024 * 1024) /* far more than the largest host needs */
#define CLASS_DISPLAY 0x03

/* ---- sysfs ---- */

static bool is_display(int sysfs_fd, const Bdf *bdf)
{
	PciFunction ids = { 0 };

	return scan_ids(sysfs_fd, bdf, &ids) >= 0 && ids.vendor == PCI_VENDOR_NVIDIA &&
	       ids.class_code >> 16 == CLASS_DISPLAY;
}

/* A VF is not a board's own; whose it is, its link says. */
static bool is_virtual(int sysfs_fd, const Bdf *bdf, Bdf *ret_physical)
{
	_cleanup_free_ char *path = sysfs_function_path(bdf, "physfn"), *name = NULL;
	struct stat st;

	if (fstatat(sysfs_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	if (file_link_name_at(sysfs_fd, path, &name) >= 0)
		(void)sysfs_parse_bdf(name, ret_physical);
	return true;
}

static bool in_slot_of_gpu(int sysfs_fd, const Bdf *bdf)
{
	for (uint8_t function = 0; function < 8; function++) {
		Bdf other = *bdf;

		other.function = function;
		if (is_display(sysfs_fd, &other))
			return true;
	}
	return false;
}

static FenceHostdev look_at(int sysfs_fd, const DomainHostdev *of)
{
	const Bdf *bdf = &of->bdf;
	FenceHostdev hostdev = { .bdf = *bdf, .interface = *of->mac, .vlan = of->vlan };
	PciFunction ids = { 0 };

	if (!sysfs_has_function(sysfs_fd, bdf))
		return hostdev;
	hostdev.vgpu = is_virtual(sysfs_fd, bdf, &hostdev.board);
	hostdev.present = scan_ids(sysfs_fd, bdf, &ids) >= 0;
	hostdev.vendor = ids.vendor;
	hostdev.device = ids.device;
	hostdev.subsystem_vendor = ids.subsystem_vendor;
	hostdev.subsystem_device = ids.subsystem_device;
	hostdev.gpu = !hostdev.present || (ids.vendor == PCI_VENDOR_NVIDIA && !hostdev.vgpu &&
					   in_slot_of_gpu(sysfs_fd, bdf));
	return hostdev;
}

/* An mdev that is not there, or is of something else, is no vGPU of a board. */
static bool look_at_mdev(int sysfs_fd, const char *uuid, FenceHostdev *ret)
{
	FenceHostdev hostdev = { .vgpu = true };
	Bdf parent;

	if (mdev_parent_at(sysfs_fd, uuid, &hostdev.board) < 0)
		return false;
	parent = hostdev.board;
	(void)is_virtual(sysfs_fd, &parent, &hostdev.board);
	*ret = hostdev;
	return true;
}

static int look_at_all(const Place *place, const DomainUse *use, FenceHostdev **ret, size_t *ret_n)
{
	_cleanup_close_ int sysfs_fd = open(place->sysfs_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	FenceHostdev *hostdevs;
	size_t n = 0;

	if (sysfs_fd < 0)
		return -errno;
	hostdevs = xcalloc(use->n_hostdevs + use->n_mdevs + 1, sizeof(FenceHostdev));
	for (size_t i = 0; i < use->n_hostdevs; i++)
		hostdevs[n++] = look_at(sysfs_fd, &use->hostdevs[i]);
	for (size_t i = 0; i < use->n_mdevs; i++)
		n += look_at_mdev(sysfs_fd, use->mdevs[i].uuid, &hostdevs[n]);
	*ret = hostdevs;
	*ret_n = n;
	return 0;
}

/* ---- the fence ---- */

/* *ret NULL: it cannot be used, and *ret_why says so. */
static void read_fence(const Place *place, Fence **ret, char **ret_why)
{
	_cleanup_close_ int dir_fd = open(place->state_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_free_ char *text = NULL, *message = NULL;
	size_t size = 0;
	int r = dir_fd < 0 ? -errno : 0;

	if (r >= 0)
		r = file_read_state_at(dir_fd, FENCE_FILE, FENCE_MAX, &text, &size);
	if (r >= 0)
		r = fence_from_json(text, size, ret, &message);
	if (r >= 0)
		return;
	if (r == -ENOENT)
		*ret_why = strf("%s/" FENCE_FILE " is missing", place->state_dir);
	else
		*ret_why = strf("%s/" FENCE_FILE " %s (%s)", place->state_dir,
				r == -EPROTO ? "is of another version" : "cannot be read",
				message ? message : file_state_error(r));
}

/* A mark is never removed, so a NIC that no group ever had has none. What is not known is one. */
static bool has_mark(const Place *place, const Bdf *bdf)
{
	_cleanup_free_ char *name = tenant_file_name(bdf);
	_cleanup_free_ char *path = strf("%s/tenants/%s", place->state_dir, name);

	return access(path, F_OK) == 0 || errno != ENOENT;
}

static int judge(const Place *place, const DomainUse *use, Problem **ret_problem)
{
	_cleanup_free_ FenceHostdev *hostdevs = NULL;
	_cleanup_(fence_freep) Fence *fence = NULL;
	_cleanup_free_ char *why = NULL, *boot_id = NULL;
	size_t n = 0;
	int r = look_at_all(place, use, &hostdevs, &n);

	if (r >= 0)
		read_fence(place, &fence, &why);
	if (r < 0)
		return r;
	for (size_t i = 0; !fence && i < n; i++)
		hostdevs[i].given = has_mark(place, &hostdevs[i].bdf);
	/* Without it the message calls the fence one of an earlier boot. */
	(void)file_read_line_at(AT_FDCWD, place->boot_id_file, &boot_id);
	return fence_judge(&(FenceRequest){ .uuid = use->uuid,
					    .name = use->name,
					    .hostdevs = hostdevs,
					    .n_hostdevs = n,
					    .fence = fence,
					    .no_fence = why,
					    .boot_id = boot_id,
					    .now_usec = now_realtime() },
			   ret_problem);
}

static bool may_name_functions(const char *xml)
{
	static const char *const words[] = { "hostdev", "nvme", "commandline", "override" };

	/* The XML is libvirt's own, so these words stand in it as they are. */
	return SOME_OF(words, ELEMENTS(words), strstr(xml, it)) ||
	       xml_bounds_deep_address(xml, strlen(xml));
}

/* An address by which it could be judged may be anywhere: that is no reason to refuse. */
static void tell_unclear(const DomainUse *use, char **ret_note)
{
	if (!use->unclear)
		return;
	*ret_note = strf("whether the QEMU arguments of %s take a GPU cannot be told: %s",
			 use->name, use->unclear);
}

/*
 * May the domain of this XML start? 0 or PROBLEM; -errno, too, means that it may not. Opens no file
 * for a domain that names no function of the host. *ret_note: what could not be judged, which does
 * not keep it from starting; NULL: nothing. Caller frees.
 */
static int decide(const Place *place, const char *xml, char **ret_note, Problem **ret_problem)
{
	_cleanup_(domain_use_clear) DomainUse use = { 0 };
	int r;

	*ret_note = NULL;
	if (!may_name_functions(xml))
		return 0;
	r = late_xml_load();
	if (r < 0)
		return r;
	r = domain_use_from_xml(xml, NULL, &use, ret_problem);
	if (r == 0)
		tell_unclear(&use, ret_note);
	if (r != 0 || use.n_hostdevs + use.n_mdevs == 0)
		return r;
	return judge(place, &use, ret_problem);
}

/* ---- the log ---- */

#define JOURNAL "/run/systemd/journal/socket"
#define SYSLOG "/dev/log"

/* One refusal, or what could not be judged, as the log gets it. */
typedef struct Note {
	const char *message; /* one line */
	const char *error;   /* the D-Bus name of the error; NULL: it is no refusal */
	const char *domain;
	const char *socket; /* of a journal; NULL: the system's log */
} Note;

static bool send_to(const char *path, const char *text)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	size_t size = strlen(path) + 1;

	if (fd < 0 || size > sizeof(to.sun_path))
		return false;
	memcpy(to.sun_path, path, size);
	return sendto(fd, text, strlen(text), MSG_DONTWAIT | MSG_NOSIGNAL,
		      (const struct sockaddr *)&to, sizeof(to)) >= 0;
}

/* The journal's own protocol: a field a line. */
static char *journal_text(const Note *note)
{
	_cleanup_free_ char *domain = str_escaped(note->domain);
	_cleanup_free_ char *refusal =
		note->error ? strf("MESSAGE_ID=" LOG_ID_FENCED "\nGPUPASS_ERROR=%s\n", note->error)
			    : NULL;

	return strf("MESSAGE=%s\nPRIORITY=%d\nSYSLOG_IDENTIFIER=gpupass-hook\n"
		    "GPUPASS_DOMAIN=%s\n%s",
		    note->message, LOG_WARNING, str_or_empty(domain), str_or_empty(refusal));
}

/*
 * Sends the line to systemd's journal, or else to syslog, and never waits: a line that does not fit
 * now is lost. Without libsystemd, so that little code runs in libvirtd's way.
 */
static void send_note(const Note *note)
{
	_cleanup_free_ char *to_journal = journal_text(note);
	_cleanup_free_ char *to_syslog =
		strf("<%d>gpupass-hook: %s", LOG_DAEMON | LOG_WARNING, note->message);

	if (send_to(note->socket ? note->socket : JOURNAL, to_journal))
		return;
	if (!note->socket)
		(void)send_to(SYSLOG, to_syslog);
}

/* ---- the command ---- */

/* libvirt waits for the hook, and others may wait for libvirt. */
#define SECONDS 10
/* What libvirt passes: NAME OPERATION SUBOPERATION EXTRA. */
#define OPERANDS 4

typedef struct Command {
	Place place;
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
	"      --journal=SOCKET   the journal (default " JOURNAL ", or else /dev/log)\n"
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
	send_note(&(Note){ .message = message,
			   .error = problem_dbus_name(problem->error),
			   .domain = command->domain,
			   .socket = command->journal });
	return GPUPASS_EXIT_FAILED;
}

static void log_note(const Command *command, const char *note)
{
	_cleanup_free_ char *message = str_escaped(note);

	send_note(&(Note){
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

/* -EFBIG over DOMAIN_SKIM_MAX; -EBADMSG: it has a NUL inside. */
static int read_xml(char **ret)
{
	_cleanup_free_ char *text = NULL;
	size_t size = 0;
	int r = file_read_fd(STDIN_FILENO, DOMAIN_SKIM_MAX, &text, &size);

	if (r < 0)
		return r;
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
		r = decide(&command.place, xml, &note, &problem);
	/* libvirt asks twice: say it once. */
	if (note && str_equal(command.operation, "prepare"))
		log_note(&command, note);
	if (r == 0)
		return GPUPASS_EXIT_DONE;
	return r == PROBLEM ? refuse(&command, problem) : fail(&command, r);
}
