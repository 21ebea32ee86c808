/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Opens the daemon's files, locks them for as long as it runs, and opens the machine. */
#include <fcntl.h>

#include "gpupassd/daemon.h"
#include "host/launch/part.h"
#include "host/wire/request.h"
#include "store/hold.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/log.h"
#include "util/text.h"

/* A folder of records that cannot be opened stops no start: store/records.h. */
static void open_records(Daemon *d, const Options *options)
{
	const char *config = options->config_directory, *state = options->state_directory;

	records_open_in(&d->store.records, &assignment_kind, config);
	records_open_in(&d->kept, &kept_kind, config);
	d->store.kept = &d->kept;
	records_open_in(&d->receipts, &receipt_kind, state);
	records_open_in(&d->quarantine, &quarantine_kind, state);
	records_open_in(&d->tenants, &tenant_kind, state);
	topology_store_open(state, &d->topology);
	number_store_open(&d->numbers, state);
}

/* Nor does the journal's: manager_load_state() keeps all apart that may be in it. */
static void open_journal(Daemon *d, const Options *options)
{
	_cleanup_free_ char *journal = strf("%s/journal", options->state_directory);
	int r = journal_open(journal, &d->journal);

	/*
	 * Without it (another kernel's /proc, a container) we cannot tell a reboot from a restart.
	 */
	(void)file_read_line_at(AT_FDCWD, "/proc/sys/kernel/random/boot_id", &d->journal.boot_id);
	if (r < 0)
		log_error("cannot open %s: %s", journal, strerror(-r));
}

/* Locks the directories, before anything in them is read. */
static int hold_state(Daemon *d)
{
	RecordStore *const stores[] = {
		&d->store.records, &d->kept, &d->receipts, &d->quarantine, &d->tenants,
	};
	int r = d->journal.dir_fd < 0 ? 0 : hold_directory(d->journal.dir_fd, "the journal");

	for (size_t i = 0; r >= 0 && i < ELEMENTS(stores); i++)
		r = records_hold(stores[i]);
	return r;
}

/* After the lock: the daemon that had it may have written until then. */
static void open_fence(Daemon *d, const Options *options)
{
	int r = fence_store_open(options->state_directory, &d->fence);

	if (r < 0)
		log_error("cannot open %s: %s", options->state_directory, strerror(-r));
}

/* ---- the audit trail: told of in the log, and on the bus ---- */

static void announce(void *userdata)
{
	Daemon *d = userdata;

	atomic_flag_clear(&d->audit_announced);
	if (d->manager)
		manager_audit_written(d->manager);
}

static void log_record(const AuditRecord *record, const LineHash *hash)
{
	_cleanup_free_ char *functions = strv_join(record->functions, ",");
	const LogAudit audit = {
		.kind = audit_kind_to_string(record->kind),
		.verdict = audit_verdict_to_string(record->verdict),
		.verb = record->verb,
		.reason = record->reason,
		.error = record->error,
		.unit = record->unit,
		.command = record->command,
		.hash = hash->hex,
		.sequence = record->sequence,
		.login_uid = record->login_uid,
		.uid = record->uid,
		.pid = record->pid,
	};

	log_audit(&(LogFields){ .message_id = LOG_ID_AUDIT,
				.group = record->group,
				.domain = record->domain,
				.domain_uuid = record->domain_uuid,
				.functions = functions,
				.job = record->job },
		  &audit);
}

/* On the trail's thread. One letter for all records that the loop has not told of yet. */
static void written(const AuditRecord *record, const LineHash *hash, void *userdata)
{
	Daemon *d = userdata;

	log_record(record, hash);
	if (!atomic_flag_test_and_set(&d->audit_announced))
		mailbox_post(d->mailbox, announce, d);
}

static void failed(int error, _unused_ void *userdata)
{
	log_as(LOG_ERR, LOG_ID_AUDIT_FAILED,
	       "the audit trail cannot be written (%s): no group is given away until it can be, "
	       "and what is not recorded is counted",
	       strerror(-error));
}

static int open_trail(Daemon *d, const Options *options)
{
	_cleanup_free_ char *directory = strf("%s/audit", options->state_directory);
	int r = 0;

	d->trail = trail_open(directory, &d->config->audit);
	if (trail_dir_fd(d->trail) >= 0)
		r = hold_directory(trail_dir_fd(d->trail), "the audit trail");
	if (r < 0)
		return r;
	r = trail_start(d->trail, d->journal.boot_id,
			&(TrailListener){ .written = written, .failed = failed, .userdata = d });
	if (r < 0) {
		log_error("cannot start the thread of the audit trail: %s", strerror(-r));
		return r;
	}
	/* The callers' processes are those of the running kernel, whatever --proc says. */
	r = caller_resolver_new(open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC), &d->resolver);
	if (r < 0)
		log_error("cannot start the thread that looks at callers: %s", strerror(-r));
	return r;
}

void daemon_audit_life(Daemon *d, AuditKind kind)
{
	AuditRecord record = AUDIT_RECORD_EMPTY;

	record.kind = kind;
	record.uid = (uint32_t)getuid();
	record.pid = (int)getpid();
	record.reason = audit_text("gpupassd " GPUPASS_VERSION);
	trail_add(d->trail, &record, NULL);
}

int daemon_open_state(Daemon *d, const Options *options)
{
	int r;

	open_records(d, options);
	open_journal(d, options);
	r = hold_state(d);
	if (r < 0)
		return r;
	open_fence(d, options);
	return open_trail(d, options);
}

/* ---- the machine ---- */

/* Called on a job's thread. Logs once, because the reason is usually the same for every worker. */
static void no_parts(const char *why, void *userdata)
{
	Daemon *d = userdata;

	if (!atomic_flag_test_and_set(&d->no_parts_told))
		log_warning(
			"workers are children of gpupassd, not parts with a unit of their own: %s. "
			"One that hangs stays in this service's control group, and may delay a "
			"shutdown",
			why);
}

/* Parts work on this host as it is. What only development asks for is a child's business. */
static void use_parts(Daemon *d, const Options *options, WorkerConfig *worker)
{
	if (options->session) {
		no_parts("it is on the session bus", d);
		return;
	}
	if (options->elsewhere) {
		no_parts("another worker, library or root was asked for", d);
		return;
	}
	worker->parts_dir = PARTS_DIR;
	worker->locks_dir = PARTS_LOCKS_DIR;
	worker->fell_back = no_parts;
	worker->userdata = d;
}

/* Looking still works, so the daemon does not end. */
static void check_host(Daemon *d, const Options *options)
{
	_cleanup_free_ char *path = NULL;
	int r;

	/* The mover writes, not this process. */
	if (d->host.worker.parts_dir && access(PARTS_DIR "/" PART_MOVER, W_OK) == 0)
		return;
	r = real_host_check_writable(&d->host, &path);
	if (r == 0)
		return;
	d->host_note = strf("%s/%s cannot be written (%s), so no driver can be changed: see "
			    "whether gpupass-mover.socket is active, or this is a container",
			    options->worker.sysfs_dir, str_or_empty(path), strerror(-r));
	log_as(LOG_ERR, LOG_ID_NO_MOVER, "%s", d->host_note);
}

#define REST_USEC USEC_PER_SEC

static int on_rested(sd_event_source *source, uint64_t usec, void *userdata)
{
	Daemon *d = userdata;

	real_host_make_ready(&d->host);
	return 0;
}

/*
 * systemd needs a processor for each part that it starts. Whoever waits for the end of the job has
 * it first; a job that begins meanwhile has started what it needs.
 */
static void rest(void *userdata)
{
	Daemon *d = userdata;

	real_host_rest(&d->host);
	if (!d->rest_timer || sd_event_source_set_time_relative(d->rest_timer, REST_USEC) < 0 ||
	    sd_event_source_set_enabled(d->rest_timer, SD_EVENT_ONESHOT) < 0)
		real_host_make_ready(&d->host);
}

static void rest_at_quiet(Daemon *d)
{
	if (sd_event_add_time_relative(d->event, &d->rest_timer, CLOCK_MONOTONIC, REST_USEC, 0,
				       on_rested, d) < 0)
		d->rest_timer = NULL;
	mailbox_on_quiet(d->mailbox, rest, d);
}

int daemon_open_host(Daemon *d, const Options *options)
{
	const char *uri = options->libvirt_uri ? options->libvirt_uri : d->config->libvirt_uri;
	WorkerConfig worker = options->worker;
	int r;

	use_parts(d, options, &worker);
	r = real_host_init(&d->host, &worker);
	if (r < 0) {
		log_error("cannot open %s: %s", options->worker.sysfs_dir, strerror(-r));
		return r;
	}
	rest_at_quiet(d);
	check_host(d, options);
	if (!domain_source_is_none(uri))
		d->config->policy.domains = DOMAINS_LIBVIRT;
	else
		d->config->policy.domains =
			d->config->proxmox_guests ? DOMAINS_PROXMOX : DOMAINS_NONE;
	d->host.domains = d->config->policy.domains;
	if (d->host.domains != DOMAINS_LIBVIRT) {
		log_info("there is no libvirt, by Uri=none: groups can be bound, not assigned");
		return 0;
	}
	r = virt_new(uri, daemon_on_virt_event, d, &d->virt);
	if (r < 0) {
		log_error("cannot start the libvirt thread: %s", strerror(-r));
		return r;
	}
	d->host.virt = d->virt;
	return 0;
}
