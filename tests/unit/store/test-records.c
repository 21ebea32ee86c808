/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The one store of records, by its table: each damage that a file of state can have, of each kind
 * of file. Whatever it is, the file is told of by its name with a remedy, nothing in it is believed,
 * and what it may be about is kept apart, or the next write mends it.
 */
#include "rig/test.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/facts/kept.h"
#include "rig/temp-dir.h"
#include "store/evidence.h"
#include "store/numbers.h"
#include "store/quarantine.h"
#include "store/receipts.h"
#include "store/tenants.h"
#include "util/json.h"

#define UUID "0e1c2d3a-4b5c-6d7e-8f90-a1b2c3d4e5f6"
#define BOARD "0000:41:00.0"

/* It is in all documents that name boards. */
static const Bdf board = { .bus = 0x41 };

static const struct {
	const RecordKind *kind;
	const char *document;	 /* in tests/fixtures/documents, or the document itself */
	const char *file, *copy; /* copy NULL: no other file is read */
	const char *remedy;
} kinds[] = {
	{ &assignment_kind, "assignment-2", UUID ".json", "0" UUID ".json", "gpupass rescan" },
	{ &kept_kind, "kept", BOARD ".json", "0000:61:00.0.json", "remove the file" },
	{ &assignment_kind, "assignment-1", UUID ".json", UUID "_0000:62:00.0.json",
	  "gpupass rescan" },
	{ &tenant_kind, "tenant", BOARD ".json", "0000:61:00.0.json", "" },
	{ &receipt_kind, "receipt-1", "then-pair0.json", "0000000002-pair0.json",
	  "move the file away" },
	{ &quarantine_kind, "quarantine-1", "pair0.json", "pair1.json", "gpupass clear" },
	{ &evidence_kind, "evidence", "topology.json", NULL, "gpupass probe" },
	{ &number_kind, "{\"next\": 8}", "numbers.json", NULL, "" },
};

static json_t *document(size_t row)
{
	const char *of = kinds[row].document;
	_cleanup_free_ char *path = strf(FIXTURES "/documents/%s.json", of);
	json_t *root = *of == '{' ? json_loads(of, 0, NULL) : json_load_file(path, 0, NULL);

	assert_non_null(root);
	return root;
}

typedef struct Scene {
	const TempDir *dir;
	size_t row;
	RecordStore store;
	const char *file;
	char *whole; /* its text, as it was stored */
} Scene;

static void put(const Scene *s, const char *text, size_t size)
{
	temp_dir_write_bytes(s->dir, s->file, text, size);
}

static void cut(Scene *s)
{
	put(s, s->whole, strlen(s->whole) / 2);
}

static void another_kind(Scene *s)
{
	size_t other = (s->row + 1) % ELEMENTS(kinds);
	_cleanup_free_ char *text = record_text(kinds[other].kind, document(other));

	put(s, text, strlen(text));
}

static void newer(Scene *s)
{
	_cleanup_free_ char *text = strf(
		"{\"schema\": \"%.*s9\", \"group\": \"pair0\", \"functions\": [\"" BOARD "\"]}",
		(int)(strrchr(s->store.kind->schema, '/') + 1 - s->store.kind->schema),
		s->store.kind->schema);

	put(s, text, strlen(text));
}

static void unreadable(Scene *s)
{
	assert_int_equal(fchmodat(s->dir->fd, s->file, 0, 0), 0);
}

static void folder(Scene *s)
{
	assert_int_equal(unlinkat(s->dir->fd, s->file, 0), 0);
	assert_int_equal(mkdirat(s->dir->fd, s->file, 0700), 0);
}

static void linked(Scene *s)
{
	assert_int_equal(renameat(s->dir->fd, s->file, s->dir->fd, "elsewhere"), 0);
	assert_int_equal(symlinkat("elsewhere", s->dir->fd, s->file), 0);
}

static void huge(Scene *s)
{
	_cleanup_close_ int fd = openat(s->dir->fd, s->file, O_WRONLY | O_CLOEXEC);

	assert_int_equal(ftruncate(fd, 100L * 1024 * 1024), 0);
}

static void doubled(Scene *s)
{
	_cleanup_free_ char *twice = strf("%s%s", s->whole, s->whole);

	put(s, twice, strlen(twice));
}

static void copied(Scene *s)
{
	s->file = kinds[s->row].copy;
	put(s, s->whole, strlen(s->whole));
}

static void one_digit(Scene *s)
{
	char *at = strstr(s->whole, "\"functions\"");

	at = strstr(at ? at : s->whole, "41:00");
	if (!at)
		at = strstr(s->whole, "_usec\": ");
	if (!at)
		at = strstr(s->whole, "next\": ");
	at += strcspn(at, ":") + 1;
	at[1] = at[1] == '7' ? '6' : '7';
	put(s, s->whole, strlen(s->whole));
}

static const char zeros[512];

#define DAMAGED(why) .what = RECORD_DAMAGED, .words = "cannot be understood (" why

static const struct {
	void (*damage)(Scene *s); /* NULL: it has these bytes */
	const char *bytes;
	size_t size;
	RecordFaultWhat what;
	const char *words;
} damages[] = {
	ROW(.damage = cut, DAMAGED("line ")),
	ROW(.bytes = "", DAMAGED("line 1: ")),
	ROW(.bytes = zeros, .size = sizeof(zeros), DAMAGED("line 1: ")),
	ROW(.bytes = "\x9b\x01\xff\x80{\xc3", .size = 6, DAMAGED("line 1: ")),
	ROW(.damage = another_kind, DAMAGED("it is another document: its schema")),
	ROW(.bytes = "[]\n", .size = 3, DAMAGED("it is no JSON object)")),
	ROW(.damage = folder, DAMAGED("Is a directory)")),
	ROW(.damage = linked, DAMAGED("it is a symbolic link)")),
	ROW(.damage = huge, DAMAGED("File too large)")),
	ROW(.damage = doubled, DAMAGED("line ")),
	ROW(.damage = copied, DAMAGED("its name is not its ")),
	ROW(.damage = one_digit, DAMAGED("its checksum is wrong)")),
	ROW(newer, .what = RECORD_NEWER,
	    .words = "was written by a later version of gpupass (it is of version 9, and "),
	ROW(unreadable, .what = RECORD_UNREAD, .words = "cannot be read (Permission denied)"),
};

static void count_one(void *into, _unused_ const char *name, void *record)
{
	Scene *s = into;

	record_free(s->store.kind, record);
	s->row += 100;
}

static void hand_over(const TempDir *dir, const char *file)
{
	if (fchownat(dir->fd, file, 65534, 65534, AT_SYMLINK_NOFOLLOW) < 0)
		assert_int_equal(errno, ENOENT);
}

/* How many can be used. Not as root, who may read everything. */
static size_t read_all(Scene *s, RecordFaults *faults)
{
	bool root = geteuid() == 0;
	size_t row = s->row, n;

	if (root) {
		assert_int_equal(fchmod(s->dir->fd, 0755), 0);
		hand_over(s->dir, kinds[row].file);
		hand_over(s->dir, s->file);
		assert_int_equal(seteuid(65534), 0);
	}
	records_read(&s->store, count_one, s, faults);
	if (root)
		assert_int_equal(seteuid(0), 0);
	n = (s->row - row) / 100;
	s->row = row;
	return n;
}

static void begin(Scene *s, const TempDir *dir, size_t row)
{
	*s = (Scene){ .dir = dir, .row = row, .file = kinds[row].file };
	records_open(&s->store, kinds[row].kind, dir->path);
	assert_int_equal(records_replace(&s->store, s->file, document(row)), 0);
	s->whole = temp_dir_read(dir, s->file);
}

static void end(Scene *s)
{
	unlinkat(s->dir->fd, "elsewhere", 0);
	unlinkat(s->dir->fd, s->file, AT_REMOVEDIR);
	unlinkat(s->dir->fd, s->file, 0);
	unlinkat(s->dir->fd, kinds[s->row].file, 0);
	free(s->whole);
	records_close(&s->store);
}

static void check_told(const Scene *s, size_t damage, const RecordFault *fault)
{
	const RecordKind *kind = s->store.kind;
	_cleanup_free_ char *path =
		strf("%s%s%s", str_or_empty(kind->folder), kind->folder ? "/" : "", s->file);
	_cleanup_free_ char *note = record_fault_note(fault);

	if (fault->what != damages[damage].what || !strstr(note, damages[damage].words) ||
	    strncmp(note, path, strlen(path)) != 0 || !strstr(note, kinds[s->row].remedy))
		fail_msg("%s, damage %zu: %s", path, damage, note);
}

/* What a file of such a kind may be about, whatever is left of it. */
static void check_apart(const Scene *s, size_t damage, const RecordFaults *faults)
{
	if (s->store.kind->apart && !record_faults_find(faults, &board, 1, "pair0", UUID))
		fail_msg("%s, damage %zu: its board is free", s->store.kind->folder, damage);
}

/* Only a file of another version stays: it would lose what this version does not know. */
static void check_next_write(Scene *s, size_t damage)
{
	int wanted = damages[damage].what == RECORD_NEWER ? -EPROTO : 0;
	_cleanup_free_ char *before = temp_dir_read(s->dir, kinds[s->row].file), *after = NULL;
	RecordFaults faults = { 0 };
	int r;

	r = records_probe(&s->store, kinds[s->row].file, document(s->row));
	if (r == wanted)
		r = records_replace(&s->store, kinds[s->row].file, document(s->row));
	if (r != wanted)
		fail_msg("kind %zu, damage %zu: %d", s->row, damage, r);
	after = temp_dir_read(s->dir, kinds[s->row].file);
	if (wanted < 0)
		assert_string_equal(before, after);
	if (wanted < 0 || s->file != kinds[s->row].file)
		return;
	assert_int_equal(read_all(s, &faults), 1);
	assert_int_equal(faults.n_items, 0);
}

/* promises O3, F1 */
/* faults 40, 41, 60 */
WITH_DIR(each_damage_of_each_kind_is_told_and_believed_by_nobody)
{
	for (size_t row = 0; row < ELEMENTS(kinds); row++)
		for (size_t k = 0; k < ELEMENTS(damages); k++) {
			RecordFaults faults = { 0 };
			bool copy = damages[k].damage == copied;
			size_t n;
			Scene s;

			if (copy && !kinds[row].copy)
				continue;
			begin(&s, dir, row);
			if (damages[k].damage)
				damages[k].damage(&s);
			else
				put(&s, damages[k].bytes, damages[k].size);
			n = read_all(&s, &faults);
			if (n != copy || faults.n_items != 1)
				fail_msg("kind %zu, damage %zu: %zu read", row, k, n);
			check_told(&s, k, &faults.items[0]);
			check_apart(&s, k, &faults);
			record_faults_clear(&faults);
			check_next_write(&s, k);
			end(&s);
		}
}

/* As they were before there were checksums; of the other kinds core/plan/test-documents.c does it. */
TEST(what_the_versions_before_wrote_is_read)
{
	for (size_t row = 0; row < ELEMENTS(kinds); row++) {
		_cleanup_json_ json_t *root = document(row);
		_cleanup_free_ char *text = json_dumps(root, 0), *why = NULL;
		void *record = NULL;

		if (*kinds[row].document == '{')
			continue;
		if (record_parse(kinds[row].kind, text, strlen(text), &record, &why) < 0)
			fail_msg("%s: %s", kinds[row].document, why);
		record_free(kinds[row].kind, record);
	}
}

/* By one bit or by another byte, at whatever place: blanks may change, and say the same. */
WITH_DIR(no_changed_byte_is_believed)
{
	for (size_t row = 0; row < ELEMENTS(kinds); row++) {
		Scene s;

		begin(&s, dir, row);
		for (size_t i = 0; i < strlen(s.whole); i++) {
			_cleanup_free_ char *text = strdup(s.whole);
			void *record = NULL;

			text[i] ^= 1;
			if (record_parse(s.store.kind, text, strlen(text), &record, NULL) >= 0)
				fail_msg("kind %zu: byte %zu", row, i);
		}
		end(&s);
	}
}

/* What dir_list() leaves out counts. */
static size_t count_files(const TempDir *dir)
{
	_cleanup_closedir_ DIR *entries = opendir(dir->path);
	size_t n = 0;

	for (const struct dirent *entry; (entry = readdir(entries));)
		n += !str_equal(entry->d_name, ".") && !str_equal(entry->d_name, "..");
	return n;
}

/* Neither the file changes nor is another left beside it, whether it is tried or written. */
WITH_DIR(a_full_disk_leaves_the_file_as_it_was)
{
	for (size_t row = 0; row < ELEMENTS(kinds); row++) {
		_cleanup_free_ char *after = NULL;
		int probed, replaced;
		Scene s;

		begin(&s, dir, row);
		assert_int_equal(records_probe(&s.store, s.file, document(row)), 0);
		assert_int_equal(count_files(s.dir), 1);
		limit_file_size(40);
		probed = records_probe(&s.store, s.file, document(row));
		replaced = records_replace(&s.store, s.file, document(row));
		limit_file_size(RLIM_INFINITY);
		assert_int_equal(probed, -EFBIG);
		assert_int_equal(replaced, -EFBIG);
		after = temp_dir_read(s.dir, s.file);
		assert_string_equal(after, s.whole);
		assert_int_equal(count_files(s.dir), 1);
		end(&s);
	}
}

/* What a removal leaves, a write replaces, and several writes sync once. */
WITH_DIR(several_records_are_written_at_once)
{
	RecordStore store;
	RecordFaults faults = { 0 };
	const RecordFile files[] = { { "one-pair0.json", document(4) },
				     { "two-pair0.json", document(4) } };

	records_open(&store, &receipt_kind, dir->path);
	assert_int_equal(records_replace_all(&store, files, 2), 0);
	records_read(&store, NULL, NULL, &faults);
	assert_int_equal(faults.n_items, 0);
	assert_int_equal(records_remove(&store, files[0].name), 0);
	assert_int_equal(records_remove(&store, files[0].name), 0);
	records_close(&store);
}

/* ---- a folder that cannot be used ---- */

WITH_DIR(a_folder_is_made_and_one_that_cannot_be_has_no_records_and_takes_none)
{
	_cleanup_free_ char *made = strf("%s/etc/kept.d", dir->path);
	_cleanup_strv_ char **notes = NULL;
	RecordFaults faults = { 0 };
	RecordStore store;

	records_open(&store, &kept_kind, made);
	assert_int_equal(records_writable(&store), 0);
	records_close(&store);
	records_open(&store, &kept_kind, "/proc/self/none");
	records_read(&store, NULL, NULL, &faults);
	assert_int_equal(faults.n_items, 0);
	assert_int_equal(records_hold(&store), 0);
	assert_int_equal(records_replace(&store, BOARD ".json", document(1)), -ENOENT);
	assert_int_equal(records_remove(&store, BOARD ".json"), -ENOENT);
	assert_int_equal(records_writable(&store), -ENOENT);
	records_note(&store, &notes);
	assert_string_equal(notes[0], "kept.d is not there and cannot be made: "
				      "No such file or directory; when it can be: "
				      "systemctl restart gpupassd");
	records_close(&store);
}

/* It may be full of records. */
WITH_DIR(what_is_no_folder_is_a_fault_about_everything)
{
	_cleanup_free_ char *path = strf("%s/file", dir->path);
	RecordFaults faults = { 0 };
	RecordStore store;

	temp_dir_write(dir, "file", "");
	records_open(&store, &assignment_kind, path);
	records_read(&store, NULL, NULL, &faults);
	assert_int_equal(faults.n_items, 1);
	assert_non_null(record_faults_find(&faults, &board, 1, NULL, NULL));
	record_faults_clear(&faults);
	records_close(&store);
}

WITH_DIR(quarantines_that_cannot_be_listed_may_be_about_any_function)
{
	_cleanup_(claims_freep) Claims *claims = claims_new();
	_cleanup_(problem_freep) Problem *problem = NULL;
	_cleanup_free_ char *names = NULL;
	QuarantineStore store;

	temp_dir_write(dir, "quarantine", "");
	records_open_in(&store, &quarantine_kind, dir->path);
	quarantine_store_load(&store, claims);
	names = claims_quarantine_names(claims);
	assert_string_equal(names, "quarantine/");
	assert_int_equal(claims_check(claims, &board, 1, NULL, &problem), PROBLEM);
	assert_non_null(strstr(problem->cause ? problem->cause : problem->reason,
			       "quarantine cannot be understood (Not a directory); once it"));
	records_close(&store);
}

/* The list of the daemon needs no other look to see that a remedy was followed. */
WITH_DIR(a_fault_ends_with_its_file)
{
	for (int how = 0; how < 3; how++) {
		_cleanup_strv_ char **before = NULL, **after = NULL;
		Scene s;

		begin(&s, dir, 1);
		put(&s, "", 0);
		records_load(&s.store, NULL, NULL);
		records_note(&s.store, &before);
		assert_int_equal(strv_length(before), 1);
		if (how == 0)
			assert_int_equal(records_set_aside(&s.store, s.file), 0);
		else if (how == 1)
			assert_int_equal(records_replace(&s.store, s.file, document(1)), 0);
		else
			unlinkat(s.dir->fd, s.file, 0);
		records_review(&s.store);
		records_note(&s.store, &after);
		assert_null(after);
		end(&s);
	}
}
