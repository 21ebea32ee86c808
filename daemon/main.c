/* SPDX-License-Identifier: GPL-2.0-or-later */
/* gpupassd: reads settings, wires the rooms together, runs the loop. */
#include <fcntl.h>
#include <getopt.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <systemd/sd-daemon.h>

#include "bus/bus.h"
#include "hold.h"
#include "host/unit.h"
#include "uevents.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/log.h"
#include "util/text.h"

/* How long a start waits for libvirt before it answers callers without knowing the domains. */
#define LIBVIRT_GRACE_USEC (3 * USEC_PER_SEC)
/* Errors and lost lanes give no event: they are looked for now and then. */
#define HEALTH_PERIOD_USEC (60 * USEC_PER_SEC)
/* For the last lines of the log, and for everything else that an end has to say. */
#define LAST_LINES_USEC (200 * USEC_PER_MSEC)
#define END_USEC (700 * USEC_PER_MSEC)

typedef struct Options {
	const char *config_directory;
	const char *state_directory;
	const char *runtime_directory;
	const char *libvirt_uri; /* NULL: as configured */
	WorkerConfig worker;
	bool session, check;
} Options;

typedef struct Daemon {
	sd_event *event;
	sd_bus *bus;
	Mailbox *mailbox;
	Config *config;
	AssignmentStore store;
	ReceiptStore receipts;
	Journal journal;
	QuarantineStore quarantine;
	TopologyStore topology;
	RealHost host;
	Virt *virt;
	Manager *manager;
	Face *face;
	Uevents *uevents;
	sd_event_source *health_timer;
	atomic_flag no_units_told;
	int exit_code;
	char *host_note;
	bool published;
	bool grace_over;
	bool recover_again;
} Daemon;

/* ---- command line ---- */

static void print_help(void)
{
	puts("gpupassd [OPTION...]\n"
	     "\n"
	     "Gives NVLink-bridged GPUs to libvirt domains, whole groups at a time.\n"
	     "\n"
	     "  -h --help             Show this text\n"
	     "     --version          Show the version\n"
	     "     --check            Check the settings and declared groups, and exit\n"
	     "     --config-dir=DIR   Settings, groups and assignments (" GPUPASS_CONFIG_DIR ")\n"
	     "     --state-dir=DIR    Journal, quarantines, receipts (" GPUPASS_STATE_DIR ")\n"
	     "     --runtime-dir=DIR  Where gpupass-bind left its report (/run/gpupass)\n"
	     "\n"
	     "For development:\n"
	     "     --session          On the session bus\n"
	     "     --libvirt-uri=URI  Instead of the configured one\n"
	     "     --worker=PROGRAM   Instead of the installed gpupass-worker\n"
	     "     --nvml=LIBRARY     Instead of libnvidia-ml.so.1\n"
	     "     --sysfs=DIR        Instead of /sys\n"
	     "     --proc=DIR         Instead of /proc\n"
	     "     --root=DIR         Instead of /, for what doctor looks at\n"
	     "\n"
	     "See gpupassd(8).");
}

enum {
	ARG_VERSION = 0x100,
	ARG_CHECK,
	ARG_CONFIG_DIR,
	ARG_STATE_DIR,
	ARG_RUNTIME_DIR,
	ARG_SESSION,
	ARG_LIBVIRT_URI,
	ARG_WORKER,
	ARG_NVML,
	ARG_SYSFS,
	ARG_PROC,
	ARG_ROOT,
};

static const struct option long_options[] = {
	{ "help", no_argument, NULL, 'h' },
	{ "version", no_argument, NULL, ARG_VERSION },
	{ "check", no_argument, NULL, ARG_CHECK },
	{ "config-dir", required_argument, NULL, ARG_CONFIG_DIR },
	{ "state-dir", required_argument, NULL, ARG_STATE_DIR },
	{ "runtime-dir", required_argument, NULL, ARG_RUNTIME_DIR },
	{ "session", no_argument, NULL, ARG_SESSION },
	{ "libvirt-uri", required_argument, NULL, ARG_LIBVIRT_URI },
	{ "worker", required_argument, NULL, ARG_WORKER },
	{ "nvml", required_argument, NULL, ARG_NVML },
	{ "sysfs", required_argument, NULL, ARG_SYSFS },
	{ "proc", required_argument, NULL, ARG_PROC },
	{ "root", required_argument, NULL, ARG_ROOT },
	{ NULL, 0, NULL, 0 },
};

static int take_option(int c, Options *options)
{
	switch (c) {
	case ARG_CHECK:
		options->check = true;
		return 0;
	case ARG_CONFIG_DIR:
		options->config_directory = optarg;
		return 0;
	case ARG_STATE_DIR:
		options->state_directory = optarg;
		return 0;
	case ARG_RUNTIME_DIR:
		options->runtime_directory = optarg;
		return 0;
	case ARG_SESSION:
		options->session = true;
		return 0;
	case ARG_LIBVIRT_URI:
		options->libvirt_uri = optarg;
		return 0;
	case ARG_WORKER:
		options->worker.program = optarg;
		return 0;
	case ARG_NVML:
		options->worker.nvml = optarg;
		return 0;
	case ARG_SYSFS:
		options->worker.sysfs_dir = optarg;
		return 0;
	case ARG_PROC:
		options->worker.proc_dir = optarg;
		return 0;
	case ARG_ROOT:
		options->worker.root_dir = optarg;
		return 0;
	default:
		return -EINVAL;
	}
}

/* 1: go on; otherwise *ret_exit is the exit code. */
static int parse_options(int argc, char *argv[], Options *options, int *ret_exit)
{
	int c;

	*ret_exit = GPUPASS_EXIT_DONE;
	while ((c = getopt_long(argc, argv, "h", long_options, NULL)) >= 0) {
		if (c == 'h') {
			print_help();
			return 0;
		}
		if (c == ARG_VERSION) {
			puts("gpupassd " GPUPASS_VERSION);
			return 0;
		}
		if (take_option(c, options) < 0) {
			*ret_exit = GPUPASS_EXIT_USAGE;
			return 0;
		}
	}
	if (optind < argc) {
		fprintf(stderr, "gpupassd: unexpected argument \"%s\"; see gpupassd --help\n",
			argv[optind]);
		*ret_exit = GPUPASS_EXIT_USAGE;
		return 0;
	}
	return 1;
}

/* ---- settings ---- */

static int load_config(const Options *options, Config **ret)
{
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_free_ char *message = NULL;
	int r;

	r = config_load(options->config_directory, ret, &problem);
	if (r == 0)
		return 0;
	message = problem ? problem_message(problem, NULL) : NULL;
	log_line(LOG_ERR, &(LogFields){ .message_id = LOG_ID_CONFIG_ERROR }, "%s",
		 message ? message : strerror(-r));
	return -EINVAL;
}

/* --check: both kinds of files, all errors that can be told. */
static int check_config(const Options *options)
{
	_cleanup_(config_freep) Config *config = NULL;
	_cleanup_(rules_unrefp) Rules *rules = NULL;
	_cleanup_strv_ char **notes = NULL;
	int r;

	r = load_config(options, &config);
	if (r < 0)
		return GPUPASS_EXIT_UNCONFIGURED;
	r = config_load_rules(options->config_directory, &config->policy, &rules, &notes);
	if (r < 0) {
		log_error("cannot read groups.d: %s", strerror(-r));
		return GPUPASS_EXIT_FAILED;
	}
	for (char **note = notes; note && *note; note++)
		log_error("%s", *note);
	return notes ? GPUPASS_EXIT_UNCONFIGURED : GPUPASS_EXIT_DONE;
}

/* ---- what the loop hears ---- */

static int on_mail(sd_event_source *source, int fd, uint32_t revents, void *userdata)
{
	mailbox_dispatch(userdata);
	return 0;
}

static void rescan(void *userdata)
{
	Daemon *d = userdata;

	if (manager_rescan(d->manager, NULL, NULL) < 0)
		log_error("out of memory: a change of PCI devices was not followed");
}

static int on_reload(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
	Daemon *d = userdata;

	log_info("reading groups.d again");
	if (manager_reload(d->manager) < 0)
		log_error("out of memory: groups.d was not read again");
	return 0;
}

static int on_stop(sd_event_source *source, const struct signalfd_siginfo *info, void *userdata)
{
	Daemon *d = userdata;

	return sd_event_exit(d->event, GPUPASS_EXIT_DONE);
}

/* Callers find the whole picture, or none: the name is taken when there is one. */
static void publish(void *userdata)
{
	Daemon *d = userdata;
	int r;

	if (d->published || !manager_inventory(d->manager))
		return;
	d->published = true;
	r = face_publish(d->face);
	if (r < 0) {
		if (r == -EEXIST)
			log_error("another gpupassd runs on this bus");
		else
			log_error("cannot take the bus name: %s", strerror(-r));
		sd_event_exit(d->event, GPUPASS_EXIT_FAILED);
		return;
	}
	sd_notify(0, "READY=1");
	log_info("ready: %zu groups", manager_inventory(d->manager)->groups->n_items);
}

static int on_grace_over(sd_event_source *source, uint64_t usec, void *userdata)
{
	Daemon *d = userdata;

	d->grace_over = true;
	publish(d);
	return 0;
}

static int on_health_due(sd_event_source *source, uint64_t usec, void *userdata)
{
	Daemon *d = userdata;

	manager_look_at_health(d->manager);
	return sd_event_source_set_time_relative(source, HEALTH_PERIOD_USEC);
}

/* sd-event arms a timer once; a second's slack lets the kernel join it with others. */
static int start_health_timer(Daemon *d)
{
	int r = sd_event_add_time_relative(d->event, &d->health_timer, CLOCK_MONOTONIC,
					   HEALTH_PERIOD_USEC, USEC_PER_SEC, on_health_due, d);

	return r < 0 ? r : sd_event_source_set_enabled(d->health_timer, SD_EVENT_ON);
}

static void first_scan_done(void *userdata)
{
	Daemon *d = userdata;

	if (!manager_inventory(d->manager)) {
		log_error("cannot scan this host; giving up");
		sd_event_exit(d->event, GPUPASS_EXIT_FAILED);
	} else if (d->grace_over) {
		publish(d);
	}
}

/* The picture is taken after what was left open is settled. While libvirt is slow, or a worker of
 * the daemon before holds recovery up, the name is taken without: those groups are kept apart. */
static void recovered(void *userdata)
{
	Daemon *d = userdata;

	if (manager_refresh(d->manager, publish, d) < 0)
		publish(d);
}

/* libvirt may have come meanwhile, and with it what waited for it. */
static void recovered_without_libvirt(void *userdata)
{
	Daemon *d = userdata;

	if (d->recover_again && manager_recover(d->manager, recovered, d) < 0)
		recovered(d);
	d->recover_again = false;
}

static void libvirt_connected(void *userdata)
{
	Daemon *d = userdata;

	manager_libvirt_changed(d->manager, true);
	d->recover_again = manager_recover(d->manager, recovered, d) == -EBUSY;
}

static void libvirt_disconnected(void *userdata)
{
	Daemon *d = userdata;

	manager_libvirt_changed(d->manager, false);
}

static void libvirt_domain_changed(void *userdata)
{
	Daemon *d = userdata;

	manager_libvirt_changed(d->manager, true);
}

/* On libvirt's event thread: only hands on. */
static void on_virt_event(VirtEventKind kind, const char *uuid, void *userdata)
{
	static const MailboxCallback callbacks[] = {
		[VIRT_EVENT_CONNECTED] = libvirt_connected,
		[VIRT_EVENT_DISCONNECTED] = libvirt_disconnected,
		[VIRT_EVENT_DOMAIN] = libvirt_domain_changed,
	};
	Daemon *d = userdata;

	mailbox_post(d->mailbox, callbacks[kind], d);
}

static void looked(void *userdata)
{
}

/* An event may be lost, of udev or of libvirt: what it would have told is then seen here. */
static int on_look(sd_event_source *source, uint64_t usec, void *userdata)
{
	Daemon *d = userdata;
	int r;

	if (manager_refresh(d->manager, looked, d) < 0)
		log_error("out of memory: this host was not looked at again");
	r = sd_event_source_set_time_relative(source, d->config->look_interval_usec);
	return r < 0 ? r : sd_event_source_set_enabled(source, SD_EVENT_ONESHOT);
}

/* ---- life ---- */

static int open_bus(Daemon *d, bool session)
{
	int r = session ? sd_bus_open_user_with_description(&d->bus, "gpupassd")
			: sd_bus_open_system_with_description(&d->bus, "gpupassd");

	if (r >= 0)
		r = sd_bus_set_exit_on_disconnect(d->bus, true);
	if (r >= 0)
		r = sd_bus_attach_event(d->bus, d->event, SD_EVENT_PRIORITY_NORMAL);
	if (r < 0)
		log_error("cannot reach the %s bus: %s", session ? "session" : "system",
			  strerror(-r));
	return r;
}

static int set_up_loop(Daemon *d)
{
	sigset_t mask;
	int r;

	/* A closed stderr or socket must not end the daemon. */
	signal(SIGPIPE, SIG_IGN);
	/* sd-event takes signals through signalfd, for which they must be blocked, also in every
	 * thread that comes later. */
	sigemptyset(&mask);
	sigaddset(&mask, SIGTERM);
	sigaddset(&mask, SIGINT);
	sigaddset(&mask, SIGHUP);
	sigprocmask(SIG_BLOCK, &mask, NULL);
	r = sd_event_default(&d->event);
	if (r >= 0)
		r = mailbox_new(&d->mailbox);
	if (r >= 0)
		r = sd_event_add_io(d->event, NULL, mailbox_fd(d->mailbox), EPOLLIN, on_mail,
				    d->mailbox);
	if (r >= 0)
		r = sd_event_add_signal(d->event, NULL, SIGTERM, on_stop, d);
	if (r >= 0)
		r = sd_event_add_signal(d->event, NULL, SIGINT, on_stop, d);
	if (r >= 0)
		r = sd_event_add_signal(d->event, NULL, SIGHUP, on_reload, d);
	if (r >= 0)
		r = sd_event_set_watchdog(d->event, true);
	if (r < 0)
		log_error("cannot set up the event loop: %s", strerror(-r));
	return r;
}

static int open_store(Daemon *d, const Options *options)
{
	_cleanup_free_ char *directory = strf("%s/assignments.d", options->config_directory);
	int r = directory ? assignment_store_open(directory, &d->store) : -ENOMEM;

	if (r < 0) {
		log_error("cannot open %s: %s", str_or_empty(directory), strerror(-r));
		return r;
	}
	r = receipt_store_open(options->state_directory, &d->receipts);
	if (r < 0)
		log_error("cannot open %s/receipts: %s", options->state_directory, strerror(-r));
	return r;
}

static int open_state(Daemon *d, const Options *options)
{
	_cleanup_free_ char *journal = strf("%s/journal", options->state_directory);
	_cleanup_free_ char *quarantine = strf("%s/quarantine", options->state_directory);
	int r = journal && quarantine ? journal_open(journal, &d->journal) : -ENOMEM;

	/* Without it (another kernel's /proc, a container) a reboot is not told from a restart. */
	if (r >= 0)
		(void)file_read_line_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id",
					&d->journal.boot_id);
	if (r >= 0)
		r = quarantine_store_open(quarantine, &d->quarantine);
	if (r >= 0)
		r = topology_store_open(options->state_directory, &d->topology);
	if (r < 0)
		log_error("cannot open %s: %s", options->state_directory, strerror(-r));
	return r;
}

/* On a job's thread. Once is enough: it is so for every worker, as a rule. */
static void no_units(const char *why, void *userdata)
{
	Daemon *d = userdata;

	if (!atomic_flag_test_and_set(&d->no_units_told))
		log_warning(
			"workers are children of gpupassd, not units of systemd's: %s. One that "
			"hangs stays in this service's control group, and may delay a shutdown",
			why);
}

/* Looking still works, so that is no reason to end. */
static void check_host(Daemon *d, const Options *options)
{
	_cleanup_free_ char *path = NULL;
	int r = real_host_check_writable(&d->host, &path);

	if (r == 0)
		return;
	d->host_note = strf("%s/%s cannot be written (%s), so no driver can be changed: see "
			    "ReadWritePaths= of the unit, or whether this is a container",
			    options->worker.sysfs_dir, str_or_empty(path), strerror(-r));
	log_error("%s", d->host_note ? d->host_note : "sysfs cannot be written");
}

/* Before anything in them is read. */
static int hold_state(Daemon *d)
{
	int r = hold_directory(d->store.dir_fd, "assignments.d");

	if (r >= 0)
		r = hold_directory(d->journal.dir_fd, "the journal");
	if (r >= 0)
		r = hold_directory(d->quarantine.dir_fd, "the quarantines");
	return r < 0 ? r : hold_directory(d->receipts.dir_fd, "the receipts");
}

static int set_up_host(Daemon *d, const Options *options)
{
	const char *uri = options->libvirt_uri ? options->libvirt_uri : d->config->libvirt_uri;
	WorkerConfig worker = options->worker;
	int r;

	if (options->session) {
		no_units("it is on the session bus", d);
	} else {
		worker.units = &systemd_units;
		worker.fell_back = no_units;
		worker.userdata = d;
	}
	r = real_host_init(&d->host, &worker);
	if (r < 0) {
		log_error("cannot open %s: %s", options->worker.sysfs_dir, strerror(-r));
		return r;
	}
	check_host(d, options);
	r = virt_new(uri, on_virt_event, d, &d->virt);
	if (r < 0) {
		log_error("cannot start the libvirt thread: %s", strerror(-r));
		return r;
	}
	d->host.virt = d->virt;
	return 0;
}

static int set_up_manager(Daemon *d, const Options *options)
{
	const ManagerPlace place = {
		.mailbox = d->mailbox,
		.host = &d->host.host,
		.store = &d->store,
		.receipts = &d->receipts,
		.journal = &d->journal,
		.quarantine = &d->quarantine,
		.topology = &d->topology,
		.config_directory = options->config_directory,
		.policy = d->config->policy,
		.host_note = d->host_note,
	};
	int r;

	r = manager_new(&place, &d->manager);
	if (r >= 0)
		r = manager_load_state(d->manager);
	if (r >= 0)
		r = manager_load_boot(d->manager, options->runtime_directory);
	if (r >= 0)
		r = face_new(d->bus, d->manager, &d->face);
	/* What touches no domain does not wait for libvirt. */
	if (r >= 0)
		r = manager_recover(d->manager, recovered_without_libvirt, d);
	if (r >= 0)
		r = manager_rescan(d->manager, first_scan_done, d);
	if (r >= 0)
		r = sd_event_add_time_relative(d->event, NULL, CLOCK_MONOTONIC, LIBVIRT_GRACE_USEC,
					       0, on_grace_over, d);
	if (r >= 0)
		r = sd_event_add_time_relative(d->event, NULL, CLOCK_MONOTONIC,
					       d->config->look_interval_usec, USEC_PER_SEC, on_look,
					       d);
	if (r >= 0)
		r = start_health_timer(d);
	if (r < 0) {
		log_error("cannot set up: %s", strerror(-r));
		return r;
	}
	/* A tree that stands in for sysfs has no events. */
	if (!str_equal(options->worker.sysfs_dir, "/sys"))
		return 0;
	r = uevents_new(d->event, rescan, d, &d->uevents);
	if (r < 0)
		log_warning("cannot follow PCI devices (%s); use: gpupass rescan", strerror(-r));
	return 0;
}

static int start_log(void)
{
	int r = log_start();

	if (r < 0)
		log_error("cannot start the thread of the log: %s", strerror(-r));
	return r;
}

static void *wait_and_end(void *userdata)
{
	const Daemon *d = userdata;

	usleep(END_USEC);
	_exit(d->exit_code);
}

/* A bus or a journal that hangs must not keep us: what follows takes no longer than END_USEC. */
static void end_anyway(Daemon *d, int exit_code)
{
	pthread_t thread;

	d->exit_code = exit_code;
	if (pthread_create(&thread, NULL, wait_and_end, d) == 0)
		pthread_detach(thread);
}

static int run(const Options *options, Config *config)
{
	/* Threads may outlive this function, so what they use is never freed. */
	static Daemon daemon_state;
	Daemon *d = &daemon_state;
	int r;

	d->config = config;
	r = set_up_loop(d);
	if (r >= 0)
		r = start_log();
	if (r >= 0)
		r = open_bus(d, options->session);
	if (r >= 0)
		r = open_store(d, options);
	if (r >= 0)
		r = open_state(d, options);
	if (r >= 0)
		r = hold_state(d);
	if (r >= 0)
		r = set_up_host(d, options);
	if (r >= 0)
		r = set_up_manager(d, options);
	if (r >= 0)
		r = sd_event_loop(d->event);
	end_anyway(d, r < 0 ? GPUPASS_EXIT_FAILED : r);
	if (d->bus && sd_bus_is_open(d->bus) <= 0)
		log_error("the bus has gone: ending; the next start takes up what is open");
	sd_notify(0, "STOPPING=1");
	if (d->bus)
		sd_bus_flush(d->bus);
	return r < 0 ? GPUPASS_EXIT_FAILED : r;
}

/* systemd tells by JOURNAL_STREAM that stderr is the journal's. The device and inode in it are
 * compared, because a child may have got another stderr: systemd.exec(5). */
static bool stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	unsigned long long device, inode;
	struct stat st;

	return stream && sscanf(stream, "%llu:%llu", &device, &inode) == 2 &&
	       fstat(STDERR_FILENO, &st) == 0 && st.st_dev == device && st.st_ino == inode;
}

int main(int argc, char *argv[])
{
	Options options = {
		.config_directory = GPUPASS_CONFIG_DIR,
		.state_directory = GPUPASS_STATE_DIR,
		.runtime_directory = "/run/gpupass",
		.worker = {
			.program = GPUPASS_LIBEXEC_DIR "/gpupass-worker",
			.sysfs_dir = "/sys",
			.proc_dir = "/proc",
			.root_dir = "/",
		},
	};
	Config *config = NULL;
	int exit_code;

	if (parse_options(argc, argv, &options, &exit_code) <= 0)
		return exit_code;
	log_open(stderr_is_journal(), LOG_INFO);
	if (options.check)
		return check_config(&options);
	if (load_config(&options, &config) < 0)
		return GPUPASS_EXIT_UNCONFIGURED;
	log_open(stderr_is_journal(), config->log_level);
	exit_code = run(&options, config);
	log_flush(LAST_LINES_USEC);
	/* Not exit(): threads may still wait for libvirt or a device, and must not keep it. */
	fflush(NULL);
	_exit(exit_code);
}
