/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/trail-holders.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "util/text.h"
#include "util/xalloc.h"

typedef struct Known {
	Bdf bdf;
	pid_t pid;
	char *path, *command, *unit;
} Known;

struct TrailHolders {
	pthread_mutex_t lock;
	Known items[TRAIL_HOLDERS_MAX];
	size_t n;
};

TrailHolders *trail_holders_new(void)
{
	TrailHolders *holders = xcalloc(1, sizeof(TrailHolders));

	pthread_mutex_init(&holders->lock, NULL);
	return holders;
}

static void known_clear(Known *known)
{
	free(known->path);
	free(known->command);
	free(known->unit);
	*known = (Known){ 0 };
}

TrailHolders *trail_holders_free(TrailHolders *holders)
{
	if (!holders)
		return NULL;
	for (size_t i = 0; i < holders->n; i++)
		known_clear(&holders->items[i]);
	pthread_mutex_destroy(&holders->lock);
	free(holders);
	return NULL;
}

static bool is_same(const Known *known, const Holder *holder)
{
	return bdf_compare(&known->bdf, &holder->bdf) == 0 && known->pid == holder->pid &&
	       str_equal(known->path, holder->path) && str_equal(known->command, holder->command);
}

static const Known *find_known(const TrailHolders *holders, const Holder *holder)
{
	for (size_t i = 0; i < holders->n; i++)
		if (is_same(&holders->items[i], holder))
			return &holders->items[i];
	return NULL;
}

/* Also when it is not known. */
static bool still_holds(const Inspection *inspection, const Known *known)
{
	if (inspection->all_unseen > inspection->n_unseen)
		return true;
	for (size_t i = 0; i < inspection->n_unseen; i++)
		if (inspection->unseen[i].pid == known->pid)
			return true;
	for (size_t i = 0; i < inspection->n_holders; i++)
		if (is_same(known, &inspection->holders[i]))
			return true;
	return false;
}

static AuditRecord make_record(AuditKind kind, const Known *known)
{
	AuditRecord record = AUDIT_RECORD_EMPTY;

	record.kind = kind;
	record.pid = (int)known->pid;
	record.command = audit_text(known->command);
	record.unit = audit_text(known->unit);
	record.reason = audit_text(known->path);
	strv_append(&record.functions, BDF_TEXT(&known->bdf));
	return record;
}

/* Without room the holder is not remembered, and the next look records it again. */
static void remember(TrailHolders *holders, const Known *seen)
{
	if (holders->n == TRAIL_HOLDERS_MAX)
		return;
	holders->items[holders->n++] = (Known){
		.bdf = seen->bdf,
		.pid = seen->pid,
		.path = xstrdup(str_or_empty(seen->path)),
		.command = xstrdup(seen->command),
		.unit = xstrdup(seen->unit),
	};
}

static void note_gone(TrailHolders *holders, const Inspection *inspection, AuditRecord *records,
		      size_t *n)
{
	for (size_t i = 0; i < holders->n;) {
		Known *known = &holders->items[i];

		/* Of other functions this look says nothing. */
		if (!inspection_find(inspection, &known->bdf) || still_holds(inspection, known)) {
			i++;
			continue;
		}
		records[(*n)++] = make_record(AUDIT_HOLDER_GONE, known);
		known_clear(known);
		*known = holders->items[--holders->n];
	}
}

static void note_come(TrailHolders *holders, const Inspection *inspection, AuditRecord *records,
		      size_t *n)
{
	for (size_t i = 0; i < inspection->n_holders; i++) {
		const Holder *holder = &inspection->holders[i];
		const Known seen = { holder->bdf, holder->pid, holder->path, holder->command,
				     holder->unit };

		if (find_known(holders, holder))
			continue;
		records[(*n)++] = make_record(AUDIT_HOLDER, &seen);
		remember(holders, &seen);
	}
}

void trail_holders_note(TrailHolders *holders, const Inspection *inspection, AuditRecord **ret,
			size_t *ret_n)
{
	AuditRecord *records;

	pthread_mutex_lock(&holders->lock);
	*ret = records = xcalloc(holders->n + inspection->n_holders + 1, sizeof(AuditRecord));
	note_gone(holders, inspection, records, ret_n);
	note_come(holders, inspection, records, ret_n);
	pthread_mutex_unlock(&holders->lock);
}
