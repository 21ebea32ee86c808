/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <sys/stat.h>

#include "rig/temp-dir.h"
#include "store/caller.h"
#include "util/text.h"

#define STATUS "Name:\tgpupass\nUid:\t1000\t1000\t1000\t1000\nGroups:\t4\n"

/* A /proc with process 42. */
static void make_proc(const TempDir *dir, const char *login_uid)
{
	temp_dir_write(dir, "42/status", STATUS);
	temp_dir_write(dir, "42/comm", "gpupass\n");
	temp_dir_write(dir, "42/cgroup", "0::/user.slice/user-1000.slice/session-3.scope\n");
	unlinkat(dir->fd, "42/loginuid", 0);
	if (login_uid)
		temp_dir_write(dir, "42/loginuid", login_uid);
}

WITH_DIR(what_proc_says_counts_only_of_a_process_of_that_user)
{
	const struct {
		uid_t uid;
		pid_t pid;
		const char *login_uid;
		bool found;
		uint32_t login;
	} rows[] = {
		{ 1000, 42, "1000", true, 1000 },
		{ 1000, 42, "0", true, 0 },
		{ 1000, 42, "4294967295", true, AUDIT_NO_UID }, /* not set */
		{ 1000, 42, NULL, true, AUDIT_NO_UID },		/* a kernel without auditing */
		{ 1000, 42, "rubbish", true, AUDIT_NO_UID },
		{ 1001, 42, "1000", false, AUDIT_NO_UID }, /* its number is another's now */
		{ 1000, 43, "1000", false, AUDIT_NO_UID }, /* it has gone */
		{ 1000, 0, "1000", false, AUDIT_NO_UID },  /* the bus does not know it */
	};

	for (size_t i = 0; i < ELEMENTS(rows); i++) {
		_cleanup_(caller_identity_unrefp) CallerIdentity *identity =
			caller_identity_new(rows[i].uid, rows[i].pid);
		AuditRecord record = AUDIT_RECORD_EMPTY;

		make_proc(dir, rows[i].login_uid);
		caller_identity_resolve(identity, dir->fd);
		caller_identity_fill(identity, &record);
		assert_int_equal(record.uid, rows[i].uid);
		assert_int_equal(record.pid, rows[i].pid > 0 ? rows[i].pid : -1);
		if (record.login_uid != rows[i].login ||
		    !str_equal(record.command, rows[i].found ? "gpupass" : NULL) ||
		    !str_equal(record.unit, rows[i].found ? "session-3.scope" : NULL))
			fail_msg("row %zu: %u, %s, %s", i, record.login_uid,
				 str_or_empty(record.command), str_or_empty(record.unit));
		audit_record_clear(&record);
	}
}

TEST(a_caller_that_nobody_looks_at_is_recorded_with_what_is_known)
{
	_cleanup_(caller_identity_unrefp) CallerIdentity *identity = caller_identity_new(1000, 42);
	AuditRecord record = AUDIT_RECORD_EMPTY;

	caller_resolver_push(NULL, identity);
	caller_identity_fill(identity, &record);
	assert_int_equal(record.uid, 1000);
	assert_int_equal(record.pid, 42);
	assert_null(record.command);
	audit_record_clear(&record);
}

WITH_DIR(a_look_that_hangs_is_waited_for_once_and_its_late_answer_left_out)
{
	_cleanup_(caller_identity_unrefp) CallerIdentity *identity = caller_identity_new(1000, 42);
	AuditRecord record = AUDIT_RECORD_EMPTY;

	make_proc(dir, "1000");
	caller_identity_fill(identity, &record); /* for a second */
	assert_null(record.command);
	caller_identity_resolve(identity, dir->fd);
	for (int i = 0; i < 1000; i++)
		caller_identity_fill(identity, &record);
	assert_null(record.command);
	audit_record_clear(&record);
}

WITH_DIR(the_thread_looks_at_each_that_is_pushed)
{
	CallerResolver *resolver = NULL;
	CallerIdentity *identities[50];

	make_proc(dir, "1000");
	assert_int_equal(caller_resolver_new(dir->fd, &resolver), 0);
	for (size_t i = 0; i < ELEMENTS(identities); i++) {
		identities[i] = caller_identity_new(1000, 42);
		caller_resolver_push(resolver, identities[i]);
	}
	resolver = caller_resolver_free(resolver);
	for (size_t i = 0; i < ELEMENTS(identities); i++) {
		AuditRecord record = AUDIT_RECORD_EMPTY;

		caller_identity_fill(identities[i], &record);
		assert_string_equal(record.command, "gpupass");
		audit_record_clear(&record);
		caller_identity_unref(identities[i]);
	}
}
