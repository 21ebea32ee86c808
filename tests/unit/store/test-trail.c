/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "rig/test.h"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>

#include "rig/temp-dir.h"
#include "store/trail.h"
#include "util/clock.h"
#include "util/file.h"
#include "util/json.h"
#include "util/text.h"

#define LONG_USEC (120 * USEC_PER_SEC)

/* What the disk of the test that runs does. */
static struct {
	atomic_int append_error, sync_error;
	atomic_bool half; /* an append that fails has written half of it */
	pthread_mutex_t gate;
	atomic_int appends; /* begun */
	atomic_int syncs;
	atomic_int failures; /* as the listener was told */
} disk;
static const TempDir *dir;
static Trail *trail;

static int disk_append(_unused_ void *userdata, int fd, const char *text, size_t size)
{
	int error = disk.append_error;

	disk.appends++;
	pthread_mutex_lock(&disk.gate);
	pthread_mutex_unlock(&disk.gate);
	if (error < 0 && disk.half)
		assert_true(write(fd, text, size / 2) > 0);
	if (error < 0)
		return error;
	return write(fd, text, size) == (ssize_t)size ? 0 : -EIO;
}

/* These tests do not cut the power. */
static int disk_sync(_unused_ void *userdata, _unused_ int fd)
{
	disk.syncs++;
	return disk.sync_error;
}

static void on_failed(_unused_ int error, _unused_ void *userdata)
{
	disk.failures++;
}

static const TrailLimits wide = { .file_bytes = 1 << 20, .files = 100 };
/* Three records a file. */
static const TrailLimits narrow = { .file_bytes = 1000, .files = 3 };

/* Also as the next daemon does. */
static void begin(const TrailLimits *limits)
{
	_cleanup_free_ char *path = strf("%s/audit", dir->path);

	trail_free(trail);
	trail = trail_open(path, limits);
	trail_files(trail)->file.io = (LedgerIo){ .append = disk_append, .sync = disk_sync };
	assert_int_equal(trail_start(trail, "boot", &(TrailListener){ .failed = on_failed }), 0);
}

static int setup(void **state)
{
	temp_dir_setup(state);
	dir = *state;
	memset(&disk, 0, sizeof(disk));
	pthread_mutex_init(&disk.gate, NULL);
	return 0;
}

static int teardown(void **state)
{
	trail = trail_free(trail);
	return temp_dir_teardown(state);
}

#define ON_A_DISK(test) TEST_WITH(test, setup, teardown)

static void add(const char *group)
{
	AuditRecord record = AUDIT_RECORD_EMPTY;

	record.kind = AUDIT_CALL;
	record.group = strdup(group);
	trail_add(trail, &record, NULL);
}

static AuditRecord job_begun(void)
{
	AuditRecord record = AUDIT_RECORD_EMPTY;

	record.kind = AUDIT_JOB_BEGUN;
	return record;
}

static void flush(void)
{
	assert_true(trail_flush(trail, LONG_USEC));
}

/* false: it is not on disk. */
static bool add_durably(void)
{
	AuditRecord record = job_begun();
	bool writable;
	uint64_t lost;

	trail_add(trail, &record, NULL);
	flush();
	trail_health(trail, &writable, &lost);
	return writable;
}

static AuditReport check(void)
{
	_cleanup_(audit_chain_freep) AuditChain *chain = NULL;
	AuditReport report;

	flush();
	chain = audit_chain_new();
	assert_int_equal(trail_files_check(trail_dir_fd(trail), chain), 0);
	report = audit_chain_report(chain, NULL);
	return report;
}

static AuditReport check_whole(void)
{
	AuditReport report = check();

	if (report.n_findings > 0)
		fail_msg("%s", audit_finding_text(&report.findings[0]));
	assert_false(report.torn);
	return report;
}

static json_t *page(const AuditQuery *query)
{
	_cleanup_free_ char *text = NULL;
	json_t *o;

	assert_int_equal(trail_files_page(trail_dir_fd(trail), query, &text), 0);
	o = json_loads(text, 0, NULL);
	assert_non_null(o);
	return o;
}

/* "file-begun call call": this member of all records, where they have it. */
static void check_all(const char *member, const char *expected)
{
	_cleanup_free_ char *found = NULL;
	_cleanup_strv_ char **all = NULL;
	_cleanup_json_ json_t *o = page(&(AuditQuery){ 0 });
	const json_t *record;
	size_t i;

	json_array_foreach (json_object_get(o, "records"), i, record)
		if (json_object_get(record, member))
			strv_append(&all, json_string_value(json_object_get(record, member)));
	found = strv_join(all, " ");
	assert_string_equal(found, expected);
}

static void check_kinds(const char *expected)
{
	check_all("kind", expected);
}

static size_t count_files(void)
{
	_cleanup_free_ uint64_t *numbers = NULL;
	size_t n = 0;

	assert_int_equal(ledger_list(trail_dir_fd(trail), &numbers, &n), 0);
	return n;
}

/* ---- what is kept ---- */

ON_A_DISK(records_come_back_in_their_order_and_go_on_after_a_restart)
{
	begin(&wide);
	add("pair0");
	assert_true(add_durably());
	assert_int_equal(trail_sequence(trail), 3);
	check_kinds("file-begun call job-begun");
	begin(&wide);
	assert_int_equal(trail_sequence(trail), 3);
	add("pair1");
	assert_int_equal(check_whole().last, 4);
	check_kinds("file-begun call job-begun call");
}

/* promise A4 */
ON_A_DISK(others_can_read_neither_files_nor_names)
{
	struct stat st;

	begin(&wide);
	assert_true(add_durably());
	assert_int_equal(fstat(trail_dir_fd(trail), &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(fstatat(trail_dir_fd(trail), "1.log", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0600);
}

ON_A_DISK(a_page_is_bounded_and_the_next_one_goes_on)
{
	uint64_t after = 0;
	size_t found = 0, pages = 0;
	bool more = true;

	begin(&narrow);
	trail_files(trail)->limits.files = 1000;
	for (int i = 0; i < 600; i++) {
		add(i % 2 ? "odd" : "even");
		if (i % 200 == 0)
			flush();
	}
	flush();
	while (more) {
		_cleanup_json_ json_t *o = page(&(AuditQuery){ .after = after, .group = "odd" });
		size_t n = json_array_size(json_object_get(o, "records"));

		assert_true(n <= 256);
		found += n;
		pages++;
		after = (uint64_t)json_integer_value(json_object_get(o, "last"));
		more = json_is_true(json_object_get(o, "more"));
	}
	assert_int_equal(found, 300);
	assert_int_equal(pages, 2);
	assert_int_equal(after, trail_sequence(trail));
}

/* ---- rotation ---- */

ON_A_DISK(a_new_file_begins_with_the_hash_of_the_one_before)
{
	begin(&narrow);
	for (int k = 0; k < 6; k++)
		add("pair0");
	/* The chain goes on from file to file. */
	assert_int_equal(check_whole().n_records, 9);
	assert_int_equal(count_files(), 3);
	check_all("reason", "the trail begins follows 1.log follows 2.log");
}

ON_A_DISK(the_oldest_file_is_dropped_on_record)
{
	AuditReport report;

	begin(&narrow);
	for (int i = 0; i < 100; i++)
		add("pair0");
	report = check_whole();
	assert_true(report.dropped);
	assert_true(report.first > 50);
	assert_int_equal(count_files(), 3);
	/* And the next daemon goes on with what is left. */
	begin(&narrow);
	add("pair0");
	assert_true(check_whole().last > report.last);
}

/* ---- the end, as a power cut leaves it ---- */

/* Two calls on record, and the file of them. */
static char *leave_two(size_t *ret_size)
{
	char *text = NULL;

	begin(&wide);
	add("pair0");
	add("pair1");
	flush();
	assert_int_equal(file_read_at(trail_dir_fd(trail), "1.log", 1 << 20, &text, ret_size), 0);
	return text;
}

/* fault T2 */
ON_A_DISK(a_last_line_cut_off_at_any_byte_is_mended_on_record)
{
	size_t size, last;
	_cleanup_free_ char *text = leave_two(&size);

	last = (size_t)((char *)memrchr(text, '\n', size - 1) - text) + 1;
	for (size_t cut = last; cut < size; cut++) {
		temp_dir_write_bytes(dir, "audit/1.log", text, cut);
		begin(&wide);
		add("pair2");
		assert_int_equal(check_whole().mended, cut > last);
		check_kinds(cut > last ? "file-begun call tail-mended call"
				       : "file-begun call call");
	}
}

/* fault T2 */
ON_A_DISK(an_empty_newest_file_is_begun_again)
{
	size_t size;

	free(leave_two(&size));
	temp_dir_write(dir, "audit/2.log", "");
	begin(&wide);
	assert_int_equal(trail_sequence(trail), 3);
	add("pair2");
	assert_int_equal(check_whole().last, 5);
	check_kinds("file-begun call call file-begun call");
}

/* fault T3 */
ON_A_DISK(an_unreadable_end_is_left_for_a_person_and_another_file_begun)
{
	size_t size;
	_cleanup_free_ char *text = leave_two(&size);
	AuditReport report;

	memset(text + size - 40, 'x', 30);
	temp_dir_write(dir, "audit/1.log", text);
	begin(&wide);
	add("pair2");
	report = check();
	/* The line itself, and its number, which no other record may take. */
	assert_int_equal(report.n_findings, 2);
	assert_int_equal(report.findings[0].fault, AUDIT_FAULT_UNREADABLE);
	assert_int_equal(report.findings[1].fault, AUDIT_FAULT_REMOVED);
	assert_int_equal(report.findings[1].first, 3);
	assert_int_equal(report.findings[1].last, 3);
	check_kinds("file-begun call file-begun tail-mended call");
	audit_report_clear(&report);
}

/* ---- disks ---- */

/* What monitoring shows of it: false while the last record could not be written. */
static void check_health(bool writable, uint64_t lost)
{
	bool is_writable;
	uint64_t n;

	trail_health(trail, &is_writable, &n);
	assert_int_equal(writable, is_writable);
	assert_int_equal(lost, n);
}

/* fault T1 */
ON_A_DISK(what_does_not_come_to_the_disk_is_taken_back_and_counted)
{
	static const struct {
		int append, sync;
		bool half;
	} errors[] = { { -ENOSPC, 0, false }, { -ENOSPC, 0, true }, { 0, -EIO, false } };

	for (size_t i = 0; i < ELEMENTS(errors); i++) {
		begin(&wide);
		disk.half = errors[i].half;
		assert_true(add_durably());
		disk.append_error = errors[i].append;
		disk.sync_error = errors[i].sync;
		add("pair0");
		assert_false(add_durably());
		assert_int_equal(disk.failures, 1);
		assert_int_equal(trail_sequence(trail), 2);
		check_health(false, 2);
		disk.append_error = disk.sync_error = 0;
		assert_true(add_durably());
		check_health(true, 2);
		assert_int_equal(check_whole().lost, 2);
		check_kinds("file-begun job-begun lost job-begun");
		teardown(state);
		setup(state);
	}
}

static int append(void)
{
	AuditRecord record = job_begun();

	return trail_append(trail, &record, NULL);
}

/* A job's beginning waits for no disk: its journal has the same facts, and is on disk. */
ON_A_DISK(what_is_added_lazily_comes_to_the_disk_with_the_next_record)
{
	int syncs;

	begin(&wide);
	assert_true(add_durably());
	syncs = disk.syncs;
	assert_int_equal(append(), 0);
	assert_int_equal(append(), 0);
	/* It is there, for whoever looks, should the daemon end; and not yet told of. */
	check_kinds("file-begun job-begun job-begun job-begun");
	assert_int_equal(disk.syncs, syncs);
	assert_int_equal(trail_sequence(trail), 2);
	assert_true(add_durably());
	assert_int_equal(disk.syncs, syncs + 1);
	assert_int_equal(trail_sequence(trail), 5);
	/* One that fails is told at once; and one whose sync fails is lost like any other. */
	disk.append_error = -ENOSPC;
	assert_int_equal(append(), -ENOSPC);
	assert_int_equal(disk.failures, 1);
	disk.append_error = 0;
	assert_int_equal(append(), 0);
	disk.sync_error = -EIO;
	assert_false(add_durably());
	disk.sync_error = 0;
	assert_true(add_durably());
	assert_int_equal(check_whole().lost, 3);
	check_kinds("file-begun job-begun job-begun job-begun job-begun lost "
		    "job-begun");
}

/* fault T6 */
/* The start does not fail, and what follows has numbers that nothing in that file can have. */
ON_A_DISK(a_file_that_cannot_be_read_is_named_and_left_behind)
{
	for (int linked = 0; linked < 2; linked++) {
		AuditReport report;

		begin(&wide);
		assert_true(add_durably());
		assert_int_equal(unlinkat(dir->fd, "audit/1.log", 0), 0);
		assert_int_equal(linked ? symlinkat("elsewhere", dir->fd, "audit/1.log")
					: mkdirat(dir->fd, "audit/1.log", 0700),
				 0);
		begin(&wide);
		assert_non_null(trail_faults(trail));
		assert_non_null(strstr(trail_faults(trail)[0], "audit/1.log cannot be read"));
		assert_true(add_durably());
		assert_true(trail_sequence(trail) > 10000);
		report = check();
		assert_int_equal(report.findings[0].fault, AUDIT_FAULT_UNREADABLE);
		assert_int_equal(report.findings[0].file, 1);
		audit_report_clear(&report);
		/* Once it is left behind, nothing changes any more. */
		begin(&wide);
		assert_non_null(trail_faults(trail));
		assert_true(add_durably());
		assert_true(trail_sequence(trail) < 100000);
		teardown(state);
		setup(state);
	}
}

/* fault T6 */
ON_A_DISK(a_folder_that_cannot_be_opened_keeps_records_out_and_not_the_daemon_down)
{
	temp_dir_write(dir, "audit", "no folder");
	begin(&wide);
	assert_int_equal(trail_dir_fd(trail), -1);
	assert_non_null(strstr(trail_faults(trail)[0], "audit cannot be read (Not a directory)"));
	assert_int_equal(append(), -ENOTDIR);
	assert_false(add_durably());
}

ON_A_DISK(a_rotation_that_fails_leaves_the_old_file)
{
	begin(&narrow);
	for (int i = 0; i < 4; i++)
		assert_true(add_durably());
	assert_int_equal(count_files(), 2);
	for (int i = 0; i < 10; i++) {
		disk.append_error = -ENOSPC;
		assert_false(add_durably());
		disk.append_error = 0;
		assert_true(add_durably());
	}
	check_whole();
}

/* fault T4 */
/* promise A5 */
ON_A_DISK(what_waits_for_a_hanging_disk_is_bounded_and_counted)
{
	AuditRecord record;
	AuditReport report;

	begin(&wide);
	pthread_mutex_lock(&disk.gate);
	/* The thread hangs with one record, before the others come. */
	disk.appends = 0;
	add("pair0");
	while (disk.appends == 0)
		sched_yield();
	for (int i = 1; i < 5000; i++)
		add("pair0");
	record = job_begun();
	assert_int_equal(trail_append(trail, &record, NULL), -EAGAIN);
	assert_false(trail_flush(trail, 1000));
	pthread_mutex_unlock(&disk.gate);
	add("pair0");
	flush();
	add("pair0");
	report = check_whole();
	assert_true(report.lost > 2000);
	check_health(true, report.lost);
	/* Beside the 5,003: that the file began, and what was lost. */
	assert_int_equal(report.n_records + report.lost, 5005);
}

/* ---- holders ---- */

static Inspection look_at(Holder *holders, size_t n)
{
	static FunctionFacts function;

	assert_int_equal(bdf_parse("0000:41:00.0", &function.bdf), 0);
	for (size_t i = 0; i < n; i++)
		holders[i].bdf = function.bdf;
	return (Inspection){
		.functions = &function, .n_functions = 1, .holders = holders, .n_holders = n
	};
}

ON_A_DISK(a_holder_is_recorded_when_it_comes_and_when_it_goes)
{
	Holder two[] = {
		{ .pid = 10, .command = (char *)"python3", .path = (char *)"/dev/nvidia0" },
		{ .pid = 11, .command = (char *)"qemu", .path = (char *)"/dev/vfio/33" },
	};
	Unseen hidden = { .pid = 11 };
	Inspection both = look_at(two, 2), first = look_at(two, 1), none = look_at(two, 0), other;
	FunctionFacts another = { 0 };

	begin(&wide);
	trail_note_holders(trail, &both);
	trail_note_holders(trail, &both);
	/* Whether the second one still holds it is not known. */
	first.unseen = &hidden;
	first.n_unseen = first.all_unseen = 1;
	trail_note_holders(trail, &first);
	first.n_unseen = first.all_unseen = 0;
	trail_note_holders(trail, &first);
	/* A look at another function says nothing of this one. */
	other = none;
	other.functions = &another;
	trail_note_holders(trail, &other);
	trail_note_holders(trail, &none);
	trail_note_holders(trail, &first);
	check_whole();
	check_kinds("file-begun holder holder holder-gone holder-gone holder");
}
