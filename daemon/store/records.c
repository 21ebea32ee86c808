/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/records.h"

#include <fcntl.h>

#include "store/hold.h"
#include "util/file.h"
#include "util/json.h"
#include "util/text.h"
#include "util/xalloc.h"

void records_open(RecordStore *store, const RecordKind *kind, const char *path)
{
	pthread_mutexattr_t attributes;

	*store = (RecordStore){ .kind = kind, .dir_fd = -1 };
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&store->lock, &attributes);
	pthread_mutexattr_destroy(&attributes);
	pthread_mutex_init(&store->faults_lock, NULL);
	store->error = dir_open_private(path, &store->dir_fd);
	store->missing = store->error < 0 &&
			 faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) < 0 &&
			 errno == ENOENT;
}

void records_open_in(RecordStore *store, const RecordKind *kind, const char *parent)
{
	_cleanup_free_ char *path = strf("%s/%s", parent, kind->folder);

	records_open(store, kind, path);
}

static const char *folder_name(const RecordStore *store)
{
	return store->kind->folder ? store->kind->folder : "the state directory";
}

int records_hold(RecordStore *store)
{
	int r = store->dir_fd < 0 ? 0 : hold_directory(store->dir_fd, folder_name(store));

	if (r < 0 && store->error == 0)
		store->error = r;
	return r == -EWOULDBLOCK ? r : 0;
}

void records_close(RecordStore *store)
{
	store->dir_fd = close_fd(store->dir_fd);
	record_faults_clear(&store->faults);
	pthread_mutex_destroy(&store->lock);
	pthread_mutex_destroy(&store->faults_lock);
}

/* ---- reading ---- */

void records_read(RecordStore *store, RecordTake take, void *into, RecordFaults *faults)
{
	MUTEX_HOLD(&store->lock);

	if (store->dir_fd >= 0)
		record_files_read(store->dir_fd, store->kind, take, into, faults);
	else if (!store->missing)
		record_faults_add(faults, store->kind, str_or_empty(store->kind->file),
				  store->error, NULL, NULL, 0);
}

void records_load(RecordStore *store, RecordTake take, void *into)
{
	RecordFaults faults = { 0 };

	records_read(store, take, into, &faults);
	MUTEX_HOLD(&store->faults_lock);
	record_faults_clear(&store->faults);
	store->faults = faults;
}

static void drop_fault(RecordStore *store, const char *name)
{
	MUTEX_HOLD(&store->faults_lock);

	record_faults_drop(&store->faults, name);
}

void records_review(RecordStore *store)
{
	MUTEX_HOLD(&store->faults_lock);

	for (size_t i = store->faults.n_items; i > 0; i--) {
		const char *file = store->faults.items[i - 1].file;

		if (*file && faccessat(store->dir_fd, file, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
			record_faults_drop(&store->faults, file);
	}
}

void records_note(RecordStore *store, char ***notes)
{
	if (store->missing)
		strv_appendf(notes,
			     "%s is not there and cannot be made: %s; when it can be: systemctl "
			     "restart gpupassd",
			     folder_name(store), strerror(-store->error));
	MUTEX_HOLD(&store->faults_lock);
	for (size_t i = 0; i < store->faults.n_items; i++)
		strv_append_take(notes, record_fault_note(&store->faults.items[i]));
}

/* ---- writing ---- */

/* A file of another version may say more than this version knows. */
static int check_file(const RecordStore *store, const char *name)
{
	_cleanup_free_ char *text = NULL;
	_cleanup_json_ json_t *document = NULL;
	size_t size = 0;

	if (store->error < 0)
		return store->error;
	if (file_read_state_at(store->dir_fd, name, store->kind->most, &text, &size) < 0)
		return 0;
	return record_open(store->kind, text, size, &document, NULL) == -EPROTO ? -EPROTO : 0;
}

int records_replace_all(RecordStore *store, const RecordFile *files, size_t n)
{
	_cleanup_free_ FileContent *contents = xcalloc(n, sizeof(FileContent));
	_cleanup_strv_ char **texts = NULL;
	int r = 0;

	for (size_t i = 0; i < n; i++)
		strv_append_take(&texts, record_text(store->kind, files[i].document));
	MUTEX_HOLD(&store->lock);
	for (size_t i = 0; r >= 0 && i < n; i++) {
		contents[i] = (FileContent){ files[i].name, texts[i], strlen(texts[i]) };
		r = check_file(store, files[i].name);
	}
	if (r >= 0)
		r = file_replace_all_at(store->dir_fd, contents, n, FILE_MODE_PRIVATE);
	for (size_t i = 0; r >= 0 && i < n; i++)
		drop_fault(store, files[i].name);
	return r;
}

int records_replace(RecordStore *store, const char *name, json_t *document)
{
	return records_replace_all(store, &(RecordFile){ name, document }, 1);
}

int records_probe(RecordStore *store, const char *name, json_t *document)
{
	_cleanup_free_ char *text = record_text(store->kind, document);
	int r;
	MUTEX_HOLD(&store->lock);

	r = check_file(store, name);
	if (r >= 0)
		r = file_probe_at(store->dir_fd, name, text);
	return r;
}

int records_writable(RecordStore *store)
{
	return store->error < 0 ? store->error : file_probe_at(store->dir_fd, "folder", "?");
}

static int gone(int r)
{
	return r == -ENOENT ? 0 : r;
}

int records_remove(RecordStore *store, const char *name)
{
	int r;
	MUTEX_HOLD(&store->lock);

	r = store->error < 0 ? store->error : gone(file_remove_at(store->dir_fd, name));
	if (r >= 0)
		drop_fault(store, name);
	return r;
}

int records_set_aside(RecordStore *store, const char *name)
{
	int r;
	MUTEX_HOLD(&store->lock);

	r = store->error < 0 ? store->error : gone(file_set_aside_at(store->dir_fd, name));
	if (r >= 0)
		drop_fault(store, name);
	return r;
}
