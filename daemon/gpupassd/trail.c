/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The audit trail as a part of the daemon: opened and held before anything else happens, told of in
 * the log, and on the bus.
 */
#include <fcntl.h>
#include <string.h>

#include "gpupassd/daemon.h"
#include "store/hold.h"
#include "util/log.h"
#include "util/text.h"

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

int daemon_open_trail(Daemon *d, const Options *options)
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
